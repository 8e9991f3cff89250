package exchange

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/messaging-go/messaging/internal/wire"
)

// Result is what one attempt did, or why the transport was not given the request. Only the
// attempt writes it, and nothing changes it once the attempt has ended.
type Result struct {
	Stage Stage
	// Delivery is what this attempt did with the request, whatever went before.
	Delivery Delivery
	failure  failure
	refused  bool   // the transport was not given the request
	reason   string // of the refusal; see [Result.Reason]

	// StatusCode and Header are those of the response, if there was one. A key that the
	// header quotes is removed.
	StatusCode int
	Header     http.Header
	// Message, Data and Meta are those of a successful response.
	Message    string
	Data, Meta json.RawMessage
	// Body is the start of any other response, without keys. Problem is what the body of
	// a rejection says, and nil for any other response. It is the largest part of a
	// result, and few calls need it.
	Body    []byte
	Problem *wire.ErrorBody
	// DataFalse is true if only "data": false makes the response a rejection.
	DataFalse bool
	// RetryAfter is the wait that the service asked for, if it did.
	RetryAfter time.Duration
	asksToWait bool

	// Err is the cause of a failure without a usable response.
	Err          error
	noConnection bool // the transport asked for a connection and got none
	connected    bool // it got one; it may report neither

	Duration time.Duration // of the attempt
}

// Outcome is what a call came to: the result of its last attempt, and what is known about all
// of them.
type Outcome struct {
	*Result
	// Delivery is what happened to the request in all attempts. It hides that of the Result.
	Delivery Delivery
	Attempts int
	// Step is what to do after the call.
	Step Step
	// Earlier is the failure of the attempt before, if the call ended before the next one.
	Earlier *Outcome
}

// Stage is how far an attempt got.
type Stage uint8

// The stages of an attempt.
const (
	// None is the stage before the first attempt has ended, and of an attempt in which one
	// of the caller's own functions panicked.
	None Stage = iota
	// NoResponse means that the attempt got no complete response, or was not begun.
	NoResponse
	// Rejected means that the status of the response is not 2xx, or that the response
	// says that the request was not carried out.
	Rejected
	// Unreadable means that a 2xx response could not be understood.
	Unreadable
	// Succeeded means that the response says that the request was carried out.
	Succeeded
)

// failed reports whether there is no usable response.
func (r *Result) failed() bool { return r.Stage != Succeeded }

// Delivery is what happened to a request. It has the same numbers as in the root package.
type Delivery uint8

// The deliveries.
const (
	DeliveryUnknown Delivery = iota
	DeliveryNotSent
	DeliveryRejected
	DeliveryAccepted
)

// Name returns the delivery as data has it, such as "not_sent".
func (d Delivery) Name() string {
	switch d {
	case DeliveryNotSent:
		return "not_sent"
	case DeliveryRejected:
		return "rejected"
	case DeliveryAccepted:
		return "accepted"
	default:
		return "unknown"
	}
}

// Worse returns the delivery with the higher risk of sending the request again.
func (d Delivery) Worse(other Delivery) Delivery {
	if d == DeliveryUnknown || other == DeliveryUnknown {
		return DeliveryUnknown
	}
	return max(d, other) // the others are in this order
}

// after returns the delivery of a call after one more attempt, where d is the delivery of
// the attempts before. If the attempt was accepted, the earlier attempts do not matter.
func (d Delivery) after(attempt Delivery) Delivery {
	if attempt == DeliveryAccepted {
		return DeliveryAccepted
	}
	return d.Worse(attempt)
}

// Step is what to do after a call. It has the same numbers as in the root package.
type Step uint8

// The steps. After StepCheck, someone has to find out what happened. After StepRetry, the
// same call can be made again. StepFixRequest means that this request cannot succeed, and
// StepFixSetup that no request can.
const (
	StepCheck Step = iota
	StepNone
	StepRetry
	StepFixRequest
	StepFixSetup
)

// failure is what kind of failure an attempt ended with.
type failure uint8

const (
	// unclassified is the zero value.
	unclassified failure = iota
	// temporary: the service did nothing, and the next attempt may succeed. The call was
	// not begun, there was no connection for a reason that passes, or the status is 429.
	temporary
	// lost: the response was lost, or the status does not tell what happened.
	lost
	// cutShort: a response began and broke off, or net/http kept repeating the request.
	cutShort
	// unrecognized: the caller's own transport returned an error of an unknown kind, and
	// had not read the body.
	unrecognized
	// badSetup: no request can succeed, because of the key, the host, a certificate, a
	// proxy or the account.
	badSetup
	// badRequest: this request cannot succeed.
	badRequest
	// unexpected: the response is not one that the service would give.
	unexpected
)
