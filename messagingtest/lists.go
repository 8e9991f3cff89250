package messagingtest

import "github.com/messaging-go/messaging/internal/service"

// list declares a list of the service, whose records tests add.
type list[T any] struct {
	operation *service.Operation
	message   string            // of a successful response
	complete  func(*Server, *T) // sets what an added record lacks; the caller holds s.mu
	row       func(T) any       // the record as an element of a response
	clone     func(T) T         // a deep copy
	records   part[*records[T]] // set by serveList
}

// serveList keeps the records of a list, and serves its operation.
func serveList[T any](l list[T]) list[T] {
	l.records = keep(stored[T])
	handle(l.operation, l.respond)
	return l
}

func (l list[T]) respond(s *Server, in input) response {
	s.lock()
	defer s.mu.Unlock()
	all := l.records.of(s).all
	rows, meta := page(in, len(all), selectAll, func(i int) any { return l.row(all[i]) })
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	return listResponse(l.message, rows, meta)
}

// add adds copies of records to a server.
func (l list[T]) add(s *Server, added []T) {
	s.lock()
	defer s.mu.Unlock()
	for _, record := range added {
		record = l.clone(record)
		l.complete(s, &record)
		l.records.of(s).add(record)
	}
}

// copies returns copies of all records of a server.
func (l list[T]) copies(s *Server) []T { return copies(s, l.records, l.clone) }
