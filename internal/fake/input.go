package fake

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/messaging-go/messaging/internal/service"
)

// input is a request as its handler receives it. It has the body of a send or the query
// of a read. The handler adds the problems that it finds to problems, and its effects to
// exchange.
type input struct {
	operation *service.Operation
	body      object
	query     url.Values
	problems  problems
	exchange  *Exchange
}

// read reads the body of a send or the query of a read. If either is malformed, read
// returns the response to the request.
func (in *input) read(r *http.Request, body []byte) (refused response, ok bool) {
	in.problems = make(problems)
	if in.operation.IsRead() {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return errorResponse(http.StatusBadRequest, "malformed query"), false
		}
		in.query = query
		return response{}, true
	}
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return errorResponse(http.StatusUnsupportedMediaType, "Content-Type is not application/json"), false
	}
	in.body.problems = in.problems
	if err := json.Unmarshal(body, &in.body.members); err != nil || in.body.members == nil {
		return errorResponse(http.StatusBadRequest, "body is not a JSON object"), false
	}
	return response{}, true
}

// noOperation returns the response to a request that is for no operation. allowed holds
// the methods that its path does allow.
func noOperation(allowed []string) response {
	if len(allowed) == 0 {
		return errorResponse(http.StatusNotFound, "no such path")
	}
	refused := errorResponse(http.StatusMethodNotAllowed, "method not allowed")
	refused.header.Set("Allow", strings.Join(allowed, ", "))
	return refused
}
