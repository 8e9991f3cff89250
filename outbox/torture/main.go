// Torture tries to make an outbox send an entry twice or lose one. It kills the processes
// of the outbox and its database, loses responses and connections, and compares the
// states of all entries with what a service in a separate process carried out. Then it
// measures what the outbox costs. It prints a line for each result and a summary. The
// exit status is 1 if a result misses what is required.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// command runs this program, or one of the processes that it starts.
func command(args []string) error {
	switch {
	case len(args) > 0 && args[0] == "serve":
		return serve()
	case len(args) > 0 && args[0] == "worker":
		return work(args[1:])
	}
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "use small numbers, for tests, and do not judge rates")
	only := flags.String("run", "", "run only the parts that match this regular expression")
	server := flags.String("postgres", os.Getenv("MESSAGING_TEST_POSTGRES"), "URL of a Postgres server; without it, one is started")
	length := flags.Duration("for", 0, "instead of the parts, make faults happen at random for this long, such as 30m")
	profiles := flags.String("profile", "", "folder to write CPU profiles of the part \"against the SDK\" to")
	results := flags.String("results", "", "folder to write results.md and results.json to; rows that this run does not replace are kept")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t, err := newTorture(ctx, *quick, *server)
	if err != nil {
		return err
	}
	defer t.close()
	t.profiles = *profiles
	do := func() ([]row, error) { return t.run(ctx, pattern) }
	if *length > 0 {
		do = func() ([]row, error) { return t.random(ctx, *length) }
	}
	rows, err := do()
	err = errors.Join(err, t.publish(rows, *results))
	fmt.Println(summary(rows))
	return err
}

// torture is what all parts share.
type torture struct {
	quick       bool
	entries     int // in a fault scenario
	times       int // a fault happens
	million     int
	sendTimeout time.Duration
	server      string
	own         *cluster
	dir         string
	profiles    string // a folder, or ""
}

func newTorture(ctx context.Context, quick bool, server string) (t *torture, err error) {
	t = &torture{quick: quick, entries: 20_000, times: 20, million: 1_000_000, sendTimeout: 2 * time.Second, server: server}
	if quick {
		t.entries, t.times, t.million = 900, 4, 20_000
	}
	if t.dir, err = os.MkdirTemp("", "outbox-torture-"); err != nil {
		return nil, err
	}
	if server == "" {
		if t.own, err = newCluster(ctx); err != nil {
			return nil, errors.Join(err, os.RemoveAll(t.dir))
		}
		t.server = t.own.url
	}
	return t, nil
}

func (t *torture) close() {
	if t.own != nil {
		t.own.close()
	}
	_ = os.RemoveAll(t.dir)
}

// row is a line of the table.
type row struct {
	What, Required, Measured string
	OK                       bool
}

// The faults.
const (
	killed     = "kill -9"
	terminated = "SIGTERM"
	stopped    = "SIGSTOP"
	fails      = "failure"     // of Postgres
	clockJumps = "clock jumps" // of Postgres
	vacuumed   = "VACUUM FULL" // which locks the table
	backedUp   = "backup"
	anyFault   = "any" // another one each time
)

// place is where the database of a scenario is.
type place string

const (
	none        place = "SQLite"
	shared      place = "Postgres"
	single      place = "Postgres that fails"
	withStandby place = "Postgres with a standby"
)

// scenario is a fault scenario.
type scenario struct {
	name      string
	fault     string
	times     int
	processes int
	server    place
	river     bool
}

// gentle reports whether the fault itself makes no entry unclear.
func (s scenario) gentle() bool {
	return s.fault == terminated || s.fault == clockJumps || s.fault == vacuumed || s.fault == backedUp
}

// choose returns a fault at random.
func (s scenario) choose() string {
	faults := []string{killed, terminated, stopped}
	if s.server != none {
		faults = append(faults, clockJumps, vacuumed)
	}
	if s.server == single || s.server == withStandby {
		faults = append(faults, fails)
	}
	return faults[rand.N(len(faults))]
}

func (t *torture) scenarios() []scenario {
	few := min(t.times, 5)
	return []scenario{
		{name: "kill -9, SQLite, 1 process", fault: killed, times: t.times, processes: 1, server: none},
		{name: "kill -9, SQLite, 3 processes", fault: killed, times: t.times, processes: 3, server: none},
		{name: "kill -9, Postgres, 3 processes", fault: killed, times: t.times, processes: 3, server: shared},
		{name: "kill -9, River, 3 processes", fault: killed, times: t.times, processes: 3, server: shared, river: true},
		{name: "SIGTERM, SQLite, 3 processes", fault: terminated, times: t.times, processes: 3, server: none},
		{name: "SIGTERM, Postgres, 3 processes", fault: terminated, times: t.times, processes: 3, server: shared},
		{name: "SIGTERM, River, 3 processes", fault: terminated, times: t.times, processes: 3, server: shared, river: true},
		{name: "SIGSTOP for longer than the lease, SQLite, 3 processes", fault: stopped, times: few, processes: 3, server: none},
		{name: "SIGSTOP for longer than the lease, Postgres, 3 processes", fault: stopped, times: few, processes: 3, server: shared},
		{name: "Postgres crashes and restarts, 3 processes", fault: fails, times: few, processes: 3, server: single},
		{name: "the primary fails and its synchronous standby takes over, 3 processes", fault: fails, times: few, processes: 3,
			server: withStandby},
		{name: "the clock of Postgres jumps, 3 processes", fault: clockJumps, times: few, processes: 3, server: shared},
		{name: "VACUUM FULL, Postgres, 3 processes", fault: vacuumed, times: few, processes: 3, server: shared},
		{name: "backups during the sends, SQLite, 3 processes", fault: backedUp, times: few, processes: 3, server: none},
		{name: "backups during the sends, Postgres, 3 processes", fault: backedUp, times: few, processes: 3, server: single},
	}
}

// part is a part of the table.
type part struct {
	name string
	do   func(context.Context) ([]row, error)
}

func (t *torture) parts() (faults, measurements []part) {
	for _, s := range t.scenarios() {
		faults = append(faults, part{s.name, func(ctx context.Context) ([]row, error) { return t.disturb(ctx, s) }})
	}
	faults = append(faults, part{"rollback", t.rollbacks}, part{"after kill -9", t.afterKill}, part{"outage", t.outages},
		part{"resent while stopped", t.storms}, part{"move", t.moves})
	measurements = []part{{"a million", t.aMillion}, {"large bodies", t.largeBodies}, {"stops", t.stops}, {"rate", t.rates},
		{"against the SDK", t.againstSDK}, {"processes", t.scaling}, {"latency", t.latencies}}
	return faults, measurements
}

// table is the table while its parts run.
type table struct {
	mu           sync.Mutex
	rows         []row
	begun, parts int
}

// partLimit only ends a part that hangs.
const partLimit = time.Hour

// add runs a part and prints its rows.
func (t *table) add(ctx context.Context, p part) {
	t.mu.Lock()
	t.begun++
	fmt.Printf("%s part %d of %d: %s\n", time.Now().Format(time.TimeOnly), t.begun, t.parts, p.name)
	t.mu.Unlock()
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, partLimit, fmt.Errorf("not done within %s", partLimit))
	defer cancel()
	found, err := p.do(ctx)
	if err != nil {
		found = append(found, row{What: p.name, Required: "no error", Measured: err.Error()})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range found {
		fmt.Printf("%-6s %s: %s (required: %s) [%.0f s]\n", mark(r), r.What, r.Measured, r.Required, time.Since(start).Seconds())
	}
	t.rows = append(t.rows, found...)
}

// missed returns an error for each row that misses what is required.
func (t *table) missed() error {
	if len(t.rows) == 0 {
		return errors.New("no part matches -run")
	}
	var problems []error
	for _, r := range t.rows {
		if !r.OK {
			problems = append(problems, fmt.Errorf("missed: %s: %s", r.What, r.Measured))
		}
	}
	return errors.Join(problems...)
}

// run runs the parts that match. Quick faults run concurrently, because they spend most
// of their time waiting for leases.
func (t *torture) run(ctx context.Context, only *regexp.Regexp) ([]row, error) {
	faults, measurements := t.parts()
	other := func(p part) bool { return !only.MatchString(p.name) }
	faults, measurements = slices.DeleteFunc(faults, other), slices.DeleteFunc(measurements, other)
	results := &table{parts: len(faults) + len(measurements)}
	var group sync.WaitGroup
	limit := make(chan struct{}, 4)
	for _, p := range faults {
		if !t.quick {
			results.add(ctx, p)
			continue
		}
		limit <- struct{}{}
		group.Go(func() {
			results.add(ctx, p)
			<-limit
		})
	}
	group.Wait()
	for _, p := range measurements {
		results.add(ctx, p)
	}
	return results.rows, results.missed()
}

// mark shows whether a row meets what is required.
func mark(r row) string {
	if r.OK {
		return "ok"
	}
	return "MISSED"
}

// summary returns the last line of the output.
func summary(rows []row) string {
	if len(rows) == 0 {
		return "no results"
	}
	missed := 0
	for _, r := range rows {
		if !r.OK {
			missed++
		}
	}
	if missed == 0 {
		return fmt.Sprintf("%d results, all ok", len(rows))
	}
	return fmt.Sprintf("%d results, %d MISSED: the exit status is 1", len(rows), missed)
}

// publish writes the table, with the rows of earlier runs that this run does not replace.
func (t *torture) publish(rows []row, folder string) error {
	if folder == "" {
		return nil
	}
	rows, err := merge(folder, rows)
	if err != nil {
		return err
	}
	var md strings.Builder
	fmt.Fprintf(&md, "# Results\n\n`go run .%s -results results` · %s · Go %s · %d processors · %s\n\n",
		map[bool]string{true: " -quick"}[t.quick], runtime.GOOS+"/"+runtime.GOARCH, strings.TrimPrefix(runtime.Version(), "go"),
		runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly))
	md.WriteString("| test | required | measured | result |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&md, "| %s | %s | %s | %s |\n", r.What, r.Required, r.Measured, mark(r))
	}
	encoded, err := json.MarshalIndent(rows, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(folder, "results.md"), []byte(md.String()), 0o644),
		os.WriteFile(filepath.Join(folder, "results.json"), append(encoded, '\n'), 0o644))
}

// merge returns the rows of the results in folder, updated with the rows of this run.
func merge(folder string, rows []row) ([]row, error) {
	encoded, err := os.ReadFile(filepath.Join(folder, "results.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return rows, nil
	}
	var merged []row
	if err == nil {
		err = json.Unmarshal(encoded, &merged)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		i := slices.IndexFunc(merged, func(earlier row) bool { return earlier.What == r.What })
		if i < 0 {
			merged = append(merged, r)
			continue
		}
		merged[i] = r
	}
	return merged, nil
}
