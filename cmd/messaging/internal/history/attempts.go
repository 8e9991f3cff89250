package history

import (
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
)

// maxWait is the longest wait of the client before a retry, by default, with some time for
// the request itself.
const maxWait = 31 * time.Second

// maxAttempts is how many attempts a call has at most. It is more than the client makes by
// default, since other clients and the programs around them retry as well. A loop that always
// fails is more than one call.
const maxAttempts = 10

var seed = maphash.MakeSeed()

// duplicateWithin is how long after a send the same one is a possible duplicate.
const duplicateWithin = 10 * time.Minute

// sameAs returns two numbers that identify requests that are the same: by the operation, the query and
// the body, which is what the service sees, and also by the client, since the attempts of a call
// come from one. Both are 0 if the request is for no operation.
func sameAs(e *fake.Exchange) (content, call uint64) {
	if e.Op == "" {
		return 0, 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for _, part := range []string{e.Op, e.Request.Query.Encode()} {
		_, _ = h.WriteString(part) // it returns no error
		_ = h.WriteByte(0)
	}
	_, _ = h.Write(e.Request.Body)
	content = h.Sum64()
	_ = h.WriteByte(0)
	_, _ = h.WriteString(e.Request.Header.Get("User-Agent"))
	return content, h.Sum64()
}

// link connects an entry with the same request before it, if that is one that the client
// retries and not longer ago than it waits: nothing in a request tells a retry from a
// program that sends twice. The caller must hold s.mu.
func (s *Store) link(e *Entry) {
	if e.call == 0 || e.ReplayOf > 0 {
		return
	}
	s.linkTwin(e)
	previous := s.calls[e.call]
	s.calls[e.call] = e
	if previous == nil || previous.Mark != e.Mark { // each test sends what others send too
		return
	}
	if !isRetry(e, previous) {
		return
	}
	e.Attempt, e.Previous = previous.Attempt+1, previous.Number
	previous.next.Store(int64(e.Number))
}

// isRetry reports whether an entry looks like the next attempt of the same call.
func isRetry(e, previous *Entry) bool {
	if previous.Attempt == maxAttempts || e.At.Sub(previous.At.Add(previous.Took)) > maxWait {
		return false
	}
	if _, retried := previous.Delivery(); !retried {
		return false
	}
	after, err := strconv.Atoi(previous.ResponseHeader.Get("Retry-After"))
	return err != nil || time.Duration(after)*time.Second <= maxWait
}

// linkTwin connects a send that was carried out with the latest one before it that is the same and
// was carried out too, whichever client sent it. The caller must hold s.mu.
func (s *Store) linkTwin(e *Entry) {
	if e.Kind == "" {
		return
	}
	twin := s.sends[e.content]
	s.sends[e.content] = e
	if twin == nil || twin.Mark != e.Mark || e.At.Sub(twin.At) > duplicateWithin {
		return
	}
	e.twin, e.afterTwin = twin.Number, e.At.Sub(twin.At)
}

// DuplicateOf returns the number of the same request that was carried out not long before
// this one, which was carried out too, and the time between them. It is 0 if there is none.
func (e *Entry) DuplicateOf() (number int, after time.Duration) {
	return e.twin, e.afterTwin
}

// unlink forgets an entry that is removed. The caller must hold s.mu.
func (s *Store) unlink(e *Entry) {
	if s.calls[e.call] == e {
		delete(s.calls, e.call)
	}
	if s.sends[e.content] == e {
		delete(s.sends, e.content)
	}
}

// Grouped returns a query that matches only the last of those attempts of a call that q
// matches.
func (s *Store) Grouped(q Query) Query {
	return q.And(func(e *Entry) bool { return !slices.ContainsFunc(s.Later(e), q.Match) })
}

// Later returns the attempts of a call after an entry that are still kept, in their order.
func (s *Store) Later(e *Entry) []*Entry {
	return s.chain(e, func(e *Entry) int { return int(e.next.Load()) })
}

// Attempts returns the attempts of a call before an entry that are still kept, latest
// first.
func (s *Store) Attempts(e *Entry) []*Entry {
	return s.chain(e, func(e *Entry) int { return e.Previous })
}

func (s *Store) chain(e *Entry, linked func(*Entry) int) (list []*Entry) {
	for e, ok := s.Get(linked(e)); ok; e, ok = s.Get(linked(e)) {
		list = append(list, e)
	}
	return list
}

// Delivery returns what the SDK reports, and whether it retries the request.
func (e *Entry) Delivery() (d messaging.Delivery, retried bool) { return e.delivery, e.retried }

// IsRead reports whether a request changes nothing, so that it can be repeated.
func (e *Entry) IsRead() bool {
	return e.Request.Method == http.MethodGet || e.Request.Method == http.MethodHead
}
