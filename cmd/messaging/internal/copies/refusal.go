package copies

import (
	"bytes"
	"encoding/json"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

// Refusal returns the error with which package messaging refuses the body of a send before
// it sends anything, or nil. What its parameters cannot express is not refused, because it
// can only be sent as it is.
func Refusal(op string, body []byte) error {
	var params interface {
		Prepare() (*messaging.Prepared, error)
	}
	switch service.Named(op) {
	case service.SendEmailBroadcast:
		email := messaging.EmailBroadcastParams(read[emailFields](body))
		email.To, email.Schedule = target(body)
		params = email
	case service.SendPushBroadcast:
		push := messaging.PushBroadcastParams(read[pushFields](body))
		push.To, push.Schedule = target(body)
		params = push
	case service.CreateEvent:
		params = read[messaging.EventCreateParams](body)
	case service.TriggerEvent:
		params = trigger(body)
	default:
		return nil
	}
	_, err := params.Prepare()
	return err
}

// These are the parameters without their methods, which refuse JSON.
type (
	emailFields messaging.EmailBroadcastParams
	pushFields  messaging.PushBroadcastParams
)

// read reads parameters. What does not fit is left out.
func read[T any](body []byte) (params T) {
	decode(body, &params)
	return params
}

// decode decodes a body, with its numbers as they were sent. What does not fit is left
// out.
func decode(body []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	_ = decoder.Decode(into)
}

// recipient is a group of customers of a broadcast.
type recipient struct {
	Type      string                     `json:"type"`
	Customers []messaging.CustomerParams `json:"customers"`
	Segments  []string                   `json:"segments"`
}

// target returns to whom a broadcast goes, and when.
func target(body []byte) (messaging.Audience, *messaging.Schedule) {
	var b struct {
		All        bool                `json:"all_customers"`
		Recipients json.RawMessage     `json:"recipients"`
		Schedule   *messaging.Schedule `json:"schedule_date"`
	}
	decode(body, &b)
	if b.All {
		return messaging.AllCustomers(), b.Schedule
	}
	var many []recipient
	if decode(b.Recipients, &many); many == nil { // a single one can be sent without an array
		many = make([]recipient, 1)
		decode(b.Recipients, &many[0])
	}
	var audiences []messaging.Audience
	for _, r := range many {
		if r.Type == "segment" {
			audiences = append(audiences, messaging.ToSegments(r.Segments...))
		} else {
			audiences = append(audiences, messaging.ToCustomers(r.Customers...))
		}
	}
	return messaging.ToEach(audiences...), b.Schedule
}

func trigger(body []byte) messaging.EventTriggerParams {
	var b struct {
		EventID string          `json:"event_id"`
		Payload json.RawMessage `json:"payload"`
	}
	var identity struct {
		Email    string
		Customer *messaging.CustomerParams
	}
	var values map[string]any
	decode(body, &b)
	decode(b.Payload, &identity)
	decode(b.Payload, &values)
	delete(values, "email")
	delete(values, "customer")
	return messaging.EventTriggerParams{EventID: b.EventID, Email: identity.Email, Customer: identity.Customer, Values: values}
}
