package mail

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// inline are the tags within a line of text. All others begin or end a line.
var inline = []string{"a", "abbr", "b", "code", "em", "font", "i", "img", "label", "mark",
	"s", "small", "span", "strong", "sub", "sup", "u"}

// Lines returns a message as lines that people can compare. HTML is also broken at the tags
// of its blocks, and at the rules of its styles. Blank lines and the white space around a
// line are left out.
func Lines(message string) (lines []string) {
	if IsHTML(message) {
		message = breakAtTags(message)
	}
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func breakAtTags(message string) string {
	var b strings.Builder
	style := false
	for z := html.NewTokenizer(strings.NewReader(message)); ; {
		kind := z.Next()
		raw := string(z.Raw()) // before the name, which changes it
		name, _ := z.TagName()
		block := kind != html.TextToken && !slices.Contains(inline, string(name))
		if block && kind != html.EndTagToken && string(name) != "br" {
			b.WriteByte('\n')
		}
		if style && kind == html.TextToken {
			raw = strings.ReplaceAll(raw, "}", "}\n")
		}
		b.WriteString(raw)
		if block && (kind != html.StartTagToken || string(name) == "br") {
			b.WriteByte('\n')
		}
		if kind == html.ErrorToken {
			return b.String()
		}
		style = kind == html.StartTagToken && string(name) == "style"
	}
}
