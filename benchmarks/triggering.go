package main

import (
	"net/http"

	"github.com/messaging-go/messaging"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

// callsPerTurn is small, so that both variants of a round run under the same noise. It is
// large enough that the pools, which are empty when a turn begins, do not matter.
const callsPerTurn = 1000

// triggering makes sequential triggers: with the client's own transport, with one from
// WithHTTPClient, and without a network.
func triggering(s *stage) ([]measure.Experiment, error) {
	base := canned.Adjusted(s.Plain, 0, 0)
	own, err := peers.NewMessaging(base)
	if err != nil {
		return nil, err
	}
	given, err := peers.NewMessaging(base, messaging.WithHTTPClient(&http.Client{Transport: messaging.NewTransport()}))
	if err != nil {
		return nil, err
	}
	inMemory, err := inProcess(http.StatusOK, canned.Messaging.Response)
	if err != nil {
		return nil, err
	}
	return []measure.Experiment{
		s.triggeringWith("one trigger on loopback", own, base, measure.AtMost(1.10),
			measure.Row{Measure: "allocations beyond it", Value: allocationsBeyond(ours, leanest)}),
		// With a transport from WithHTTPClient, net/http does not know the type of the
		// request body, so it flushes the headers before the body.
		s.triggeringWith("one trigger behind a given transport", given, base, measure.AtMost(1.25)),
		{Title: "one trigger, with a response from memory", Rounds: s.fewRounds,
			Variants: []measure.Variant{calling(ours, inMemory, callsPerTurn)},
			Rows:     []measure.Row{{Measure: "allocations", Limit: measure.AtMost(60), Value: allocationsOf(ours)}}},
	}, nil
}

func (s *stage) triggeringWith(title string, client peers.SDK, base string, limit measure.Limit,
	more ...measure.Row) measure.Experiment {
	elapsed := measure.Row{Measure: "time against the leanest by hand", Unit: "x", Limit: limit, Value: timeOf(ours, leanest)}
	return measure.Experiment{
		Title:  title,
		Rounds: s.turns,
		Variants: []measure.Variant{
			calling(ours, client, callsPerTurn),
			calling(leanest, peers.NewLeanByHand(base), callsPerTurn),
		},
		Rows: append([]measure.Row{elapsed}, more...),
	}
}
