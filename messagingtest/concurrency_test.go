package messagingtest_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestServerIsSafeForConcurrentUse(t *testing.T) {
	const goroutines, rounds = 64, 2
	s := newTriggerServer(t)
	client := s.Client()
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			for round := range rounds {
				assert.NoError(t, useEverything(t, s, client, fmt.Sprintf("customer-%d-%d@example.com", i, round)))
			}
		})
	}
	all.Wait()

	const each = goroutines * rounds
	assert.Len(t, s.EmailBroadcasts(), each)
	assert.Len(t, s.PushBroadcasts(), each)
	assert.Len(t, s.Triggers(), each)
	emails := make(map[string]bool)
	for _, c := range s.Customers() {
		emails[c.Email] = true
	}
	assert.Len(t, emails, 2*each+1, "each round adds one customer and creates another; one customer is shared by all")
	assert.Len(t, s.Customers(), len(emails))
	assert.Len(t, s.Requests(), 5*each)
}

// useEverything calls the methods of a server and of its client, and modifies the
// returned copies.
func useEverything(t *testing.T, s *messagingtest.Server, client *messaging.Client, email string) error {
	shared := messaging.CustomerParams{Email: "shared@example.com", Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: email}}}
	audience := messaging.ToCustomers(messaging.CustomerParams{Email: email}, shared)
	s.AddCustomers(messaging.Customer{Email: "added-" + email})
	s.AddEvents(messaging.Event{Name: email})
	s.AddTransactional(messaging.TransactionalMessage{Title: email})
	s.Fail("", 1, messagingtest.Fault{})
	if _, err := client.Broadcasts.SendEmail(t.Context(), messaging.EmailBroadcastParams{
		SenderEmail: email, SenderName: "n", Email: email, Subject: "s", Message: "m", MessageType: "otp",
		Variables: map[string]any{"a": []any{1}}, To: audience}); err != nil {
		return err
	}
	if _, err := client.Broadcasts.SendPush(t.Context(), messaging.PushBroadcastParams{Subject: "s", Message: "m", To: audience}); err != nil {
		return err
	}
	if _, err := client.Events.Trigger(t.Context(), messaging.EventTriggerParams{EventID: shipped.ID, Email: email,
		Values: map[string]any{"order": "A-1", "at": "now"}}); err != nil {
		return err
	}
	if _, err := client.Customers.GetByEmail(t.Context(), email); err != nil {
		return err
	}
	if _, err := client.Events.List(t.Context(), messaging.EventListParams{PerPage: 5}); err != nil {
		return err
	}
	for _, c := range s.Customers() {
		for i := range c.Devices {
			c.Devices[i].DeviceToken = "changed"
		}
	}
	_, _, _, _ = s.EmailBroadcasts(), s.PushBroadcasts(), s.Triggers(), s.Requests()
	return nil
}
