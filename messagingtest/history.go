package messagingtest

// history is a list of records that may be limited to the latest ones.
type history[T any] struct {
	records []T
	limited bool
	max     int // if limited
}

func (h *history[T]) limit(c config) { h.limited, h.max = c.limited, c.limit }

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
