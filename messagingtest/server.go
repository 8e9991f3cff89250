package messagingtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/messaging-go/messaging"
)

// Server is the messaging service in memory, listening on a loopback address.
// Create one with [NewServer] in a test, and with [Start] in a program. It is
// safe for concurrent use.
type Server struct {
	web       *httptest.Server
	transport *http.Transport
	closing   chan struct{}
	close     func()

	ticketPrefix string

	mu              sync.Mutex // guards what follows
	requests        []Request
	faults          faultQueue
	tickets         map[string]Fault // of requests that were sent and have not arrived
	lastTicket      int
	emailBroadcasts []EmailBroadcast
	pushBroadcasts  []PushBroadcast
	triggers        []Trigger
	customers       customerBook
	events          []messaging.Event
	transactional   []messaging.TransactionalMessage
	lastID          int
}

// NewServer starts a service for one test, and closes it when the test is over.
// Where it can't be started, the test fails at once.
func NewServer(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	s, err := Start(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Start starts a service for a program, which has to close it. The error is
// about a bad option, or about the loopback address.
func Start(opts ...Option) (*Server, error) {
	s := &Server{closing: make(chan struct{}), transport: &http.Transport{MaxIdleConnsPerHost: 256},
		ticketPrefix: rand.Text() + "-", tickets: make(map[string]Fault)}
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("messagingtest: an option is nil")
		}
		if err := opt.apply(s); err != nil {
			return nil, fmt.Errorf("messagingtest: %w", err)
		}
	}
	listener, err := listen("127.0.0.1:0", "[::1]:0")
	if err != nil {
		return nil, fmt.Errorf("messagingtest: %w", err)
	}
	s.web = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.Handler()}}
	s.web.Start()
	s.close = sync.OnceFunc(func() {
		close(s.closing)
		s.web.Close()
		s.transport.CloseIdleConnections()
	})
	return s, nil
}

// listen listens on the first of the addresses that the machine has.
func listen(addresses ...string) (net.Listener, error) {
	var problems []error
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return listener, nil
		}
		problems = append(problems, err)
	}
	return nil, errors.Join(problems...)
}

// Option configures a [Server].
type Option interface {
	apply(*Server) error
}

// Identifier is the field that tells one customer from another.
type Identifier string

// The fields that can identify a customer.
const (
	CustomerID Identifier = "customer_id"
	Email      Identifier = "email"
)

// WithIdentifier sets which field identifies a customer, as an integration with
// the service does. Every customer in a request must then have it, and it alone
// decides whether a customer is created or updated.
//
// Without this option a customer has at least one of the two. The one with the
// same customer id is updated, else the one with the same e-mail address. An
// address that another customer has stays with that customer. Addresses are
// compared without regard to case.
func WithIdentifier(id Identifier) Option { return identifierOption(id) }

type identifierOption Identifier

func (o identifierOption) apply(s *Server) error {
	s.customers.identifier = Identifier(o)
	switch s.customers.identifier {
	case CustomerID, Email:
		return nil
	default:
		return fmt.Errorf("WithIdentifier: %q is neither CustomerID nor Email", string(o))
	}
}

// apiKey is nothing that anybody could take for a secret.
const apiKey = "fake-api-key-of-messagingtest"

// URL is the base URL of the service, to be given to [messaging.NewClient].
func (s *Server) URL() string { return s.web.URL }

// APIKey is the key that the service accepts. It opens nothing else.
func (s *Server) APIKey() string { return apiKey }

// Handler is the service as a handler, to be put behind a server, a middleware
// or a path prefix of the caller's own. It serves on after [Server.Close].
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Close shuts the service down. It ends the wait of requests that are [Slow],
// and returns when everything under way has been carried out. What was recorded
// can be read afterwards. Closing twice does nothing.
func (s *Server) Close() { s.close() }

// Client returns a client of the service, and panics on a bad option. It waits
// only milliseconds before it repeats a request; for other waits, and for
// anything else, give the options that [messaging.NewClient] takes.
func (s *Server) Client(opts ...messaging.Option) *messaging.Client {
	own := []messaging.Option{
		messaging.WithHTTPClient(&http.Client{Transport: transport{s}}),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Millisecond, MaxWait: 10 * time.Millisecond}),
		// A key source of the caller's takes the place of this one.
		messaging.WithKeySource(func(context.Context) (string, error) { return apiKey, nil }),
	}
	client, err := messaging.NewClient(s.URL(), "", append(own, opts...)...)
	if err != nil {
		panic(err)
	}
	return client
}

// newID returns a uuid that no other record of the server has. They are
// numbered, so that what a test prints is always the same.
func (s *Server) newID() string {
	s.lastID++
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", s.lastID)
}
