package cli

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func TestReadThatFailsBeginsWithItsCause(t *testing.T) {
	unknown := &net.DNSError{Name: "api.example.invalid", Err: "no such host", IsNotFound: true}
	err := asRead(fmt.Errorf("list events: %w; nothing was sent", unknown))
	assert.EqualError(t, err, "there is no host api.example.invalid; check the base URL "+
		"(list events: lookup api.example.invalid: no such host)")
	assert.ErrorIs(t, err, error(unknown))
	assert.NoError(t, asRead(nil))
}

func TestReadThatFailsDoesNotSayThatNothingWasSent(t *testing.T) {
	client, err := messaging.NewClient("http://127.0.0.1:1", "a-key-of-the-tests",
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)
	_, err = client.Events.List(t.Context(), messaging.EventListParams{})
	require.ErrorContains(t, err, "; nothing was sent")
	assert.NotContains(t, asRead(err).Error(), "nothing was sent")
	assert.Equal(t, exit.NotDone, exit.CodeOf(asRead(err)))
}
