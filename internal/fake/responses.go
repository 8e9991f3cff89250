package fake

import (
	"encoding/json"
	"maps"
	"net/http"
)

// response is an HTTP response of the service.
type response struct {
	status     int
	allow      string // the Allow header of a 405
	retryAfter string // the Retry-After header of a 429, in seconds
	body       []byte
}

// successBody is the envelope of a success.
type successBody struct {
	Success bool      `json:"success"`
	Data    any       `json:"data"`
	Meta    *pageMeta `json:"meta,omitempty"`
	Message string    `json:"message"`
}

// errorBody is the envelope of an error.
type errorBody struct {
	Success bool     `json:"success"`
	Message string   `json:"message"`
	Errors  problems `json:"errors,omitempty"`
}

func successResponse(message string, data any) response { return listResponse(message, data, nil) }

func listResponse(message string, rows any, meta *pageMeta) response {
	return newResponse(http.StatusOK, successBody{Success: true, Data: rows, Meta: meta, Message: message})
}

func errorResponse(status int, message string) response {
	return newResponse(status, errorBody{Message: message})
}

func invalidResponse(found problems) response {
	return newResponse(http.StatusUnprocessableEntity, errorBody{Message: "invalid request", Errors: found})
}

// newResponse encodes an envelope. This fails only if the Extra of an added record is no
// valid JSON.
func newResponse(status int, envelope any) response {
	body, err := json.Marshal(envelope)
	if err != nil {
		return errorResponse(http.StatusInternalServerError, "cannot encode a record: "+err.Error())
	}
	return response{status: status, body: body}
}

// header returns the header of the response. The Content-Type of a body that is not JSON
// is detected as in net/http.
func (r response) header() http.Header {
	header := make(http.Header)
	switch {
	case json.Valid(r.body):
		header.Set("Content-Type", "application/json")
	case len(r.body) > 0:
		header.Set("Content-Type", http.DetectContentType(r.body))
	}
	if r.allow != "" {
		header.Set("Allow", r.allow)
	}
	if r.retryAfter != "" {
		header.Set("Retry-After", r.retryAfter)
	}
	return header
}

func (r response) write(w http.ResponseWriter, header http.Header) {
	maps.Copy(w.Header(), header)
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // the client may have disconnected
}
