package messagingtest

import (
	"net/http"
	"time"
)

// Exchange is a request that the server received, and its outcome.
type Exchange struct {
	// Number counts the exchanges from 1, in the order in which they ended. A slow
	// request has a higher number than a faster one that arrived later. [Server.Reset]
	// does not restart the count.
	Number int
	// At is when the request arrived.
	At time.Time
	// Took is the time from the arrival of the request to its outcome, including the
	// delay of a [Slow] fault.
	Took time.Duration
	// Op is the name of the operation in errors of package messaging, such as "trigger
	// event". It is "" if the request is for no operation of the service.
	Op string
	// The StatusCode of Request is the Status of the exchange.
	Request Request
	// ForeignKey reports whether X-Authorization, Authorization or X-Api-Key holds an API
	// key other than the key of the server. It is false for a request without a key.
	ForeignKey bool
	// Status is the status code of the response. It is 0 if there is no response, because
	// of a fault or because the client has disconnected.
	Status int
	// ResponseHeader is the header of the response, without the fields that net/http
	// adds, such as Date. It is nil if there is no response.
	ResponseHeader http.Header
	// ResponseBody is the body of the response. It is nil if there is no response.
	ResponseBody []byte
	// Fault is the [Fault.Kind] of the fault that the request took, or "".
	Fault string
	// Effect is what the request created: an *[EmailBroadcast], a *[PushBroadcast], a
	// *[Trigger] or a *[messaging.Event]. It is nil for a read, and for a request that
	// was not carried out.
	Effect any
	// Customers are the customers that the request created or updated, in order.
	Customers []CustomerChange
	// Problems holds the problems of an invalid request by the path of the field. They
	// are set even if a fault hides them from the client.
	Problems map[string][]string
}

// CustomerChange is a customer that a request created or updated.
type CustomerChange struct {
	// Created reports whether the request created the customer.
	Created bool
	// Customer is the customer after the change.
	Customer Customer
}

// observe completes an exchange and passes it to the observer. The status is 0 if there
// is no response. Without an observer, the exchange is nil and observe does nothing.
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

// setEffect records in e what a request created, unless e is nil.
func setEffect[T any](e *Exchange, effect T) {
	if e != nil {
		recorded := effect
		e.Effect = &recorded
	}
}
