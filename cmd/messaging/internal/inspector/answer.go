package inspector

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
)

// answer is a handler of the API. It returns what it responds with, which is nothing if that is nil.
type answer func(*http.Request) (any, error)

// ServeHTTP writes the answer.
func (a answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch value, err := a(r); {
	case err != nil:
		refuse(w, err)
	case value == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		respond(w, value)
	}
}

// respond writes a value as compact JSON.
func respond(w http.ResponseWriter, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // for people who read the response in a terminal
	if err := encoder.Encode(value); err != nil {
		guard.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = body.WriteTo(w) // the client may have disconnected
}

// failure is an error with the status of its response.
type failure struct {
	status int
	error
}

// invalid returns an error for a query that cannot be read, or nil.
func invalid(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return failure{http.StatusBadRequest, err}
	}
	return nil
}

// refuse responds with an error. One without a status is about a body that was read.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusUnprocessableEntity
	var known failure
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.As(err, &known):
		status = known.status
	case errors.Is(err, sandbox.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, sandbox.ErrRedacted):
		status = http.StatusConflict
	}
	guard.Refuse(w, status, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// readBody reads a JSON body without unknown keys.
func readBody(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return strictjson.Decode(body, into)
}
