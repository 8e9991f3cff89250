// Filecycles finds the files of a package that refer to each other in a circle: none of
// them can be read, or moved, without the others. A file refers to another one if it uses
// a constant, variable, function, type, field or method that the other one declares.
// Tests, and files that are not built on this platform, do not count.
//
//	go run ./.ci/filecycles          checks every package of every module
//	go run ./.ci/filecycles DIR...   also prints all cycles of the packages in and below each
//
// The exit status is 1 if a package has a larger cycle than it may have. Such a cycle is
// printed with an example for each file that refers to another one in it.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const root = "github.com/messaging-go/messaging"

// largest is the number of files that a cycle may have, in each package but the root.
const largest = 6

// exceptions are the packages that still have a larger cycle, with its size.
var exceptions = map[string]int{}

var errCycles = errors.New("too many files refer to each other in a circle")

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "filecycles:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, dirs []string) error {
	printed := len(dirs) > 0
	if !printed {
		var err error
		if dirs, err = modules(); err != nil {
			return err
		}
	}
	var failed error
	packages := 0
	for _, dir := range dirs {
		graphs, err := load(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		packages += len(graphs)
		for _, g := range graphs {
			for _, files := range g.cycles() {
				excessive := len(files) > allowed(g.path)
				if excessive {
					failed = errCycles
				}
				if excessive || printed {
					fmt.Fprintf(out, "%s: a cycle of %d files, %d are allowed: %s\n", g.path, len(files), allowed(g.path), strings.Join(files, " "))
					g.print(out, files)
				}
			}
		}
	}
	fmt.Fprintf(out, "%d packages checked\n", packages)
	return failed
}

// modules returns the directories of all modules below the current one.
func modules() (dirs []string, err error) {
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.Name() == "go.mod" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	return dirs, err
}

// allowed returns how many files of a package may refer to each other in a circle.
func allowed(path string) int {
	if path == root {
		return 0
	}
	return max(largest, exceptions[path])
}
