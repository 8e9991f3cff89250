// Package copies writes a recorded request in other forms: as a command, as Go code and as an email file.
package copies

import (
	"bytes"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
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

// Go returns statements that send the body of a send again with package messaging. They use the variables ctx and client.
func Go(op string, body []byte) string {
	if len(body) > maxCommand {
		return "// The body is too large to be shown as code."
	}
	return fmt.Sprintf("prepared, err := messaging.ParsePrepared(%q, []byte(%s))\nif err == nil {\n\t_, err = client.Send(ctx, prepared)\n}",
		op, stringCode(string(body)))
}

// stringCode returns a string as Go code, in backquotes where that is easier to read.
func stringCode(s string) string {
	if strings.ContainsAny(s, "\"\n") && strconv.CanBackquote(strings.ReplaceAll(s, "\n", "")) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
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

// EML returns an email broadcast as a file that email programs open, as a draft of the sender: it names who gets a blind
// copy. An email program loads its remote images.
func EML(b *fake.EmailBroadcast, at time.Time, html bool) []byte {
	var out bytes.Buffer
	header := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&out, "%s: %s\r\n", name, strings.ReplaceAll(oneLine(value), "?= =?", "?=\r\n =?"))
		}
	}
	header("Date", at.UTC().Format(time.RFC1123Z))
	header("From", (&mail.Address{Name: oneLine(b.SenderName), Address: b.SenderEmail}).String())
	header("To", b.Email)
	header("Cc", strings.Join(b.CC, ", "))
	header("Bcc", strings.Join(b.BCC, ", "))
	header("Reply-To", strings.Join(b.ReplyTo, ", "))
	header("Subject", mime.QEncoding.Encode("utf-8", oneLine(b.Subject)))
	header("X-Unsent", "1")
	header("MIME-Version", "1.0")
	header("Content-Type", map[bool]string{true: "text/html", false: "text/plain"}[html]+"; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	out.WriteString("\r\n")
	quoted := quotedprintable.NewWriter(&out) // a buffer returns no error
	_, _ = quoted.Write([]byte(strings.ReplaceAll(b.Message, "\r\n", "\n")))
	_ = quoted.Close()
	return out.Bytes()
}

// oneLine replaces control characters: a line break would begin another field.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
