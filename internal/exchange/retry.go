package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// RetryPolicy sets how often a call is retried, and how long it waits between attempts.
type RetryPolicy struct {
	MaxAttempts                     int // including the first
	MinWait, MaxWait, MaxRetryAfter time.Duration
}

// WithDefaults returns p with each zero field replaced by its default.
func (p RetryPolicy) WithDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 3
	}
	if p.MinWait == 0 {
		p.MinWait = 500 * time.Millisecond
	}
	if p.MaxWait == 0 {
		p.MaxWait = max(8*time.Second, p.MinWait)
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = 30 * time.Second
	}
	return p
}

// wait returns the wait after the given number of attempts, for when the service does not
// ask for one. It grows with each attempt. It is random, so that clients that failed at the
// same time do not retry at the same time.
func (p RetryPolicy) wait(attempts int, random float64) time.Duration {
	longest := p.MinWait
	for range attempts {
		if longest >= p.MaxWait/2 {
			longest = p.MaxWait
			break
		}
		longest *= 2
	}
	return p.MinWait + time.Duration(random*float64(longest-p.MinWait))
}

// pause returns the wait after the last attempt. It returns false if there should be no
// next attempt, because the service asked for a longer wait than the policy allows or ctx
// would end first.
func (p RetryPolicy) pause(ctx context.Context, attempts int, last *Outcome) (time.Duration, bool) {
	wait := p.wait(attempts, rand.Float64())
	if last.asksToWait {
		if last.RetryAfter > p.MaxRetryAfter {
			return 0, false
		}
		wait = max(last.RetryAfter, p.MinWait) // 0 must not cause a busy loop
	}
	deadline, bounded := ctx.Deadline()
	return wait, ctx.Err() == nil && (!bounded || time.Until(deadline) > wait)
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

// parseRetryAfter reads the Retry-After header. It holds seconds, with a fraction in the
// responses of some servers, or a date, which is compared with the Date of the response
// because clocks differ. For anything else, parseRetryAfter returns false. The wait is never
// negative and never overflows.
func parseRetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	value := header.Get("Retry-After")
	if isDecimal(value) {
		seconds, _ := strconv.ParseFloat(value, 64) // infinite if it is out of range
		return time.Duration(min(seconds, float64(math.MaxInt64/time.Second)) * float64(time.Second)), true
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return max(0, until.Sub(now)), true
}

// isDecimal reports whether text is a number such as 2 or 1.5.
func isDecimal(text string) bool {
	whole, fraction, point := strings.Cut(text, ".")
	isDigits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return isDigits(whole) && (!point || isDigits(fraction))
}
