// Package inspector serves the pages and the JSON API that show what the sandbox
// has recorded.
package inspector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
)

// Inspector is the handler of the pages and of the API.
type Inspector struct {
	box *sandbox.Sandbox
	// ending ends before a shutdown, which would wait for the streams and the waits.
	ending context.Context
}

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

// respond writes a value as compact JSON. What was sent in another encoding than UTF-8 becomes valid.
func respond(w http.ResponseWriter, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // for people who read the response in a terminal
	if err := encoder.Encode(value); err != nil {
		refuse(w, failure{http.StatusInternalServerError, err})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(bytes.ToValidUTF8(body.Bytes(), []byte("\uFFFD"))) // the client may have disconnected
}

// failure is an error with the status of its response.
type failure struct {
	status int
	error
}

var errNoItem = failure{http.StatusNotFound, errors.New("there is no item with this number")}

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

// numberOf returns the number in a path, or 0.
func numberOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || text != strconv.Itoa(n) {
		return 0
	}
	return n
}

// integer reads a parameter. A largest of 0 means no limit.
func integer(r *http.Request, name string, missing, least, largest int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n < least:
		return 0, fmt.Errorf("%s: must be a number from %d", name, least)
	case largest > 0 && n > largest:
		return 0, fmt.Errorf("%s: must be at most %d", name, largest)
	}
	return n, nil
}
