package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/messaging-go/messaging"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

// preparing validates and encodes a broadcast to many customers. The other variant encodes
// plain structs as fast as encoding/json can: without HTML escaping, into a buffer that
// already has the size of the body.
func preparing(s *stage) ([]measure.Experiment, error) {
	const encoder = "json.Encoder"
	prepared, err := broadcastTo(s.broadcast).Prepare()
	if err != nil {
		return nil, err
	}
	size := float64(len(prepared.Body()))
	return []measure.Experiment{{
		Title:  fmt.Sprintf("prepare an email broadcast to %d customers", s.broadcast),
		Rounds: s.prepares,
		Variants: []measure.Variant{
			{Name: ours, Run: func(ctx context.Context) (measure.Sample, error) {
				params := broadcastTo(s.broadcast)
				return measure.RepeatWarm(ctx, 5, func(context.Context) error {
					_, err := params.Prepare()
					return err
				})
			}},
			{Name: encoder, Run: func(ctx context.Context) (measure.Sample, error) {
				plain, body := plainBroadcastTo(s.broadcast), new(bytes.Buffer)
				encoder := json.NewEncoder(body)
				encoder.SetEscapeHTML(false)
				return measure.RepeatWarm(ctx, 5, func(context.Context) error {
					body.Reset()
					return encoder.Encode(&plain)
				})
			}},
		},
		Rows: []measure.Row{
			{Measure: "time of Prepare against a json.Encoder alone", Unit: "x", Limit: measure.AtMost(1.1), Value: timeOf(ours, encoder)},
			{Measure: "bytes allocated against the body", Unit: "x", Limit: measure.AtMost(2.5),
				Value: func(r measure.Round) float64 { return r[ours].BytesEach() / size }},
		},
	}}, nil
}

// inProcess returns a client whose transport returns the same response to every
// request, from memory.
func inProcess(status int, body string) (peers.SDK, error) {
	transport := canned.Transport{Status: status, Body: []byte(body)}
	return peers.NewMessaging("https://api.example.com", messaging.WithHTTPClient(&http.Client{Transport: transport}))
}

// newCustomers returns customers with two devices each.
func newCustomers(customers int) []messaging.CustomerParams {
	recipients := make([]messaging.CustomerParams, customers)
	for i := range recipients {
		p := canned.NewPerson(i)
		recipients[i] = messaging.CustomerParams{
			CustomerID: fmt.Sprint("cus_", canned.NumberOf(i)), Email: p.Email,
			FirstName: p.FirstName, LastName: p.LastName, PhoneNo: p.Phone,
			Devices: []messaging.Device{
				{Type: "ios", Token: fmt.Sprintf("%064x", 2*i)},
				{Type: "android", Token: fmt.Sprintf("%064x", 2*i+1)},
			},
		}
	}
	return recipients
}

func broadcastTo(customers int) messaging.EmailBroadcastParams {
	return messaging.EmailBroadcastParams{
		SenderEmail: "news@acme.test", SenderName: "Acme", Email: "news@acme.test", Subject: "We have moved",
		Message: "Our new address is on the website.", MessageType: "announcement", To: messaging.ToCustomers(newCustomers(customers)...),
	}
}

// These types hold the same broadcast in plain structs, independent of the SDK.
type (
	plainBroadcast struct {
		SenderEmail  string         `json:"sender_email"`
		SenderName   string         `json:"sender_name"`
		Email        string         `json:"email"`
		Subject      string         `json:"subject"`
		Message      string         `json:"message"`
		MessageType  string         `json:"message_type"`
		Recipients   plainRecipient `json:"recipients"`
		ScheduleType string         `json:"schedule_type"`
	}
	plainRecipient struct {
		Type      string          `json:"type"`
		Customers []plainCustomer `json:"customers"`
	}
	plainCustomer struct {
		CustomerID string        `json:"customer_id,omitempty"`
		Email      string        `json:"email,omitempty"`
		FirstName  string        `json:"first_name,omitempty"`
		LastName   string        `json:"last_name,omitempty"`
		PhoneNo    string        `json:"phone_no,omitempty"`
		Devices    []plainDevice `json:"devices,omitempty"`
	}
	plainDevice struct {
		Type  string `json:"device_type"`
		Token string `json:"device_token"`
	}
)

func plainBroadcastTo(customers int) plainBroadcast {
	params := broadcastTo(customers)
	plain := plainBroadcast{
		SenderEmail: params.SenderEmail, SenderName: params.SenderName, Email: params.Email, Subject: params.Subject,
		Message: params.Message, MessageType: params.MessageType, ScheduleType: "send-now",
		Recipients: plainRecipient{Type: "customer", Customers: make([]plainCustomer, customers)},
	}
	for i, c := range newCustomers(customers) {
		devices := make([]plainDevice, len(c.Devices))
		for j, d := range c.Devices {
			devices[j] = plainDevice(d)
		}
		plain.Recipients.Customers[i] = plainCustomer{c.CustomerID, c.Email, c.FirstName, c.LastName, c.PhoneNo, devices}
	}
	return plain
}
