package inspector

import (
	"encoding/json"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// readableLines returns a body as lines that people can compare. In JSON, the keys are
// sorted, since their order means nothing, there are no commas, so that a new last member
// changes no other line, and a text of several lines is shown as lines.
func readableLines(body string) []string {
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	var value any
	if !json.Valid([]byte(body)) || decoder.Decode(&value) != nil {
		return visibleLines(body)
	}
	var r readable
	r.value("", value, "")
	if r.tooDeep {
		return visibleLines(body)
	}
	return r.lines
}

// visibleLines returns a text as lines, in which every character can be seen.
func visibleLines(text string) []string {
	lines := mail.Lines(text)
	for i, line := range lines {
		lines[i] = visible.Prose(line)
	}
	return lines
}

// readable writes JSON as lines.
type readable struct {
	lines   []string
	tooDeep bool
}

// value writes a value after a prefix, which is its key.
func (r *readable) value(prefix string, value any, indent string) {
	if r.tooDeep = r.tooDeep || len(indent) > 2*maxDepth; r.tooDeep {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		r.block(prefix, "{", "}", indent, len(value), func(inner string) {
			for _, key := range sortedKeys(value) {
				r.value(quote(key)+": ", value[key], inner)
			}
		})
	case []any:
		r.block(prefix, "[", "]", indent, len(value), func(inner string) {
			for _, element := range value {
				r.value("", element, inner)
			}
		})
	case string:
		r.text(prefix, value, indent)
	default:
		literal, _ := json.Marshal(value) // a number, a boolean or null
		r.add(indent, prefix, string(literal))
	}
}

func (r *readable) block(prefix, begin, end, indent string, length int, inside func(indent string)) {
	if length == 0 {
		r.add(indent, prefix, begin, end)
		return
	}
	r.add(indent, prefix, begin)
	inside(indent + "  ")
	r.add(indent, end)
}

// text writes a text of several lines below its key.
func (r *readable) text(prefix, text, indent string) {
	lines := visibleLines(text)
	if len(lines) < 2 {
		r.add(indent, prefix, quote(text))
		return
	}
	r.add(indent, prefix, `"`)
	for _, line := range lines {
		r.add(indent, "  ", line)
	}
	r.add(indent, `"`)
}

func (r *readable) add(parts ...string) { r.lines = append(r.lines, strings.Join(parts, "")) }
