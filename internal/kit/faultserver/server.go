// Package faultserver has a server that follows a script, for tests of how a client
// deals with faults. A script is what happens on one connection, in order:
//
//	server := faultserver.Start(t, faultserver.Script{ReadRequest, Act, Reset})
//
// reads a request, carries it out and resets the connection without a response.
// Over HTTP/2, [Streams] plays a script for each request:
//
//	server := faultserver.StartHTTP2(t, faultserver.Script{Streams(ReadRequest, Act, Respond(200, "ok"))})
package faultserver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server plays one script a connection: the first connection the first script,
// and so on; the last script is played on every connection that follows.
type Server struct {
	listener net.Listener
	scheme   string
	scripts  []Script
	running  sync.WaitGroup
	stop     func()

	transport *http.Transport // of Client

	mu          sync.Mutex
	stopped     bool
	connections []net.Conn
	requests    []Request
	acted       int
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

// Connection is what a step acts on: a connection, or one request of a connection
// that carries [Streams].
type Connection struct {
	server *Server
	net    net.Conn
	reader *bufio.Reader // nil for a request of Streams
	stream *stream       // nil for a connection
	last   Request
}

// Request returns the request that was read last.
func (c *Connection) Request() Request { return c.last }

// Start starts a server that speaks plain HTTP/1.1 and ends with the test.
func Start(tb testing.TB, scripts ...Script) *Server {
	tb.Helper()
	return start(tb, listen(tb), "http", scripts)
}

// StartTLS starts a server that speaks HTTP/1.1 over TLS. Its certificate is for
// example.com and 127.0.0.1, and trusted by a client with [ClientTLS].
func StartTLS(tb testing.TB, scripts ...Script) *Server {
	tb.Helper()
	return start(tb, tls.NewListener(listen(tb), serverTLS("http/1.1")), "https", scripts)
}

// StartHTTP2 starts a server that agrees on HTTP/2 over TLS. Its scripts speak it
// with [Streams].
func StartHTTP2(tb testing.TB, scripts ...Script) *Server {
	tb.Helper()
	return start(tb, tls.NewListener(listen(tb), serverTLS("h2")), "https", scripts)
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
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
// is on its own loopback address where the system has more than one, since
// the tests of another package, in another process, may be given the port.
func ClosedAddress(tb testing.TB) string {
	tb.Helper()
	own := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254)))
	listener, err := net.Listen("tcp", net.JoinHostPort(own.String(), "0"))
	if err != nil {
		listener = listen(tb)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func start(tb testing.TB, listener net.Listener, scheme string, scripts []Script) *Server {
	s := &Server{listener: listener, scheme: scheme, scripts: scripts,
		transport: &http.Transport{TLSClientConfig: ClientTLS(), ForceAttemptHTTP2: true}}
	s.stop = sync.OnceFunc(s.close)
	s.running.Go(s.accept)
	tb.Cleanup(s.Stop)
	return s
}

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

// keep remembers a connection, unless the server has stopped in the meantime.
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

// Stop ends the server and every connection to it, as a crash does. The end of the
// test calls it, too.
func (s *Server) Stop() { s.stop() }

func (s *Server) close() {
	s.transport.CloseIdleConnections()
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

// Client returns a client that trusts the server and speaks its protocol.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.transport} }

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

// Acted is how many requests were carried out.
func (s *Server) Acted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acted
}

// Await waits until a request begins to arrive, and leaves it unread.
func Await(c *Connection) error {
	c.last = Request{}
	if c.stream != nil {
		return nil
	}
	_, err := c.reader.Peek(1)
	return err
}

// ReadRequest reads one request to its end.
func ReadRequest(c *Connection) error {
	if c.stream != nil {
		c.last = c.stream.request
	} else {
		request, err := http.ReadRequest(c.reader)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return err
		}
		c.last = Request{Method: request.Method, Target: request.RequestURI, Header: request.Header, Body: body}
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.requests = append(c.server.requests, c.last)
	return nil
}

// ReadHead reads the head of a request and leaves its body unread. The request
// does not count as read. ReadHead is for HTTP/1.1, like [ReadBytes], [Write] and [Repeat].
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
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.acted++
	return nil
}

// Write writes text to the connection.
func Write(text string) Step {
	written := []byte(text) // once, so that tests which measure memory do not see it
	return func(c *Connection) error {
		_, err := c.net.Write(written)
		return err
	}
}

// Respond writes a complete response. Each header is a line such as
// "Retry-After: 5".
func Respond(status int, body string, headers ...string) Step {
	return respond(status, body, headers, len(body))
}

// RespondPartly writes the beginning of a response, and announces more of its body.
func RespondPartly(status int, body string, headers ...string) Step {
	return respond(status, body, headers, len(body)+100)
}

func respond(status int, body string, headers []string, length int) Step {
	var response bytes.Buffer
	fmt.Fprintf(&response, "HTTP/1.1 %03d Status\r\n", status)
	for _, header := range headers {
		response.WriteString(header + "\r\n")
	}
	fmt.Fprintf(&response, "Content-Length: %d\r\n\r\n%s", length, body)
	overHTTP1 := Write(response.String())
	return func(c *Connection) error {
		if c.stream != nil {
			return c.stream.respond(status, body, headers, length == len(body))
		}
		return overHTTP1(c)
	}
}

// Repeat writes text n times, for responses too large for memory. It stops when the
// client has closed the connection.
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

// Choose plays a step that depends on the request that was read last.
func Choose(step func(Request) Step) Step {
	return func(c *Connection) error { return step(c.last)(c) }
}

// Hang waits until the client ends the connection, or the request of [Streams], or
// the server stops.
func Hang(c *Connection) error {
	if c.stream != nil {
		<-c.stream.alive.Done()
	} else {
		_, _ = io.Copy(io.Discard, c.reader)
	}
	return nil
}

// Close closes the connection.
func Close(c *Connection) error { return c.net.Close() }

// Reset resets the connection.
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

// EachRequest is a script that reads each request of a connection and plays the
// steps.
func EachRequest(steps ...Step) Script {
	return Script{Forever(append(Script{ReadRequest}, steps...)...)}
}

// Forever plays steps again and again, as on a connection that is kept alive. A step
// that fails ends it.
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
