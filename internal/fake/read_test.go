package fake_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

func TestReadReturnsWhatTheServerReads(t *testing.T) {
	s := serve(t, fake.Config{})
	s.AddEvents(fake.Event{ID: "e", Parameters: []fake.EventParameter{{Name: "at", Type: fake.Timestamp}}})
	for op, body := range map[*service.Operation]string{
		service.SendEmailBroadcast: emailBody, service.SendPushBroadcast: pushBody, service.CreateEvent: eventBody,
		service.TriggerEvent: `{"event_id":"e","payload":{"customer":{"customer_id":"c-1","devices":[{"device_token":"t"}]},"n":1.50}}`,
	} {
		s.post(t, op.Path, body)
		want := s.last(t).Effect
		require.NotNil(t, want, op.Name)
		switch effect := want.(type) { // what is not in a body
		case *fake.EmailBroadcast:
			effect.At = time.Time{}
		case *fake.PushBroadcast:
			effect.At = time.Time{}
		case *fake.Trigger:
			effect.At = time.Time{}
		case *fake.Event:
			effect.ID, effect.CreatedAt = "", time.Time{}
		}
		assert.Equal(t, want, fake.Read(op, []byte(body)), op.Name)
	}
}

func TestReadReadsWhatIsRefusedAsFarAsItCan(t *testing.T) {
	for body, want := range map[string]*fake.PushBroadcast{
		pushAt("2001-01-01 00:00:00", "UTC"): {Everyone: true, Params: messaging.PushBroadcastParams{Subject: "s", Message: "m",
			To: messaging.AllCustomers(), Schedule: &messaging.Schedule{Date: "2001-01-01 00:00:00", Timezone: "UTC"}}},
		`{"subject":7,"message":"m","recipients":{"customers":[{"email":"nobody"},2]}}`: {
			Params: messaging.PushBroadcastParams{Message: "m",
				To: messaging.ToCustomers(messaging.CustomerParams{Email: "nobody"}, messaging.CustomerParams{})},
			Customers: []messaging.CustomerParams{{Email: "nobody"}, {}}},
		"{}": {},
	} {
		assert.Equal(t, want, fake.Read(service.SendPushBroadcast, []byte(body)), body)
	}
	assert.Equal(t, &fake.Trigger{Params: messaging.EventTriggerParams{EventID: "e"}},
		fake.Read(service.TriggerEvent, []byte(`{"event_id":"e","payload":[]}`)))
	for _, body := range []string{"", "null", "[]", emailBody[1:]} {
		assert.Nil(t, fake.Read(service.SendPushBroadcast, []byte(body)), body)
	}
	assert.Nil(t, fake.Read(service.ListEvents, []byte(pushBody)))
	assert.Nil(t, fake.Read(nil, []byte(pushBody)))
}
