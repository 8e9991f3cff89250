package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// label returns the name with the version.
func (r result) label() string {
	return strings.TrimSpace(r.Name + " " + strings.TrimPrefix(r.Version, "v"))
}

// line returns the result in one line.
func (r result) line() string {
	return fmt.Sprintf("%-29s twice %d (%d after a lost response), lost %d, unknown %d (%d carried out), "+
		"%.0f deliveries/s, %.0f commits/s [%.0f s]",
		r.label(), r.Twice, r.TwiceAfterLoss, r.Lost, r.Unknown, r.UnknownCarried, r.Deliveries, r.Commits, r.Seconds)
}

// writeResults writes the results, the table and the picture.
func writeResults(results []result, folder, machine string) error {
	if len(results) == 0 {
		return errors.New("no results to write")
	}
	encoded, err := json.MarshalIndent(results, "", "\t")
	if err != nil {
		return err
	}
	drawn, err := draw(results)
	if err != nil {
		return err
	}
	write := func(name string, content []byte) error {
		return os.WriteFile(filepath.Join(folder, name), content, 0o644)
	}
	return errors.Join(os.MkdirAll(folder, 0o755), write("results.json", append(encoded, '\n')),
		write("results.md", []byte(markdown(results, machine))), write("results.svg", drawn))
}

// table returns the part of the results that the README shows.
func table(results []result) string {
	var md strings.Builder
	md.WriteString("| | carried out twice | lost | left unknown | where it is listed | deliveries/s | commits/s |\n")
	md.WriteString("|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		unknown := fmt.Sprint(r.Unknown)
		if r.Unknown > 0 {
			unknown += fmt.Sprintf(" (%d carried out)", r.UnknownCarried)
		}
		fmt.Fprintf(&md, "| %s | %d | %d | %s | %s | %.0f | %.0f |\n",
			r.label(), r.Twice, r.Lost, unknown, r.Listed, r.Deliveries, r.Commits)
	}
	return md.String()
}

// markdown returns the results with what they mean.
func markdown(results []result, machine string) string {
	first := results[0]
	var md strings.Builder
	fmt.Fprintf(&md, "# Side by side\n\n`go run ./sidebyside` · %s\n\n", machine)
	fmt.Fprintf(&md, introduction, first.Entries, delay, losses*100, first.Kills)
	md.WriteString(table(results) + notes)
	for _, r := range results {
		fmt.Fprintf(&md, "| %s | %d | %d | %s |\n", r.label(), r.TwiceAfterLoss, r.Twice-r.TwiceAfterLoss, r.Settings)
	}
	return md.String()
}

const introduction = `Each way sends the same %d requests to the service in memory, over loopback HTTP. A request takes %s, and
%.0f %% of the responses are lost: the service carries out the request and then closes the connection. One process sends, and it is
killed with kill -9 %d times, after the same numbers of requests for every way. A new process starts immediately.

`

const notes = `
![The results as a picture](results.svg)

- *Lost* are requests that were not carried out and are not listed as unknown either.
- *Deliveries/s* is measured before the first kill.
- *Commits/s* is measured without a worker, with 16 callers. Each transaction inserts an order and enqueues a request.

A request is carried out twice because its response was lost or because the process was killed:

| | twice after a lost response | twice after a kill | settings |
|---|---|---|---|
`
