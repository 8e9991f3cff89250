package outbox_test

import (
	"context"
	"fmt"
	"net/http"
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
			db := openFile(t)
			service, logs := newService(), new(logs)
			service.always(fault.response)
			const inFlight = 4
			o := db.new(t, service.client(t), outbox.Fast(), outbox.WithInFlight(inFlight), outbox.WithLogger(logs.logger()))
			keys := keysOf(40)
			_, _, err := o.EnqueueAll(t.Context(), items(t, keys))
			require.NoError(t, err)
			start := time.Now()
			run(t, o)
			eventually(t, func() bool { return logs.has("the breaker is open") })
			time.Sleep(300 * time.Millisecond) // with a probe after 20, 40, 80, and each 100 ms
			requests := service.requests()
			probes := 4 + int(time.Since(start)/(100*time.Millisecond))
			assert.LessOrEqual(t, requests, inFlight+probes, "those that were in flight, and probes")
			eventually(t, func() bool { // the outcome of the first is recorded
				counts, err := o.Counts(t.Context())
				require.NoError(t, err)
				return !fault.unclear || counts.Unclear > 0
			})
			counts, err := o.Counts(t.Context())
			require.NoError(t, err)
			assert.Equal(t, map[string]string{triggerEvent: fault.reason}, counts.Breakers)
			assert.True(t, logs.has(fmt.Sprintf("reason=%q", fault.reason)))
			assert.Zero(t, counts.Rejected)
			assert.Positive(t, counts.OldestPending)
			assert.Equal(t, fault.unclear, counts.Unclear > 0, "unclear entries: %d", counts.Unclear)
			service.always(accept)
			eventually(t, func() bool {
				counts, err := o.Counts(t.Context())
				require.NoError(t, err)
				return counts.Accepted+counts.Unclear == len(keys) && len(counts.Breakers) == 0
			})
			assert.True(t, logs.has("the breaker is closed again"))
			for _, key := range keys {
				entry, err := o.Get(t.Context(), key)
				require.NoError(t, err)
				if entry.State == outbox.Accepted {
					assert.Equal(t, 1, service.carriedOut(key), key)
				}
			}
		})
	}
}

func TestTheBreakerTriesADifferentEntryWithEachProbe(t *testing.T) {
	db := openFile(t)
	service := newService()
	service.always(unauthorize)
	o := db.new(t, service.client(t), outbox.Fast(), outbox.WithInFlight(1))
	enqueue(t, o, keysOf(4)...)
	run(t, o)
	// Those that were tried take turns with those that were not.
	eventually(t, func() bool { return service.requests() >= 24 })
	for _, key := range keysOf(4) {
		entry, err := o.Get(t.Context(), key)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, entry.Attempts, 2, key)
	}
}

func TestTheBreakerObeysRetryAfter(t *testing.T) {
	db := openFile(t)
	service := newService()
	service.always(response{status: 429, body: `{}`, retryAfter: "120"})
	o := db.new(t, service.client(t), outbox.Fast())
	enqueue(t, o, "order", "other")
	delivered, err := o.Deliver(t.Context(), "order", "other")
	require.NoError(t, err)
	assert.Equal(t, []string{"order", "other"}, delivered.Later)
	assert.InDelta(t, 2*time.Minute, delivered.RetryAfter, float64(time.Minute))
	delivered, err = o.Deliver(t.Context(), "order", "other")
	require.NoError(t, err)
	assert.Equal(t, []string{"order", "other"}, delivered.Later)
	assert.Equal(t, 1, service.requests(), "nothing is sent while the breaker is open")

	service.always(response{status: 429, body: `{}`, retryAfter: "86400"})
	longer := db.new(t, service.client(t), outbox.Fast())
	delivered, err = longer.Deliver(t.Context(), "order")
	require.NoError(t, err)
	assert.InDelta(t, 5*time.Minute, delivered.RetryAfter, float64(time.Minute), "up to 5 minutes")
}

func TestOneDeletedEventDoesNotStopTheRest(t *testing.T) {
	for _, denial := range []response{missing, forbid} {
		t.Run(http.StatusText(denial.status), func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, db *database) {
				service := newService()
				service.set(func(key string) response {
					if key == "deleted" {
						return denial
					}
					return accept
				})
				o := db.new(t, service.client(t), outbox.Fast())
				enqueue(t, o, "before")
				run(t, o)
				eventually(t, func() bool { return stateOf(t, o, "before") == outbox.Accepted })
				enqueue(t, o, "deleted")
				others := 0
				eventually(t, func() bool { // while others are accepted
					others++
					enqueue(t, o, fmt.Sprint("other ", others))
					return stateOf(t, o, "deleted") == outbox.Rejected
				})
				eventually(t, func() bool {
					counts, err := o.Counts(t.Context())
					require.NoError(t, err)
					return counts.Accepted == others+1
				})
				entry, err := o.Get(t.Context(), "deleted")
				require.NoError(t, err)
				assert.GreaterOrEqual(t, entry.Attempts, 3)
				n, err := o.Resend(t.Context(), "deleted")
				require.NoError(t, err)
				require.Equal(t, 1, changed(n))
				attempts := entry.Attempts
				eventually(t, func() bool {
					others++
					enqueue(t, o, fmt.Sprint("other ", others))
					entry, err = o.Get(t.Context(), "deleted")
					require.NoError(t, err)
					return entry.Attempts > attempts && entry.State != outbox.Sending
				})
				assert.Equal(t, outbox.Pending, entry.State, "its denials are counted anew")
			})
		})
	}
}

func TestDenyingEverythingRejectsNothingAfterAnAcceptance(t *testing.T) {
	db := openFile(t)
	service := newService()
	o := db.new(t, service.client(t), outbox.Fast(), outbox.WithInFlight(4))
	enqueue(t, o, "before")
	run(t, o)
	eventually(t, func() bool { return stateOf(t, o, "before") == outbox.Accepted })
	service.always(forbid)
	_, _, err := o.EnqueueAll(t.Context(), items(t, keysOf(30)))
	require.NoError(t, err)
	time.Sleep(2500 * time.Millisecond) // in which each could be tried three times: 0.3 s and 0.6 s apart
	counts, err := o.Counts(t.Context())
	require.NoError(t, err)
	assert.Zero(t, counts.Rejected)
	service.always(accept)
	eventually(t, func() bool {
		counts, err := o.Counts(t.Context())
		require.NoError(t, err)
		return counts.Accepted == 31
	})
}

func TestALostResponseAmongOthersLeavesTheBreakerClosed(t *testing.T) {
	db := openFile(t)
	service := newService()
	began, accepted := make(chan struct{}), make(chan struct{})
	respond := func(key string) response {
		if key == "lost" {
			return response{lost: true, before: func(*http.Request) {
				close(began)
				<-accepted
			}}
		}
		return response{status: 200, body: accept.body, before: func(*http.Request) { <-began }}
	}
	o := db.new(t, service.client(t), outbox.Fast(), outbox.WithOnSettled(func(_ context.Context, e outbox.Entry) {
		if e.Key == "accepted" {
			close(accepted)
		}
	}))
	warmUp(t, o)
	service.set(respond)
	enqueue(t, o, "lost", "accepted")
	delivered, err := o.Deliver(t.Context(), "lost", "accepted")
	require.NoError(t, err)
	assert.Equal(t, outbox.Delivered{Accepted: 1, Unclear: 1}, delivered)
	counts, err := o.Counts(t.Context())
	require.NoError(t, err)
	assert.Empty(t, counts.Breakers)
}
