package history

import (
	"net/http"
	"strings"
)

// RightKey is what [Entry.Key] returns if the service takes the key.
const RightKey = "that of this sandbox"

// Key says in a few words how a request was sent with its API key, which is never kept. The service reads X-Authorization alone.
func (e *Entry) Key() string {
	const header = "X-Authorization"
	sent := func(name string) bool { return strings.Join(e.Request.Header.Values(name), "") != "" }
	switch {
	case e.ForeignKey:
		return "not " + RightKey
	case sent(header) && e.Status == http.StatusUnauthorized && e.Fault == "":
		return `"Bearer " before the key in ` + header
	case sent(header):
		return RightKey
	case sent("Authorization"):
		return "the key is in Authorization instead of " + header
	case sent("X-Api-Key"):
		return "the key is in X-Api-Key instead of " + header
	case len(e.Request.Header.Values(header)) > 0:
		return header + " is empty"
	default:
		return "no " + header + " header"
	}
}

// LacksKey reports whether the service refused the request because of its key.
func (e *Entry) LacksKey() bool { return e.Status == http.StatusUnauthorized && e.Fault == "" }
