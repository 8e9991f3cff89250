package messagingtest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestTransactionalMessagesAreListedInTheFormOfTheService(t *testing.T) {
	s := messagingtest.NewServer(t)
	kind := "otp"
	at := time.Date(2030, 5, 1, 11, 30, 5, 999_999_999, time.FixedZone("CEST", 2*60*60))
	s.AddTransactional(
		messaging.TransactionalMessage{ID: "m-1", Channel: messaging.ChannelEmail, Subject: "Hello", Title: "Welcome",
			Message: "Hello, Ada.", MessageType: &kind, CreatedAt: at,
			TotalSent: 5, TotalDelivered: 4, TotalFailed: 3, TotalComplained: 2, TotalBounced: 1},
		messaging.TransactionalMessage{ID: "m-2", Channel: messaging.ChannelSMS,
			Extra: map[string]json.RawMessage{"created_at": json.RawMessage(`"0000-00-00 00:00:00"`), "cost": json.RawMessage(`0.05`)}},
	)
	kind = "changed"
	assert.JSONEq(t, `{"success":true,"message":"Transactional Messages fetched successfully","data":[
			{"id":"m-1","channel":"email","subject":"Hello","title":"Welcome","message":"Hello, Ada.","message_type":"otp",
			 "created_at":"2030-05-01 09:30:05","total_sent":5,"total_delivered":4,"total_failed":3,"total_complained":2,"total_bounced":1},
			{"id":"m-2","channel":"sms","subject":"","title":"","message":"","message_type":null,
			 "created_at":"0000-00-00 00:00:00","total_sent":0,"total_delivered":0,"total_failed":0,"total_complained":0,"total_bounced":0,
			 "cost":0.05}],
		"meta":{"has_next_page":false,"has_prev_page":false,"next_page_cursor":null,"prev_page_cursor":null,"per_page":20}}`,
		get(t, s, "/v1/messaging/transactional").Body)
}

func TestTransactionalMessagesThatWereAddedGetDefaults(t *testing.T) {
	s := messagingtest.NewServer(t)
	before := time.Now().Truncate(time.Second)
	extra := map[string]json.RawMessage{"cost": json.RawMessage(`1`)}
	s.AddTransactional(messaging.TransactionalMessage{Title: "first", Extra: extra}, messaging.TransactionalMessage{Title: "second"})
	extra["cost"][0] = '2'
	listed, err := messaging.Collect(s.Client().Transactional.All(t.Context(), messaging.TransactionalListParams{}))
	require.NoError(t, err)
	require.Len(t, listed, 2)
	assert.Len(t, listed[0].ID, 36)
	assert.NotEqual(t, listed[0].ID, listed[1].ID)
	assert.Nil(t, listed[0].MessageType)
	assert.WithinRange(t, listed[0].CreatedAt, before, time.Now())
	assert.Equal(t, "1", string(listed[0].Extra["cost"]))
}
