package main

import (
	"context"
	"fmt"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/report"
)

// growing shows how the cost grows with the amount of work. Every value is a
// multiple of the first value of the SDK in the same round.
func growing(s *stage) ([]measure.Experiment, error) {
	rows, err := s.growingRows()
	if err != nil {
		return nil, err
	}
	pages, err := s.growingPages()
	if err != nil {
		return nil, err
	}
	return []measure.Experiment{rows, pages, s.growingConcurrency()}, nil
}

// sized returns the name of a variant for one size.
func sized(name string, size int) string { return fmt.Sprint(name, " ", size) }

// growingRows walks lists of increasing length.
func (s *stage) growingRows() (measure.Experiment, error) {
	e := measure.Experiment{Title: report.GrowingRows, Rounds: s.fewRounds, Matrix: true}
	sizes := []int{s.rows / 100, s.rows / 10, s.rows}
	for _, rows := range sizes {
		clients, err := contestants(canned.Adjusted(s.Plain, rows, 0), rows)
		if err != nil {
			return e, err
		}
		for _, name := range []string{ours, byHand, floor} {
			e.Variants = append(e.Variants, walking(sized(name, rows), clients[name], rows, 100))
			e.Rows = append(e.Rows, measure.Row{Subject: name, Measure: fmt.Sprint(rows), Value: func(r measure.Round) float64 {
				return r[sized(name, rows)].Wall.Seconds() / r[sized(ours, sizes[0])].Wall.Seconds()
			}})
		}
	}
	return e, nil
}

// growingPages walks the same list with increasing page sizes.
func (s *stage) growingPages() (measure.Experiment, error) {
	e := measure.Experiment{Title: report.GrowingPages, Rounds: s.fewRounds, Matrix: true}
	clients, err := contestants(canned.Adjusted(s.Plain, s.peerRows, 0), s.peerRows)
	for _, perPage := range []int{20, 100, 1000} {
		for _, name := range []string{ours, byHand, floor} {
			e.Variants = append(e.Variants, walking(sized(name, perPage), clients[name], s.peerRows, perPage))
			e.Rows = append(e.Rows, measure.Row{Subject: name, Measure: fmt.Sprint(perPage),
				Value: timeOf(sized(name, perPage), sized(ours, 20))})
		}
	}
	return e, err
}

// growingConcurrency makes an increasing number of concurrent calls.
func (s *stage) growingConcurrency() measure.Experiment {
	e := measure.Experiment{Title: report.GrowingConcurrency, Rounds: s.fewRounds, Matrix: true}
	for _, inFlight := range s.inFlight {
		measured := s.eachCaller(func(ctx context.Context, c caller) (measure.Sample, error) {
			return concurrently(ctx, inFlight, inFlight*s.waves/2, func(ctx context.Context, _ int) error { return c.Call(ctx) })
		})
		for _, variant := range measured {
			name := variant.Name
			variant.Name = sized(name, inFlight)
			e.Variants = append(e.Variants, variant)
			e.Rows = append(e.Rows, measure.Row{Subject: name, Measure: fmt.Sprint(inFlight),
				Value: speedOf(variant.Name, sized(ours, 1))})
		}
		e.Rows = append(e.Rows, measure.Row{Subject: "ideal", Measure: fmt.Sprint(inFlight), Value: func(r measure.Round) float64 {
			return float64(inFlight) / pace.Seconds() * r[sized(ours, 1)].Each()
		}})
	}
	return e
}
