package messaging

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// The reasons why an attempt or a call failed, besides a status. The set is closed, so
// that logs and metrics can be searched and counted by it, and quotes nothing.
const (
	reasonValidation     = "validation"
	reasonGuard          = "guard"
	reasonKeySource      = "key_source"
	reasonLimiter        = "limiter"
	reasonAttemptTimeout = "attempt_timeout"
	reasonDeadline       = "deadline"
	reasonDNS            = "dns"
	reasonConnect        = "connect"
	reasonTLS            = "tls"
	reasonConnectionLost = "connection_lost"
	reasonNotJSON        = "not_json"
	reasonDecode         = "decode"
	reasonTooLarge       = "too_large"
	reasonRefused        = "refused" // by a response with success false
	reasonBadCursor      = "bad_cursor"
	reasonOther          = "_OTHER"
)

// reason returns why the current attempt failed: a status that is not 2xx, or one of
// the constants. It is "" for a success, and if the caller cancelled the call.
func (x *exchange) reason() string {
	switch failure := x.result.failure.(type) {
	case *APIError:
		if failure.StatusCode >= 200 && failure.StatusCode <= 299 {
			return reasonRefused
		}
		return strconv.Itoa(failure.StatusCode)
	case *DecodeError:
		return decodeReason(failure)
	case *TransportError:
		return x.transportReason(failure)
	}
	return ""
}

func decodeReason(err error) string {
	switch {
	case errors.Is(err, ErrBadCursor):
		return reasonBadCursor
	case errors.Is(err, ErrTooLarge):
		return reasonTooLarge
	case errors.Is(err, errSyntax), errors.Is(err, errEmpty), errors.Is(err, errTrailing):
		return reasonNotJSON
	default:
		return reasonDecode
	}
}

// errorType returns why the call failed, as hooks name it.
func (x *exchange) errorType() string {
	if !x.returned { // but panicked
		return reasonOther
	}
	switch err := x.err.(type) {
	case nil:
		return ""
	case *ValidationError:
		return reasonValidation
	case *GuardError:
		if x.ctx.Err() != nil && errors.Is(err, x.ctx.Err()) {
			return contextReason(err)
		}
		return reasonGuard
	case *DecodeError:
		return decodeReason(err)
	default:
		return x.result.reason
	}
}

// contextReason returns why a call ended with its context: "" if the caller cancelled
// it.
func contextReason(err error) string {
	if errors.Is(err, context.Canceled) {
		return ""
	}
	return reasonDeadline
}

func (x *exchange) transportReason(err *TransportError) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return contextReason(err)
	case x.refusal != nil:
		return x.refusal.reason
	case errors.Is(err, ErrAttemptTimeout):
		return reasonAttemptTimeout
	case errors.As(err, &dns):
		return reasonDNS
	case isTLSFailure(err):
		return reasonTLS
	case x.attempt.foundNoConnection():
		return reasonConnect
	case x.attempt.got.Load() > 0:
		return reasonConnectionLost
	default: // of a transport that tells nothing
		return reasonOther
	}
}

func isTLSFailure(err error) bool {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var network *net.OpError
	if errors.As(err, &network) && (network.Op == "remote error" || network.Op == "local error") { // an alert of crypto/tls
		return true
	}
	if strings.Contains(err.Error(), tlsHandshakeTimeout) {
		return true
	}
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &alert) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch)
}
