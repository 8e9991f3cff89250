package history

import (
	"net/http"
	"strings"
)

// Key is how a request was sent with its API key, which is never kept.
type Key struct {
	// Header is the header that holds a key: X-Authorization, the only one that the service
	// reads, or else Authorization or X-Api-Key. It is "" if none does.
	Header string
	// Empty reports whether there is an X-Authorization without a value.
	Empty bool
	// Foreign reports whether the key is another one than that of the sandbox.
	Foreign bool
	// Prefixed reports whether X-Authorization holds "Bearer " before the key.
	Prefixed bool
}

const keyHeader = "X-Authorization"

// Key returns how the request was sent with its key.
func (e *Entry) Key() Key {
	refused := e.Status == http.StatusUnauthorized && e.Fault == ""
	if e.Op != "" && e.Fault == "" && !refused {
		return Key{Header: keyHeader} // even if another header holds another key
	}
	key := Key{Foreign: e.ForeignKey}
	for _, name := range []string{keyHeader, "Authorization", "X-Api-Key"} {
		values := e.Request.Header.Values(name)
		if key.Header == "" && strings.Join(values, "") != "" {
			key.Header = name
		}
		key.Empty = key.Empty || name == keyHeader && len(values) > 0 && key.Header == ""
	}
	key.Prefixed = refused && key.Header == keyHeader && !key.Foreign
	return key
}

// Right reports whether the request was sent with the key of the sandbox as the service
// expects it.
func (k Key) Right() bool { return k.Header == keyHeader && !k.Foreign && !k.Prefixed }

// Field returns the header that sends a key as the request did. The name is "" if the
// request was sent without one.
func (k Key) Field(apiKey string) (name, value string) {
	switch {
	case k.Header == "" && k.Empty:
		return keyHeader, ""
	case k.Header == "":
		return "", ""
	case k.Header == "Authorization", k.Prefixed:
		return k.Header, "Bearer " + apiKey
	default:
		return k.Header, apiKey
	}
}
