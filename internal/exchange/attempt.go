package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/internal/redact"
)

// attempt is one attempt at sending a request. It collects the evidence of what happens, and
// writes from it what the attempt did.
type attempt struct {
	call *Call
	keys *redact.Keys // that were sent until now
	did  Result

	start  time.Time
	key    [1]string       // the value of a header
	base   context.Context // of the call, or the one that a hook returned in its place
	ctx    context.Context
	cancel context.CancelFunc

	ownBody bytes.Reader // the body for the transport that NewClient built
	body    requestBody  // the body for any other transport
	trace   httptrace.ClientTrace

	asked, got atomic.Int32 // connections that the transport asked for, and got
	written    atomic.Int32 // copies of the request that net/http has begun to write
	looping    atomic.Bool
	responded  bool // the transport returned a response together with an error
}

// maxWritten is how often net/http may write a request within one attempt. With HTTP/2, it
// repeats a read for as long as the server resets the stream.
const maxWritten = 3

// begin starts the timeout of the attempt and the collection of evidence.
func (a *attempt) begin(ctx context.Context, call *Call, keys *redact.Keys, key string) {
	a.call, a.keys, a.start, a.key[0], a.base = call, keys, time.Now(), key, ctx
	a.body.content = call.Body
	if call.NotAfter != (TimeLimit{}) {
		a.body.notAfter = &call.NotAfter
	}
	ctx, a.cancel = context.WithDeadlineCause(ctx, a.start.Add(call.AttemptTimeout.Limit), ErrAttemptTimeout)
	a.trace.GetConn = func(string) { a.asked.Add(1) }
	a.trace.GotConn = func(httptrace.GotConnInfo) { a.got.Add(1) }
	if !call.Config.OwnTransport {
		a.trace.WroteHeaderField = a.countWritten
	}
	a.ctx = httptrace.WithClientTrace(ctx, &a.trace)
}

var errNoResponse = errors.New("the transport returned neither a response nor an error")

// send gives req to the transport, and reads the response: net/http closes the body of a
// redirect if it cannot parse the Location.
func (a *attempt) send(req *http.Request) (*http.Response, error) {
	if a.call.NotAfter.passed() { // a hook can take long
		a.did = *late
		return nil, late.Err
	}
	resp, err := a.call.Config.HTTP.Transport.RoundTrip(a.request(req))
	switch {
	case err != nil && resp != nil: // the service received the request
		a.responded = true
		closeBody(resp)
		return nil, err
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNoResponse
	}
	a.did = a.read(resp)
	return resp, nil
}

// countWritten counts the requests that carry the API key. This leaves out the requests
// that a transport makes on its own, for example to get a token.
func (a *attempt) countWritten(header string, _ []string) {
	if strings.EqualFold(header, authorizationHeader) && a.written.Add(1) > maxWritten {
		a.looping.Store(true)
		a.cancel()
	}
}

// request returns what the attempt sends: req with the key and, unless it is a read, with a
// body, even an empty one. A body without GetBody keeps net/http from sending the request
// again.
func (a *attempt) request(req *http.Request) *http.Request {
	req = req.WithContext(a.ctx)
	req.Header[authorizationHeader] = a.key[:]
	switch {
	case a.call.Operation.IsRead():
	case a.call.Config.OwnTransport && a.body.notAfter == nil:
		// net/http knows this reader, and writes it together with the headers.
		a.ownBody.Reset(a.body.content)
		req.Body, req.ContentLength = io.NopCloser(&a.ownBody), a.ownBody.Size()
	default:
		req.Body, req.ContentLength = &a.body, int64(len(a.body.content))
	}
	return req
}

// provedNotSent reports whether it is certain that the service did not receive the request,
// and will not receive it later. It is called after the transport has failed.
//
// If the time limit passed while the body was being read, the end of the body was not given
// away and never will be. The service cannot carry out such a request if it needs the body,
// as it does for every operation that this module knows.
//
// The transport that NewClient builds sends nothing after RoundTrip has failed without a
// connection, and net/http/httptrace reports whether there was one.
//
// Any other transport may or may not report to httptrace. It may send in several ways, and
// continue after RoundTrip has returned. But it cannot send a body that it has not read. So
// the body is locked first, and then it is checked whether any of it was read. Nothing is
// proved if the transport has tried to read the body, has reported that it wrote the headers,
// or has also returned a response, or if the request has no body.
func (a *attempt) provedNotSent() bool {
	unread := a.body.lock()
	if a.body.isCutOff() && !a.call.Operation.Custom && !a.responded {
		return true
	}
	if a.call.Config.OwnTransport {
		return a.foundNoConnection()
	}
	return unread && a.written.Load() == 0 && !a.responded
}

// foundNoConnection reports whether the transport asked for a connection and got none, as
// far as it reports to httptrace.
func (a *attempt) foundNoConnection() bool { return a.asked.Load() > 0 && a.got.Load() == 0 }

// end ends the attempt, and returns what it did. If there is no response, err is why.
func (a *attempt) end(err error) *Result {
	if a.did.Stage == None {
		provedNotSent := a.provedNotSent()
		a.did = a.broken(err)
		a.did.Delivery, a.did.failure = classifyCause(a.did.Err, provedNotSent, a.did.noConnection, a.did.connected)
	}
	a.did.Duration = time.Since(a.start)
	a.stop()
	return &a.did
}

// stop stops anything that is still running in the attempt.
func (a *attempt) stop() {
	a.body.lock()
	a.cancel()
}

// requestBody is the body of one attempt. Once it is locked, nothing can be read from it.
type requestBody struct {
	content  []byte
	notAfter *TimeLimit // after which no part is read, or nil

	mu     sync.Mutex
	offset int // of the first byte that has not been read
	locked bool
	cutOff bool // by the time limit, so that the end was not read
}

var errBodyLocked = errors.New("messaging: request body used after its attempt ended")

func (b *requestBody) Read(p []byte) (int, error) {
	piece, err := b.next(len(p))
	if len(piece) == 0 && len(p) > 0 && err == nil {
		err = io.EOF
	}
	return copy(p, piece), err
}

// WriteTo writes what has not been read yet. It writes in pieces, so that the body can be
// locked in between.
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

// next returns up to limit bytes that have not been read.
func (b *requestBody) next(limit int) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.cutOff:
		return nil, ErrNotAfter
	case b.locked:
		return nil, errBodyLocked
	case b.notAfter != nil && b.offset < len(b.content) && b.notAfter.passed():
		b.cutOff, b.locked = true, true
		return nil, ErrNotAfter
	}
	piece := b.content[b.offset:min(len(b.content), b.offset+limit)]
	b.offset += len(piece)
	return piece, nil
}

// Close does nothing: a body in memory has nothing to release.
func (b *requestBody) Close() error { return nil }

// lock locks the body. It reports whether there was a body to send and nobody has asked for
// any of it.
func (b *requestBody) lock() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.locked = true
	return b.offset == 0 && len(b.content) > 0 && !b.cutOff
}

// isCutOff reports whether the time limit passed before the end of the body was read.
func (b *requestBody) isCutOff() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cutOff
}

// ErrAttemptTimeout is returned when an attempt exceeds its time limit.
var ErrAttemptTimeout error = attemptTimeout{}

// attemptTimeout is the type of ErrAttemptTimeout, a net.Error.
type attemptTimeout struct{}

func (attemptTimeout) Error() string   { return "attempt timed out" }
func (attemptTimeout) Timeout() bool   { return true }
func (attemptTimeout) Temporary() bool { return true }

// AttemptTimeout is the time limit of an attempt, and the option that set it.
type AttemptTimeout struct {
	Limit  time.Duration
	Option string // for the text of an error
}

// timedOut is ErrAttemptTimeout with the time limit.
type timedOut struct{ AttemptTimeout }

func (e *timedOut) Error() string {
	return fmt.Sprintf("%v after %v (see %s)", ErrAttemptTimeout, e.Limit, e.Option)
}
func (e *timedOut) Unwrap() error { return ErrAttemptTimeout }
