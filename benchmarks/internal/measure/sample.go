// Package measure runs variants of the same work and compares their costs.
//
// Machines are noisy, and the noise changes from minute to minute. So absolute
// times are not compared. Every value is a ratio within one round, whose variants
// run directly one after the other. A result is the median of rounds that are
// distributed over the complete run.
package measure

import (
	"context"
	"runtime"
	"time"
)

// Sample is the cost of one run of a variant.
type Sample struct {
	// Work is the amount of work in the unit of the experiment, such as rows or
	// calls.
	Work int
	Wall time.Duration
	// Allocations and Bytes are those of the whole process.
	Allocations, Bytes uint64
	// Connections is the number of connections that the server accepted. It is 0
	// if the experiment does not count them.
	Connections int
	// Failures is the number of calls that failed as expected.
	Failures int
	// PeakMemory is the peak memory of the child process that did the work, if
	// there was one.
	PeakMemory uint64
}

// Take runs work and measures it. The function returns the amount of work.
func Take(work func() (int, error)) (Sample, error) {
	emptyPools()
	return measured(work)
}

// emptyPools collects the garbage of other samples, and empties all pools:
// encoding/json keeps its buffers in a shared pool. A pool is empty after two
// collections.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

func measured(work func() (int, error)) (Sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	done, err := work()
	wall := time.Since(start)
	runtime.ReadMemStats(&after)
	return Sample{
		Work:        done,
		Wall:        wall,
		Allocations: after.Mallocs - before.Mallocs,
		Bytes:       after.TotalAlloc - before.TotalAlloc,
	}, err
}

// Repeat makes sequential calls and measures them.
func Repeat(ctx context.Context, times int, call func(context.Context) error) (Sample, error) {
	return Take(repeated(ctx, times, call))
}

// repeated returns work that makes sequential calls.
func repeated(ctx context.Context, times int, call func(context.Context) error) func() (int, error) {
	return func() (int, error) {
		for done := range times {
			if err := call(ctx); err != nil {
				return done, err
			}
		}
		return times, nil
	}
}

// RepeatWarm is Repeat after one call that is not measured. That call fills the pools, so
// the measured ones find buffers that are as large as they need.
func RepeatWarm(ctx context.Context, times int, call func(context.Context) error) (Sample, error) {
	emptyPools()
	if err := call(ctx); err != nil {
		return Sample{}, err
	}
	return measured(repeated(ctx, times, call))
}

// Each returns the time per unit of work, in seconds.
func (s Sample) Each() float64 { return s.Wall.Seconds() / float64(s.Work) }

// AllocationsEach returns the number of allocations per unit of work.
func (s Sample) AllocationsEach() float64 { return float64(s.Allocations) / float64(s.Work) }

// BytesEach returns the number of allocated bytes per unit of work.
func (s Sample) BytesEach() float64 { return float64(s.Bytes) / float64(s.Work) }
