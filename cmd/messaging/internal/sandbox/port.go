package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// port serves a handler on an address, which it can close temporarily.
type port struct {
	address string
	handler http.Handler
	fail    func(error)
	changed func() // called after an outage

	mu       sync.Mutex
	server   *http.Server
	listener net.Listener
	served   chan struct{} // closed when the server no longer accepts
	until    time.Time     // the end of the outage; zero if there is none
	reopen   *time.Timer   // nil if there is no outage
	closed   bool
}

func newPort(listener net.Listener, handler http.Handler, fail func(error), changed func()) *port {
	p := &port{address: listener.Addr().String(), handler: handler, fail: fail, changed: changed}
	p.serve(listener)
	return p
}

// serve starts to serve. Requests have no time limit, because a fault can delay them.
// The caller must hold p.mu, unless nobody else has p.
func (p *port) serve(listener net.Listener) {
	server := &http.Server{Handler: p.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	served := make(chan struct{})
	p.server, p.listener, p.served = server, listener, served
	go func() {
		defer close(served)
		err := server.Serve(listener)
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			p.fail(fmt.Errorf("the service no longer listens on %s: %w", p.address, err))
		}
	}()
}

// outage closes the address and all its connections for a duration. If there is an
// outage, the duration replaces the rest of it.
func (p *port) outage(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.until = time.Now().Add(d)
	if p.reopen != nil {
		p.reopen.Reset(time.Until(p.until))
		return
	}
	_ = p.listener.Close() // the server may not have it yet
	_ = p.server.Close()   // all that matters is that nothing is accepted
	<-p.served             // the address is free only when Accept has returned
	p.reopen = time.AfterFunc(time.Until(p.until), p.open)
}

// open ends an outage.
func (p *port) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.reopen == nil || time.Now().Before(p.until) { // the timer was set again
		return
	}
	p.until, p.reopen = time.Time{}, nil
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.fail(fmt.Errorf("cannot listen on %s again after the outage: %w", p.address, err))
		return
	}
	p.serve(listener)
	p.changed()
}

// endOutage ends an outage early.
func (p *port) endOutage() {
	p.mu.Lock()
	out := p.reopen != nil && p.reopen.Stop()
	p.until = time.Time{}
	p.mu.Unlock()
	if out {
		p.open()
	}
}

// outageUntil returns the end of the outage, or the zero time.
func (p *port) outageUntil() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until
}

func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.reopen != nil {
		p.reopen.Stop()
	}
	_ = p.server.Close() // the process ends, or the test
}
