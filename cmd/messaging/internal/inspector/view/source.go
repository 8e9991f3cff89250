package view

import (
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

// source is the beginning of a message as it was sent.
type source struct {
	Lines []string
	// Divided reports whether it is broken into more lines than it has, because its own are too long to read.
	Divided bool
	Cut     int // how many bytes are not shown
}

// newSource returns the lines of a message, which together are exactly its beginning.
func newSource(message string) (s source) {
	const readable = 400
	shown := message[:min(len(message), maxShown)]
	for line := range strings.Lines(strings.ToValidUTF8(shown, "")) {
		parts := []string{line}
		if len(line) > readable {
			parts, s.Divided = mail.Blocks(line), true
		}
		if len(s.Lines)+len(parts) > maxLines {
			break
		}
		s.Lines = append(s.Lines, parts...)
	}
	s.Cut = len(message) - len(strings.Join(s.Lines, ""))
	return s
}
