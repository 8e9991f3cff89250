package main

import (
	"flag"
	"fmt"
	"slices"
	"testing"
)

var limits = flag.Bool("limits", false, "run TestLimits, which needs an idle machine")

// TestLimits holds what README.md promises about rates.
func TestLimits(t *testing.T) {
	if !*limits {
		t.Skip("needs an idle machine, and runs with -limits")
	}
	fmt.Print("|  | median | lowest – highest | limit |\n|---|---|---|---|\n")
	for _, kind := range []string{onSQLite, onPostgres} {
		t.Run("deliveries-"+kind, func(t *testing.T) {
			create(t, kind, "pool_max_conns=1") // skips without a server
			compared := ratios(t, 5, "10000x", delivering(alone, inFlight), delivering(kind, inFlight))
			hold(t, "deliveries/s against the client alone, 64 in flight, "+kind, compared, atLeast, 0.90)
		})
	}
	t.Run("enqueue", func(t *testing.T) {
		compared := ratios(t, 10, "5000x", enqueueing(t, byLoop), enqueueing(t, oursOnPostgres))
		hold(t, "EnqueueTx/s against plain INSERTs/s, in a transaction with an order, 48 connections", compared, atLeast, 0.78)
	})
	t.Run("claim", func(t *testing.T) {
		small, large := newTable(t, 0, 10_000), newTable(t, manyEntries()/2, manyEntries()/2)
		compared := ratios(t, 10, "10x", claiming(large), claiming(small))
		hold(t, fmt.Sprintf("time of a claim of %d entries, %d entries against 10000", batch, manyEntries()), compared, atMost, 1.5)
	})
}

const atLeast, atMost = "≥", "≤"

// hold prints the median of some values, in order, and requires that it is within a limit.
func hold(t *testing.T, what string, values []float64, sign string, limit float64) {
	t.Helper()
	median := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	fmt.Printf("| %s | %.2f | %.2f – %.2f | %s %.2f |\n", what, median, values[0], values[len(values)-1], sign, limit)
	if held := sign == atLeast && median >= limit || sign == atMost && median <= limit; !held {
		t.Errorf("%s: %.2f, want %s %.2f", what, median, sign, limit)
	}
}

// ratios runs two benchmarks by turns, and returns how many times as long as the other one the first one took in
// each round, in order.
func ratios(t *testing.T, rounds int, benchtime string, one, other func(*testing.B)) []float64 {
	t.Helper()
	must(t, flag.Set("test.benchtime", benchtime))
	ratios := make([]float64, rounds)
	for i := range ratios {
		first, second := testing.Benchmark(one), testing.Benchmark(other)
		if first.N == 0 || second.N == 0 {
			t.Fatal("a benchmark failed; go test -bench shows why")
		}
		ratios[i] = first.T.Seconds() / float64(first.N) / (second.T.Seconds() / float64(second.N))
	}
	slices.Sort(ratios)
	return ratios
}
