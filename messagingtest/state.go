package messagingtest

import "math"

// state is a part of what a server keeps, such as its events. The file of a resource
// declares its state with keep, and [Server.Reset] empties it.
type state interface{ reset() }

// part is where a server keeps a state of type S. It is an index of Server.states.
type part[S state] int

// parts holds a constructor for each declared state.
var parts []func(config) state

// keep declares a state that every server keeps.
func keep[S state](create func(config) S) part[S] {
	parts = append(parts, func(c config) state { return create(c) })
	return part[S](len(parts) - 1)
}

// of returns the state of a server. The caller must hold s.mu while it uses the state.
func (p part[S]) of(s *Server) S { return s.states[p].(S) }

// Reset removes everything that the server stores and has recorded, and its faults. It
// does not restart ids, the numbers of exchanges and customers, or the ids of fault
// rules. An earlier id therefore never identifies a later record.
//
// A request that is in flight is carried out after the reset. If it arrived before the
// reset, it keeps its fault; otherwise, it has none. Its effect is recorded, but
// [Server.Requests] does not return it.
func (s *Server) Reset() {
	s.lock()
	defer s.mu.Unlock()
	for _, state := range s.states {
		state.reset()
	}
}

// records holds records of one kind, oldest first. It drops the oldest ones above a
// limit.
type records[T any] struct {
	all   []T
	limit int
}

const noLimit = math.MaxInt

// stored creates records without a limit, for what the service stores.
func stored[T any](config) *records[T] { return &records[T]{limit: noLimit} }

// history creates records with the limit of [WithHistory], for what the service has
// received or carried out.
func history[T any](c config) *records[T] { return &records[T]{limit: c.limit} }

func (r *records[T]) add(record T) {
	if r.limit == 0 {
		return
	}
	if len(r.all) == r.limit {
		clear(r.all[:1]) // what the record points to can be freed
		r.all = r.all[1:]
	}
	r.all = append(r.all, record)
}

func (r *records[T]) reset() { r.all = nil }

// copies returns a deep copy of all records of a server.
func copies[T any](s *Server, from part[*records[T]], clone func(T) T) []T {
	s.lock()
	defer s.mu.Unlock()
	return cloneSlice(from.of(s).all, clone)
}
