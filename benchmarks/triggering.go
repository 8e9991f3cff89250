package main

import (
	"math"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// callsPerTurn are so few that both sides of a comparison meet the same noise.
const callsPerTurn = 100

// triggering triggers one event after the other.
func triggering(s *stage) ([]measure.Experiment, error) {
	clients, err := contestants(canned.Adjusted(s.Plain, 0, 0), 0)
	if err != nil {
		return nil, err
	}
	return []measure.Experiment{{
		Title:    "one trigger on loopback",
		Rounds:   s.turns,
		Variants: []measure.Variant{calling(ours, clients[ours], callsPerTurn), calling(leanest, clients[leanest], callsPerTurn)},
		Rows: []measure.Row{
			{Measure: "time against the leanest by hand", Unit: "x", Limit: measure.AtMost(1.10, 1.05), Value: timeOf(ours, leanest)},
			{Measure: "allocations beyond it", Limit: measure.AtMost(8, 8), Value: func(r measure.Round) float64 {
				return math.Round(r[ours].AllocationsEach() - r[leanest].AllocationsEach())
			}},
		},
	}}, nil
}
