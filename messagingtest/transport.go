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

// transport is what the clients of a Server send through. It takes the fault of
// a request, and applies the one that has to be applied before sending.
type transport struct{ server *Server }

// RoundTrip sends a request together with the ticket for its fault.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	fault, ticket := t.server.issueTicket()
	if fault.notReached {
		return nil, t.refuse(r)
	}
	withTicket := r.WithContext(r.Context()) // a copy: a transport must not change the request
	withTicket.Header = r.Header.Clone()
	withTicket.Header.Set(ticketHeader, ticket)
	return t.server.transport.RoundTrip(withTicket)
}

// refuse does what a refused connection does: it tells httptrace that one was
// asked for, leaves the body unread, and returns the error of a dial.
func (t transport) refuse(r *http.Request) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GetConn != nil {
		trace.GetConn(r.URL.Host)
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: t.server.web.Listener.Addr(),
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// ticketHeader says that the fault of a request was taken off the queue when it
// was sent. Its value starts with a text that no other program can guess.
const ticketHeader = "Messagingtest-Ticket"

// issueTicket takes the fault of the next request off the queue, and keeps it until
// the request arrives.
func (s *Server) issueTicket() (fault Fault, ticket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastTicket++
	fault, ticket = s.faults.next(), s.ticketPrefix+strconv.Itoa(s.lastTicket)
	if fault != (Fault{}) && !fault.notReached {
		s.tickets[ticket] = fault
	}
	return fault, ticket
}

// useTicket returns the fault of a request that was sent with a ticket, and none
// if it was used before. The caller holds s.mu.
func (s *Server) useTicket(ticket string) (fault Fault, known bool) {
	fault = s.tickets[ticket]
	delete(s.tickets, ticket)
	return fault, strings.HasPrefix(ticket, s.ticketPrefix)
}
