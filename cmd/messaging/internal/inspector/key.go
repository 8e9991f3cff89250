package inspector

import (
	"net/http"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
)

// keyFailure says what is wrong with a key, in a few words.
func keyFailure(k history.Key) string {
	switch {
	case k.Header == "" && k.Empty:
		return "X-Authorization is empty"
	case k.Header == "":
		return "no X-Authorization header"
	case k.Prefixed:
		return `"Bearer " before the key in X-Authorization`
	default:
		return "the key is in " + k.Header + " instead of X-Authorization"
	}
}

// lacksKey reports whether the service refused a request because of its key.
func lacksKey(e *history.Entry) bool { return e.Status == http.StatusUnauthorized && e.Fault == "" }

// KeyOfCopies says how the copies of a request send a key, if that is not as usual.
func (d *entryDetail) KeyOfCopies() string {
	switch key := d.Key(); {
	case key.Right():
		return ""
	case key.Foreign:
		return "The key that the request was sent with was not recorded. These commands send $MESSAGING_API_KEY in its place."
	case key.Header == "":
		return "The request was sent without a key, and so it is by these commands and scripts, but for Go."
	default:
		return "All but Go send the key as the request did, which the service refuses."
	}
}
