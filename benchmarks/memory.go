package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// fewRows is the length of the short list.
const fewRows = 10_000

// peakMemory walks a short list and a long list, each in its own process. It returns no
// experiment on systems other than Linux, since the walker reads its peak memory from
// /proc.
func peakMemory(s *stage) ([]measure.Experiment, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	walk := func(name string, rows int) measure.Variant {
		return measure.Variant{Name: name, Run: func(ctx context.Context) (measure.Sample, error) {
			out, err := exec.CommandContext(ctx, s.walker, canned.Adjusted(s.Plain, rows, 0)).Output()
			if err != nil {
				return measure.Sample{}, err
			}
			peak, err := strconv.ParseUint(string(bytes.TrimSpace(out)), 10, 64)
			return measure.Sample{Work: rows, PeakMemory: peak}, err
		}}
	}
	return []measure.Experiment{{
		Title:    "iterate, memory",
		Rounds:   s.rounds,
		Variants: []measure.Variant{walk("few", fewRows), walk("many", s.rows)},
		Rows: []measure.Row{{Measure: fmt.Sprintf("peak memory, %d rows against %d", s.rows, fewRows), Unit: "x",
			Limit: measure.AtMost(1.1), Value: func(r measure.Round) float64 {
				return float64(r["many"].PeakMemory) / float64(r["few"].PeakMemory)
			}}},
	}}, nil
}

// buildWalker builds the program that walks a list and prints its peak memory. It
// requires that the working directory is the directory of this module.
func buildWalker(ctx context.Context) (program string, remove func(), err error) {
	directory, err := os.MkdirTemp("", "messaging-benchmarks-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(directory) }
	program = filepath.Join(directory, "walker")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./internal/walker").CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build ./internal/walker: %w\n%s", err, out)
	}
	return program, remove, nil
}
