// Package output writes what commands find: tables for people, TSV for pipes, and JSON.
package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Flags are the flags that change the output of every command.
type Flags struct {
	JSON   string
	NDJSON bool
	Quiet  bool
}

// Add adds the flags.
func (f *Flags) Add(set *pflag.FlagSet) {
	set.StringVar(&f.JSON, "json", "", "print JSON; with =`f,g` only these fields, with =help their names")
	set.Lookup("json").NoOptDefVal = allFields
	set.BoolVar(&f.NDJSON, "ndjson", false, "print one JSON object per line")
	set.BoolVarP(&f.Quiet, "quiet", "q", false, "print no progress, no notes, and with --confirm no plan")
}

// Printer writes to stdout and stderr in the way that the flags, the terminal and the
// environment ask for.
type Printer struct {
	Out, Err io.Writer
	// Quiet suppresses progress, notes, and plans that nobody has to read.
	Quiet bool

	json, ndjson   bool
	fields         []string // nil means all
	outTTY, errTTY bool
	color          bool
}

// New returns a printer.
func New(f Flags, out, err io.Writer) *Printer {
	p := &Printer{Out: out, Err: err, Quiet: f.Quiet, json: f.JSON != "" || f.NDJSON, ndjson: f.NDJSON}
	if f.JSON != "" && f.JSON != allFields {
		p.fields = strings.Split(f.JSON, ",")
	}
	_, outTTY := Terminal(out)
	_, errTTY := Terminal(err)
	dumb := os.Getenv("TERM") == "dumb"
	p.outTTY, p.errTTY = outTTY && !p.json, errTTY && !dumb // without animation
	forced := os.Getenv("CLICOLOR_FORCE")
	p.color = (p.errTTY || forced != "" && forced != "0") && os.Getenv("NO_COLOR") == ""
	return p
}

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) (fd int, ok bool) {
	if stdout, is := w.(*Stdout); is {
		w = stdout.Writer
	}
	file, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	return int(file.Fd()), term.IsTerminal(int(file.Fd()))
}

// terminalWidth returns the width of a terminal, or 80.
func terminalWidth(w io.Writer) int {
	if fd, ok := Terminal(w); ok {
		if columns, _, err := term.GetSize(fd); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// IsJSON reports whether the output is JSON.
func (p *Printer) IsJSON() bool { return p.json }

// Note writes a line for people to stderr, unless --quiet asks for silence.
func (p *Printer) Note(format string, args ...any) {
	if !p.Quiet {
		p.Line(format, args...)
	}
}

// Line writes a line to stderr, even with --quiet. Hidden characters are visible in it.
func (p *Printer) Line(format string, args ...any) {
	lines := strings.Split(fmt.Sprintf(format, args...), "\n")
	for i, line := range lines {
		lines[i] = visible.Text(line)
	}
	_, _ = fmt.Fprintln(p.Err, strings.Join(lines, "\n")) // there is nowhere else to report it
}

// Bold returns text in bold, if the terminal has colors.
func (p *Printer) Bold(text string) string {
	if !p.color {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// Fail writes an error to stderr, as an object with --json.
func (p *Printer) Fail(err error) {
	if !p.json {
		p.Line("messaging: %s", err)
		return
	}
	text, _ := encode(map[string]exit.Object{"error": exit.ObjectOf(err)})
	_, _ = fmt.Fprintln(p.Err, text) // there is nowhere else to report it
}

// Text writes a line to stdout.
func (p *Printer) Text(line string) error {
	_, err := fmt.Fprintln(p.Out, visible.Text(line))
	return err
}

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
