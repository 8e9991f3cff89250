package view

import (
	"cmp"
	"encoding/json"
	"html"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/internal/fake"
)

// maxMail is how much of a message is read as HTML.
const maxMail = 256 << 10

// MailHead returns the beginning of a message that is read as HTML.
func MailHead(message string) string {
	if len(message) <= maxMail {
		return message
	}
	end := maxMail
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end]
}

const plainStyle = `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light">` +
	`<style>body{margin:24px 28px;font:15px/1.6 system-ui,sans-serif;color:#1d1c1a;background:#fff;white-space:pre-wrap;` +
	`overflow-wrap:anywhere}</style>`

// Document returns the document of a preview.
func Document(message string) string {
	message = MailHead(message)
	if mail.IsHTML(message) {
		if cleaned, ok := mail.Clean(message); ok {
			return cleaned
		}
	}
	return plainStyle + html.EscapeString(cmp.Or(mail.Text(message), message)) // it may not be read as HTML
}

// preview is what the frame of an email is shown with.
type preview struct {
	Number       int
	HTML, Fixed  bool // whether the message needs a width that no phone has
	RemoteImages int
}

func newPreview(number int, message string) preview {
	head := MailHead(message)
	return preview{number, mail.IsHTML(head), mail.IsFixed(head), mail.RemoteImages(head)}
}

// checked is what can go wrong in email programs, with its line in the source or 0.
type checked struct {
	mail.Finding
	Tag  Tag
	Line int
}

func newCheck(message string) (list []checked) {
	lines := newSource(message)
	for _, f := range mail.Check(MailHead(message), len(message)) {
		found := checked{Finding: f,
			Tag: Tag{map[mail.Severity]string{mail.High: "bad", mail.Medium: "warn"}[f.Severity], string(f.Severity)}}
		if f.At < len(message)-lines.Cut {
			found.Line = lineIndex(lines.Lines, f.At) + 1
		}
		list = append(list, found)
	}
	return list
}

// variable is one that was sent, or a placeholder of the message.
type variable struct {
	Name, Value string // the value is "" if none was sent
	Use         Tag
}

func newVariables(sent map[string]json.RawMessage, b *fake.EmailBroadcast) []variable {
	used := make(map[string]bool)
	var missing []variable
	for _, name := range mail.Placeholders(b.Subject, b.Message) {
		switch variableName := mail.Variable(sent, name); {
		case variableName != "":
			used[variableName] = true
		case mail.IsSupplied(name):
			missing = append(missing, variable{name, "", Tag{"", "filled in by the service? not documented"}})
		default:
			missing = append(missing, variable{name, "", Tag{"warn", "no variable"}})
		}
	}
	var list []variable
	for _, name := range sortedKeys(sent) {
		use := Tag{"", "not in the message"}
		if used[name] {
			use = Tag{"ok", "in the message"}
		}
		list = append(list, variable{name, cut(string(sent[name])), use})
	}
	return firstRows(append(list, missing...))
}
