package outbox

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/breaker"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// fixed is a service whose responses are all the same.
type fixed struct {
	status int
	body   string
}

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: f.status, Header: header, Request: r, Body: io.NopCloser(strings.NewReader(f.body))}, nil
}

// expected is what the outbox makes of an error with a response, from what package
// messaging says about it.
func expected(status int, err error) (ledger.State, breaker.Kind) {
	ofRequest := messaging.NextStepOf(err) == messaging.NextFixRequest
	switch delivery := messaging.DeliveryOf(err); {
	case delivery == messaging.DeliveryAccepted:
		return ledger.Accepted, breaker.Works
	case delivery == messaging.DeliveryUnknown:
		return ledger.Unclear, breaker.Failed
	case status == 401, status == 429: // the key, or all requests
		return ledger.Pending, breaker.KeyFailed
	case status == 403, status == 404: // the entry or the setup, which other entries show
		return ledger.Pending, breaker.Denied
	case ofRequest:
		return ledger.Rejected, breaker.Works
	case status < 500:
		return ledger.Pending, breaker.Denied
	}
	return ledger.Pending, breaker.Failed
}

func TestAStatusIsTheEntrysOwnExactlyWhereTheRequestHasToBeFixed(t *testing.T) {
	p, err := messaging.EventTriggerParams{EventID: "event", Email: "ada@example.com"}.Prepare()
	require.NoError(t, err)
	own := make(map[ledger.State]int)
	for status := 200; status <= 999; status++ {
		for _, body := range []string{`{"success": false, "message": "no"}`, `{"success": true, "data": true}`, `{"error": {}}`, `<html>`, ``} {
			client, err := messaging.NewClient("https://service.test", "test-key-1",
				messaging.WithHTTPClient(&http.Client{Transport: fixed{status, body}}))
			require.NoError(t, err)
			_, err = client.Send(t.Context(), p, messaging.WithoutRetries())
			o := defaultConfig().timing.classify(&ledger.Claimed{Entry: ledger.Entry{Attempts: 1}}, err)
			state, kind := expected(status, err)
			name := fmt.Sprintf("status %d with the body %q: %v", status, body, err)
			assert.Equal(t, state, o.state, name)
			assert.Equal(t, kind, o.breaker.Kind, name)
			own[o.state]++
		}
	}
	for _, state := range []ledger.State{ledger.Accepted, ledger.Rejected, ledger.Unclear, ledger.Pending} {
		assert.Positive(t, own[state])
	}
}

func TestADeadlineIsOverByEitherClock(t *testing.T) {
	now := time.Now()
	deadline := now.Add(time.Minute)
	assert.False(t, expired(deadline, now, now))
	assert.True(t, expired(deadline, now.Add(time.Minute), now))
	assert.True(t, expired(deadline, now, now.Add(time.Minute)), "the machine was asleep")
}

func TestWaitsGrowUpToALimit(t *testing.T) {
	c := defaultConfig()
	for attempts, most := range map[int]time.Duration{1: 500 * time.Millisecond, 2: time.Second, 5: 8 * time.Second, 60: time.Minute} {
		for range 20 {
			wait := c.timing.growingWait(attempts)
			assert.LessOrEqual(t, wait, most)
			assert.GreaterOrEqual(t, wait, most/2)
		}
	}
}

func TestARequestHangsOneSecondAfterItsDeadlineInARunningProcess(t *testing.T) {
	for name, test := range map[string]struct {
		deadline, takes time.Duration
		hangs           bool
	}{
		"returns":              {time.Minute, time.Minute - 1, false},
		"returns a bit late":   {time.Minute, time.Minute + 999*time.Millisecond, false},
		"does not return":      {time.Minute, time.Minute + 1001*time.Millisecond, true},
		"after a paused hour":  {-time.Hour, 999 * time.Millisecond, false},
		"hangs after that too": {-time.Hour, 1001 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var called atomic.Int32
				w := newWatch(time.Now().Add(test.deadline), func() { called.Add(1) })
				time.Sleep(test.takes)
				assert.Equal(t, test.hangs, w.end())
				time.Sleep(time.Hour)
				assert.Equal(t, test.hangs, called.Load() == 1)
			})
		})
	}
}
