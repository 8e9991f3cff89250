package inspector

import (
	"html"
	"net/http"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

// preview responds with the content of an email broadcast, but only to the frame of its
// page: if it was opened directly, a click on a link would leave the machine.
func (in *Inspector) preview(w http.ResponseWriter, r *http.Request) {
	if !guard.LockPreview(w, r) {
		guard.Refuse(w, http.StatusForbidden, "a preview is shown only in the page of its broadcast")
		return
	}
	e, ok := in.box.History.Get(number(r))
	if !ok {
		guard.Refuse(w, http.StatusNotFound, "there is no broadcast with this number")
		return
	}
	broadcast := e.Email()
	if broadcast == nil {
		guard.Refuse(w, http.StatusNotFound, "this is not an email broadcast")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(document(broadcast.Message))) // the client may have disconnected
}

const plainStyle = `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light">` +
	`<style>body{margin:24px 28px;font:15px/1.6 system-ui,sans-serif;color:#1d1c1a;background:#fff;white-space:pre-wrap;` +
	`overflow-wrap:anywhere}</style>`

func document(message string) string {
	message = head(message)
	if mail.IsHTML(message) {
		if cleaned, ok := mail.Clean(message); ok {
			return cleaned
		}
	}
	text := mail.Text(message)
	if text == "" { // it cannot be read as HTML
		text = message
	}
	return plainStyle + html.EscapeString(text)
}
