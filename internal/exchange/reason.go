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

// Reason returns why an attempt failed: a status that is not 2xx, or one of the constants. It
// returns "" for a success, and if the caller canceled the call.
func (r *Result) Reason() string {
	switch r.Stage {
	case Succeeded:
		return ""
	case NoResponse:
		return r.transportReason()
	case Unreadable:
		return DecodeReason(r.Err)
	case Rejected:
		if r.StatusCode >= 200 && r.StatusCode <= 299 {
			return ReasonRefused
		}
		return strconv.Itoa(r.StatusCode)
	default:
		return ReasonOther
	}
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

func (r *Result) transportReason() string {
	var dns *net.DNSError
	switch {
	case errors.Is(r.Err, context.Canceled), errors.Is(r.Err, context.DeadlineExceeded):
		return ContextReason(r.Err)
	case r.refused:
		return r.reason
	case errors.Is(r.Err, ErrNotAfter):
		return ReasonNotAfter
	case errors.Is(r.Err, ErrAttemptTimeout):
		return ReasonAttemptTimeout
	case errors.As(r.Err, &dns):
		return ReasonDNS
	case isTLSFailure(r.Err):
		return ReasonTLS
	case r.noConnection:
		return ReasonConnect
	case r.connected:
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
