package messagingtest

import (
	"crypto/rand"
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// transport is the transport of the clients of Server.Client. It assigns a fault to each
// request, and applies NotReached, which must happen before the request is sent.
type transport struct{ server *Server }

// RoundTrip sends a request with the ticket for its fault.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	op, _ := service.Find(r.Method, r.URL.Path)
	if op == nil {
		op = new(service.Operation)
	}
	fault := t.server.service.NextFault(&fake.Exchange{Op: op.Name})
	if fault.Kind == fake.NotReached {
		return nil, t.failToConnect(r)
	}
	withTicket := r.WithContext(r.Context()) // a RoundTripper must not modify the request
	withTicket.Header = r.Header.Clone()
	withTicket.Header.Set(ticketHeader, t.server.tickets.issue(fault))
	return t.server.pool.RoundTrip(withTicket)
}

// failToConnect behaves like net/http if the server does not accept the connection: it
// calls GetConn of the httptrace, does not read the body, and returns a dial error. The
// client needs all three as proof that nothing was sent.
func (t transport) failToConnect(r *http.Request) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	httptrace.ContextClientTrace(r.Context()).GetConn(r.URL.Host)
	return refused(t.server.http.Listener.Addr())
}

// ticketHeader marks a request that took its fault when it was sent.
const ticketHeader = "Messagingtest-Ticket"

// tickets are the faults of the requests that were sent and have not arrived.
type tickets struct{ faults sync.Map }

// issue keeps a fault until the request with the ticket arrives.
func (t *tickets) issue(fault fake.Fault) (ticket string) {
	ticket = rand.Text()
	if fault != (fake.Fault{}) {
		t.faults.Store(ticket, fault)
	}
	return ticket
}

// handler passes on requests with the faults of their tickets, which are valid once. A
// request without a ticket takes the next fault of the service.
func (t *tickets) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ticket := r.Header.Get(ticketHeader); ticket != "" {
			kept, _ := t.faults.LoadAndDelete(ticket)
			fault, _ := kept.(fake.Fault)
			r = r.WithContext(fake.WithFault(r.Context(), fault))
			r.Header = r.Header.Clone()
			r.Header.Del(ticketHeader)
		}
		next.ServeHTTP(w, r)
	})
}
