// Mutations breaks promises of the SDK on purpose, one at a time, and runs the test that
// holds each of them. A test that still passes proves nothing.
//
//	go run ./.ci/mutations [-run REGEX]
//
// It runs in the root of the repository, works in copies of it, and is run by hand. The
// mutations are in list.txt, beside this file. The exit status is 1 unless tests notice
// all of them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	err := run(os.Stdout, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "mutations:", err)
	os.Exit(1)
}

func run(out io.Writer, args []string) error {
	flags := flag.NewFlagSet("mutations", flag.ContinueOnError)
	only := flags.String("run", "", "only mutations whose promise or file matches this regular expression")
	repository := flags.String("repository", ".", "folder of the repository")
	name := flags.String("list", ".ci/mutations/list.txt", "file with the mutations")
	workers := flags.Int("p", 2, "how many to try at a time")
	limit := flags.Duration("timeout", 2*time.Minute, "how long the tests of a mutation may run; one that does not end is an error")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	mutations, err := readList(*name)
	if err != nil {
		return err
	}
	var selected []mutation
	for _, m := range mutations {
		if pattern.MatchString(m.promise) || pattern.MatchString(m.file) {
			selected = append(selected, m)
		}
	}
	if len(selected) == 0 {
		return errors.New("no mutation is selected")
	}
	var workspaces []*workspace
	for range max(1, *workers) {
		w, err := newWorkspace(*repository, *limit)
		if err != nil {
			return err
		}
		defer w.remove()
		workspaces = append(workspaces, w)
	}
	return tryAll(out, workspaces, selected)
}

// tryAll runs the tests without a mutation, where all have to pass, and then with each.
func tryAll(out io.Writer, workspaces []*workspace, mutations []mutation) error {
	unchanged := make(map[target]error)
	for _, m := range mutations {
		unchanged[m.target] = nil
	}
	targets := slices.Collect(maps.Keys(unchanged))
	share(workspaces, len(targets), func(w *workspace, i int) error {
		return w.test(targets[i])
	}, func(i int, _ time.Duration, err error) {
		unchanged[targets[i]] = err
	})
	counts := make(map[string]int)
	share(workspaces, len(mutations), func(w *workspace, i int) error {
		if err := unchanged[mutations[i].target]; err != nil {
			return fmt.Errorf("without the mutation: %w", err)
		}
		return w.try(mutations[i])
	}, func(i int, took time.Duration, err error) {
		state := stateOf(err)
		counts[state]++
		m := mutations[i]
		fmt.Fprintf(out, "%-8s %6.1f s  %s: %s\n", state, took.Seconds(), m.file, m.promise)
		if state != noticed {
			fmt.Fprintf(out, "\t%s\n\ttests: (cd %s && go test -run '%s')\n",
				strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\n\t"), m.target.dir, m.target.tests)
		}
	})
	fmt.Fprintf(out, "%d mutations: %d noticed, %d survived, %d errors\n", len(mutations), counts[noticed], counts[survived], counts[failed])
	if counts[noticed] < len(mutations) {
		return errors.New("not every mutation was noticed")
	}
	return nil
}

// What became of a mutation.
const (
	noticed  = "noticed"
	survived = "SURVIVED"
	failed   = "ERROR" // the list, or a test without any mutation, is wrong
)

func stateOf(err error) string {
	var failure *testFailure
	switch {
	case errors.Is(err, errSurvived):
		return survived
	case errors.As(err, &failure) && err == error(failure):
		return noticed
	}
	return failed
}
