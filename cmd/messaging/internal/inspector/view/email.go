package view

import (
	"cmp"
	"html"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
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
