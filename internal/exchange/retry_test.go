package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// maxResponse is the limit of the answers in these tests.
const maxResponse = 1000

func pageWithNext(cursor string) string {
	return fmt.Sprintf(`{"success":true,"data":[{"customer_id":"c-1"}],"meta":{"has_next_page":true,"next_page_cursor":%q}}`, cursor)
}

var errShutdown = errors.New("the worker shuts down")

// blockingLimiter waits until the caller gives up.
type blockingLimiter struct{}

func (blockingLimiter) Wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestContextEndsACall(t *testing.T) {
	const patience = 100 * time.Millisecond
	endings := []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		is   error
	}{
		{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			timer := time.AfterFunc(patience, func() { cancel(errShutdown) })
			return ctx, func() { timer.Stop(); cancel(nil) }
		}, context.Canceled},
		{"past the deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, patience, errShutdown)
		}, context.DeadlineExceeded},
	}
	stages := []struct {
		name     string
		play     scripted.Scene
		opts     []messaging.Option
		attempts int
		delivery messaging.Delivery
	}{
		{"while the limiter holds the call", scripted.Responds(200, scripted.Success),
			[]messaging.Option{messaging.WithRateLimiter(blockingLimiter{})}, 0, messaging.DeliveryNotSent},
		{"while connecting", scripted.NeverConnectsInTime, nil, 1, messaging.DeliveryNotSent},
		{"while waiting for the answer", scripted.Connects(scripted.Hangs), nil, 1, messaging.DeliveryUnknown},
		{"while reading the answer", scripted.BeginsToRespond, nil, 1, messaging.DeliveryUnknown},
	}
	for _, ending := range endings {
		for _, stage := range stages {
			scripted.RunInBubble(t, ending.name+" "+stage.name, func(t *testing.T) {
				client, transport := scripted.NewClient(t, []scripted.Scene{stage.play}, stage.opts...)
				ctx, cancel := ending.end(t.Context())
				defer cancel()
				start := time.Now()
				err := scripted.SendBroadcast(ctx, client, messaging.WithRepeatableSend())
				var failed *messaging.TransportError
				require.ErrorAs(t, err, &failed)
				assert.ErrorIs(t, err, ending.is)
				assert.NotErrorIs(t, err, messaging.ErrAttemptTimeout)
				assert.Equal(t, stage.delivery, messaging.DeliveryOf(err))
				assert.Equal(t, stage.attempts, failed.Attempts)
				assert.Len(t, transport.Sent, stage.attempts)
				assert.Equal(t, patience, time.Since(start))
			})
		}
	}
}

func TestContextThatHasEndedSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errShutdown)
	for name, perform := range map[string]scripted.Call{"read": scripted.ReadCustomers, "send": scripted.SendBroadcast} {
		t.Run(name, func(t *testing.T) {
			limiter := new(countingLimiter)
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
				messaging.WithRateLimiter(limiter))
			err := perform(ctx, client)
			var failed *messaging.TransportError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, context.Canceled)
			assert.NotErrorIs(t, err, errShutdown, "the cause is the caller's")
			assert.ErrorContains(t, err, ": context canceled; nothing was sent")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.Zero(t, failed.Attempts)
			assert.Zero(t, limiter.asked)
			assert.Empty(t, transport.Sent)
		})
	}
}

func TestContextThatEndsDuringAWaitKeepsTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, scripted.Failure)})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(errShutdown) })
		start := time.Now()
		err := scripted.SendBroadcast(ctx, client, messaging.WithRepeatableSend())
		require.ErrorIs(t, err, context.Canceled)
		assert.Contains(t, err.Error(), "while waiting to retry")
		assert.Equal(t, 100*time.Millisecond, time.Since(start))
		assert.Len(t, transport.Sent, 1)
		var answer *messaging.APIError
		require.ErrorAs(t, err, &answer)
		assert.Equal(t, 1, answer.Attempts)
		assert.EqualError(t, answer, "send email broadcast: POST /v1/broadcast/send/email: 503 Service Unavailable: No.; "+
			"the broadcast may have been sent")
	})
}

func TestAttemptTimeout(t *testing.T) {
	tests := []struct {
		name  string
		given time.Duration // Timeout of the http.Client
		opts  []messaging.Option
		limit time.Duration
		set   string // what set the limit
	}{
		{"it is 30 seconds by default", 0, nil, 30 * time.Second, "WithAttemptTimeout"},
		{"it can be set", 0, []messaging.Option{messaging.WithAttemptTimeout(3 * time.Second)}, 3 * time.Second, "WithAttemptTimeout"},
		{"it is the Timeout of the http.Client", 2 * time.Second, nil, 2 * time.Second, "Timeout of the http.Client"},
		{"the shorter of both counts", 2 * time.Second, []messaging.Option{messaging.WithAttemptTimeout(3 * time.Second)}, 2 * time.Second,
			"Timeout of the http.Client"},
		{"a longer Timeout of the http.Client does not count", time.Hour, []messaging.Option{messaging.WithAttemptTimeout(time.Second)},
			time.Second, "WithAttemptTimeout"},
	}
	stages := map[string]scripted.Scene{"before the answer": scripted.Connects(scripted.Hangs), "within the answer": scripted.BeginsToRespond,
		"before the connection": scripted.NeverConnectsInTime}
	for _, test := range tests {
		for stage, play := range stages {
			scripted.RunInBubble(t, test.name+", "+stage, func(t *testing.T) {
				opts := append(test.opts, messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
				client := scripted.NewClientOver(t, "https://api.example.com",
					&http.Client{Transport: &scripted.Transport{Scenes: []scripted.Scene{play}}, Timeout: test.given}, opts...)
				start := time.Now()
				err := scripted.SendBroadcast(t.Context(), client)
				assert.ErrorIs(t, err, messaging.ErrAttemptTimeout)
				assert.ErrorContains(t, err, fmt.Sprintf("attempt timed out after %v (see %s)", test.limit, test.set))
				assert.NotErrorIs(t, err, context.DeadlineExceeded, "that is the caller's own")
				assert.NotErrorIs(t, err, context.Canceled)
				assert.Equal(t, test.limit, time.Since(start))
			})
		}
	}
}

func TestRetryWaitsGrowAtRandomWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := messaging.RetryPolicy{MaxAttempts: 6, MinWait: time.Second, MaxWait: 6 * time.Second}
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, "")}, messaging.WithRetryPolicy(policy))
		longest := []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second, 6 * time.Second, 6 * time.Second}
		first := make(map[time.Duration]bool)
		for range 100 {
			transport.Sent = nil
			require.Error(t, scripted.ReadCustomers(t.Context(), client))
			waits := transport.Waits()
			require.Len(t, waits, len(longest))
			for i, wait := range waits {
				assert.GreaterOrEqual(t, wait, time.Second)
				assert.LessOrEqual(t, wait, longest[i])
			}
			first[waits[0]] = true
		}
		assert.Greater(t, len(first), 50, "clients that failed together must not come back together")
	})
}

func TestRetryAfter(t *testing.T) {
	const minWait, maxWait = time.Second, 2 * time.Second
	const longest = math.MaxInt64 / time.Second * time.Second
	tests := []struct {
		name       string
		header     []string
		waits      []time.Duration // at least and at most; none where the call ends
		retryAfter time.Duration
	}{
		{"seconds", []string{"Retry-After", "5"}, []time.Duration{5 * time.Second, 5 * time.Second}, 5 * time.Second},
		{"seconds up to the limit", []string{"Retry-After", "30"}, []time.Duration{30 * time.Second, 30 * time.Second}, 30 * time.Second},
		{"0 is not a hot loop", []string{"Retry-After", "0"}, []time.Duration{minWait, minWait}, 0},
		{"a date is held against the answer's own",
			[]string{"Retry-After", "Sun, 06 Nov 1994 08:49:41 GMT", "Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
			[]time.Duration{4 * time.Second, 4 * time.Second}, 4 * time.Second},
		{"a date without another to hold it against is held against the clock", []string{"Retry-After", "Sat, 01 Jan 2000 00:00:09 GMT"},
			[]time.Duration{9 * time.Second, 9 * time.Second}, 9 * time.Second},
		{"a date in the form of RFC 850", []string{"Retry-After", "Sunday, 06-Nov-94 08:49:40 GMT", "Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
			[]time.Duration{3 * time.Second, 3 * time.Second}, 3 * time.Second},
		{"a date that is past is not a hot loop",
			[]string{"Retry-After", "Sun, 06 Nov 1994 08:49:30 GMT", "Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
			[]time.Duration{minWait, minWait}, 0},
		{"the first of two counts", []string{"Retry-After", "5", "Retry-After", "7"}, []time.Duration{5 * time.Second, 5 * time.Second},
			5 * time.Second},

		{"none at all", nil, []time.Duration{minWait, maxWait}, 0},
		{"a negative number is none", []string{"Retry-After", "-5"}, []time.Duration{minWait, maxWait}, 0},
		{"a fraction of a second counts", []string{"Retry-After", "1.5"},
			[]time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond}, 1500 * time.Millisecond},
		{"an exponent is none", []string{"Retry-After", "1e99"}, []time.Duration{minWait, maxWait}, 0},
		{"no number is none", []string{"Retry-After", "NaN"}, []time.Duration{minWait, maxWait}, 0},
		{"a word is none", []string{"Retry-After", "abc"}, []time.Duration{minWait, maxWait}, 0},
		{"an empty one is none", []string{"Retry-After", ""}, []time.Duration{minWait, maxWait}, 0},

		{"seconds over the limit end the call", []string{"Retry-After", "31"}, nil, 31 * time.Second},
		{"a date over the limit ends the call", []string{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}, nil, math.MaxInt64},
		{"more seconds than a Duration holds end the call", []string{"Retry-After", "9999999999"}, nil, longest},
		{"more digits than a number holds end the call", []string{"Retry-After", strings.Repeat("9", 30)}, nil, longest},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			policy := messaging.RetryPolicy{MaxAttempts: 2, MinWait: minWait, MaxWait: maxWait}
			once, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, "", test.header...)},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
			var answer *messaging.APIError
			require.ErrorAs(t, scripted.SendBroadcast(t.Context(), once), &answer)
			assert.Equal(t, test.retryAfter, answer.RetryAfter, "the error says how long to wait")

			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, "", test.header...)},
				messaging.WithRetryPolicy(policy))
			start := time.Now()
			require.ErrorIs(t, scripted.SendBroadcast(t.Context(), client), messaging.ErrRateLimited)
			if test.waits == nil {
				assert.Len(t, transport.Sent, 1)
				assert.Zero(t, time.Since(start))
				return
			}
			require.Len(t, transport.Sent, 2)
			wait := transport.Waits()[0]
			assert.GreaterOrEqual(t, wait, test.waits[0])
			assert.LessOrEqual(t, wait, test.waits[1])
		})
	}
}

func TestRetryAfterLimitCanBeSet(t *testing.T) {
	for seconds, attempts := range map[string]int{"5": 3, "6": 1} {
		scripted.RunInBubble(t, seconds+" seconds", func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, "", "Retry-After", seconds)},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxRetryAfter: 5 * time.Second}))
			require.ErrorIs(t, scripted.ReadCustomers(t.Context(), client), messaging.ErrRateLimited)
			assert.Len(t, transport.Sent, attempts)
		})
	}
}

func TestRetryIsNotAwaitedBeyondTheDeadline(t *testing.T) {
	const patience = 2 * time.Second
	tests := []struct {
		name       string
		wait       time.Duration
		header     []string
		retryAfter time.Duration
	}{
		{"a wait of the policy beyond the deadline ends the call", 3 * time.Second, nil, 0},
		{"a wait of the policy up to the deadline ends the call", patience, nil, 0},
		{"a wait of the service beyond the deadline ends the call", time.Second, []string{"Retry-After", "20"}, 20 * time.Second},
		{"a wait of the service up to the deadline ends the call", time.Second, []string{"Retry-After", "2"}, patience},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			policy := messaging.RetryPolicy{MinWait: test.wait, MaxWait: test.wait}
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, scripted.Failure, test.header...)},
				messaging.WithRetryPolicy(policy))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			err := scripted.ReadCustomers(ctx, client)
			var answer *messaging.APIError
			require.ErrorAs(t, err, &answer)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "the real error is told instead")
			assert.Equal(t, test.retryAfter, answer.RetryAfter)
			assert.Len(t, transport.Sent, 1)
			assert.Zero(t, time.Since(start))
		})
	}
	scripted.RunInBubble(t, "a wait that ends before the deadline is awaited", func(t *testing.T) {
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, scripted.Failure)},
			messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: patience - 1, MaxWait: patience - 1}))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.ErrorIs(t, scripted.ReadCustomers(ctx, client), messaging.ErrServer)
		assert.Equal(t, []time.Duration{patience - 1}, transport.Waits())
	})
}

// calls are a read, a send and a repeatable send.
var calls = map[string]scripted.Call{"read": scripted.ReadCustomers, "send": scripted.SendBroadcast,
	"repeatable send": func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
		return scripted.SendBroadcast(ctx, client, messaging.WithRepeatableSend())
	}}

func TestRetryByFailedConnection(t *testing.T) {
	tests := []struct {
		name     string
		target   func(*testing.T) (string, *http.Client)
		attempts int
	}{
		{"nobody listens", func(t *testing.T) (string, *http.Client) {
			return "http://" + faultserver.ClosedAddress(t), &http.Client{Transport: &http.Transport{}}
		}, 3},
		{"the handshake breaks off", func(t *testing.T) (string, *http.Client) {
			server := faultserver.Start(t, faultserver.Script{faultserver.ReadBytes(1)})
			return "https://" + server.Address(), server.Client()
		}, 3},
		{"the proxy is not there", func(t *testing.T) (string, *http.Client) {
			return "https://api.example.com", overProxy(t, "http://"+faultserver.ClosedAddress(t))
		}, 3},
		{"the certificate is signed by nobody known", func(t *testing.T) (string, *http.Client) {
			server := faultserver.StartTLS(t, faultserver.EachRequest(faultserver.Close))
			return server.URL(), &http.Client{Transport: &http.Transport{}}
		}, 1},
		{"https meets http", func(t *testing.T) (string, *http.Client) {
			server := faultserver.Start(t, faultserver.Script{faultserver.ReadBytes(1), faultserver.Respond(400, ""), faultserver.Hang})
			return "https://" + server.Address(), server.Client()
		}, 1},
		{"the proxy refuses", func(t *testing.T) (string, *http.Client) {
			proxy := faultserver.Start(t, faultserver.EachRequest(faultserver.Respond(http.StatusProxyAuthRequired, "")))
			return "https://api.example.com", overProxy(t, proxy.URL())
		}, 1},
	}
	for _, test := range tests {
		for name, perform := range calls {
			for _, own := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, own transport %t", test.name, name, own), func(t *testing.T) {
					baseURL, over := test.target(t)
					client := scripted.NewClientOver(t, baseURL, over, scripted.WithQuickRetries())
					if own {
						client = scripted.NewClientOnOwnTransport(t, baseURL, over.Transport.(*http.Transport), scripted.WithQuickRetries())
					}
					err := perform(t.Context(), client)
					var failed *messaging.TransportError
					require.ErrorAs(t, err, &failed)
					want := messaging.DeliveryNotSent
					if name == "read" && !own {
						want = messaging.DeliveryUnknown // it has no body that could prove anything
					}
					assert.Equal(t, want, messaging.DeliveryOf(err))
					assert.Equal(t, test.attempts, failed.Attempts)
					assert.Equal(t, test.attempts > 1, messaging.NextStepOf(err) == messaging.NextRetry)
					assert.Equal(t, test.attempts == 1, messaging.NextStepOf(err) == messaging.NextFixSetup)
				})
			}
		}
	}
}

func overProxy(t *testing.T, address string) *http.Client {
	t.Helper()
	proxy, err := url.Parse(address)
	require.NoError(t, err)
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	const moved = `{"success":false,"message":"We have moved."}`
	elsewhere := faultserver.Start(t, faultserver.EachRequest(faultserver.Respond(200, scripted.Success)))
	targets := map[string]string{"to another host": elsewhere.URL() + "/v1/customers", "on the same host": "/elsewhere",
		"to no place": "http://[::1", "without a place": ""}
	for _, status := range []int{300, 301, 302, 303, 307, 308} {
		for where, target := range targets {
			for name, perform := range calls {
				t.Run(fmt.Sprintf("%d %s, %s", status, where, name), func(t *testing.T) {
					server := faultserver.Start(t, faultserver.EachRequest(faultserver.Respond(status, moved, "Location: "+target)))
					err := perform(t.Context(), scripted.NewClientOver(t, server.URL(), server.Client(), scripted.WithQuickRetries()))
					var answer *messaging.APIError
					require.ErrorAs(t, err, &answer)
					assert.Equal(t, status, answer.StatusCode)
					assert.Equal(t, "We have moved.", answer.Message)
					assert.Equal(t, target, answer.Header.Get("Location"))
					assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
					assert.Contains(t, err.Error(), "check the base URL")
					assert.Len(t, server.Requests(), 1)
				})
			}
		}
	}
	assert.Zero(t, elsewhere.Connections(), "nothing, and above all no key, may reach the other host")
}
