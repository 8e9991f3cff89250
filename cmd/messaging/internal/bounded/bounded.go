// Package bounded reads what may have no end, such as a device, with an error in place of
// all memory.
package bounded

import (
	"bytes"
	"fmt"
	"io"
)

// The largest text that is read as a whole, and the longest line.
const maxText, maxLine = 64 << 20, 16 << 20

// ReadAll reads a text to its end.
func ReadAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("is larger than %d MiB", maxText>>20)
	}
	return text, err
}

// Lines returns a reader that fails within a line that is too long.
func Lines(r io.Reader) io.Reader { return &lines{from: r} }

type lines struct {
	from io.Reader
	line int // bytes of the line so far
}

func (l *lines) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		l.line = n - end - 1
	} else if l.line += n; l.line > maxLine {
		return n, fmt.Errorf("a line is longer than %d MiB", maxLine>>20)
	}
	return n, err
}
