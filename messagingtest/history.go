package messagingtest

import "fmt"

// WithHistory limits the number of requests, triggers, e-mail broadcasts and
// push broadcasts that the server keeps, to the latest n of each. With 0 it
// keeps none. By default it keeps all. What the service stores, such as
// customers and events, is not limited.
func WithHistory(n int) Option { return historyOption(n) }

type historyOption int

func (o historyOption) apply(s *Server) error {
	if o < 0 {
		return fmt.Errorf("WithHistory: invalid limit %d", int(o))
	}
	s.requests.limit(int(o))
	s.emailBroadcasts.limit(int(o))
	s.pushBroadcasts.limit(int(o))
	s.triggers.limit(int(o))
	return nil
}

// history is a list of records that may be limited to the latest ones.
type history[T any] struct {
	records []T
	limited bool
	max     int // if limited
}

func (h *history[T]) limit(n int) { h.limited, h.max = true, n }

func (h *history[T]) add(record T) {
	if h.limited && len(h.records) >= h.max {
		if h.max == 0 {
			return
		}
		clear(h.records[:1]) // what it points to can be freed
		h.records = h.records[1:]
	}
	h.records = append(h.records, record)
}

// Reset removes what the server stores, what it recorded, and its faults. It
// does not restart ids, numbers of exchanges and of customers, and ids of fault
// rules: an id from before never names another record.
//
// A request in flight is carried out after the reset, and without a fault unless
// it has arrived. Its effect is recorded, but it is missing in
// [Server.Requests].
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests.records, s.triggers.records = nil, nil
	s.emailBroadcasts.records, s.pushBroadcasts.records = nil, nil
	s.faults, s.rules = nil, nil
	clear(s.tickets)
	s.customers.reset()
	s.events, s.transactional = nil, nil
}
