package main

import (
	"context"
	"fmt"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

// The names of the clients that most experiments compare.
const (
	ours    = "messaging"
	byHand  = "by hand"
	leanest = "by hand, leanest"
	floor   = "floor"
)

// walking returns a variant that walks a list.
func walking(name string, walker peers.Client, rows, perPage int) measure.Variant {
	return measure.Variant{Name: name, Run: func(ctx context.Context) (measure.Sample, error) {
		return measure.Take(func() (int, error) {
			walked, err := walker.Walk(ctx, perPage)
			if err == nil && walked != rows {
				err = fmt.Errorf("walked %d rows of %d", walked, rows)
			}
			return walked, err
		})
	}}
}

// calling returns a variant that makes sequential calls.
func calling(name string, caller caller, times int) measure.Variant {
	return measure.Variant{Name: name, Run: func(ctx context.Context) (measure.Sample, error) {
		return measure.Repeat(ctx, times, caller.Call)
	}}
}

// timeOf returns the time of a variant divided by the time of another variant, each per
// unit of work.
func timeOf(variant, other string) func(measure.Round) float64 {
	return func(r measure.Round) float64 { return r[variant].Each() / r[other].Each() }
}

// speedOf returns the speed of a variant divided by the speed of another variant.
func speedOf(variant, other string) func(measure.Round) float64 { return timeOf(other, variant) }

// allocationsOf returns the allocations of a variant, per unit of work.
func allocationsOf(variant string) func(measure.Round) float64 {
	return func(r measure.Round) float64 { return r[variant].AllocationsEach() }
}

// allocationsBeyond returns how many more a variant has than another one.
func allocationsBeyond(variant, other string) func(measure.Round) float64 {
	return func(r measure.Round) float64 { return r[variant].AllocationsEach() - r[other].AllocationsEach() }
}

// contestants returns the SDK, the loops written by hand and the floor as clients of the
// same list.
func contestants(base string, rows int) (map[string]peers.Client, error) {
	sdk, err := peers.NewMessaging(base)
	return map[string]peers.Client{
		ours:    sdk,
		byHand:  peers.NewByHand(base),
		leanest: peers.NewLeanByHand(base),
		floor:   peers.NewFloor(peers.Messaging, base, rows),
	}, err
}
