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
		if len(r.Cells) != len(results.Head) {
			t.Errorf("got %q for the columns %q", r.Cells, results.Head)
		}
	}
}

func TestATableIsNotWrittenIfAPartOfItFails(t *testing.T) {
	t.Chdir(t.TempDir())
	const before = "<!-- measured: faults -->\nearlier rows\n<!-- end -->\n"
	if err := os.WriteFile("README.md", []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	fails := report.Part{Table: "faults", Do: func(context.Context) ([]report.Row, error) { return nil, os.ErrDeadlineExceeded }}
	err := run(t.Context(), []report.Part{fails}, regexp.MustCompile(""), true)
	if after, _ := os.ReadFile("README.md"); !errors.Is(err, os.ErrDeadlineExceeded) || string(after) != before {
		t.Errorf("got error %v and the file %q", err, after)
	}
}

func TestTheTableHasItsPlace(t *testing.T) {
	text, err := os.ReadFile(results.File)
	must(t, err)
	want := "<!-- measured: " + results.Name + " -->\n| " + strings.Join(results.Head, " | ") + " |\n"
	if !strings.Contains(string(text), want) {
		t.Errorf("%s lacks this table:\n%s", results.File, want)
	}
}
