package messaging_test

import (
	"testing"
	"time"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

func TestTransactionalMessagesAreRead(t *testing.T) {
	client, mock := newMockedClient()
	mock.RegisterResponder("GET", "=~/v1/messaging/transactional$", httpmock.NewStringResponder(200, `{"success":true,"data":[
		{"id":"m-1","channel":"sms","subject":"","title":"Your code","message":"1234","message_type":null,
		 "created_at":"2030-05-01 09:30:00","total_sent":3,"total_delivered":2,"total_failed":1,"total_bounced":0}]}`))

	messages, err := messaging.Collect(client.Transactional.All(t.Context(), messaging.TransactionalListParams{}))

	require.NoError(t, err)
	assert.Equal(t, []messaging.TransactionalMessage{{
		ID: "m-1", Channel: messaging.ChannelSMS, Title: "Your code", Message: "1234",
		CreatedAt: time.Date(2030, time.May, 1, 9, 30, 0, 0, time.UTC), TotalSent: 3, TotalDelivered: 2, TotalFailed: 1,
	}}, messages)
	assert.Equal(t, 1, mock.GetTotalCallCount())
}
