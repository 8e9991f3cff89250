package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// read returns the result of an attempt that got a response.
func (a *attempt) read(resp *http.Response) Result {
	if resp.Body == nil { // the caller's own transport may leave it out
		resp.Body = http.NoBody
	}
	defer closeBody(resp)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return a.readSuccess(resp)
	}
	r := wire.NewReader()
	defer r.Free()
	if resp.StatusCode >= 200 { // below 200, the body is the connection
		// An incomplete body is kept. A key that crosses the limit must be read to its end.
		_, _ = r.Fetch(resp, int64(a.keys.Window(wire.MaxErrorBody)))
	}
	did := a.rejected(resp, r.Body())
	did.Delivery, did.failure = classifyStatus(resp.StatusCode, did.Problem.Form, a.call.Operation)
	if resp.StatusCode == http.StatusNotFound && strings.HasSuffix(a.call.Config.BaseURL, "/v1") { // which the path already has
		did.failure = badSetup
	}
	return did
}

// readSuccess reads a 2xx response, which is a success only if its body says so.
func (a *attempt) readSuccess(resp *http.Response) Result {
	if a.call.Operation.Method == http.MethodHead {
		return a.succeeded(resp, wire.Envelope{})
	}
	r := wire.NewReader()
	defer r.Free()
	switch tooLarge, err := r.Fetch(resp, a.call.Config.MaxResponseBytes); {
	case err != nil: // the response was cut short
		did := a.broken(err)
		did.StatusCode, did.Delivery, did.failure = resp.StatusCode, DeliveryUnknown, cutShort
		return did
	case tooLarge:
		err := wire.TooLarge("bytes (see WithMaxResponseBytes)", a.call.Config.MaxResponseBytes)
		return a.unreadable(resp, r.Body(), wire.At(wire.WholeResponse, err), DeliveryUnknown)
	}
	body := r.Body()
	envelope, err := r.Envelope(body, a.call.Rows)
	switch {
	case err != nil:
		return a.unreadable(resp, body, err, DeliveryUnknown)
	case !envelope.Success:
		return a.rejected(resp, body)
	case a.call.Operation.FalseRejects && string(envelope.Data) == "false":
		did := a.rejected(resp, body)
		did.DataFalse = true
		return did
	case envelope.DataErr != nil:
		return a.unreadable(resp, body, envelope.DataErr, DeliveryAccepted)
	}
	if a.call.Accept != nil {
		err := wire.ErrMissing
		if envelope.Data != nil {
			err = a.call.Accept(envelope.Data)
		}
		if err != nil {
			return a.unreadable(resp, body, wire.At("data", err), DeliveryAccepted)
		}
	}
	return a.succeeded(resp, envelope)
}

func (a *attempt) succeeded(resp *http.Response, envelope wire.Envelope) Result {
	return Result{Stage: Succeeded, Delivery: DeliveryAccepted, StatusCode: resp.StatusCode, Header: a.keys.Header(resp.Header),
		Message: envelope.Message, Data: envelope.Data, Meta: envelope.Meta}
}

func (a *attempt) unreadable(resp *http.Response, body []byte, err error, delivery Delivery) Result {
	if a.keys.AreIn(err.Error()) {
		err = a.keys.Foreign(err)
	}
	return Result{Stage: Unreadable, Delivery: delivery, StatusCode: resp.StatusCode, Header: a.keys.Header(resp.Header),
		Body: a.keys.Body(body, wire.MaxErrorBody), Err: err, failure: unexpected}
}

// rejected returns the result of a response that says that the request was refused.
func (a *attempt) rejected(resp *http.Response, body []byte) Result {
	body = a.keys.Body(body, wire.MaxErrorBody)
	problem := wire.ReadErrorBody(body)
	problem.Rewrite(a.keys.Text)
	retryAfter, asked := parseRetryAfter(resp.Header, time.Now())
	return Result{Stage: Rejected, Delivery: DeliveryRejected, StatusCode: resp.StatusCode, Header: a.keys.Header(resp.Header),
		Body: body, Problem: &problem, RetryAfter: retryAfter, asksToWait: asked, failure: badRequest}
}

func closeBody(resp *http.Response) {
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
}

// broken returns the result of an attempt that got no complete response.
func (a *attempt) broken(err error) Result {
	return Result{Stage: NoResponse, Err: a.cause(err), noConnection: a.foundNoConnection(), connected: a.got.Load() > 0}
}

// cause returns why an attempt got no response, with a text that is safe to show. It checks
// each context once, so that a context that ends in the meantime changes nothing.
func (a *attempt) cause(err error) error {
	switch {
	case a.body.isCutOff():
		return ErrNotAfter
	case a.looping.Load():
		return errLooping
	case a.base.Err() != nil:
		return contextError(a.base)
	case context.Cause(a.ctx) == ErrAttemptTimeout:
		return &timedOut{a.call.AttemptTimeout}
	default:
		return a.keys.Foreign(err)
	}
}

// contextError returns why ctx is done. The caller has the cause.
func contextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // a context of another package can return anything
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// classifyStatus returns what a response with a status other than 2xx means: what happened
// to the request, and the kind of failure. A 429 is taken to mean that the service did
// nothing, as RFC 6585 suggests. A gateway can send a 408 and most 5xx after the service has
// acted, so they prove nothing.
func classifyStatus(status int, body wire.Form, op *service.Operation) (Delivery, failure) {
	switch {
	case status == http.StatusTooManyRequests:
		return DeliveryRejected, temporary
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return DeliveryUnknown, lost
	case status >= 400 && status <= 499:
		return DeliveryRejected, classifyRefusal(status, body, op)
	case status == http.StatusNotImplemented, status == http.StatusHTTPVersionNotSupported:
		return DeliveryRejected, badSetup
	case status == 500, status == 502, status == 503, status == 504, status >= 520 && status <= 599:
		return DeliveryUnknown, lost
	default:
		return DeliveryUnknown, unexpected
	}
}

// classifyRefusal returns whether a 4xx is about the request or about the setup. A status
// that a gateway can send as well is about the request only if the service sent it.
func classifyRefusal(status int, body wire.Form, op *service.Operation) failure {
	switch status {
	case 401, 402, 403, 405, 406, 407, 410, 421, 423, 426, 428, 431, 451, 499:
		return badSetup
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong:
		return badRequest
	case http.StatusUnprocessableEntity: // its body is not documented
		if body == wire.JSON {
			return badRequest
		}
	case http.StatusNotFound:
		if !op.Custom && !op.NamesRecords() { // so the path does not exist
			return badSetup
		}
	}
	if body == wire.FromService {
		return badRequest
	}
	return badSetup
}

var errLooping = errors.New("net/http keeps repeating the request")

// classifyCause returns the same for an attempt that got no response. No kind of error
// proves that nothing was sent; see [attempt.provedNotSent]. But its kind shows whether the
// next attempt may succeed. If there was no connection, an error that is not known to be
// transient is not retried: in all known cases, such as a bad certificate, it is permanent.
func classifyCause(err error, provedNotSent, noConnection, connected bool) (Delivery, failure) {
	delivery := DeliveryUnknown
	if provedNotSent {
		delivery = DeliveryNotSent
	}
	switch transient := isTransient(err); {
	case err == errLooping:
		return delivery, cutShort
	case err == ErrNotAfter:
		return delivery, badRequest
	case provedNotSent && transient:
		return delivery, temporary
	case !transient && (noConnection || !connected && isPermanent(err)):
		return delivery, badSetup
	case provedNotSent:
		return delivery, unrecognized
	default:
		return delivery, lost
	}
}

// isTransient reports whether a failure is known to be temporary. A proxy that rejects a
// connection, for example, is not.
func isTransient(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) { // the caller's own
		return true
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	var network net.Error
	var number syscall.Errno
	return errors.As(err, &network) && network.Timeout() || errors.As(err, &number) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "server closed idle connection") // as net/http says, before it has written a request
}

// isPermanent reports whether a failure without a connection is known to be permanent.
func isPermanent(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound || isBadCertificate(err) || errors.Is(err, http.ErrSchemeMismatch)
}

func isBadCertificate(err error) bool {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}
