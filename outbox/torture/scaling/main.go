// Scaling measures where an outbox in Postgres ends: how many entries it delivers with more
// processes, more connections, larger tables, more databases, and under River. Sends cost
// nothing, or take 20 ms, so that the database is what is measured. It writes its tables
// into SCALING.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/outbox/torture/internal/document"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

// command runs this program, or a worker process that it starts.
func command(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if t, ok, err := process.Task[task](args); ok || err != nil {
		return errors.Join(err, t.work(ctx))
	}
	flags := flag.NewFlagSet("scaling", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "use small numbers, which mean nothing, to see that everything runs")
	only := flags.String("run", "", "run only the parts whose names match this regular expression")
	file := flags.String("write", "../SCALING.md", `file whose tables are replaced, or ""`)
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *quick {
		*file = ""
	}
	l, machine := newLab(*quick), document.Machine()
	for _, p := range parts {
		if !pattern.MatchString(p.name) {
			continue
		}
		start := time.Now()
		t, err := l.run(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Printf("%s [%.0f s]\n%s\n", p.name, time.Since(start).Seconds(), t)
		if *file == "" {
			continue
		}
		if err := document.Replace(*file, p.name, t.measured(p.name, machine)); err != nil {
			return err
		}
	}
	return nil
}

// lab determines how much is measured.
type lab struct {
	server       string // the URL of Postgres
	warm, window time.Duration
	most         int // processes or connections
	large        int // the number of entries in the largest table
	deliveries   int // for the growth of the table
}

func newLab(quick bool) *lab {
	if quick {
		return &lab{warm: 200 * time.Millisecond, window: 300 * time.Millisecond, most: 1, large: 20_000, deliveries: 8000}
	}
	return &lab{warm: 2 * time.Second, window: 5 * time.Second, most: 16, large: 10_000_000, deliveries: 2_000_000}
}

// part is a measurement that fills one table of the document.
type part struct {
	name string
	do   func(*lab, context.Context) (table, error)
}

var parts = []part{
	{"processes", (*lab).processes}, {"connections", (*lab).connections}, {"size", (*lab).sizes}, {"bloat", (*lab).bloat},
	{"databases", (*lab).databases}, {"river", (*lab).river},
}

// run runs a part with a new server that has the default settings of Postgres.
func (l *lab) run(ctx context.Context, p part) (table, error) {
	server, err := pgserver.Start(ctx)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	l.server = server.URL
	return p.do(l, ctx)
}

// table is a table of the document. The first row is its head.
type table [][]string

func (t table) String() string {
	var md strings.Builder
	for i, row := range t {
		fmt.Fprintf(&md, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&md, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	return md.String()
}

// measured returns the table with how it was measured.
func (t table) measured(part, machine string) string {
	return fmt.Sprintf("%s\n`go run ./scaling -run %s` · %s\n", t, part, machine)
}
