package messaging_test

import (
	"testing"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func TestBroadcastsReturnTheMessageOfTheService(t *testing.T) {
	client, mock := newMockedClient()
	mock.RegisterResponder("POST", "=~/v1/broadcast/send/",
		httpmock.NewStringResponder(202, `{"success":true,"data":null,"message":"Sent"}`))

	email, err := client.Broadcasts.SendEmail(t.Context(), scripted.BroadcastTo("ada@example.com"))
	require.NoError(t, err)
	push, err := client.Broadcasts.SendPush(t.Context(), messaging.PushBroadcastParams{
		Subject: "Hello", Message: "Hello.", To: messaging.ToSegments("s-1")})
	require.NoError(t, err)

	for _, response := range []*messaging.Response{email, push} {
		assert.Equal(t, "Sent", response.Message)
		assert.Equal(t, 202, response.StatusCode)
		assert.Equal(t, 1, response.Attempts)
	}
	calls := mock.GetCallCountInfo()
	assert.Equal(t, 1, calls["POST https://api.example.com/v1/broadcast/send/email"])
	assert.Equal(t, 1, calls["POST https://api.example.com/v1/broadcast/send/push-notification"])
}

func TestBroadcastsKeepTheFieldsThatTheServiceRefuses(t *testing.T) {
	client, mock := newMockedClient()
	mock.RegisterResponder("POST", "=~/v1/broadcast/send/email",
		httpmock.NewStringResponder(422, `{"message":"Invalid","errors":{"subject":["is too long"]}}`))

	_, err := client.Broadcasts.SendEmail(t.Context(), scripted.BroadcastTo("ada@example.com"))

	var refused *messaging.APIError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, []messaging.FieldError{{Field: "subject", Messages: []string{"is too long"}}}, refused.Fields)
}
