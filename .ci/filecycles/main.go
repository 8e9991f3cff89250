// Filecycles finds the files of a package that refer to each other in a circle: none of
// them can be read, or moved, without the others. A file refers to another one if it uses
// a constant, variable, function, type, field or method that the other one declares.
// Tests, and files that are not built on this platform, do not count.
//
//	go run ./.ci/filecycles [-v | -count] [DIR…]
//
// It prints each cycle, with an example for each file that refers to another one in it.
// The exit status is 1 if there is a cycle.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

var errCycles = errors.New("files refer to each other in a circle")

func main() {
	err := run(os.Stdout, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "filecycles:", err)
	os.Exit(1)
}

func run(out io.Writer, args []string) error {
	flags := flag.NewFlagSet("filecycles", flag.ContinueOnError)
	verbose := flags.Bool("v", false, "print every reference, not only those in cycles")
	count := flags.Bool("count", false, "print numbers only")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dirs := flags.Args()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var found error
	for _, dir := range dirs {
		g, err := load(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		cycles := g.cycles()
		if len(cycles) > 0 {
			found = errCycles
		}
		fmt.Fprintf(out, "%s: %s\n", dir, summary(g, cycles))
		if *verbose {
			printReferences(out, g, g.files)
		}
		if *count {
			continue
		}
		for _, files := range cycles {
			fmt.Fprintf(out, "a cycle of %d files: %s\n", len(files), strings.Join(files, " "))
			if !*verbose {
				printReferences(out, g, files)
			}
		}
	}
	return found
}

// summary describes the cycles in one line, the largest first.
func summary(g *graph, cycles [][]string) string {
	if len(cycles) == 0 {
		return fmt.Sprintf("no cycle among %d files", len(g.files))
	}
	var sizes []string
	for _, files := range cycles {
		sizes = append(sizes, fmt.Sprint(len(files)))
	}
	return fmt.Sprintf("cycles of %s among %d files", strings.Join(sizes, ", "), len(g.files))
}

// printReferences prints an example of each reference from one of the files to another.
func printReferences(out io.Writer, g *graph, files []string) {
	for _, from := range files {
		for _, to := range files {
			if example, ok := g.references[edge{from, to}]; ok {
				fmt.Fprintf(out, "\t%s -> %s: %s\n", from, to, example)
			}
		}
	}
}
