package main

import (
	"fmt"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// iterating walks a long list of customers.
func iterating(s *stage) ([]measure.Experiment, error) {
	clients, err := contestants(canned.Adjusted(s.Plain, s.rows, 0), s.rows)
	if err != nil {
		return nil, err
	}
	experiment := func(perPage int, rows ...measure.Row) measure.Experiment {
		e := measure.Experiment{Title: fmt.Sprintf("iterate, %d per page", perPage), Rounds: s.rounds, Rows: rows}
		for _, name := range []string{ours, byHand, leanest, floor} {
			e.Variants = append(e.Variants, walking(name, clients[name], s.rows, perPage))
		}
		return e
	}
	return []measure.Experiment{
		experiment(100,
			measure.Row{Measure: "speed against a loop by hand", Unit: "x",
				Limit: measure.AtLeast(1.9), Value: speedOf(ours, byHand)},
			measure.Row{Measure: "speed against the leanest one by hand", Unit: "x", Value: speedOf(ours, leanest)},
			measure.Row{Measure: "speed against the floor", Unit: "x",
				Limit: measure.AtLeast(0.45), Value: speedOf(ours, floor)},
			measure.Row{Measure: "allocations per row", Limit: measure.AtMost(1.3), Value: allocationsOf(ours)},
			measure.Row{Measure: "bytes allocated per row", Limit: measure.AtMost(520),
				Value: func(r measure.Round) float64 { return r[ours].BytesEach() }},
		),
		experiment(1000,
			measure.Row{Measure: "speed against a loop by hand", Unit: "x",
				Limit: measure.AtLeast(3), Value: speedOf(ours, byHand)},
			measure.Row{Measure: "speed against the leanest one by hand", Unit: "x", Value: speedOf(ours, leanest)}),
	}, nil
}
