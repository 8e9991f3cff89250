package inspector

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// rightOperation says which operation was probably meant by a request for none, or returns "".
func rightOperation(e *history.Entry) string {
	var paths []string
	for op := range service.Served() {
		if op.Path == e.Request.Path {
			return fmt.Sprintf("this path needs %s, not %s", op.Method, e.Request.Method)
		}
		paths = append(paths, op.Path)
	}
	path := words.Nearest(e.Request.Path, paths)
	for _, each := range paths { // a base URL without the version, or with a path
		if strings.HasSuffix(each, e.Request.Path) && strings.Count(e.Request.Path, "/") > 1 || strings.HasSuffix(e.Request.Path, each) {
			path = each
		}
	}
	if path == "" {
		return ""
	}
	return "did you mean " + path + "?"
}

// routeNote is for a request for no operation.
func routeNote(e *history.Entry) string {
	if e.Op != "" || e.Fault != "" {
		return ""
	}
	if right := rightOperation(e); right != "" {
		return "No operation has this method and path: " + right
	}
	return ""
}

// eventIDNote is for a trigger with the name of an event in place of its id.
func (in *Inspector) eventIDNote(e *history.Entry) string {
	if e.Op != service.TriggerEvent.Name || e.Status != http.StatusUnprocessableEntity {
		return ""
	}
	var body struct {
		EventID string `json:"event_id"`
	}
	_ = json.Unmarshal(e.Request.Body, &body) // another body has no id
	id := in.box.Records.FirstEvent(body.EventID)
	if body.EventID == "" || id == "" {
		return ""
	}
	return fmt.Sprintf("event_id is the name of an event. Its id is %s.", id)
}

// contentTypeNote is for a request that was refused because of its Content-Type.
func contentTypeNote(e *history.Entry) string {
	if e.Status != http.StatusUnsupportedMediaType || e.Fault != "" {
		return ""
	}
	sent := e.Request.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(sent); err == nil {
		sent = kind
	}
	if strings.TrimSpace(sent) == "" {
		return "There is no Content-Type. The service reads application/json."
	}
	return "The Content-Type is " + visible.Quote(sent) + ". The service reads application/json."
}
