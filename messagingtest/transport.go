package messagingtest

import (
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"syscall"
)

// transport is what the clients of a Server send through. It can refuse to
// connect.
type transport struct{ server *Server }

// RoundTrip tells httptrace what a refused connection tells it: that one was
// asked for, and none obtained.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.server.takeNotReached() {
		return t.server.transport.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GetConn != nil {
		trace.GetConn(r.URL.Host)
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: t.server.web.Listener.Addr(),
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func (s *Server) takeNotReached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.nextIsNotReached()
}
