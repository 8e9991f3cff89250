package inspector

import (
	"fmt"
	"net/http"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/view"
	"github.com/messaging-go/messaging/cmd/messaging/internal/openapi"
	"github.com/messaging-go/messaging/internal/fake"
)

// openAPI responds with the description of the service, for other languages and tools, and apiDescription with that
// of the API of the inspector.
func (in *Inspector) openAPI(r *http.Request) (any, error) {
	return openapi.Describe(view.ServiceURL(in.box, r)), nil
}

func (in *Inspector) apiDescription(r *http.Request) (any, error) {
	api := openapi.NewAPI("http://" + r.Host)
	for _, each := range in.api() {
		api.Add(each.pattern, each.about, each.query, each.body, each.response)
	}
	return api, nil
}

// body responds with the body of a request as it was sent. It is never shown in a tab.
func (in *Inspector) body(w http.ResponseWriter, r *http.Request) {
	e, ok := in.box.History.Get(numberOf(r.PathValue("n")))
	if !ok {
		refuse(w, errNoItem)
		return
	}
	attach(w, "application/octet-stream", fmt.Sprintf("%d.body", e.Number), e.Request.Body)
}

// email returns the email broadcast with a number, or nil.
func (in *Inspector) email(number string) (email *fake.EmailBroadcast) {
	if e, ok := in.box.History.Get(numberOf(number)); ok {
		email, _ = e.Broadcast()
	}
	return email
}

// preview responds with the content of an email broadcast.
func (in *Inspector) preview(w http.ResponseWriter, r *http.Request) {
	if !guard.LockPreview(w, r) {
		guard.Refuse(w, http.StatusForbidden, "a preview is shown only in the page of its broadcast")
		return
	}
	email := in.email(r.PathValue("n"))
	if email == nil {
		refuse(w, errNoItem)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(view.Document(email.Params.Message))) // the client may have disconnected
}

// attach responds with a file that a browser saves. Its name has nothing of a request but its number.
func attach(w http.ResponseWriter, mediaType, name string, content []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = w.Write(content) // the client may have disconnected
}
