package messaging

import (
	"net"
	"net/http"
	"slices"
	"time"
)

// NewTransport returns the transport that a [Client] uses by default, to be
// changed or wrapped, and given to [WithHTTPClient]. It is a copy of
// [http.DefaultTransport], proxy settings included but without the protocols that
// were registered with it, that
//
//   - keeps up to 256 idle connections per host, for 4 seconds: longer than that, a
//     server may close a connection just when a request is written to it, which
//     leaves an unknown delivery;
//   - reads at most 1 MiB of response headers;
//   - speaks HTTP/1.1 alone. Over HTTP/2 all calls share one connection, and when
//     that breaks or falls silent, the delivery of each of them is unknown.
//
// To allow HTTP/2:
//
//	transport := messaging.NewTransport()
//	transport.Protocols.SetHTTP2(true)
//
// Its HTTP2 settings then detect a silent connection by a ping.
func NewTransport() *http.Transport {
	t := newBaseTransport()
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 256
	t.IdleConnTimeout = 4 * time.Second
	t.MaxResponseHeaderBytes = 1 << 20
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second}
	// A hook that takes connections over, for HTTP/2 or another protocol, would
	// send requests in a way of its own.
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
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
	}
}

// newDefaultTransport returns the transport of a client that was given none. One
// that the program has put in the place of [http.DefaultTransport], such as a mock
// or a tracer, is used as it is; own says that it is not.
func newDefaultTransport() (transport http.RoundTripper, own bool) {
	if _, ok := http.DefaultTransport.(*http.Transport); !ok && http.DefaultTransport != nil {
		return http.DefaultTransport, false
	}
	return NewTransport(), true
}
