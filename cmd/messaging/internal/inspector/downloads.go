package inspector

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/messagingtest"
)

// body responds with the body of a request as it was sent. It is never shown in a tab.
func (in *Inspector) body(w http.ResponseWriter, r *http.Request) {
	e, ok := in.box.History.Get(number(r))
	if !ok {
		respondError(w, http.StatusNotFound, noItem)
		return
	}
	attach(w, "application/octet-stream", fmt.Sprintf("%d.body", e.Number), e.Request.Body)
}

// download responds with a request as a file.
func (in *Inspector) download(w http.ResponseWriter, r *http.Request) {
	name, form, _ := strings.Cut(r.PathValue("file"), ".")
	number, err := strconv.Atoi(name)
	e, ok := in.box.History.Get(number)
	if err != nil || !ok || strconv.Itoa(number) != name {
		respondError(w, http.StatusNotFound, noItem)
		return
	}
	switch email, isEmail := e.Effect.(*messagingtest.EmailBroadcast); {
	case form == "eml" && isEmail:
		message := head(email.Message)
		attach(w, "message/rfc822", name+".eml", copies.EML(email, e.At, mail.IsHTML(message), mail.Text(message)))
	case form == "har":
		in.attachArchive(w, r, name, e.Exchange)
	default:
		respondError(w, http.StatusNotFound, noItem)
	}
}

// An archive of a list has the latest requests, up to these sizes.
const maxArchived, maxArchivedBytes = 1000, 32 << 20

// downloadList responds with the requests that match a search as an archive, oldest first.
func (in *Inspector) downloadList(w http.ResponseWriter, r *http.Request) {
	query, err := history.Parse(r.URL.Query().Get("q"))
	if err != nil {
		respondError(w, http.StatusBadRequest, err.Error())
		return
	}
	found, _ := in.box.History.Find(query, 0, maxArchived)
	var exchanges []*messagingtest.Exchange
	size := 0
	for _, e := range found {
		if size += len(e.Request.Body) + len(e.ResponseBody); size > maxArchivedBytes {
			break
		}
		exchanges = append(exchanges, e.Exchange)
	}
	slices.Reverse(exchanges)
	in.attachArchive(w, r, "requests", exchanges...)
}

func (in *Inspector) attachArchive(w http.ResponseWriter, r *http.Request, name string, exchanges ...*messagingtest.Exchange) {
	service, _ := in.addresses(r)
	archive, err := copies.HAR(service, exchanges...)
	if err != nil {
		respondError(w, http.StatusInternalServerError, err.Error())
		return
	}
	attach(w, "application/json", name+".har", archive)
}

// attach responds with a file that a browser saves. Its name has nothing of a request but its number.
func attach(w http.ResponseWriter, mediaType, name string, content []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = w.Write(content) // the client may have disconnected
}
