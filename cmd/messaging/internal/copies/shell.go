// Package copies writes a recorded request in other forms: as a command, as Go code, as an
// email file and as an HTTP archive.
package copies

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/messaging-go/messaging/messagingtest"
)

// APIKey is the environment variable that holds the key, as a command names it.
const APIKey = "$MESSAGING_API_KEY"

// Field is a header field whose value names [APIKey]. The zero Field is none.
type Field struct{ Name, Value string }

// argument returns the argument that adds the field to a command.
func (f Field) argument(separator string) string {
	if f.Value == "" {
		return `"` + f.Name + `;"` // curl and HTTPie send an empty field
	}
	return `"` + f.Name + separator + f.Value + `"`
}

// Curl returns a command that sends a request again, with its key in a header field. It
// names the environment variables that hold the address and the key. A body that is too
// large for a command is fetched from the inspector.
func Curl(r messagingtest.Request, key Field, bodyPath string) string {
	command := []string{"curl -g"}
	if r.Method != http.MethodGet {
		command[0] += " -X " + ShellQuote(r.Method)
	}
	command[0] += ` "$MESSAGING_BASE_URL"` + ShellQuote(target(r))
	if key.Name != "" {
		command = append(command, "-H "+key.argument(": "))
	}
	if len(r.Body) == 0 {
		return strings.Join(command, " \\\n  ")
	}
	command = append(command, "-H "+ShellQuote("Content-Type: "+r.Header.Get("Content-Type")))
	if isText(r.Body) {
		return strings.Join(append(command, "--data-raw "+ShellQuote(string(r.Body))), " \\\n  ")
	}
	return fetch(bodyPath) + strings.Join(append(command, "--data-binary @-"), " \\\n  ")
}

// HTTPie returns a command of HTTPie that sends a request again, with its key in a header
// field.
func HTTPie(r messagingtest.Request, key Field, bodyPath string) string {
	command := []string{"http --ignore-stdin " + ShellQuote(r.Method) + ` "$MESSAGING_BASE_URL"` + ShellQuote(target(r))}
	if key.Name != "" {
		command = append(command, key.argument(":"))
	}
	if len(r.Body) == 0 {
		return strings.Join(command, " \\\n  ")
	}
	command = append(command, ShellQuote("Content-Type:"+r.Header.Get("Content-Type")))
	if isText(r.Body) {
		return strings.Join(append(command, "--raw "+ShellQuote(string(r.Body))), " \\\n  ")
	}
	command[0] = strings.Replace(command[0], " --ignore-stdin", "", 1)
	return fetch(bodyPath) + strings.Join(command, " \\\n  ")
}

// fetch returns the beginning of a pipe with the body of a request.
func fetch(bodyPath string) string { return `curl -s "$MESSAGING_SANDBOX_URL"` + bodyPath + " |\n" }

// target returns the path and the query of a request.
func target(r messagingtest.Request) string {
	path := (&url.URL{Path: r.Path}).EscapedPath()
	if query := r.Query.Encode(); query != "" {
		path += "?" + query
	}
	return path
}

// maxCommand is the largest body in a command: Linux allows 128 KiB for an argument.
const maxCommand = 64 << 10

// isText reports whether a body can be an argument of a command.
func isText(body []byte) bool {
	return len(body) <= maxCommand && !strings.ContainsRune(string(body), 0)
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
