package messagingtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/messaging-go/messaging"
)

// Server is an in-memory messaging service that listens on a loopback address. Create one
// with [NewServer] in a test or with [Start] in a program. It is safe for concurrent use. The
// methods of a nil or zero Server panic.
type Server struct {
	config    config // never changes
	http      *httptest.Server
	transport *http.Transport
	closing   chan struct{}
	close     func()

	ticketPrefix string

	observing    sync.Mutex // held during a call of the observer; protects lastExchange
	lastExchange int

	mu     sync.Mutex // protects the following fields
	states []state    // one for each of parts
	lastID int
}

// NewServer starts a server, and closes it when the test ends. It calls tb.Fatal if the
// server cannot start, and panics if tb is nil.
func NewServer(tb testing.TB, opts ...Option) *Server {
	if isNil(tb) {
		panic("messagingtest: NewServer: tb must not be nil; use Start outside of a test")
	}
	tb.Helper()
	s, err := Start(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server. The caller must call [Server.Close]. The error of Start reports
// every invalid option, or why it cannot listen on a loopback address.
func Start(opts ...Option) (*Server, error) {
	c, err := newConfig(opts)
	if err == nil && c.listener == nil {
		c.listener, err = listen("127.0.0.1:0", "[::1]:0")
	}
	if err != nil {
		if c.listener != nil {
			_ = c.listener.Close() // as WithListener promises
		}
		return nil, fmt.Errorf("messagingtest: %w", err)
	}
	return c.start(), nil
}

// start starts a server that has a listener.
func (c config) start() *Server {
	s := &Server{config: c, closing: make(chan struct{}), transport: &http.Transport{MaxIdleConnsPerHost: 256},
		ticketPrefix: rand.Text() + "-"}
	for _, create := range parts {
		s.states = append(s.states, create(c))
	}
	s.http = &httptest.Server{Listener: c.listener, Config: &http.Server{Handler: s.Handler()}}
	s.http.Start()
	s.close = sync.OnceFunc(func() {
		close(s.closing)
		s.http.Close()
		s.transport.CloseIdleConnections()
	})
	return s
}

// listen listens on the first address that is available.
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

// defaultAPIKey is obviously a fake, so that nobody mistakes it for a secret.
const defaultAPIKey = "fake-api-key-of-messagingtest"

// URL returns the base URL of the server, for [messaging.NewClient].
func (s *Server) URL() string { return s.started().http.URL }

// APIKey returns the API key that the server accepts. It is not a secret.
func (s *Server) APIKey() string { return s.started().config.apiKey }

// Handler returns the HTTP handler of the server. Use it to add middleware or a path
// prefix, or to serve it with another HTTP server. It still works after [Server.Close].
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.started().serve) }

// Close shuts down the server. It ends the delay of [Slow] requests, and blocks until all
// outstanding requests have been carried out. The methods that return records still work
// afterward. Close may be called more than once.
func (s *Server) Close() { s.started().close() }

// Client returns a client for the server, which waits only a few milliseconds before a
// retry. The options are those of [messaging.NewClient], and override the defaults.
// Client panics if an option is invalid.
func (s *Server) Client(opts ...messaging.Option) *messaging.Client {
	own := []messaging.Option{
		messaging.WithHTTPClient(&http.Client{Transport: transport{s}}),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Millisecond, MaxWait: 10 * time.Millisecond}),
		// NewClient does not allow an API key together with WithKeySource, which opts may
		// contain.
		messaging.WithKeySource(func(context.Context) (string, error) { return s.config.apiKey, nil }),
	}
	client, err := messaging.NewClient(s.URL(), "", append(own, opts...)...)
	if err != nil {
		panic(err)
	}
	return client
}

// Format prints the server as its URL, regardless of the verb. The fields of a server change
// at any time, and lead to the requests in progress.
func (s *Server) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "messagingtest.Server("+s.URL()+")")
}

// started returns s. It panics if neither NewServer nor Start returned s, as when the error
// of Start was ignored.
func (s *Server) started() *Server {
	if s == nil || s.states == nil {
		panic("messagingtest: nil or zero Server: create it with NewServer or Start")
	}
	return s
}

func (s *Server) lock() { s.started().mu.Lock() }

// newID returns a UUID that is unique within the server. The UUIDs are sequential, so
// that the output of tests is reproducible. The caller must hold s.mu.
func (s *Server) newID() string {
	s.lastID++
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", s.lastID)
}

// idOr returns id, or a new one if it is "". The caller must hold s.mu.
func (s *Server) idOr(id string) string {
	if id == "" {
		return s.newID()
	}
	return id
}
