package output

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/messaging-go/messaging/cmd/messaging/internal/folders"
)

// minWrap is the width below which wrapped text cannot be read.
const minWrap = 20

// Width returns the width to which text for w is wrapped, or 0 if it is not wrapped: w is no
// terminal.
func Width(w io.Writer, env folders.LookupEnv) int {
	if _, file, isTerminal := terminal(w); isTerminal {
		return width(file, env)
	}
	return 0
}

// fold breaks a line at blanks, so that each part fits into a width. The parts but the first
// have an indent. A word that is too long stays whole.
func fold(line string, width, indent int) string {
	if width = max(width, indent+minWrap); text.StringWidthWithoutEscSequences(line) <= width {
		return line
	}
	var b strings.Builder
	used := 0
	for i, word := range strings.Split(line, " ") {
		size := text.StringWidthWithoutEscSequences(word)
		switch {
		case i > 0 && used > indent && used+1+size > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = indent
		case i > 0:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += size
	}
	return b.String()
}

// foldLine folds a line for people. A command stays whole, so that it can be copied.
func foldLine(line string, width, indent int) string {
	if width == 0 || text.StringWidthWithoutEscSequences(line) <= width {
		return line
	}
	indent = max(indent, len(line)-len(strings.TrimLeft(line, " "))+2)
	before, command, found := strings.Cut(line, ": messaging ")
	switch {
	case found && before != "messaging": // which begins every error
		return fold(before+":", width, indent) + "\n" + strings.Repeat(" ", indent) + "messaging " + command
	case !found && strings.Contains(line, "messaging "), strings.Contains(line, ": unset "), strings.Contains(line, ": export "):
		return line
	}
	return fold(line, width, indent)
}

// Fill returns prose in lines of a width, in place of those that it has. What is indented, and
// what would fit anyway, stays as it is.
func Fill(prose string, width int) string {
	fits := func(line string) bool { return text.StringWidthWithoutEscSequences(line) <= width }
	var filled []string
	for paragraph := range strings.SplitSeq(prose, "\n\n") {
		lines := strings.Split(paragraph, "\n")
		wide := width > 0
		for _, line := range lines {
			wide = wide && !strings.HasPrefix(line, " ")
		}
		if wide && !fits(lines[0]) {
			paragraph = fold(strings.Join(lines, " "), width, 0)
		}
		filled = append(filled, paragraph)
	}
	return strings.Join(filled, "\n\n")
}

// Wrap returns the lines of a text for a column that begins at an offset of a table, so that
// the table does not cut it. It is a single line unless stdout is a terminal.
func (p *Printer) Wrap(long string, offset int) (lines []string) {
	if !p.outTTY {
		return []string{long}
	}
	width := max(p.width-offset, minWrap)
	for line := range strings.SplitSeq(fold(long, width, 0), "\n") {
		lines = append(lines, strings.Split(text.WrapHard(line, width), "\n")...) // a word can be too long
	}
	return lines
}

// IsTable reports whether rows become a table: stdout is a terminal, and no flag asks for JSON.
func (p *Printer) IsTable() bool { return p.outTTY }
