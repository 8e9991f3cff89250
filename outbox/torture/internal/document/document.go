// Package document replaces the parts of a Markdown file that a program has measured.
package document

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Begin returns the line before a part, which readers do not see.
func Begin(part string) string { return "<!-- measured: " + part + " -->" }

// End is the line after a part.
const End = "<!-- end -->"

// Replace replaces a part of a file.
func Replace(file, part, text string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(content), "\n")
	from := slices.Index(lines, Begin(part)+"\n") + 1
	if from == 0 {
		return fmt.Errorf("%s has no line %q", file, Begin(part))
	}
	length := slices.Index(lines[from:], End+"\n")
	if length < 0 {
		return fmt.Errorf("%s has no line %q after %q", file, End, Begin(part))
	}
	lines = slices.Replace(lines, from, from+length, text)
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644)
}
