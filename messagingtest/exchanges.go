package messagingtest

import (
	"net/http"
	"time"
)

// Exchange is a request that the server received, and its outcome.
type Exchange struct {
	// Number counts the exchanges, from 1, in the order of their outcomes. A
	// slow request has a higher number than a later one that was faster.
	// [Server.Reset] does not restart it.
	Number int
	// At is when the request arrived.
	At time.Time
	// Took is the time from the arrival of the request to its outcome. It
	// includes the delay of a [Slow] fault.
	Took time.Duration
	// Op is the name of the operation, as in errors of package messaging, such
	// as "trigger event". It is "" if the request has no route.
	Op string
	// Request has the Status of the exchange as its StatusCode.
	Request Request
	// ForeignKey reports whether the request has an API key that is not the key
	// of the server, in X-Authorization or Authorization. A request without a key
	// has none.
	ForeignKey bool
	// Status is the status code of the response. It is 0 if there is no
	// response: because of a fault, or because the client has disconnected.
	Status int
	// ResponseHeader is nil if there is no response. It is without the fields
	// that net/http adds, such as Date.
	ResponseHeader http.Header
	// ResponseBody is nil if there is no response.
	ResponseBody []byte
	// Fault is the [Fault.Kind] of the fault that the request took, or "".
	Fault string
	// Effect is what the request created: an *[EmailBroadcast], a
	// *[PushBroadcast], a *[Trigger] or a *[messaging.Event]. It is nil if the
	// request was a read, or was not carried out.
	Effect any
	// Customers are the customers that the request created or updated, in
	// order.
	Customers []CustomerChange
	// Problems holds the errors of an invalid request by the path of the field.
	// It is set even if a fault hides them from the client.
	Problems map[string][]string
}

// CustomerChange is a customer that a request created or updated.
type CustomerChange struct {
	// Created reports whether the request created the customer.
	Created bool
	// Customer is the customer after the change.
	Customer Customer
}

// observe completes an exchange and passes it to the observer. The status is 0 if
// there is no response. Without an observer the exchange is nil, and observe does
// nothing.
func (s *Server) observe(e *Exchange, status int, header http.Header, body []byte) {
	if e == nil {
		return
	}
	e.Status, e.ResponseHeader, e.ResponseBody = status, header, body
	e.Request.StatusCode = status
	e.Took = time.Since(e.At)
	s.observing.Lock()
	defer s.observing.Unlock()
	s.lastExchange++
	e.Number = s.lastExchange
	s.config.observer(e)
}

// setEffect records what a request created. It copies the effect only if there
// is an exchange to record it in.
func setEffect[T any](e *Exchange, effect T) {
	if e != nil {
		recorded := effect
		e.Effect = &recorded
	}
}
