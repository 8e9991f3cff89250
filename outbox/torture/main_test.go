package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/messaging-go/messaging/outbox/torture/internal/report"
)

// TestMain lets the test binary be its own child processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && children[os.Args[1]] != nil {
		if err := command(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The faults that wait for leases, and those that start servers, run in the nightly checks.
func TestQuickPartsFindNothingAndFillTheirColumns(t *testing.T) {
	server := os.Getenv("MESSAGING_TEST_POSTGRES")
	if server == "" && os.Getenv("CI") != "" {
		t.Fatal("MESSAGING_TEST_POSTGRES is not set")
	}
	if server == "" {
		t.Skip("MESSAGING_TEST_POSTGRES is not set")
	}
	short := regexp.MustCompile(`^faults: SIGTERM|^side by side: SKIP|^the client: (64|latency)|^processes|^size|^bloat`)
	for _, table := range tables {
		var rows []report.Row
		for _, p := range parts(true, server, t.TempDir()) {
			if p.Table != table.Name || !short.MatchString(p.String()) {
				continue
			}
			found, err := do(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			rows = append(rows, found...)
		}
		if len(rows) == 0 {
			t.Errorf("%s: no rows", table.Name)
		}
		for _, r := range rows {
			if len(r.Cells) != len(table.Head) {
				t.Errorf("%s: got %q for the columns %q", table.Name, r.Cells, table.Head)
			}
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

func TestEachPartHasATableAndEachTableHasItsPlace(t *testing.T) {
	for _, p := range parts(true, "", "") {
		if !slices.ContainsFunc(tables, func(table report.Table) bool { return table.Name == p.Table }) {
			t.Errorf("part %q is for no table", p)
		}
	}
	for _, table := range tables {
		text, err := os.ReadFile(table.File)
		if err != nil {
			t.Fatal(err)
		}
		if want := "<!-- measured: " + table.Name + " -->\n| " + strings.Join(table.Head, " | ") + " |\n"; !strings.Contains(string(text), want) {
			t.Errorf("%s lacks this table:\n%s", table.File, want)
		}
	}
}
