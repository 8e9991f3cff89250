package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/torture/faults"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
)

// TestMain lets the test binary be its own child processes.
func TestMain(m *testing.M) {
	children[senderName] = runSender
	children["server"] = runServer
	if len(os.Args) > 1 && children[os.Args[1]] != nil {
		if err := command(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if ownPostgres != nil {
		ownPostgres.Close()
	}
	os.Exit(code)
}

// runServer is the main function of a process that starts a Postgres.
func runServer(ctx context.Context, _ string) error {
	server, err := pgserver.Start(ctx)
	if err != nil {
		return err
	}
	process.Ready()
	process.Print(server.URL)
	<-ctx.Done()
	return nil // without Close, as after a crash
}

func TestAServerEndsWithTheProcessThatStartedIt(t *testing.T) {
	p, err := process.Start("server", nil)
	if err != nil {
		t.Skip(err)
	}
	var url string
	must(t, p.Read(&url))
	must(t, pgserver.Execute(t.Context(), url, "SELECT 1"))
	p.Kill()
	until(t, func() bool { return pgserver.Execute(t.Context(), url, "SELECT 1") != nil })
}

// The faults that wait for leases, and those that start servers, run in the nightly checks.
func TestAQuickPartFindsNothingAndFillsItsColumns(t *testing.T) {
	var rows []report.Row
	for _, p := range parts(true, pgtest.URL(t), t.TempDir()) {
		if strings.HasPrefix(p.Name, "SIGTERM") {
			found, err := do(t.Context(), p)
			must(t, err)
			rows = append(rows, found...)
		}
	}
	if len(rows) != 2 {
		t.Errorf("got %d rows, want one for each database", len(rows))
	}
	for _, r := range rows {
		if len(r.Cells) != len(faults.Head) {
			t.Errorf("got %q for the columns %q", r.Cells, faults.Head)
		}
	}
}

func TestAPartThatFailsIsTheErrorOfTheProgram(t *testing.T) {
	fails := report.Part{Name: "fails", Do: func(context.Context) ([]report.Row, error) { return nil, os.ErrDeadlineExceeded }}
	if err := run(t.Context(), []report.Part{fails}, regexp.MustCompile("")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got error %v", err)
	}
}

func TestThePageHasTheTable(t *testing.T) {
	text, err := os.ReadFile("README.md")
	must(t, err)
	if want := report.Line(faults.Head) + "\n"; !strings.Contains(string(text), want) {
		t.Errorf("README.md lacks this table:\n%s", want)
	}
}
