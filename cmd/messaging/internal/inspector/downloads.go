package inspector

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

// body responds with the body of a request as it was sent. It is never shown in a tab.
func (in *Inspector) body(w http.ResponseWriter, r *http.Request) {
	e, ok := in.box.History.Get(number(r))
	if !ok {
		guard.Refuse(w, http.StatusNotFound, noItem)
		return
	}
	attach(w, "application/octet-stream", fmt.Sprintf("%d.body", e.Number), e.Request.Body)
}

// download responds with an email as a file.
func (in *Inspector) download(w http.ResponseWriter, r *http.Request) {
	name, form, _ := strings.Cut(r.PathValue("file"), ".")
	number, err := strconv.Atoi(name)
	e, ok := in.box.History.Get(number)
	if err != nil || !ok || strconv.Itoa(number) != name {
		guard.Refuse(w, http.StatusNotFound, noItem)
		return
	}
	email := e.Email()
	if form != "eml" || email == nil {
		guard.Refuse(w, http.StatusNotFound, noItem)
		return
	}
	message := head(email.Message)
	attach(w, "message/rfc822", name+".eml", copies.EML(email, e.At, mail.IsHTML(message), mail.Text(message)))
}

// attach responds with a file that a browser saves. Its name has nothing of a request but its number.
func attach(w http.ResponseWriter, mediaType, name string, content []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = w.Write(content) // the client may have disconnected
}
