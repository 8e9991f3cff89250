package messagingtest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// In a bubble of testing/synctest, time passes when all goroutines wait for it. So these
// tests take no time, although their clients wait for a minute, and for an hour.
//
// The server must be created in the bubble and be InMemory. It is closed when the bubble
// ends, because the bubble has its own t.

func TestExampleOfARetryThatTheServiceAskedToDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := messagingtest.NewServer(t, messagingtest.InMemory())
		service.Fail("", 1, messagingtest.RateLimited(time.Minute)) // Retry-After: 60
		client := service.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxRetryAfter: 2 * time.Minute}))
		start := time.Now()

		response, err := client.Broadcasts.SendPush(t.Context(), messaging.PushBroadcastParams{
			Subject: "Sale", Message: "Today only.", To: messaging.AllCustomers(),
		})

		require.NoError(t, err)
		assert.Equal(t, 2, response.Attempts)
		assert.GreaterOrEqual(t, time.Since(start), time.Minute)
		assert.Len(t, service.PushBroadcasts(), 1)
	})
}

func TestExampleOfASendThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := messagingtest.NewServer(t, messagingtest.InMemory())
		service.Fail("send push broadcast", 1, messagingtest.Slow(time.Hour))
		client := service.Client(messaging.WithAttemptTimeout(10 * time.Second))
		start := time.Now()

		_, err := client.Broadcasts.SendPush(t.Context(), messaging.PushBroadcastParams{
			Subject: "Sale", Message: "Today only.", To: messaging.AllCustomers(),
		})

		require.ErrorIs(t, err, messaging.ErrAttemptTimeout)
		assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
		assert.Equal(t, 10*time.Second, time.Since(start))
		synctest.Wait() // until the service has noticed that the client gave up
		assert.Len(t, service.PushBroadcasts(), 1, "it was sent, which the client cannot know")
	})
}
