package messagingtest

import (
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// transport is the transport of the clients of Server.Client. It assigns a fault to each
// request, and applies NotReached, which must happen before the request is sent.
type transport struct{ server *Server }

// RoundTrip sends a request with the ticket for its fault.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	fault, ticket := t.server.issueTicket(operationName(r))
	if fault.notReached {
		return nil, t.failToConnect(r)
	}
	withTicket := r.WithContext(r.Context()) // a RoundTripper must not modify the request
	withTicket.Header = r.Header.Clone()
	withTicket.Header.Set(ticketHeader, ticket)
	return t.server.transport.RoundTrip(withTicket)
}

// failToConnect behaves like net/http if the server does not accept the connection: it
// calls GetConn of the httptrace, does not read the body, and returns a dial error. The
// client needs all three as proof that nothing was sent.
func (t transport) failToConnect(r *http.Request) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GetConn != nil {
		trace.GetConn(r.URL.Host)
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: t.server.http.Listener.Addr(),
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// ticketHeader marks a request that took its fault when it was sent. Its value starts
// with a random prefix that no other program knows.
const ticketHeader = "Messagingtest-Ticket"

// issueTicket returns the next fault for an operation, and stores it until the request
// with the ticket arrives.
func (s *Server) issueTicket(op string) (fault Fault, ticket string) {
	s.lock()
	defer s.mu.Unlock()
	pending := faults.of(s)
	pending.lastTicket++
	fault, ticket = pending.next(op), s.ticketPrefix+strconv.Itoa(pending.lastTicket)
	if fault != (Fault{}) && !fault.notReached {
		pending.tickets[ticket] = fault
	}
	return fault, ticket
}

// arrived removes and returns the fault of a request, which is that of its ticket. A
// ticket that has been used before has the zero Fault. A request without a ticket that
// this server issued takes the next fault for its operation. The caller must hold s.mu.
func (s *Server) arrived(r *http.Request) (fault Fault, withTicket bool) {
	if r.Context().Value(withoutFaultKey{}) != nil {
		return Fault{}, false
	}
	pending, ticket := faults.of(s), r.Header.Get(ticketHeader)
	if !strings.HasPrefix(ticket, s.ticketPrefix) {
		return pending.next(operationName(r)), false
	}
	fault = pending.tickets[ticket]
	delete(pending.tickets, ticket)
	return fault, true
}
