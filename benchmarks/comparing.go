package main

import (
	"math"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

// comparing walks the list of each peer and makes its small call. The floor
// transfers the same bytes.
func comparing(s *stage) ([]measure.Experiment, error) {
	e := measure.Experiment{Title: "clients side by side, each on its own wire format", Rounds: s.rounds, Matrix: true}
	subjects := append([]peers.Peer{peers.Messaging}, peers.All()...)
	for _, peer := range subjects {
		base := s.Lists[peer.Name]
		client, err := peer.New(base)
		if err != nil {
			return nil, err
		}
		s.compare(&e, peer.Name, peer.Name, client)
		s.add(&e, peer.Name+" "+floor, peers.NewFloor(peer, base, s.peerRows))
	}
	s.compare(&e, byHand, ours, peers.NewByHand(s.Lists[ours]))
	e.Rows = append(e.Rows, measure.Row{Subject: ours, Measure: "share of the floor's speed against the best peer's", Unit: "x",
		Limit: measure.AtLeast(2), Value: func(r measure.Round) float64 {
			best := 0.0
			for _, peer := range peers.All() {
				best = math.Max(best, shareOfFloor(peer.Name, peer.Name)(r))
			}
			return shareOfFloor(ours, ours)(r) / best
		}})
	return []measure.Experiment{e}, nil
}

// add adds a client to the experiment.
func (s *stage) add(e *measure.Experiment, name string, client peers.Client) {
	e.Variants = append(e.Variants,
		walking(name+" walk", client, s.peerRows, 100),
		calling(name+" call", client, s.calls))
}

// compare adds a client and its rows, which compare it with the floor of a
// service.
func (s *stage) compare(e *measure.Experiment, name, service string, client peers.Client) {
	s.add(e, name, client)
	walk, call, callFloor := name+" walk", name+" call", service+" "+floor+" call"
	e.Rows = append(e.Rows,
		measure.Row{Subject: name, Measure: "walk, share of floor's speed", Value: shareOfFloor(name, service)},
		measure.Row{Subject: name, Measure: "allocations per row", Value: allocationsOf(walk)},
		measure.Row{Subject: name, Measure: "bytes per row", Value: func(r measure.Round) float64 { return r[walk].BytesEach() }},
		measure.Row{Subject: name, Measure: "call, time / floor", Value: timeOf(call, callFloor)},
		measure.Row{Subject: name, Measure: "call, allocations beyond floor", Value: allocationsBeyond(call, callFloor)},
	)
}

// shareOfFloor returns the speed of a client divided by the speed of the floor of
// a service.
func shareOfFloor(name, service string) func(measure.Round) float64 {
	return speedOf(name+" walk", service+" "+floor+" walk")
}
