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
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
)

// Server plays one script a connection: the first connection the first script,
// and so on; the last script is played on every connection that follows.
type Server struct {
	listener net.Listener
	scheme   string
	scripts  []Script
	running  sync.WaitGroup
	stopped  context.Context
	stop     context.CancelFunc

	transport *http.Transport // of Client

	connections, acted atomic.Int64

	mu       sync.Mutex
	requests []Request
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
	last   Request

	frames *http2.Framer // nil for a connection
	stream uint32
}

// Request returns the request that was read last.
func (c *Connection) Request() Request { return c.last }

// Start starts a server that speaks plain HTTP/1.1 and ends with the test.
func Start(tb testing.TB, scripts ...Script) *Server { return start(tb, "", scripts) }

// StartTLS starts a server that speaks HTTP/1.1 over TLS. Its certificate is for
// example.com and 127.0.0.1, and trusted by a client with [ClientTLS].
func StartTLS(tb testing.TB, scripts ...Script) *Server { return start(tb, "http/1.1", scripts) }

// StartHTTP2 starts a server that agrees on HTTP/2 over TLS. Its scripts speak it
// with [Streams].
func StartHTTP2(tb testing.TB, scripts ...Script) *Server { return start(tb, "h2", scripts) }

func start(tb testing.TB, overTLS string, scripts []Script) *Server {
	tb.Helper()
	s := &Server{listener: listen(tb), scheme: "http", scripts: scripts,
		transport: &http.Transport{TLSClientConfig: ClientTLS(), ForceAttemptHTTP2: true}}
	if overTLS != "" {
		s.scheme = "https"
		s.listener = tls.NewListener(s.listener, &tls.Config{Certificates: lender().TLS.Certificates, NextProtos: []string{overTLS}})
	}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.running.Go(s.accept)
	tb.Cleanup(s.Stop)
	return s
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return listener
}

// lender is a closed server of httptest, which lends its certificate.
var lender = sync.OnceValue(func() *httptest.Server {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	server.Close()
	return server
})

// ClientTLS makes a client trust the servers of this package.
func ClientTLS() *tls.Config {
	return lender().Client().Transport.(*http.Transport).TLSClientConfig.Clone()
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

func (s *Server) accept() {
	for i := 0; ; i++ {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.connections.Add(1)
		script := s.scripts[min(i, len(s.scripts)-1)]
		s.running.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(s.stopped, func() { _ = conn.Close() })()
			_ = script.play(&Connection{server: s, net: conn, reader: bufio.NewReader(conn)})
		})
	}
}

func (s Script) play(c *Connection) error {
	for _, step := range s {
		if err := step(c); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the server and every connection to it, as a crash does. The end of the
// test calls it, too.
func (s *Server) Stop() {
	s.transport.CloseIdleConnections()
	_ = s.listener.Close()
	s.stop()
	s.running.Wait()
}

// URL is the base URL of the server.
func (s *Server) URL() string { return s.scheme + "://" + s.Address() }

// Address is where the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Client returns a client that trusts the server and speaks its protocol.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.transport} }

// Connections is how many connections were accepted.
func (s *Server) Connections() int { return int(s.connections.Load()) }

// Requests returns every request that was read to its end.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Acted is how many requests were carried out.
func (s *Server) Acted() int { return int(s.acted.Load()) }

// Await waits until a request begins to arrive, and leaves it unread. It is for HTTP/1.1,
// like [ReadHead], [ReadBytes], [Write] and [Repeat].
func Await(c *Connection) error {
	c.last = Request{}
	_, err := c.reader.Peek(1)
	return err
}

// ReadRequest reads one request to its end.
func ReadRequest(c *Connection) error {
	if c.frames == nil { // a request of Streams has arrived
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
// does not count as read.
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
	c.server.acted.Add(1)
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
	return respond(status, body, headers, true)
}

// RespondPartly writes the beginning of a response, and announces more of its body.
func RespondPartly(status int, body string, headers ...string) Step {
	return respond(status, body, headers, false)
}

func respond(status int, body string, headers []string, complete bool) Step {
	length := len(body)
	if !complete {
		length += 100
	}
	head := append([]string{fmt.Sprintf("HTTP/1.1 %03d Status", status)}, headers...)
	head = append(head, fmt.Sprintf("Content-Length: %d\r\n\r\n", length))
	overHTTP1 := Write(strings.Join(head, "\r\n") + body)
	return func(c *Connection) error {
		if c.frames != nil {
			return c.respondOverHTTP2(status, body, headers, complete)
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

// Hang waits until the client ends the connection. As a request of [Streams], it waits
// until the server stops.
func Hang(c *Connection) error {
	if c.frames != nil {
		<-c.server.stopped.Done()
		return nil
	}
	_, _ = io.Copy(io.Discard, c.reader)
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
			if err := Script(steps).play(c); err != nil {
				return err
			}
		}
	}
}
