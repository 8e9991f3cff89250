package fake

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging/internal/redact"
)

// Request is a request that the server received, like that of package messagingtest. What a
// request creates holds no API key either.
type Request struct {
	Method     string
	Path       string
	Query      url.Values
	Header     http.Header
	Body       []byte // empty if it was larger than 16 MiB or incomplete
	StatusCode int
}

// newRequest returns the record of a request, without the keys. The body has none.
func newRequest(r *http.Request, body []byte, keys *redact.Keys) *Request {
	return &Request{
		Method: keys.Text(r.Method),
		Path:   keys.Text(r.URL.Path),
		Query:  valuesWithout(keys, r.URL.Query()),
		Header: valuesWithout(keys, r.Header),
		Body:   body,
	}
}

// valuesWithout returns a copy of a header or a query, without the keys.
func valuesWithout(keys *redact.Keys, values map[string][]string) map[string][]string {
	kept := make(http.Header, len(values))
	for name, list := range values {
		kept[keys.Text(name)] = slices.Clone(list)
	}
	return keys.Header(kept)
}

// Exchange is a request that the server received, and its outcome.
type Exchange struct {
	// Number counts the exchanges from 1, in the order in which they ended. [Server.Reset]
	// does not restart the count.
	Number int
	At     time.Time     // when the request arrived
	Took   time.Duration // until its outcome, including the delay of a [Slow] fault
	// Op is the name of the operation, or "" if the request is for none.
	Op string
	// ReplayOf is the number that was passed to [Server.Replay], or 0.
	ReplayOf int
	// The StatusCode of Request is the Status of the exchange.
	Request Request
	// ForeignKey reports whether the request has an API key other than that of the server.
	ForeignKey bool
	// Status is the status code of the response. It is 0 if there is no response, because
	// of a fault or because the client has disconnected.
	Status int
	// ResponseHeader lacks what net/http adds, such as Date. Like ResponseBody, it is nil if
	// there is no response.
	ResponseHeader http.Header
	ResponseBody   []byte
	// Fault is the kind of the fault that the request took, or "".
	Fault string
	// Effect is what the request created: an *[EmailBroadcast], a *[PushBroadcast], a
	// *[Trigger] or an *[Event]. It is nil for a read, and for a request that was not
	// carried out.
	Effect any
	// Customers are the customers that the request created or updated, in order.
	Customers []CustomerChange
	// Problems holds the problems of an invalid request by the path of the field. They
	// are set even if a fault hides them from the client.
	Problems map[string][]string
}

// hasForeignKey reports whether one of the headers that hold API keys has another key than
// own.
func hasForeignKey(r *http.Request, own string) bool {
	keys := slices.Concat(r.Header["X-Authorization"], r.Header["Authorization"], r.Header["X-Api-Key"])
	return slices.ContainsFunc(keys, func(key string) bool { return key != "" && strings.TrimPrefix(key, "Bearer ") != own })
}

// CustomerChange is a customer that a request created or updated.
type CustomerChange struct {
	Created  bool
	Customer Customer // after the change
}
