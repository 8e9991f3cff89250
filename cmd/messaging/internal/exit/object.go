package exit

import (
	"errors"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Object describes an error in JSON.
type Object struct {
	Message    string   `json:"message"`
	Op         string   `json:"op,omitempty"`
	ID         string   `json:"id,omitempty"` // of the send in the record
	Kind       string   `json:"kind"`
	Delivery   string   `json:"delivery,omitempty"`
	Status     int      `json:"status,omitempty"`
	Fields     []Field  `json:"fields,omitempty"`
	RetryAfter *float64 `json:"retry_after,omitempty"` // seconds
	Exit       Code     `json:"exit"`
}

// SendError is the error of a send in the record.
type SendError struct {
	ID  string
	Err error
}

func (e *SendError) Error() string { return e.Err.Error() }
func (e *SendError) Unwrap() error { return e.Err }

// Field describes the problems with one field in JSON.
type Field struct {
	Field    string   `json:"field"`
	Messages []string `json:"messages"`
}

// isUnansweredRead reports whether err is that of a read without a response. Since a read changes nothing, nobody has to
// find out what became of it, as "unknown" asks for.
func isUnansweredRead(err error) bool {
	return messaging.DeliveryOf(err) == messaging.DeliveryUnknown && messaging.NextStepOf(err) != messaging.NextCheck
}

// ObjectOf describes err.
func ObjectOf(err error) Object {
	code := CodeOf(err)
	o := Object{Message: err.Error(), Kind: code.String(), Exit: code}
	if call := (interface{ Delivery() messaging.Delivery })(nil); errors.As(err, &call) && !isUnansweredRead(err) {
		o.Delivery = words.Delivery(messaging.DeliveryOf(err))
	}
	if send, ok := errors.AsType[*SendError](err); ok {
		o.ID = send.ID
	}
	var fields []messaging.FieldProblem
	if invalid, ok := errors.AsType[*messaging.ValidationError](err); ok {
		o.Op, fields = invalid.Op, invalid.Fields
	} else if refused, ok := errors.AsType[*messaging.GuardError](err); ok {
		o.Op = refused.Op
	} else if lost, ok := errors.AsType[*messaging.TransportError](err); ok {
		o.Op = lost.Op
	} else if unreadable, ok := errors.AsType[*messaging.DecodeError](err); ok {
		o.Op, o.Status = unreadable.Op, unreadable.StatusCode
	} else if response, ok := errors.AsType[*messaging.APIError](err); ok {
		o.Op, o.Status, fields = response.Op, response.StatusCode, response.Fields
		if seconds := response.RetryAfter.Seconds(); seconds > 0 {
			o.RetryAfter = &seconds
		}
	}
	for _, f := range fields {
		o.Fields = append(o.Fields, Field(f))
	}
	return o
}
