// Package faultserver holds servers that misbehave by script, for tests of what
// a client makes of it. A script is what happens on one connection, in order:
//
//	server := faultserver.Start(t, faultserver.Script{ReadRequest, Act, Reset})
//
// reads a request, carries it out and breaks the connection without an answer.
package faultserver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Server plays one script a connection: the first connection the first script,
// and so on; the last script is played on every connection that follows.
type Server struct {
	listener net.Listener
	scheme   string
	scripts  []Script
	stopping chan struct{}
	running  sync.WaitGroup
	stop     sync.Once
	hangUps  chan struct{}

	mu          sync.Mutex
	stopped     bool
	connections []net.Conn
	requests    []Request
	acted       []Request
}

// Request is what a server has read.
type Request struct {
	Method, Target string
	Header         http.Header
	Body           []byte
}

// Script is what happens on one connection. When it is over, or a step fails,
// the connection is closed.
type Script []Step

// Step is one line of a script.
type Step func(*Connection) error

// Connection is what a step acts upon.
type Connection struct {
	server *Server
	net    net.Conn
	reader *bufio.Reader
	last   Request
}

// Start starts a server that speaks plain HTTP/1.1 and ends with the test.
func Start(tb testing.TB, scripts ...Script) *Server {
	tb.Helper()
	return StartAt(tb, "127.0.0.1:0", scripts...)
}

// StartAt starts a server at an address that is known beforehand.
func StartAt(tb testing.TB, address string, scripts ...Script) *Server {
	tb.Helper()
	return start(tb, listen(tb, address), "http", scripts)
}

// StartTLS starts a server that speaks HTTP/1.1 over TLS. Its certificate is for
// example.com and 127.0.0.1, and trusted by a client with [ClientTLS].
func StartTLS(tb testing.TB, scripts ...Script) *Server {
	tb.Helper()
	return start(tb, tls.NewListener(listen(tb, "127.0.0.1:0"), serverTLS("http/1.1")), "https", scripts)
}

func listen(tb testing.TB, address string) net.Listener {
	tb.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}

// certificate is the one that httptest comes with.
var certificate = sync.OnceValue(func() tls.Certificate {
	lender := httptest.NewUnstartedServer(nil)
	lender.StartTLS()
	defer lender.Close()
	return lender.TLS.Certificates[0]
})

func serverTLS(protocol string) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{protocol}}
}

// ClientTLS makes a client trust the servers of this package.
func ClientTLS() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(certificate().Leaf)
	return &tls.Config{RootCAs: roots}
}

// ClosedAddress returns an address of this machine that refuses connections. It
// is on a loopback address of its own where the system has more than one, since
// the tests of another package, in another process, may be given the port.
func ClosedAddress(tb testing.TB) string {
	tb.Helper()
	own := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254)))
	listener, err := net.Listen("tcp", net.JoinHostPort(own.String(), "0"))
	if err != nil {
		listener = listen(tb, "127.0.0.1:0")
	}
	defer listener.Close()
	return listener.Addr().String()
}

func start(tb testing.TB, listener net.Listener, scheme string, scripts []Script) *Server {
	s := &Server{listener: listener, scheme: scheme, scripts: scripts,
		stopping: make(chan struct{}), hangUps: make(chan struct{}, mostHangUps)}
	s.running.Go(s.accept)
	tb.Cleanup(s.Stop)
	return s
}

// mostHangUps is how many hang-ups wait to be asked for.
const mostHangUps = 1000

func (s *Server) accept() {
	for i := 0; ; i++ {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		if !s.keep(conn) {
			_ = conn.Close()
			return
		}
		script := s.scripts[min(i, len(s.scripts)-1)]
		s.running.Go(func() {
			defer conn.Close()
			script.play(&Connection{server: s, net: conn, reader: bufio.NewReader(conn)})
		})
	}
}

// keep remembers a connection, unless the server has stopped meanwhile.
func (s *Server) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.connections = append(s.connections, conn)
	return true
}

func (s Script) play(c *Connection) {
	for _, step := range s {
		if step(c) != nil {
			return
		}
	}
}

// Stop ends the server and every connection to it, as a crash does. The end of
// the test stops it too.
func (s *Server) Stop() { s.stop.Do(s.close) }

func (s *Server) close() {
	close(s.stopping)
	_ = s.listener.Close()
	s.mu.Lock()
	s.stopped = true
	for _, conn := range s.connections {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// URL is the base URL of the server.
func (s *Server) URL() string { return s.scheme + "://" + s.Address() }

// Address is where the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Connections is how many connections were accepted.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connections)
}

// Requests returns every request that was read to its end.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Acted is how many requests were carried out: the truth that a client's idea of
// the delivery is held against.
func (s *Server) Acted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acted)
}

// HangUps receives once for each connection that the client has ended while the
// server was at [Hang].
func (s *Server) HangUps() <-chan struct{} { return s.hangUps }

func (s *Server) record(list *[]Request, r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, r)
}

// ReadRequest reads one request to its end.
func ReadRequest(c *Connection) error {
	request, err := http.ReadRequest(c.reader)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	c.last = Request{Method: request.Method, Target: request.RequestURI, Header: request.Header, Body: body}
	c.server.record(&c.server.requests, c.last)
	return nil
}

// ReadHead reads the head of a request, which does not count yet, and leaves its
// body where it is.
func ReadHead(c *Connection) error {
	_, err := http.ReadRequest(c.reader)
	return err
}

// ReadBytes reads n bytes and no more.
func ReadBytes(n int) Step {
	return func(c *Connection) error {
		_, err := io.CopyN(io.Discard, c.reader, int64(n))
		return err
	}
}

// Act carries out the request that was read last.
func Act(c *Connection) error {
	c.server.record(&c.server.acted, c.last)
	return nil
}

// Write writes text as it stands.
func Write(text string) Step {
	written := []byte(text) // once, so that tests which measure memory see none of it
	return func(c *Connection) error {
		_, err := c.net.Write(written)
		return err
	}
}

// Answer writes a well-formed answer. Each header is a line such as
// "Retry-After: 5".
func Answer(status int, body string, headers ...string) Step {
	var answer bytes.Buffer
	fmt.Fprintf(&answer, "HTTP/1.1 %03d Status\r\n", status)
	for _, header := range headers {
		answer.WriteString(header + "\r\n")
	}
	fmt.Fprintf(&answer, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return Write(answer.String())
}

// Repeat writes text n times over, for answers too large to hold. It stops when
// the client has gone.
func Repeat(text string, n int) Step {
	write := Write(text)
	return func(c *Connection) error {
		for range n {
			if err := write(c); err != nil {
				return err
			}
		}
		return nil
	}
}

// Choose plays the step that fits the request that was read last.
func Choose(fitting func(Request) Step) Step {
	return func(c *Connection) error { return fitting(c.last)(c) }
}

// Drip writes text byte by byte, with a pause before each, for as long as
// the client listens.
func Drip(text string, pause time.Duration) Step {
	return func(c *Connection) error {
		for i := range len(text) {
			select {
			case <-c.server.stopping:
				return errStopped
			case <-time.After(pause):
			}
			if _, err := io.WriteString(c.net, text[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
}

// Hang says nothing more until the client or the test has gone.
func Hang(c *Connection) error {
	_, _ = io.Copy(io.Discard, c.reader)
	select {
	case <-c.server.stopping:
	case c.server.hangUps <- struct{}{}:
	}
	return errStopped
}

// Close ends the connection in good order.
func Close(c *Connection) error { return c.net.Close() }

// Reset breaks the connection.
func Reset(c *Connection) error {
	conn := c.net
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return conn.Close()
}

// Forever plays steps again and again, as on a connection that is kept alive.
func Forever(steps ...Step) Step {
	return func(c *Connection) error {
		for {
			for _, step := range steps {
				if err := step(c); err != nil {
					return err
				}
			}
		}
	}
}

var errStopped = errors.New("the script is over")
