package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// workspace is a copy of the repository that one mutation at a time is applied to.
type workspace struct {
	dir   string
	limit time.Duration
}

// newWorkspace copies the files that git tracks, or would track, as they are now.
func newWorkspace(repository string, limit time.Duration) (*workspace, error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = repository
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	dir, err := os.MkdirTemp("", "mutations")
	if err != nil {
		return nil, err
	}
	w := &workspace{dir: dir, limit: limit}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(repository, name), filepath.Join(dir, name)); err != nil {
			return nil, errors.Join(err, w.remove())
		}
	}
	return w, nil
}

func (w *workspace) remove() error { return os.RemoveAll(w.dir) }

// copyFile leaves out a file that was removed and is still in the index.
func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode())
}

// errSurvived says that the tests passed.
var errSurvived = errors.New("the tests pass")

// testFailure is what failed tests printed.
type testFailure struct{ output string }

func (e *testFailure) Error() string { return "the tests fail:\n" + e.output }

// try returns a [testFailure] if the tests notice the mutation, and another error if
// they don't or the mutation is not one.
func (w *workspace) try(m mutation) error {
	name := filepath.Join(w.dir, m.file)
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	changed, err := m.apply(string(content))
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		return err
	}
	err = w.test(m.target)
	if err == nil {
		err = errSurvived
	}
	if undo := os.WriteFile(name, content, 0o600); undo != nil {
		return undo // in place of err, since the next mutation would be tried with this one
	}
	return err
}

// test builds and runs tests. They are built first, since only then a failure is theirs.
func (w *workspace) test(t target) error {
	dir := filepath.Join(w.dir, t.dir)
	binary := filepath.Join(w.dir, "mutated.test")
	build := exec.Command("go", "test", "-c", "-trimpath", "-ldflags=-s -w", "-o", binary, ".") // both flags save time
	build.Dir = dir
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("does not compile:\n%s", output)
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	defer cancel()
	run := exec.CommandContext(ctx, binary, "-test.run", t.tests)
	run.Dir = dir
	run.WaitDelay = time.Second // for processes that a test started
	output, err := run.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the tests do not end within %s", w.limit)
	case bytes.Contains(output, []byte("testing: warning: no tests to run")):
		return errors.New("there is no such test")
	case errors.As(err, &exit):
		return &testFailure{string(output)}
	}
	return err
}
