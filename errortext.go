package messaging

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// describe returns the text of an error on one line: the operation, the problem with
// its fields, notes, the number of attempts, and what became of the request.
func (c *Call) describe(problem string, fields []FieldError, notes ...string) string {
	if c.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("after %d attempts", c.Attempts))
	}
	return withFields(c.title()+": "+problem, fields, append(notes, c.outcome()))
}

// title returns the operation with its method and path. The path of [Client.Do] is
// the caller's, and can hold personal data.
func (c *Call) title() string {
	switch {
	case c.Method == "" || strings.HasPrefix(c.Op, c.Method+" ") && c.operation.custom:
		return c.Op
	case c.operation.custom || c.Path == "":
		return c.Op + ": " + c.Method
	default:
		return c.Op + ": " + c.Method + " " + c.Path
	}
}

// outcome returns the delivery in words.
func (c *Call) outcome() string {
	op := c.operation
	if op.subject == "" {
		op.subject, op.done = "the request", "carried out"
	}
	switch {
	case c.delivery == DeliveryNotSent:
		return "nothing was sent"
	case c.delivery == DeliveryRejected:
		return "the request was refused"
	case op.isRead():
		return "it is safe to retry"
	case c.delivery == DeliveryAccepted:
		return op.subject + " was " + op.done + ", do not repeat it"
	default:
		return op.subject + " may have been " + op.done
	}
}

// withFields returns text with the fields that fit, and the notes.
func withFields(text string, fields []FieldError, notes []string) string {
	separator := separatorOf(fields[:min(len(fields), maxFields)])
	ending := "; " + strings.Join(notes, "; ")
	room := maxErrorText - utf8.RuneCountInString(text+ending)
	for i, field := range fields {
		part := separator + field.String()
		if i == 0 {
			part = ": " + field.String()
		}
		room -= utf8.RuneCountInString(part)
		more := fmt.Sprintf("%sand %d more", separator, len(fields)-i)
		switch {
		case i == maxFields || i > 0 && room < len(more):
			return oneLine(text, more+ending)
		case room < len(more) && len(fields) > 1:
			return oneLine(text+part, fmt.Sprintf("%sand %d more", separator, len(fields)-1)+ending)
		}
		text += part
	}
	return oneLine(text, ending)
}

// maxFields is the largest number of fields in the text of an error.
const maxFields = 8

// separatorOf returns a separator that no message uses.
func separatorOf(fields []FieldError) string {
	for _, field := range fields {
		if strings.Contains(field.String(), ";") {
			return " | "
		}
	}
	return "; "
}

// maxErrorText is about the number of characters of the text of an error.
const maxErrorText = 300

// oneLine shortens text so that it fits on a line together with ending, and escapes
// what is not printable.
func oneLine(text, ending string) string {
	room := maxErrorText - utf8.RuneCountInString(ending)
	var line strings.Builder
	for i, r := range text {
		switch {
		case room <= 0:
			return line.String() + "…" + ending
		case r == utf8.RuneError || !unicode.IsPrint(r):
			_, size := utf8.DecodeRuneInString(text[i:])
			escaped := strconv.QuoteToASCII(text[i : i+size])
			line.WriteString(escaped[1 : len(escaped)-1])
			room -= len(escaped) - 2
		default:
			line.WriteRune(r)
			room--
		}
	}
	return line.String() + ending
}
