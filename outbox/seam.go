package outbox

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/messaging-go/messaging"
)

// sendOptions are the options of a send that must not begin after limit.
func sendOptions(time.Time) []messaging.RequestOption {
	return []messaging.RequestOption{messaging.WithoutRetries()}
}

// isNotAfter reports whether a send did not begin because its limit had passed.
func isNotAfter(error) bool { return false }

// liesInRequest reports whether the request is no good, now and later.
func liesInRequest(err error, api *messaging.APIError) bool {
	var guard *messaging.GuardError
	switch {
	case errors.As(err, &guard):
		return !messaging.Retryable(err)
	case errors.Is(err, messaging.ErrValidation):
		return true
	case api == nil:
		return false
	}
	switch api.StatusCode {
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong:
		return true
	case http.StatusPaymentRequired, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusProxyAuthRequired, http.StatusGone,
		http.StatusMisdirectedRequest, http.StatusLocked, http.StatusUpgradeRequired, http.StatusPreconditionRequired,
		http.StatusRequestHeaderFieldsTooLarge, http.StatusUnavailableForLegalReasons, 499:
		return false
	}
	return api.StatusCode < 500 && json.Valid(api.Body)
}
