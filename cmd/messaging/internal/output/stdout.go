package output

import (
	"errors"
	"io"
	"syscall"
)

// Stdout is the one writer to stdout. It remembers the first error, so that a command whose output is lost, as on a full
// disk, never succeeds.
type Stdout struct {
	io.Writer
	err error
}

// Write writes to stdout.
func (s *Stdout) Write(p []byte) (n int, err error) {
	if n, err = s.Writer.Write(p); err != nil && s.err == nil {
		s.err = err
	}
	return n, err
}

// Lost returns the error that kept output from being written, or nil. A reader that has seen enough and closes the pipe
// loses nothing.
func (s *Stdout) Lost() error {
	if errors.Is(s.err, syscall.EPIPE) {
		return nil
	}
	return s.err
}

// IsOf reports whether err comes from a failed write to stdout.
func (s *Stdout) IsOf(err error) bool { return s.err != nil && errors.Is(err, s.err) }
