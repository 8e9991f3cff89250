package cli

import (
	"crypto/rand"
	"os"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/remote"
)

// minToken is the length of a token of 128 bits in base64.
const minToken = 22

// readToken returns the token in a file, or else that of the environment, or else "".
func readToken(file string) (string, error) {
	token := os.Getenv(remote.TokenVariable)
	name := remote.TokenVariable
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", exit.With(exit.Usage, "--token-file: %w", err)
		}
		token, name = strings.TrimSpace(string(content)), "--token-file"
		if token == "" {
			return "", exit.With(exit.Usage, "--token-file: the file is empty")
		}
	}
	if token == "" {
		return "", nil
	}
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", exit.With(exit.Usage, "%s: a token must have at least %d printable characters", name, minToken)
	}
	return token, nil
}

// newToken returns a token of at least 128 bits.
func newToken() string { return rand.Text() }
