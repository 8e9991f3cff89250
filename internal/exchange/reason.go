package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/internal/wire"
)

// The reasons for the failure of an attempt or a call, in addition to the statuses. The set
// is closed, so that logs can be searched and metrics counted by reason. A reason quotes
// nothing.
const (
	ReasonValidation     = "validation"
	ReasonGuard          = "guard"
	ReasonKeySource      = "key_source"
	ReasonLimiter        = "limiter"
	ReasonAttemptTimeout = "attempt_timeout"
	ReasonDeadline       = "deadline"
	ReasonDNS            = "dns"
	ReasonConnect        = "connect"
	ReasonTLS            = "tls"
	ReasonConnectionLost = "connection_lost"
	ReasonNotJSON        = "not_json"
	ReasonDecode         = "decode"
	ReasonTooLarge       = "too_large"
	ReasonRefused        = "refused" // a 2xx response with success false or data false
	ReasonBadCursor      = "bad_cursor"
	ReasonNotAfter       = "not_after"
	ReasonOther          = "_OTHER"
)

// reason returns why the current attempt failed: a status that is not 2xx, or one of the
// constants. It is "" for a success, and if the caller canceled the call.
func (x *Exchange) reason() string {
	o := &x.outcome
	switch o.Stage {
	case Rejected:
		if o.StatusCode >= 200 && o.StatusCode <= 299 {
			return ReasonRefused
		}
		return strconv.Itoa(o.StatusCode)
	case Unreadable:
		return DecodeReason(o.Err)
	case NoResponse:
		return x.transportReason(o.Err)
	}
	return ""
}

// DecodeReason returns why a response could not be understood.
func DecodeReason(err error) string {
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return ReasonTooLarge
	case wire.IsNotJSON(err):
		return ReasonNotJSON
	default:
		return ReasonDecode
	}
}

// ContextReason returns why a call ended with its context. It returns "" if the caller
// canceled the call.
func ContextReason(err error) string {
	if errors.Is(err, context.Canceled) {
		return ""
	}
	return ReasonDeadline
}

func (x *Exchange) transportReason(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ContextReason(err)
	case x.obstacle != nil:
		return x.obstacle.reason
	case errors.Is(err, ErrNotAfter):
		return ReasonNotAfter
	case errors.Is(err, ErrAttemptTimeout):
		return ReasonAttemptTimeout
	case errors.As(err, &dns):
		return ReasonDNS
	case isTLSFailure(err):
		return ReasonTLS
	case x.attempt.foundNoConnection():
		return ReasonConnect
	case x.attempt.got.Load() > 0:
		return ReasonConnectionLost
	default: // the transport reports nothing
		return ReasonOther
	}
}

func isTLSFailure(err error) bool {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var network *net.OpError
	if errors.As(err, &network) && (network.Op == "remote error" || network.Op == "local error") { // an alert of crypto/tls
		return true
	}
	if strings.Contains(err.Error(), "TLS handshake timeout") { // as net/http says
		return true
	}
	return isBadCertificate(err) || errors.As(err, &alert) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch)
}
