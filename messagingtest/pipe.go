package messagingtest

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// pipe is a listener for connections within the process. In a bubble of testing/synctest,
// whoever waits for such a connection is durably blocked.
type pipe struct {
	dialed chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipe() *pipe {
	p := &pipe{dialed: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Accept returns the server's end of the next connection.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialed:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// dial returns the client's end of a new connection.
func (p *pipe) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.dialed <- server:
		return client, nil
	case <-p.closed:
		return nil, refused(p.Addr())
	}
}

// Close refuses connections from now on. It does not close those that were accepted.
func (p *pipe) Close() error {
	p.close()
	return nil
}

// Addr returns a name that no resolver knows, in case another transport dials it.
func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Net: "pipe", Name: "messagingtest.invalid"} }

// refused is the error of a dialer to which the server does not listen.
func refused(addr net.Addr) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}
