package fake

import (
	"encoding/json"
	"maps"
	"net/http"
)

// response is an HTTP response of the service.
type response struct {
	status int
	header http.Header // without the Content-Type
	body   []byte
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
	return response{status: status, header: make(http.Header), body: body}
}

// setContentType sets the Content-Type of the body. If the body is not JSON, it is detected
// as in net/http.
func (r response) setContentType() {
	switch {
	case json.Valid(r.body):
		r.header.Set("Content-Type", "application/json")
	case len(r.body) > 0:
		r.header.Set("Content-Type", http.DetectContentType(r.body))
	}
}

func (r response) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // the client may have disconnected
}
