package main

import (
	"fmt"
	"io"
)

// edge is a reference from one file to another one.
type edge struct{ from, to string }

// graph holds the files of a package, and an example for each reference.
type graph struct {
	path       string // of the package
	files      []string
	references map[edge]string
}

// cycles returns the groups of files that reach each other.
func (g *graph) cycles() [][]string {
	reached := make(map[string]map[string]bool, len(g.files))
	for _, file := range g.files {
		reached[file] = make(map[string]bool)
		g.reach(file, reached[file])
	}
	var cycles [][]string
	grouped := make(map[string]bool)
	for _, file := range g.files {
		if grouped[file] || !reached[file][file] {
			continue
		}
		var group []string
		for _, other := range g.files {
			if reached[file][other] && reached[other][file] {
				group = append(group, other)
				grouped[other] = true
			}
		}
		cycles = append(cycles, group)
	}
	return cycles
}

// reach adds the files that a file refers to, directly or through others.
func (g *graph) reach(file string, reached map[string]bool) {
	for _, next := range g.files {
		if _, ok := g.references[edge{file, next}]; ok && !reached[next] {
			reached[next] = true
			g.reach(next, reached)
		}
	}
}

// print prints an example of each reference from one of the files to another.
func (g *graph) print(out io.Writer, files []string) {
	for _, from := range files {
		for _, to := range files {
			if example, ok := g.references[edge{from, to}]; ok {
				fmt.Fprintf(out, "\t%s -> %s: %s\n", from, to, example)
			}
		}
	}
}
