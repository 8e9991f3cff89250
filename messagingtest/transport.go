package messagingtest

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/messaging-go/messaging/internal/fake"
)

// transport is the transport of the clients of Server.Client. It assigns a fault to each
// request, and applies NotReached, which must happen before the request is sent.
type transport struct{ server *Server }

// RoundTrip sends a request with the ticket for its fault.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	fault := t.server.nextFault(r)
	if fault.Kind == fake.NotReached {
		return nil, t.failToConnect(r)
	}
	withTicket := r.WithContext(r.Context()) // a RoundTripper must not modify the request
	withTicket.Header = r.Header.Clone()
	withTicket.Header.Set(ticketHeader, t.server.tickets.issue(fault))
	return t.server.tickets.transport.RoundTrip(withTicket)
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

// tickets are the faults of the requests that were sent and have not arrived.
type tickets struct {
	transport *http.Transport
	prefix    string

	mu     sync.Mutex
	faults map[string]fake.Fault
	last   int
}

func newTickets() tickets {
	return tickets{transport: &http.Transport{MaxIdleConnsPerHost: 256}, prefix: rand.Text() + "-", faults: make(map[string]fake.Fault)}
}

// issue stores a fault until the request with the ticket arrives.
func (t *tickets) issue(fault fake.Fault) (ticket string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	ticket = t.prefix + strconv.Itoa(t.last)
	if fault != (fake.Fault{}) {
		t.faults[ticket] = fault
	}
	return ticket
}

// take removes and returns the fault of a ticket. A ticket that has been used before has
// the zero Fault.
func (t *tickets) take(ticket string) fake.Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	fault := t.faults[ticket]
	delete(t.faults, ticket)
	return fault
}

func (t *tickets) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.faults)
}

// handler passes on requests with the faults of their tickets. A request without a ticket
// that this server issued takes the next fault of the service.
func (t *tickets) handler(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ticket := r.Header.Get(ticketHeader); strings.HasPrefix(ticket, t.prefix) {
			r = r.WithContext(fake.WithFault(r.Context(), t.take(ticket)))
			r.Header = r.Header.Clone()
			r.Header.Del(ticketHeader)
		}
		service.ServeHTTP(w, r)
	})
}
