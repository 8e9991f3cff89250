package findings_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// accepted returns the entry of a send that a service carried out.
func accepted(t *testing.T, op *service.Operation, body string) *history.Entry {
	s := history.New(10, 1<<30)
	server := fake.New(fake.Config{NoHistory: true, Observe: func(e *fake.Exchange) { s.Add(e) }})
	server.AddEvents(fake.Event{ID: "e"})
	r := httptest.NewRequest(op.Method, op.Path, strings.NewReader(body))
	r.Header = http.Header{"X-Authorization": {server.APIKey()}, "Content-Type": {"application/json"}}
	server.Replay(r, 0)
	entry, _ := s.Get(1)
	require.Equal(t, http.StatusOK, entry.Status, "%s", entry.ResponseBody)
	return entry
}

func TestRefusalIsThatOfTheSDK(t *testing.T) {
	for body, want := range map[string]string{
		`{"subject":"a\nb","message":"m","all_customers":true,"schedule_type":"send-now"}`: "subject must not contain a line break",
		`{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-later",
			"schedule_date":[{"schedule_date":"2099-01-01"},{"timezone":"UTC"}]}`: "schedule_date.schedule_date must be a date",
		`{"subject":"s","message":"m","schedule_type":"send-now","recipients":{"type":"segment","segments":[" vip"]}}`: "recipients.0.segments.0",
	} {
		assert.ErrorContains(t, findings.Refusal(accepted(t, service.SendPushBroadcast, body)), want, body)
	}
	for body, want := range map[string]string{
		`{"event_id":"e","payload":{"customer":{"email":"a@b.test","devices":[{"device_type":"ios"}]}}}`: "device_token is required",
		`{"event_id":"e","payload":{"email":"a@b.test","":1}}`:                                           "parameter without a name",
	} {
		assert.ErrorContains(t, findings.Refusal(accepted(t, service.TriggerEvent, body)), want, body)
	}
	assert.ErrorContains(t, findings.Refusal(accepted(t, service.CreateEvent, `{"name":" n","description":"d","parameters":[]}`)), "name")
	assert.NoError(t, findings.Refusal(accepted(t, service.CreateEvent,
		`{"name":"n","description":"d","parameters":[{"name":"p","type":"TEXT","required":true}]}`)))
	assert.NoError(t, findings.Refusal(accepted(t, service.TriggerEvent, `{"event_id":"e","payload":{"email":"a@b.test","n":1e400}}`)))
}

func TestAScheduleThatIsOverByNowIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const body = `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-later",
			"schedule_date":{"schedule_date":"2000-01-01 00:30:00","timezone":"UTC"}}` // a bubble starts half an hour before
		valid := accepted(t, service.SendPushBroadcast, body)
		invalid := accepted(t, service.SendPushBroadcast, strings.Replace(body, `"s"`, `"s\n"`, 1))
		assert.NoError(t, findings.Refusal(valid))
		time.Sleep(time.Hour)
		assert.NoError(t, findings.Refusal(valid), "it was not over when it was sent")
		assert.ErrorContains(t, findings.Refusal(invalid), "subject")
	})
}
