package main

import (
	"math"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// triggering triggers one event after the other.
func triggering(s *stage) ([]measure.Experiment, error) {
	clients, err := contestants(canned.Adjusted(s.Plain, 0, 0), 0)
	if err != nil {
		return nil, err
	}
	return []measure.Experiment{{
		Title:    "one trigger on loopback",
		Rounds:   s.manyRounds,
		Variants: []measure.Variant{calling(ours, clients[ours], s.calls), calling(byHand, clients[byHand], s.calls)},
		Rows: []measure.Row{
			{Measure: "time against net/http by hand", Unit: "x", Limit: measure.AtMost(1.10, 1.05), Value: timeOf(ours, byHand)},
			{Measure: "allocations beyond it", Limit: measure.AtMost(8, 8), Value: func(r measure.Round) float64 {
				return math.Round(r[ours].AllocationsEach() - r[byHand].AllocationsEach())
			}},
		},
	}}, nil
}
