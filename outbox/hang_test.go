package outbox_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox"
)

// hanging is a service whose transport does not return for a key until release is called, and
// does not listen to its context.
func hanging(t *testing.T, key string) (service *service, release func()) {
	service, returns := newService(), make(chan struct{})
	service.respondTo(map[string]response{key: acceptAfter(func() { <-returns })})
	release = sync.OnceFunc(func() { close(returns) })
	t.Cleanup(release)
	return service, release
}

func TestARequestThatDoesNotReturnStopsNoOthers(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, release := hanging(t, "hangs")
		o := db.new(t, service.client(t), outbox.Fast(), outbox.WithBreaker(20*time.Millisecond, 20*time.Millisecond),
			outbox.WithLease(time.Second, 100*time.Millisecond), outbox.WithInFlight(2))
		enqueue(t, o, "hangs")
		stop, ended := begin(o)
		eventually(t, func() bool { return service.requests() == 1 }) // the only one that may be in flight
		enqueue(t, o, keysOf(20)...)
		eventuallyAccepted(t, o, 20)
		eventuallyIs(t, o, "hangs", outbox.Unclear)
		stop()
		require.EqualError(t, <-ended, "outbox: the outcomes of entries (1) could not be recorded, so they become unclear: "+
			"a request does not return, although its context has ended")
		release()
		eventually(t, func() bool {
			return entryOf(t, o, "hangs").Error != "the process that sent it did not report the outcome in time"
		})
		assert.Contains(t, entryOf(t, o, "hangs").Error, "deadline exceeded", "its outcome came late")
	})
}

func TestCountsSayThatNoRequestReturns(t *testing.T) {
	service, _ := hanging(t, "hangs")
	o := openFile(t).new(t, service.client(t), outbox.Fast(), outbox.WithLease(time.Second, 100*time.Millisecond), outbox.WithInFlight(1))
	enqueue(t, o, "hangs", "order")
	delivered, err := o.Deliver(t.Context(), "hangs")
	require.ErrorContains(t, err, "a request does not return")
	assert.Equal(t, outbox.Delivered{Busy: []string{"hangs"}, More: true, RetryAfter: 500 * time.Millisecond}, delivered)
	const reason = "requests that do not return are all that may be in flight"
	assert.Equal(t, map[string]string{"create event": reason, "send email broadcast": reason, "send push broadcast": reason,
		triggerEvent: reason}, countsOf(t, o).Breakers)
}
