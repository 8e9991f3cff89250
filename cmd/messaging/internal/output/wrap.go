package output

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// minWrap is the width below which wrapped text cannot be read.
const minWrap = 20

// Wrap returns the lines of a text for a column that begins at an offset of a table, so that
// the table does not cut it. It is a single line unless stdout is a terminal.
func (p *Printer) Wrap(long string, offset int) []string {
	if !p.outTTY {
		return []string{long}
	}
	lines := strings.Split(text.WrapSoft(long, max(p.width-offset, minWrap)), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

// IsTable reports whether rows become a table: stdout is a terminal, and no flag asks for JSON.
func (p *Printer) IsTable() bool { return p.outTTY }
