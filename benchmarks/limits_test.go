package benchmarks

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// round has the result of each benchmark, which ran directly one after the other.
type round map[string]testing.BenchmarkResult

// interleave runs benchmarks in rounds, and in a new order in each. The speed of a machine can halve within
// a second, so only the results of one round are compared, and what counts is the median of the rounds.
func interleave(t *testing.T, rounds int, benchtime string, benchmarks map[string]func(*testing.B)) []round {
	t.Helper()
	before := flag.Lookup("test.benchtime").Value.String()
	require.NoError(t, flag.Set("test.benchtime", benchtime))
	defer flag.Set("test.benchtime", before) // for what -bench runs after this
	names := slices.Collect(maps.Keys(benchmarks))
	results := make([]round, rounds)
	for i := range results {
		results[i] = make(round)
		rand.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
		for _, name := range names {
			results[i][name] = testing.Benchmark(benchmarks[name])
			require.NotZero(t, results[i][name].N, "%s failed; go test -bench shows why", name)
		}
	}
	return results
}

// time returns how long a benchmark took, relative to another one.
func (r round) time(name, other string) float64 {
	return float64(r[name].NsPerOp()) / float64(r[other].NsPerOp())
}

// allocations returns how many allocations an operation had, or one of its rows.
func (r round) allocations(name string, rows int) float64 {
	return float64(r[name].MemAllocs) / float64(r[name].N*rows)
}

func (r round) bytes(name string, rows int) float64 {
	return float64(r[name].MemBytes) / float64(r[name].N*rows)
}

// share returns the speed of a walk, relative to its floor.
func (r round) share(name string) float64 { return r.time(floorOf(name), name) }

func floorOf(name string) string {
	if name == "by-hand" || name == "leanest" {
		return "messaging-floor"
	}
	return name + "-floor"
}

// bestPeer returns the peer whose share is the highest at the median. The highest of each round would be the luckiest.
func bestPeer(walked []round) string {
	return slices.MaxFunc(peers, func(a, b contender) int {
		share := func(c contender) float64 { return median(walked, func(r round) float64 { return r.share(c.name) }) }
		return cmp.Compare(share(a), share(b))
	}).name
}

// TestLimits holds what README.md promises, and prints its tables.
func TestLimits(t *testing.T) {
	if !*limits {
		t.Skip("needs an idle machine, and runs with -limits")
	}
	fmt.Printf("%s, %s/%s, %d processors\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Print("|  | median | lowest – highest | limit |\n|---|---|---|---|\n")
	var walked, called []round
	t.Run("walk", func(t *testing.T) { walked, called = holdWalks(t) })
	t.Run("trigger", holdTriggers)
	t.Run("prepare", holdPreparing)
	if walked != nil {
		printClients(walked, called)
	}
}

// compared are the clients that are compared with their floors.
var compared = []string{"messaging", "godo", "gitlab", "hcloud", "go-github", "stripe-go", "openai-go", "by-hand", "leanest"}

func holdWalks(t *testing.T) (walked, called []round) {
	clients := connect(t)
	walks, calls := make(map[string]func(*testing.B)), make(map[string]func(*testing.B))
	for _, name := range compared {
		for _, name := range []string{name, floorOf(name)} {
			walks[name], calls[name] = walking(clients[name], 100, listLength), calling(clients[name])
		}
	}
	walked, called = interleave(t, 9, "50ms", walks), interleave(t, 9, "20ms", calls)
	hold(t, "walk: speed against the loop by hand", walked, atLeast, 1.9,
		func(r round) float64 { return r.time("by-hand", "messaging") })
	best := bestPeer(walked)
	hold(t, "walk: share of the floor's speed against the best peer's, "+best, walked, atLeast, 2,
		func(r round) float64 { return r.share("messaging") / r.share(best) })
	sdk, err := newSDK(server.Long)
	require.NoError(t, err)
	long := interleave(t, 1, "1x", map[string]func(*testing.B){"messaging": walking(sdk, 100, longListLength)})
	hold(t, "walk: allocations per row of a million", long, atMost, 1.3,
		func(r round) float64 { return r.allocations("messaging", longListLength) })
	return walked, called
}

// holdTriggers has many rounds: a round trip takes more time than the client, and is noisy.
func holdTriggers(t *testing.T) {
	clients := connect(t)
	called := interleave(t, 41, "100ms", map[string]func(*testing.B){
		"messaging": calling(clients["messaging"]), "leanest": calling(clients["leanest"]),
	})
	hold(t, "trigger: time against the leanest by hand", called, atMost, 1.1,
		func(r round) float64 { return r.time("messaging", "leanest") })
	sdk, err := newSDKInMemory(http.StatusOK, sdkContender.written("response", newPerson(0)))
	require.NoError(t, err)
	called = interleave(t, 1, "20ms", map[string]func(*testing.B){"messaging": calling(sdk)})
	hold(t, "trigger: allocations, with a response from memory", called, atMost, 60,
		func(r round) float64 { return r.allocations("messaging", 1) })
}

func holdPreparing(t *testing.T) {
	prepared := interleave(t, 9, "250ms", map[string]func(*testing.B){
		"messaging": preparing(100_000), "json.Encoder": encoding(100_000),
	})
	hold(t, "prepare for 100,000 customers: time against a json.Encoder", prepared, atMost, 1.1,
		func(r round) float64 { return r.time("messaging", "json.Encoder") })
}

func printClients(walked, called []round) {
	fmt.Print("\n| client | walk: share of the floor's speed | allocations per row | bytes per row ",
		"| call: time against the floor | allocations |\n",
		"|---|---|---|---|---|---|\n")
	for _, name := range compared {
		fmt.Printf("| %s | %.2f | %.2f | %.0f | %.2f | %.0f |\n", name,
			median(walked, func(r round) float64 { return r.share(name) }),
			median(walked, func(r round) float64 { return r.allocations(name, listLength) }),
			median(walked, func(r round) float64 { return r.bytes(name, listLength) }),
			median(called, func(r round) float64 { return r.time(name, floorOf(name)) }),
			median(called, func(r round) float64 { return r.allocations(name, 1) }))
	}
}

const atLeast, atMost = "≥", "≤"

// hold prints the median of a value, and requires that it is within a limit.
func hold(t *testing.T, what string, rounds []round, sign string, limit float64, value func(round) float64) {
	t.Helper()
	values := sorted(rounds, value)
	middle := values[len(values)/2] // of an odd number
	fmt.Printf("| %s | %.2f | %.2f – %.2f | %s %.2f |\n", what, middle, values[0], values[len(values)-1], sign, limit)
	if held := sign == atLeast && middle >= limit || sign == atMost && middle <= limit; !held {
		t.Errorf("%s: %.2f, want %s %.2f", what, middle, sign, limit)
	}
}

func median(rounds []round, value func(round) float64) float64 {
	return sorted(rounds, value)[len(rounds)/2]
}

func sorted(rounds []round, value func(round) float64) []float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = value(r)
	}
	slices.Sort(values)
	return values
}
