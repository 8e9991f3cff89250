// Sidebyside sends the same requests to the same service in several ways, while it kills
// the process that sends them, and shows which requests were carried out twice. The ways
// are this outbox, River, a loop that locks rows, and the forwarder of Watermill. It
// writes a table and a picture.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/torture/internal/document"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sidebyside:", err)
		os.Exit(1)
	}
}

// command runs this program, or the worker process that it starts.
func command(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if t, ok, err := process.Task[task](args); ok || err != nil {
		return errors.Join(err, t.work(ctx))
	}
	flags := flag.NewFlagSet("sidebyside", flag.ContinueOnError)
	p := plan{inFlight: 32, callers: 16, commits: 4 * time.Second}
	flags.IntVar(&p.entries, "entries", 20_000, "how many requests each way sends")
	flags.IntVar(&p.kills, "kills", 20, "how often the process that sends is killed")
	only := flags.String("run", "", "run only the ways whose names match this regular expression; the results contain nothing else")
	flags.StringVar(&p.server, "postgres", os.Getenv("MESSAGING_TEST_POSTGRES"), "URL of a Postgres server; without it, one is started")
	folder := flags.String("results", "", "folder to write results.json, results.md and results.svg to; "+
		"without it, a complete run writes them to sidebyside, and the table to README.md")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if p.server == "" {
		server, err := pgserver.Start(ctx)
		if err != nil {
			return err
		}
		defer server.Close()
		p.server = server.URL
	}
	machine := document.Machine()
	results, err := p.run(ctx, pattern, 1)
	if err != nil {
		return err
	}
	complete := true
	flags.Visit(func(f *flag.Flag) { complete = complete && f.Name == "postgres" })
	if complete {
		*folder = "sidebyside"
		err = document.Replace("README.md", "side by side", table(results))
	}
	if *folder == "" {
		return nil
	}
	return errors.Join(err, writeResults(results, *folder, machine))
}

// run runs the ways that match, some of them at a time, and prints what became of them.
func (p plan) run(ctx context.Context, only *regexp.Regexp, atATime int) ([]result, error) {
	dir, err := os.MkdirTemp("", "outbox-sidebyside-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p.dir = dir
	var chosen []way
	for _, w := range ways {
		if only.MatchString(w.Name) {
			chosen = append(chosen, w)
		}
	}
	results, problems := make([]result, len(chosen)), make([]error, len(chosen))
	limit := make(chan struct{}, atATime)
	var group sync.WaitGroup
	for i, w := range chosen {
		limit <- struct{}{}
		group.Go(func() {
			defer func() { <-limit }()
			results[i], problems[i] = p.try(ctx, w)
			if problems[i] != nil {
				problems[i] = fmt.Errorf("%s: %w", w.Name, problems[i])
				return
			}
			fmt.Println(results[i].line())
		})
	}
	group.Wait()
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return results, nil
}

// work is the main function of a worker process.
func (t task) work(ctx context.Context) error {
	w, err := wayOf(t.Way)
	if err != nil {
		return err
	}
	client, err := messaging.NewClient(t.URL, t.Key)
	if err != nil {
		return err
	}
	c, err := w.open(ctx, t.Database, t.InFlight)
	if err != nil {
		return err
	}
	defer c.close()
	process.Ready()
	return c.work(ctx, client)
}
