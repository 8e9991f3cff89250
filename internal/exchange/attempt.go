package exchange

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attempt is one try at sending a request, and the evidence of what became of it.
type attempt struct {
	start  time.Time
	key    [1]string // the value of a header
	ctx    context.Context
	cancel context.CancelFunc

	// ownTransport says that the transport is the one that NewClient built.
	ownTransport bool
	ownBody      bytes.Reader // the body on that transport
	body         requestBody  // the body on any other one
	trace        httptrace.ClientTrace
	asked, got   atomic.Int32 // connections that a transport asked for, and got
	written      atomic.Int32 // copies of the request that net/http has begun to write
	looping      atomic.Bool
	answered     bool // the transport returned a response beside an error

	// response is what the transport returned. net/http closes the body of a
	// redirect whose Location it cannot parse, so it is not shown that one.
	response *http.Response
}

// maxWritten is how often net/http may write a request within one attempt. Over
// HTTP/2 it repeats a read for as long as the server resets the stream.
const maxWritten = 3

// begin starts the attempt: its time limit, and the collection of evidence.
func (a *attempt) begin(ctx context.Context, limit time.Duration, key string, body []byte, ownTransport bool) {
	a.start, a.key[0], a.ownTransport = time.Now(), key, ownTransport
	a.body.content = body
	ctx, a.cancel = context.WithTimeoutCause(ctx, limit, ErrAttemptTimeout)
	a.trace.GetConn = func(string) { a.asked.Add(1) }
	a.trace.GotConn = func(httptrace.GotConnInfo) { a.got.Add(1) }
	if !ownTransport {
		a.trace.WroteHeaderField = a.countWritten
	}
	a.ctx = httptrace.WithClientTrace(ctx, &a.trace)
}

// duration is the time since the attempt began, 0 for one that did not begin.
func (a *attempt) duration() time.Duration {
	if a == nil {
		return 0
	}
	return time.Since(a.start)
}

// countWritten counts the requests that carry the API key, and so leaves out
// those that a transport makes on its own, such as for a token.
func (a *attempt) countWritten(header string, _ []string) {
	if strings.EqualFold(header, authorizationHeader) && a.written.Add(1) > maxWritten {
		a.looping.Store(true)
		a.cancel()
	}
}

// request is what the attempt sends: req with the key and, unless it is a read, a
// body, even if it is an empty one. Together with the missing GetBody, the body
// keeps net/http from sending the request again.
func (a *attempt) request(req *http.Request, isRead bool) *http.Request {
	req = req.WithContext(a.ctx)
	req.Header[authorizationHeader] = a.key[:]
	switch {
	case isRead:
	case a.ownTransport:
		// net/http knows this reader, and writes it together with the headers.
		a.ownBody.Reset(a.body.content)
		req.Body, req.ContentLength = io.NopCloser(&a.ownBody), a.ownBody.Size()
	default:
		req.Body, req.ContentLength = &a.body, int64(len(a.body.content))
	}
	return req
}

// provedNotSent reports whether it is certain that the service did not receive
// the request, and will not receive it any more. It is asked after the transport
// has failed.
//
// The transport that NewClient builds sends nothing after RoundTrip has failed
// without a connection, as net/http/httptrace tells.
//
// Any other transport may report to httptrace or not, send in several ways, and
// go on after RoundTrip has returned. What it cannot do is to send a body that it
// has not read. So the body is locked first, and then looked at. A transport that
// has read from the body, that reports to have written the headers, or that has
// returned a response as well, proves nothing, and neither does a request without a
// body.
func (a *attempt) provedNotSent() bool {
	if a.ownTransport {
		return a.foundNoConnection()
	}
	return a.body.lock() && a.written.Load() == 0 && !a.answered
}

// foundNoConnection reports whether a connection was asked for and never
// obtained, as far as the transport tells.
func (a *attempt) foundNoConnection() bool { return a.asked.Load() > 0 && a.got.Load() == 0 }

// end stops whatever is still going on in the attempt.
func (a *attempt) end() {
	a.body.lock()
	a.cancel()
}

// requestBody is the body of one attempt. Once it is locked, no byte of it can be
// read.
type requestBody struct {
	content []byte

	mu     sync.Mutex
	offset int // of what has not been read
	locked bool
}

var errBodyLocked = errors.New("messaging: request body used after its attempt ended")

func (b *requestBody) Read(p []byte) (int, error) {
	piece, err := b.next(len(p))
	if len(piece) == 0 && len(p) > 0 && err == nil {
		err = io.EOF
	}
	return copy(p, piece), err
}

// WriteTo writes what has not been read yet, in pieces between which the body can be
// locked.
func (b *requestBody) WriteTo(w io.Writer) (int64, error) {
	const pieceSize = 256 << 10
	for written := int64(0); ; {
		piece, err := b.next(pieceSize)
		if len(piece) == 0 || err != nil {
			return written, err
		}
		n, err := w.Write(piece)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
}

// next takes up to limit bytes of what has not been read.
func (b *requestBody) next(limit int) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.locked {
		return nil, errBodyLocked
	}
	piece := b.content[b.offset:min(len(b.content), b.offset+limit)]
	b.offset += len(piece)
	return piece, nil
}

// Close does nothing: a body in memory has nothing to release.
func (b *requestBody) Close() error { return nil }

// lock reports whether there was a body to send and none of it has been read.
func (b *requestBody) lock() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.locked = true
	return b.offset == 0 && len(b.content) > 0
}
