// Package inspector serves the pages and the JSON API that show what the sandbox
// has recorded.
package inspector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

// Inspector is the handler of the pages and of the API.
type Inspector struct {
	box *sandbox.Sandbox
	// ending ends before a shutdown, which would wait for the streams and the waits.
	ending context.Context
}

var errNoItem = failure{http.StatusNotFound, errors.New("there is no item with this number")}

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
