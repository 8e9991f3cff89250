package canned

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Addresses holds the addresses of a server process. The server sends them to its
// parent process.
type Addresses struct {
	// Plain and TLS are the base URLs of the adjustable service. TLS supports only
	// HTTP/1.1, with which each call in flight needs its own connection.
	Plain, TLS string
	// Lists holds the base URLs of the lists by name.
	Lists map[string]string
	// Count is the URL of the number of connections to the adjustable service.
	Count string
	// Certificate is the certificate of TLS in DER form.
	Certificate []byte
}

// Serve serves an adjustable service and lists on the loopback address. It writes
// its addresses to out, and stops at the end of in. If in is a pipe from the parent
// process, the server stops at the latest when that process ends.
func Serve(adjustable Service, lists map[string]http.Handler, in io.Reader, out io.Writer) error {
	certificate, err := newCertificate()
	if err != nil {
		return err
	}
	var accepted atomic.Int64
	s := servers{failed: make(chan error)}
	handler := Adjustable(adjustable, time.Sleep)
	addresses := Addresses{
		Plain:       s.start("http", newServer(handler, &accepted), nil),
		TLS:         s.start("https", newServer(handler, &accepted), &certificate),
		Lists:       make(map[string]string, len(lists)),
		Count:       s.start("http", newServer(count(&accepted), new(atomic.Int64)), nil),
		Certificate: certificate.Certificate[0],
	}
	for name, list := range lists {
		addresses.Lists[name] = s.start("http", newServer(list, new(atomic.Int64)), nil)
	}
	defer s.close()
	if err := errors.Join(s.err, json.NewEncoder(out).Encode(addresses)); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case err := <-s.failed:
		return err
	}
}

func count(accepted *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, accepted.Load()) })
}

func newServer(handler http.Handler, accepted *atomic.Int64) *http.Server {
	server := &http.Server{
		Handler:   handler,
		Protocols: new(http.Protocols),
		ErrorLog:  log.New(io.Discard, "", 0), // canceled handshakes are expected
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				accepted.Add(1)
			}
		},
	}
	server.Protocols.SetHTTP1(true)
	return server
}

// servers holds the HTTP servers of this process.
type servers struct {
	running []*http.Server
	failed  chan error
	err     error // the errors of servers that could not be started
}

// start starts a server and returns its base URL. With a certificate, the server
// uses TLS.
func (s *servers) start(scheme string, server *http.Server, certificate *tls.Certificate) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.err = errors.Join(s.err, err)
		return ""
	}
	address := listener.Addr().String()
	if certificate != nil {
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{*certificate}})
	}
	s.running = append(s.running, server)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return scheme + "://" + address
}

func (s *servers) close() {
	for _, server := range s.running {
		_ = server.Close()
	}
}

// Connections returns the number of connections that the adjustable service has
// accepted.
func (a Addresses) Connections(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Count, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	var count int
	_, err = fmt.Fscan(resp.Body, &count)
	return count, err
}
