package main

import (
	"context"
	"time"

	"github.com/messaging-go/messaging"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

// pace is the delay of each response, and the time the caller works on each page.
const pace = 20 * time.Millisecond

// readingAhead works on each page for as long as the server takes to send it.
func readingAhead(s *stage) ([]measure.Experiment, error) {
	const perPage = 100
	client, err := peers.NewMessaging(canned.Adjusted(s.Plain, s.readAhead*perPage, pace))
	if err != nil {
		return nil, err
	}
	work := func(name string, options ...messaging.RequestOption) measure.Variant {
		return measure.Variant{Name: name, Run: func(ctx context.Context) (measure.Sample, error) {
			return measure.Take(func() (pages int, err error) {
				for _, err := range client.Customers.Pages(ctx, messaging.CustomerListParams{PerPage: perPage}, options...) {
					if err != nil {
						return pages, err
					}
					time.Sleep(pace)
					pages++
				}
				return pages, nil
			})
		}}
	}
	against := func(name string) func(measure.Round) float64 {
		return func(r measure.Round) float64 { return r[name].Each() / pace.Seconds() }
	}
	return []measure.Experiment{{
		Title:    "read-ahead, 20 ms server, 20 ms work",
		Rounds:   s.fewRounds,
		Variants: []measure.Variant{work("read-ahead"), work("sequential", messaging.WithoutReadAhead())},
		Rows: []measure.Row{
			{Measure: "time against the longer of the two", Unit: "x",
				Limit: measure.AtMost(1.12), Value: against("read-ahead")},
			{Measure: "the same without read-ahead", Unit: "x", Value: against("sequential")},
		},
	}}, nil
}
