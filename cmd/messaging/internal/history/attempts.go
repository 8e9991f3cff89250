package history

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/messaging-go/messaging/internal/fake"
)

// maxWait is the longest wait of the client before a retry, by default, with some time for
// the request itself.
const maxWait = 31 * time.Second

// maxAttempts is how many attempts a call has at most. It is more than the client makes by
// default, since other clients and the programs around them retry as well. A loop that always
// fails is more than one call.
const maxAttempts = 10

// duplicateWithin is how long after a send the same one is a possible duplicate.
const duplicateWithin = 10 * time.Minute

var seed = maphash.MakeSeed()

// contentOf returns a number that identifies requests that are the same: by the operation, the query and
// the body, which is what the service sees. It is 0 if the request is for no operation.
func contentOf(e *fake.Exchange) uint64 {
	if e.Op == "" {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(e.Op + "\x00" + e.Request.Query.Encode() + "\x00") // it returns no error
	_, _ = h.Write(e.Request.Body)
	return h.Sum64()
}

// link connects an entry with the same request before it, if that is one that the client
// retries and not longer ago than it waits: nothing in a request tells a retry from a
// program that sends twice. A send that was carried out is also connected with the latest one
// that is the same and was carried out, whichever client sent it. The caller must hold s.mu.
func (s *Store) link(e *Entry) {
	if e.content == 0 || e.ReplayOf > 0 {
		return
	}
	previous := s.get(s.latest[e.content])
	s.latest[e.content] = e.Number
	if previous == nil {
		return
	}
	e.same = previous.Number
	own := previous // of the same client: a call is of one client, and each test sends what others send too
	for own != nil && own.Request.Header.Get("User-Agent") != e.Request.Header.Get("User-Agent") {
		own = s.get(own.same)
	}
	if own != nil && isRetry(e, own) {
		e.Attempt, e.Previous = own.Attempt+1, own.Number
		own.next.Store(int64(e.Number))
	}
	for twin := previous; e.Kind != "" && e.DuplicateOf == 0 && twin != nil && twin.Mark == e.Mark; twin = s.get(twin.same) {
		if after := e.At.Sub(twin.At); twin.Kind != "" && after <= duplicateWithin {
			e.DuplicateOf, e.DuplicateAfter = twin.Number, after
		}
	}
}

// isRetry reports whether an entry looks like the next attempt of the same call.
func isRetry(e, previous *Entry) bool {
	return previous.retried && previous.Attempt < maxAttempts && e.At.Sub(previous.At.Add(previous.Took)) <= maxWait &&
		previous.Mark == e.Mark
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
