package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

type caller interface{ Call(context.Context) error }

// inFlight triggers many events concurrently, over TLS with HTTP/1.1. The server
// delays every response.
func inFlight(s *stage) ([]measure.Experiment, error) {
	return []measure.Experiment{s.steady(), s.bursting(), s.timingOut()}, nil
}

// calls makes calls with a client.
type calls func(context.Context, caller) (measure.Sample, error)

// callingAnew returns a variant that makes calls with the SDK.
func (s *stage) callingAnew(run calls) measure.Variant {
	return s.anew(ours, run, func(base string) (caller, error) { return peers.NewMessaging(base) })
}

// anew returns a variant that makes calls. Every round uses a new client, which has no
// connections yet.
func (s *stage) anew(name string, run calls, newClient func(base string) (caller, error)) measure.Variant {
	return measure.Variant{Name: name, Run: func(ctx context.Context) (sample measure.Sample, err error) {
		client, err := newClient(canned.Adjusted(s.TLS, 0, pace))
		if err != nil {
			return sample, err
		}
		before, err := s.Connections(ctx)
		if err != nil {
			return sample, err
		}
		if sample, err = run(ctx, client); err != nil {
			return sample, err
		}
		after, err := s.Connections(ctx)
		sample.Connections = after - before
		return sample, err
	}}
}

func (s *stage) steady() measure.Experiment {
	many := s.inFlight
	run := func(ctx context.Context, c caller) (measure.Sample, error) {
		return concurrently(ctx, many, many*s.waves, func(ctx context.Context, _ int) error { return c.Call(ctx) })
	}
	return measure.Experiment{
		Title:  fmt.Sprintf("%d triggers in flight, 20 ms server, TLS", many),
		Rounds: s.fewRounds,
		Variants: []measure.Variant{s.callingAnew(run), s.anew(leanest, run, func(base string) (caller, error) {
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, many
			return peers.NewByHandThrough(transport, base), nil
		})},
		Rows: []measure.Row{
			{Measure: "time against the leanest by hand", Unit: "x", Limit: measure.AtMost(1.1), Value: timeOf(ours, leanest)},
			{Measure: "throughput against the ideal", Unit: "x", Value: shareOfIdeal(ours, many)},
			{Measure: "connections against calls in flight", Unit: "x", Limit: measure.AtMost(1.5), Value: connectionsTo(ours, many)},
		},
	}
}

// shareOfIdeal returns the throughput divided by the throughput of calls that take
// exactly as long as the server.
func shareOfIdeal(name string, inFlight int) func(measure.Round) float64 {
	return func(r measure.Round) float64 { return pace.Seconds() / float64(inFlight) / r[name].Each() }
}

// connectionsTo returns the number of connections divided by the number of calls
// in flight. A failed call may cost one connection, which does not count.
func connectionsTo(name string, inFlight int) func(measure.Round) float64 {
	return func(r measure.Round) float64 {
		return float64(r[name].Connections-r[name].Failures) / float64(inFlight)
	}
}

func (s *stage) bursting() measure.Experiment {
	many := s.inFlight
	return measure.Experiment{
		Title:  fmt.Sprintf("%d bursts of %d triggers, a second apart, TLS", s.bursts, many),
		Rounds: min(2, s.fewRounds),
		Variants: []measure.Variant{s.callingAnew(func(ctx context.Context, c caller) (measure.Sample, error) {
			return bursts(ctx, s.bursts, many, c)
		})},
		Rows: []measure.Row{
			{Measure: "connections against one burst", Unit: "x", Limit: measure.AtMost(1.2), Value: connectionsTo(ours, many)},
		},
	}
}

// bursts makes size concurrent calls, and repeats that every second.
func bursts(ctx context.Context, times, size int, c caller) (measure.Sample, error) {
	return measure.Take(func() (int, error) {
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for burst := range times {
			if burst > 0 {
				<-second.C
			}
			_, err := concurrently(ctx, size, size, func(ctx context.Context, _ int) error { return c.Call(ctx) })
			if err != nil {
				return 0, err
			}
		}
		return times * size, nil
	})
}

func (s *stage) timingOut() measure.Experiment {
	some := s.inFlight / 4
	return measure.Experiment{
		Title:  fmt.Sprintf("%d triggers in flight, 1 %% of them timing out, TLS", some),
		Rounds: s.fewRounds,
		Variants: []measure.Variant{s.callingAnew(func(ctx context.Context, c caller) (measure.Sample, error) {
			return withTimeouts(ctx, some, some*s.waves, c)
		})},
		Rows: []measure.Row{
			{Measure: "connections beyond the failures, against calls in flight", Unit: "x",
				Limit: measure.AtMost(1.3), Value: connectionsTo(ours, some)},
		},
	}
}

// withTimeouts makes calls, and lets every hundredth call time out. On a machine that stands
// still for a moment, the response to such a call can be there as soon as its timeout is.
func withTimeouts(ctx context.Context, inFlight, calls int, c caller) (measure.Sample, error) {
	sample, err := concurrently(ctx, inFlight, calls, func(ctx context.Context, i int) error {
		if i%100 != 99 {
			return c.Call(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, pace/4)
		defer cancel()
		if c.Call(ctx) == nil {
			return nil
		}
		return errExpected
	})
	if err == nil && sample.Failures == 0 {
		err = errors.New("every call succeeded, want timeouts")
	}
	return sample, err
}

// errExpected is a failure that is part of the experiment.
var errExpected = errors.New("expected")

// concurrently makes calls, with inFlight of them in flight at any time.
func concurrently(ctx context.Context, inFlight, calls int, call func(ctx context.Context, i int) error) (measure.Sample, error) {
	var failures atomic.Int64
	sample, err := measure.Take(func() (int, error) {
		var next atomic.Int64
		group, ctx := errgroup.WithContext(ctx)
		for range inFlight {
			group.Go(func() error {
				for i := int(next.Add(1)) - 1; i < calls && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
					switch err := call(ctx, i); err {
					case nil:
					case errExpected:
						failures.Add(1)
					default:
						return err
					}
				}
				return ctx.Err()
			})
		}
		return calls, group.Wait()
	})
	sample.Failures = int(failures.Load())
	return sample, err
}
