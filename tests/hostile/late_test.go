package hostile_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// attemptHook is a Limiter that calls a function before each attempt, in the goroutine
// of the call.
type attemptHook struct {
	tell     func(attempt int)
	attempts int
}

func (c *attemptHook) Wait(context.Context) error {
	c.attempts++
	c.tell(c.attempts)
	return nil
}

// countRefusals returns a client that calls refused for each refused connection.
func countRefusals(t *testing.T, refused func()) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if errors.Is(err, syscall.ECONNREFUSED) {
			refused()
		}
		return conn, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestLateServiceGetsASendOnce(t *testing.T) {
	answering := faultserver.Script{faultserver.Forever(faultserver.ReadRequest, faultserver.Act, faultserver.Respond(200, scripted.Success))}
	failing := faultserver.Script{faultserver.ReadRequest, faultserver.Act, faultserver.Reset}
	tests := []struct {
		name     string
		startsAt int // before this attempt
		script   faultserver.Script
		refused  int32
		acted    int
		delivery messaging.Delivery
	}{
		{"one that is there from the beginning gets a send once", 1, answering, 0, 1, messaging.DeliveryAccepted},
		{"one that is there for the second attempt gets a send once", 2, answering, 1, 1, messaging.DeliveryAccepted},
		{"one that is there for the last attempt gets a send once", 4, answering, 3, 1, messaging.DeliveryAccepted},
		{"one that comes after the last attempt gets nothing", 5, answering, 4, 0, messaging.DeliveryNotSent},
		{"one that fails as soon as it is there gets a send once, too", 3, failing, 2, 1, messaging.DeliveryUnknown},
	}
	for _, test := range tests {
		for name, send := range map[string]scripted.Call{"a broadcast": scripted.SendBroadcast, "a trigger": scripted.TriggerEvent} {
			t.Run(test.name+", "+name, func(t *testing.T) {
				address := faultserver.ClosedAddress(t)
				var server *faultserver.Server
				limiter := &attemptHook{tell: func(attempt int) {
					if attempt == test.startsAt {
						server = faultserver.StartAt(t, address, test.script)
					}
				}}
				var refused atomic.Int32
				client := scripted.NewClientOver(t, "http://"+address, countRefusals(t, func() { refused.Add(1) }), messaging.WithRateLimiter(limiter),
					messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 4, MinWait: time.Millisecond, MaxWait: time.Millisecond}))

				err := send(t.Context(), client)
				assert.Equal(t, test.delivery, messaging.DeliveryOf(err), "%v", err)
				assert.Equal(t, test.refused, refused.Load(), "refused dials")
				if test.startsAt > 4 {
					require.Nil(t, server, "no attempt was left")
					server = faultserver.StartAt(t, address, test.script)
				}
				assert.Equal(t, test.acted, server.Acted(), "carried out")
				assert.Len(t, server.Requests(), test.acted)
			})
		}
	}
}

// Each of many sends that wait for the service reaches it exactly once.
func TestLateServiceGetsManySendsOnce(t *testing.T) {
	const senders = 16
	address := faultserver.ClosedAddress(t)
	everybodyIsWaiting := make(chan struct{})
	var refused atomic.Int32
	over := countRefusals(t, func() {
		if refused.Add(1) == 2*senders {
			close(everybodyIsWaiting)
		}
	})
	client := scripted.NewClientOver(t, "http://"+address, over,
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 10_000, MinWait: time.Millisecond, MaxWait: 5 * time.Millisecond}))
	results := make(chan error, senders)
	for range senders {
		go func() { results <- scripted.SendBroadcast(t.Context(), client) }()
	}
	<-everybodyIsWaiting
	server := faultserver.StartAt(t, address,
		faultserver.Script{faultserver.Forever(faultserver.ReadRequest, faultserver.Act, faultserver.Respond(200, scripted.Success))})
	for range senders {
		assert.NoError(t, <-results)
	}
	assert.Equal(t, senders, server.Acted())
}
