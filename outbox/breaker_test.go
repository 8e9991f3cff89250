package outbox_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox"
)

func TestTheBreakerOpensAndNothingIsLostOrRejected(t *testing.T) {
	for _, fault := range []struct {
		name     string
		response response
		reason   string
		unclear  bool // requests that fail this way are unclear
	}{
		{"a wrong API key", unauthorize, "401 Unauthorized", false},
		{"a rate limit", response{status: 429, body: `{}`}, "429 Too Many Requests", false},
		{"a service that is not implemented", response{status: 501, body: `{}`}, "501 Not Implemented", false},
		{"no connection", disconnect, "dial tcp: connection refused", false},
		{"a request that timed out", response{status: 408, body: `{}`}, "408 Request Timeout", true},
		{"a service that fails", fail, "503 Service Unavailable", true},
		{"a proxy that responds with a page", response{status: 302, body: `<html>`}, "302 Found", true},
		{"lost responses", lose, "the response was lost or cannot be read", true},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			db, service, logs := openFile(t), newService(), new(logs)
			service.always(fault.response)
			const inFlight = 4
			o := db.new(t, service.client(t), outbox.Fast(), outbox.WithInFlight(inFlight), outbox.WithLogger(logs.logger()))
			keys := keysOf(40)
			enqueue(t, o, keys...)
			start := time.Now()
			run(t, o)
			eventually(t, func() bool { return logs.has("the breaker is open") })
			time.Sleep(300 * time.Millisecond) // with a probe after 20, 40, 80, and each 100 ms
			requests := service.requests()
			probes := 4 + int(time.Since(start)/(100*time.Millisecond))
			assert.LessOrEqual(t, requests, inFlight+probes, "those that were in flight, and probes")
			eventually(t, func() bool { // the outcome of the first is recorded
				return !fault.unclear || countsOf(t, o).Unclear > 0
			})
			counts := countsOf(t, o)
			assert.Equal(t, map[string]outbox.Breaker{triggerEvent: {Reason: fault.reason}}, counts.Breakers)
			assert.True(t, logs.has(fmt.Sprintf("reason=%q", fault.reason)))
			assert.Zero(t, counts.Rejected)
			assert.Positive(t, counts.OldestPending)
			assert.Equal(t, fault.unclear, counts.Unclear > 0, "unclear entries: %d", counts.Unclear)
			service.always(accept)
			eventually(t, func() bool {
				counts := countsOf(t, o)
				return counts.Accepted+counts.Unclear == len(keys) && len(counts.Breakers) == 0
			})
			assert.True(t, logs.has("the breaker is closed again"))
			for _, key := range keys {
				if stateOf(t, o, key) == outbox.Accepted {
					assert.Equal(t, 1, service.carriedOut(key), key)
				}
			}
		})
	}
}

func TestTheBreakerTriesADifferentEntryWithEachProbe(t *testing.T) {
	db := openFile(t)
	service, o := db.start(t, outbox.WithInFlight(1))
	service.always(unauthorize)
	enqueue(t, o, keysOf(4)...)
	run(t, o)
	// Those that were tried take turns with those that were not.
	eventually(t, func() bool { return service.requests() >= 24 })
	for _, key := range keysOf(4) {
		assert.GreaterOrEqual(t, entryOf(t, o, key).Attempts, 2, key)
	}
}

func TestTheBreakerObeysRetryAfter(t *testing.T) {
	db := openFile(t)
	service, o := db.start(t)
	service.always(response{status: 429, body: `{}`, retryAfter: "120"})
	enqueue(t, o, "order", "other")
	for range 2 {
		delivered := deliver(t, o, "order", "other")
		assert.Equal(t, []string{"order", "other"}, delivered.Later)
		assert.InDelta(t, 2*time.Minute, delivered.RetryAfter, float64(time.Minute))
	}
	assert.Equal(t, 1, service.requests(), "nothing is sent while the breaker is open")
}

func TestOneDeletedEventDoesNotStopTheRest(t *testing.T) {
	for _, test := range []struct {
		denial response
		kinds  []kind
	}{{missing, kinds[:2]}, {forbid, kinds[:1]}} {
		t.Run(http.StatusText(test.denial.status), func(t *testing.T) {
			onDatabases(t, test.kinds, func(t *testing.T, db *database) {
				service, o := db.start(t)
				service.respondTo(map[string]response{"deleted": test.denial})
				enqueue(t, o, "before")
				run(t, o)
				eventuallyIs(t, o, "before", outbox.Accepted)
				enqueue(t, o, "deleted")
				others := 0
				another := func() {
					others++
					enqueue(t, o, fmt.Sprint("other ", others))
				}
				eventually(t, func() bool { // while others are accepted
					another()
					return stateOf(t, o, "deleted") == outbox.Rejected
				})
				eventuallyAccepted(t, o, others+1)
				entry := entryOf(t, o, "deleted")
				assert.GreaterOrEqual(t, entry.Attempts, 3)
				require.Equal(t, 1, changed(resend(t, o, "deleted")))
				attempts := entry.Attempts
				eventually(t, func() bool {
					another()
					entry = entryOf(t, o, "deleted")
					return entry.Attempts > attempts && entry.State != outbox.Sending
				})
				assert.Equal(t, outbox.Pending, entry.State, "its denials are counted anew")
			})
		})
	}
}

func TestDenyingEverythingRejectsNothingAfterAnAcceptance(t *testing.T) {
	t.Parallel()
	db := openFile(t)
	service, o := db.start(t, outbox.WithInFlight(4))
	enqueue(t, o, "before")
	run(t, o)
	eventuallyIs(t, o, "before", outbox.Accepted)
	service.always(forbid)
	enqueue(t, o, keysOf(30)...)
	time.Sleep(900 * time.Millisecond) // in which each could be tried four times: 0.1, 0.2 and 0.4 s apart
	assert.Zero(t, countsOf(t, o).Rejected)
	service.always(accept)
	eventuallyAccepted(t, o, 31)
}

func TestALostResponseAmongOthersLeavesTheBreakerClosed(t *testing.T) {
	db, service := openFile(t), newService()
	began, accepted := make(chan struct{}), make(chan struct{})
	respond := func(key string) response {
		if key == "lost" {
			return response{lost: true, before: func() {
				close(began)
				<-accepted
			}}
		}
		return acceptAfter(func() { <-began })
	}
	o := db.new(t, service.client(t), outbox.Fast(), outbox.WithOnSettled(func(_ context.Context, e outbox.Entry) {
		if e.Key == "accepted" {
			close(accepted)
		}
	}))
	warmUp(t, o)
	service.set(respond)
	enqueue(t, o, "lost", "accepted")
	assert.Equal(t, outbox.Delivered{Accepted: 1, Unclear: 1}, deliver(t, o, "lost", "accepted"))
	assert.Empty(t, countsOf(t, o).Breakers)
}

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
	stuck := outbox.Breaker{Reason: "requests that do not return are all that may be in flight"}
	assert.Equal(t, map[string]outbox.Breaker{"create event": stuck, "send email broadcast": stuck, "send push broadcast": stuck,
		triggerEvent: stuck}, countsOf(t, o).Breakers)
}
