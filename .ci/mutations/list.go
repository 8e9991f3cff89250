package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// mutation is an entry of the list: a change that breaks a promise, and the test that
// has to notice.
type mutation struct {
	promise  string
	file     string
	old, new []string // lines
	count    int      // how often the old lines occur
	target   target
}

// target names tests of the package in a folder by a regular expression.
type target struct{ dir, tests string }

func readList(name string) ([]mutation, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	mutations, err := parseList(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return mutations, nil
}

// parseList reads the format that the head of list.txt describes.
func parseList(text string) ([]mutation, error) {
	var list []mutation
	for i, line := range strings.Split(text, "\n") {
		if promise, ok := strings.CutPrefix(line, "mutation: "); ok {
			list = append(list, mutation{promise: promise, count: 1})
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("line %d is before the first mutation", i+1)
		}
		if err := list[len(list)-1].add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	for _, m := range list {
		if m.file == "" || m.target.dir == "" || len(m.old) == 0 || slices.Equal(m.old, m.new) {
			return nil, fmt.Errorf("mutation %q needs a file, a test, and lines that it changes", m.promise)
		}
	}
	return list, nil
}

// add reads a line of an entry after the first.
func (m *mutation) add(line string) error {
	switch line[0] {
	case '-':
		m.old = append(m.old, line[1:])
		return nil
	case '+':
		m.new = append(m.new, line[1:])
		return nil
	case ' ':
		m.old, m.new = append(m.old, line[1:]), append(m.new, line[1:])
		return nil
	}
	key, value, _ := strings.Cut(line, ": ")
	switch key {
	case "file":
		m.file = value
	case "test":
		dir, tests, found := strings.Cut(value, " ")
		if !found {
			return errors.New("a test is a folder and a regular expression")
		}
		m.target = target{dir, tests}
	case "count":
		count, err := strconv.Atoi(value)
		m.count = count
		return err
	default:
		return fmt.Errorf("%q is neither a key nor begins with -, + or a space", line)
	}
	return nil
}

// apply returns the content of the file with the change.
func (m *mutation) apply(content string) (string, error) {
	lines := strings.Split(content, "\n")
	var changed []string
	found := 0
	for i := 0; i < len(lines); {
		if end := i + len(m.old); end <= len(lines) && slices.Equal(lines[i:end], m.old) {
			changed = append(changed, m.new...)
			i, found = end, found+1
			continue
		}
		changed = append(changed, lines[i])
		i++
	}
	if found != m.count {
		return "", fmt.Errorf("the old lines occur %d times in %s, want %d", found, m.file, m.count)
	}
	return strings.Join(changed, "\n"), nil
}
