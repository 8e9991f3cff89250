package rows

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Columns say what the columns of a file hold.
type Columns struct {
	// Renamed has, by the name of a column, what the column holds, or "" for a column to leave out.
	Renamed map[string]string
	// Key is a column that does not have to hold anything else, or "".
	Key string
	// IsKnown reports whether a column can hold this. Known lists what it can hold, for people.
	IsKnown func(name string) bool
	Known   string
	// Unused are columns to leave out, unless they are known. IgnoreOther leaves out all.
	Unused      []string
	IgnoreOther bool

	leftOut []string
}

// LeftOut lists the columns that were left out without being renamed, or is "".
func (c *Columns) LeftOut() string { return strings.Join(c.leftOut, ", ") }

// place sets what fields hold, and returns why they cannot be used, or "".
func (c *Columns) place(fields []Field) (problem string) {
	var unknown []string
	for i := range fields {
		field := &fields[i]
		if field.Name == "" {
			continue
		}
		var known bool
		if field.Holds, known = c.holds(field.Name); !known {
			unknown = append(unknown, field.Name)
		}
		for _, earlier := range fields[:i] {
			if field.Holds != "" && field.Holds == earlier.Holds {
				problem = fmt.Sprintf("%q holds %q, as %q does", field.Name, field.Holds, earlier.Name)
			}
		}
	}
	if unknown != nil {
		return c.unknown(unknown)
	}
	return problem
}

// isUsed reports whether a field that was placed is needed.
func (c *Columns) isUsed(f Field) bool { return f.Holds != "" || f.Name != "" && f.Name == c.Key }

// holds returns what a column holds, or "" if it is left out.
func (c *Columns) holds(column string) (name string, known bool) {
	name, renamed := c.Renamed[column]
	switch {
	case renamed:
		return name, name == "" || c.IsKnown(name)
	case c.IsKnown(column):
		return column, true
	case column == c.Key:
		return "", true
	case !c.IgnoreOther && !slices.Contains(c.Unused, column):
		return column, false
	case !slices.Contains(c.leftOut, column):
		c.leftOut = append(c.leftOut, column)
	}
	return "", true
}

// unknown returns what is wrong with columns that hold nothing that is known.
func (c *Columns) unknown(columns []string) string {
	quoted := make([]string, len(columns))
	for i, name := range columns {
		quoted[i] = fmt.Sprintf("%q", name)
		if to := c.Renamed[name]; to != "" {
			quoted[i] += fmt.Sprintf(" (mapped to %q)", to)
		}
	}
	return fmt.Sprintf("unknown: %s; a column holds %s. Pass --map %q if it has another name, --map %q to leave it out, or "+
		"--ignore-other-columns to leave out all that are unknown", words.List(quoted, "and"), c.Known, columns[0]+"=NAME", columns[0]+"=")
}

// checkHeader returns an error for columns that cannot be used. It is about the file: a row cannot be used without them.
func (c *Columns) checkHeader(header []Field) error {
	has := func(name string) bool {
		return slices.ContainsFunc(header, func(f Field) bool { return f.Name == name })
	}
	for column := range c.Renamed {
		if !has(column) {
			return fmt.Errorf("--map COLUMN=NAME: the file has no column %q", column)
		}
	}
	if c.Key != "" && !has(c.Key) {
		return fmt.Errorf("--key-column: the file has no column %q", c.Key)
	}
	if problem := c.place(header); problem != "" {
		return errors.New("line 1: " + problem)
	}
	return nil
}
