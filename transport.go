package messaging

import (
	"net/http"
	"slices"
	"time"
)

// NewTransport returns a new transport like the one that a [Client] uses by default. Change
// or wrap it, and pass it to [WithHTTPClient]. It is a copy of [http.DefaultTransport],
// including the proxy settings, but without the protocols that were registered with it.
// The copy
//
//   - keeps up to 256 idle connections per host for 4 seconds. After a longer time, a
//     server may close a connection just when a request is written to it, and the delivery
//     of the request is then unknown.
//   - reads at most 1 MiB of response headers.
//   - speaks only HTTP/1.1. With HTTP/2, all calls share one connection, and if it breaks
//     or falls silent, the delivery of every call on it is unknown.
//
// To allow HTTP/2:
//
//	transport := messaging.NewTransport()
//	transport.Protocols.SetHTTP2(true)
//
// The HTTP2 settings of the transport then detect a silent connection with a ping. With
// HTTP/2, net/http repeats a read as long as the server resets its stream. So with your own
// transport, an attempt ends when net/http begins a fourth copy of a request.
func NewTransport() *http.Transport {
	t := newBaseTransport()
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 256
	t.IdleConnTimeout = 4 * time.Second
	t.MaxResponseHeaderBytes = 1 << 20
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second}
	// A function that takes over connections, for HTTP/2 or another protocol, would send
	// requests in its own way.
	t.TLSNextProto = nil
	if t.TLSClientConfig != nil { // where net/http has added the protocols of the original
		t.TLSClientConfig.NextProtos = slices.DeleteFunc(slices.Clone(t.TLSClientConfig.NextProtos),
			func(protocol string) bool { return protocol != "http/1.1" })
	}
	return t
}

func newBaseTransport() *http.Transport {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	return &http.Transport{Proxy: http.ProxyFromEnvironment}
}

// newDefaultTransport returns the transport of a client for which none was supplied. If the
// program has replaced [http.DefaultTransport], for example by a mock or a tracer, the
// replacement is used unchanged, and own is false.
func newDefaultTransport() (transport http.RoundTripper, own bool) {
	if _, ok := http.DefaultTransport.(*http.Transport); !ok && http.DefaultTransport != nil {
		return http.DefaultTransport, false
	}
	return NewTransport(), true
}
