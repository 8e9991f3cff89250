// Package measure runs pieces of work side by side and compares what they cost.
//
// Machines are noisy, and the noise changes from minute to minute. So nothing is
// judged by what it took: every value is a ratio within one round, whose parts
// ran one after the other, and a row of the result is the median over rounds
// that were scattered over the whole run.
package measure

import (
	"context"
	"runtime"
	"time"
)

// Sample is what one run of a variant cost.
type Sample struct {
	// Work is how much was done, in whatever the experiment counts: rows, calls,
	// bytes.
	Work int
	Wall time.Duration
	// Allocations and Bytes are those of the whole process.
	Allocations, Bytes uint64
	// Connections is how many the server accepted, where the experiment asks.
	Connections int
	// Failures is how many calls failed, where some are meant to.
	Failures int
	// PeakMemory is that of a child process, where one did the work.
	PeakMemory uint64
}

// Take runs work and measures it. The work says how much it has done.
func Take(work func() (int, error)) (Sample, error) {
	// What others left is not this one's to collect, nor to use: only the second
	// collection empties the pools, and encoding/json has one that all share.
	runtime.GC()
	runtime.GC()
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

// Repeat measures the given number of calls.
func Repeat(ctx context.Context, times int, call func(context.Context) error) (Sample, error) {
	return Take(func() (int, error) {
		for done := range times {
			if err := call(ctx); err != nil {
				return done, err
			}
		}
		return times, nil
	})
}

// Each is the time for one unit of work, in seconds.
func (s Sample) Each() float64 { return s.Wall.Seconds() / float64(s.Work) }

// AllocationsEach is the number of allocations for one unit of work.
func (s Sample) AllocationsEach() float64 { return float64(s.Allocations) / float64(s.Work) }

// BytesEach is the number of bytes allocated for one unit of work.
func (s Sample) BytesEach() float64 { return float64(s.Bytes) / float64(s.Work) }
