// Package copies writes a recorded request as a command that sends it again.
package copies

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/messaging-go/messaging/internal/fake"
)

// maxCommand is the largest body in a command: Linux allows 128 KiB for an argument.
const maxCommand = 64 << 10

// Curl returns a command that sends a request again. It names the environment variables that hold the address and the key. A
// body that is too large for a command is fetched from its path in the inspector.
func Curl(r fake.Request, bodyPath string) string {
	command := []string{"curl -g", `-H "X-Authorization: $MESSAGING_API_KEY"`}
	if r.Method != http.MethodGet {
		command[0] += " -X " + ShellQuote(r.Method)
	}
	path := (&url.URL{Path: r.Path, RawQuery: r.Query.Encode()}).RequestURI()
	command[0] += ` "$MESSAGING_BASE_URL"` + ShellQuote(path)
	before := ""
	if len(r.Body) > 0 {
		command = append(command, "-H "+ShellQuote("Content-Type: "+r.Header.Get("Content-Type")))
		if len(r.Body) <= maxCommand && bytes.IndexByte(r.Body, 0) < 0 {
			command = append(command, "--data-raw "+ShellQuote(string(r.Body)))
		} else {
			before = `curl -s "$MESSAGING_SANDBOX_URL"` + bodyPath + " |\n"
			command = append(command, "--data-binary @-")
		}
	}
	return before + strings.Join(command, " \\\n  ")
}

// ShellQuote quotes a text for a POSIX shell, if it has to be.
func ShellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/-_.", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
