// Torture tries to make an outbox send an entry twice or lose one. Each part fills a row of the
// table in README.md, or two. The exit status is 1 if a row misses what is required. What an
// outbox costs is measured by the benchmarks beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/outbox/torture/faults"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// children are the main functions of the processes that this program starts, which take a
// task.
var children = map[string]func(ctx context.Context, task string) error{worker.Name: worker.Work}

// command runs this program, or one of the processes that it starts.
func command(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) == 2 && children[args[0]] != nil {
		return children[args[0]](ctx, args[1])
	}
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "use small numbers")
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
	return run(ctx, parts(*quick, *server, dir), pattern)
}

// parts returns all parts.
func parts(quick bool, server, dir string) []report.Part {
	lab := faults.Lab{Server: server, Dir: dir, Entries: 10_000, Times: 20}
	if quick {
		lab.Entries, lab.Times = 900, 4
	}
	return faults.Parts(lab)
}

// partLimit only ends a part that hangs.
const partLimit = time.Hour

// run runs the parts that match, and prints their rows as a table in Markdown, with the machine and the day below.
func run(ctx context.Context, parts []report.Part, only *regexp.Regexp) error {
	fmt.Printf("%s\n|%s\n", report.Line(faults.Head), strings.Repeat("---|", len(faults.Head)))
	var problems []error
	ran := 0
	for _, p := range parts {
		if only.MatchString(p.Name) {
			ran++
			_, err := do(ctx, p)
			problems = append(problems, err)
		}
	}
	if ran == 0 {
		return errors.New("no part matches -run")
	}
	fmt.Printf("\n%s/%s · Go %s · %d processors · %s\n", runtime.GOOS, runtime.GOARCH, strings.TrimPrefix(runtime.Version(), "go"),
		runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly))
	return errors.Join(problems...)
}

// do runs a part and prints its rows. A row that misses what is required is an error.
func do(ctx context.Context, p report.Part) (rows []report.Row, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, partLimit, fmt.Errorf("not done within %s", partLimit))
	defer cancel()
	if rows, err = p.Do(ctx); err != nil {
		err = fmt.Errorf("%s: %w", p.Name, err)
	}
	for _, r := range rows {
		fmt.Println(report.Line(r.Cells))
		if r.Missed {
			err = errors.Join(err, fmt.Errorf("%s: missed: %s", p.Name, strings.Join(r.Cells, " | ")))
		}
	}
	return rows, err
}
