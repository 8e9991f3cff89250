// Torture tries to make an outbox send an entry twice or lose one, and measures what an
// outbox costs. Each part fills rows of a table in README.md or in ../SCALING.md. The exit
// status is 1 if a row misses what is required.
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

	"github.com/messaging-go/messaging/outbox/torture/faults"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
	"github.com/messaging-go/messaging/outbox/torture/rates"
	"github.com/messaging-go/messaging/outbox/torture/sidebyside"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// children are the main functions of the processes that this program starts, which take a
// task.
var children = map[string]func(ctx context.Context, task string) error{worker.Name: worker.Work, sidebyside.Name: sidebyside.Work}

// command runs this program, or one of the processes that it starts.
func command(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) == 2 && children[args[0]] != nil {
		return children[args[0]](ctx, args[1])
	}
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "use small numbers, and neither judge rates nor write tables")
	only := flags.String("run", "", "run only the parts whose names match this regular expression")
	server := flags.String("postgres", "", "URL of a Postgres server; without it, one is started")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *server == "" {
		own, err := pgserver.Start(ctx)
		if err != nil {
			return err
		}
		defer own.Close()
		*server = own.URL
	}
	dir, err := os.MkdirTemp("", "outbox-torture-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return run(ctx, parts(*quick, *server, dir), pattern, !*quick)
}

// tables are the tables, in the order in which their parts run.
var tables = []report.Table{
	{Name: "faults", File: "README.md", Head: faults.Head},
	{Name: "side by side", File: "README.md", Head: sidebyside.Head},
	{Name: "the client", File: "README.md", Head: rates.ClientHead},
	{Name: "processes", File: "../SCALING.md", Head: rates.ProcessesHead},
	{Name: "size", File: "../SCALING.md", Head: rates.SizeHead},
	{Name: "bloat", File: "../SCALING.md", Head: rates.BloatHead},
}

// parts returns all parts.
func parts(quick bool, server, dir string) []report.Part {
	hurt := faults.Lab{Server: server, Dir: dir, Entries: 10_000, Times: 20}
	compare := sidebyside.Lab{Server: server, Dir: dir, Entries: 10_000, Kills: 20, Callers: 16, Commits: 4 * time.Second}
	measure := rates.Lab{Server: server, Dir: dir, Warm: 2 * time.Second, Window: 5 * time.Second, Processes: 8, Entries: 10_000_000,
		Deliveries: 2_000_000}
	if quick {
		hurt.Entries, hurt.Times = 900, 4
		compare.Entries, compare.Kills, compare.Commits = 1000, 2, time.Second
		measure = rates.Lab{Server: server, Dir: dir, Quick: true, Warm: 200 * time.Millisecond, Window: 300 * time.Millisecond, Processes: 1,
			Entries: 20_000, Deliveries: 8000}
	}
	all := faults.Parts(hurt)
	all = append(all, sidebyside.Parts(compare)...)
	return append(all, rates.Parts(measure)...)
}

// partLimit only ends a part that hangs.
const partLimit = time.Hour

// run runs the parts that match, and prints their rows. It writes each table all of whose
// parts found rows, if it is to.
func run(ctx context.Context, parts []report.Part, only *regexp.Regexp, write bool) error {
	machine := report.Machine()
	var problems []error
	ran := 0
	for _, t := range tables {
		var rows []report.Row
		complete := true
		for _, p := range parts {
			if p.Table != t.Name {
				continue
			}
			if !only.MatchString(p.String()) {
				complete = false
				continue
			}
			if ran++; len(rows) == 0 {
				fmt.Printf("\n%s\n", strings.Join(t.Head, " | "))
			}
			found, err := do(ctx, p)
			problems = append(problems, err)
			rows = append(rows, found...)
			complete = complete && len(found) > 0
		}
		if write && complete {
			problems = append(problems, t.Write(rows, machine))
		}
	}
	if ran == 0 {
		return errors.New("no part matches -run")
	}
	return errors.Join(problems...)
}

// do runs a part and prints its rows. A row that misses what is required is an error.
func do(ctx context.Context, p report.Part) (rows []report.Row, err error) {
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, partLimit, fmt.Errorf("not done within %s", partLimit))
	defer cancel()
	if rows, err = p.Do(ctx); err != nil {
		err = fmt.Errorf("%s: %w", p, err)
	}
	for _, r := range rows {
		fmt.Printf("%s [%.0f s]\n", strings.TrimSpace(r.String()), time.Since(start).Seconds())
		if r.Missed {
			err = errors.Join(err, fmt.Errorf("%s: missed: %s", p, strings.Join(r.Cells, " | ")))
		}
	}
	return rows, err
}
