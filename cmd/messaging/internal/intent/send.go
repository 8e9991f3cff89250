package intent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
)

// Send is a send that is about to begin.
type Send struct {
	// Host identifies the service; see profile.Service.Canonical.
	Host      string
	Operation string
	Body      []byte
	// Count is the number of recipients, or nil if it is not known.
	Count *int
	// Broadcast is whether it is known by its subject and its message.
	Broadcast bool
	// Trigger is set for the trigger of an event.
	Trigger *Trigger
}

// Trigger is what is remembered of the trigger of an event.
type Trigger struct {
	ID     string       `json:"id"`
	Name   string       `json:"name"`
	Shape  alike.Shape  `json:"shape"`
	Tokens alike.Tokens `json:"tokens"`
	// Untimed are the tokens in the shape without its times. There are none if it has no times.
	Untimed alike.Tokens `json:"untimed,omitzero"`
	// In returns the tokens that the trigger has in another shape, and false if the event does
	// not have all of its parameters. A trigger that was read has no In.
	In func(alike.Shape) (alike.Tokens, bool) `json:"-"`
}

// in returns the tokens in a shape, which is another one if the event was created again.
func (t *Trigger) in(shape alike.Shape) (tokens alike.Tokens, ok bool) {
	if t.In == nil || slices.Equal(shape, t.Shape) {
		return t.Tokens, true
	}
	return t.In(shape)
}

// isSameService reports whether two names may be those of one service. The built-in profile
// names a sandbox with its start, after a #, and other profiles name it without.
func isSameService(a, b string) bool {
	return a == b || hostOf(a) == hostOf(b) && (hostOf(a) == a || hostOf(b) == b)
}

// hostOf returns the name of a service without the start of a sandbox.
func hostOf(service string) string {
	host, _, _ := strings.Cut(service, "#")
	return host
}

// digest identifies the same send to the same host, from whatever profile. The order of its
// recipients makes no difference.
func (s Send) digest() string {
	return s.digestOf("exactly", s.only())
}

func (s Send) digestOf(what string, body []byte) string {
	hash := sha256.New()
	for _, part := range []string{what, hostOf(s.Host), s.Operation, string(body)} {
		_, _ = hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash does not fail
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// only returns the named members of the body, or all without a name, with its recipients
// sorted. A body that is not an object stays as it is.
func (s Send) only(names ...string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(s.Body, &members) != nil {
		return s.Body
	}
	if recipients, ok := members["recipients"]; ok {
		members["recipients"] = sorted(recipients)
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return len(names) > 0 && !slices.Contains(names, name) })
	body, err := json.Marshal(members)
	if err != nil {
		return s.Body
	}
	return body
}

// sorted returns recipients with their lists in order. Others stay as they are.
func sorted(recipients json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(recipients, &members) != nil {
		return recipients
	}
	for name, value := range members {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) == nil {
			slices.SortFunc(list, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
			members[name], _ = json.Marshal(list) // it was JSON
		}
	}
	encoded, err := json.Marshal(members)
	if err != nil {
		return recipients
	}
	return encoded
}
