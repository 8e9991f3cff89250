package exchange_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// sleeping waits for the duration in the function that an option of the client is given.
func sleeping(duration time.Duration) map[string]messaging.Option {
	return map[string]messaging.Option{
		"a rate limiter": messaging.WithRateLimiter(waitFunc(func() { time.Sleep(duration) })),
		"a guard":        messaging.WithGuard(func(context.Context, *messaging.Prepared) error { time.Sleep(duration); return nil }),
		"a hook of the call": messaging.WithHooks(messaging.Hooks{
			CallStart: func(context.Context, messaging.CallInfo) context.Context { time.Sleep(duration); return nil }}),
		"a hook of the attempt": messaging.WithHooks(messaging.Hooks{
			AttemptStart: func(context.Context, messaging.AttemptInfo) context.Context {
				time.Sleep(duration)
				return nil
			}}),
	}
}

type waitFunc func()

func (f waitFunc) Wait(context.Context) error { f(); return nil }

func requireNotAfter(t *testing.T, err error, delivery messaging.Delivery) *messaging.TransportError {
	t.Helper()
	var failed *messaging.TransportError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, messaging.ErrNotAfter)
	assert.Equal(t, delivery, messaging.DeliveryOf(err), "%v", err)
	assert.Contains(t, []messaging.NextStep{messaging.NextFixRequest, messaging.NextCheck}, messaging.NextStepOf(err), "there is no time left")
	return failed
}

func TestNotAfterSendsNothingOnceTheTimeHasPassed(t *testing.T) {
	for name, slow := range sleeping(50 * time.Millisecond) {
		scripted.RunInBubble(t, "while "+name+" works", func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)}, slow)
			inTime := messaging.WithNotAfter(time.Now().Add(50 * time.Millisecond))
			require.NoError(t, scripted.TriggerEvent(t.Context(), client, inTime), "at the time itself, it is not yet late")
			late := messaging.WithNotAfter(time.Now().Add(49 * time.Millisecond))
			failed := requireNotAfter(t, scripted.TriggerEvent(t.Context(), client, late), messaging.DeliveryNotSent)
			assert.EqualError(t, failed,
				"trigger event: POST /v1/events/trigger: the time set by WithNotAfter was reached; nothing was sent")
			assert.Len(t, transport.Sent, 1)
		})
	}
	scripted.RunInBubble(t, "while a key source works", func(t *testing.T) {
		transport := &scripted.Transport{Scenes: []scripted.Scene{scripted.Responds(200, scripted.Success)}}
		client, err := messaging.NewClient("https://api.example.com", "", messaging.WithHTTPClient(&http.Client{Transport: transport}),
			messaging.WithKeySource(func(context.Context) (string, error) { time.Sleep(time.Second); return "test-key-1", nil }))
		require.NoError(t, err)
		requireNotAfter(t, scripted.TriggerEvent(t.Context(), client, messaging.WithNotAfter(time.Now())), messaging.DeliveryNotSent)
		assert.Empty(t, transport.Sent)
	})
	for name, call := range map[string]scripted.Call{"a read": scripted.ReadCustomers, "a send": scripted.TriggerEvent,
		"a send without a body": scripted.Do(messaging.Request{Method: "DELETE", Path: "/v1/tags/1"})} {
		scripted.RunInBubble(t, name+", before the call", func(t *testing.T) {
			limiter := new(countingLimiter)
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
				messaging.WithRateLimiter(limiter))
			option := messaging.WithNotAfter(time.Now())
			time.Sleep(time.Nanosecond)
			failed := requireNotAfter(t, call(t.Context(), client, option), messaging.DeliveryNotSent)
			assert.Zero(t, failed.Attempts)
			assert.Zero(t, limiter.asked)
			assert.Empty(t, transport.Sent)
		})
		scripted.RunInBubble(t, name+", while a hook works", func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
				sleeping(time.Second)["a hook of the attempt"])
			requireNotAfter(t, call(t.Context(), client, messaging.WithNotAfter(time.Now())), messaging.DeliveryNotSent)
			assert.Empty(t, transport.Sent)
		})
	}
}

// pipes is a service that is reached without a network, after a dial that takes time. It
// acts on each request that it has read to the end.
type pipes struct {
	dial, read time.Duration // how long a dial takes, and the read of each 100 KB
	acted      atomic.Int32
	server     http.Server
	accepted   chan net.Conn
}

func newPipes(t *testing.T, dial, read time.Duration) *pipes {
	p := &pipes{dial: dial, read: read, accepted: make(chan net.Conn)}
	p.server.Handler = p
	go func() { _ = p.server.Serve(p) }()
	t.Cleanup(func() { _ = p.server.Close() })
	return p
}

func (p *pipes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for {
		time.Sleep(p.read)
		if _, err := io.CopyN(io.Discard, r.Body, 100_000); err == io.EOF {
			break
		} else if err != nil {
			return
		}
	}
	p.acted.Add(1)
	_, _ = fmt.Fprint(w, scripted.Success)
}

func (p *pipes) DialContext(context.Context, string, string) (net.Conn, error) {
	time.Sleep(p.dial)
	client, server := net.Pipe()
	p.accepted <- server
	return client, nil
}

func (p *pipes) Accept() (net.Conn, error) {
	conn, open := <-p.accepted
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p *pipes) Close() error   { close(p.accepted); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) clients(t *testing.T) map[string]*messaging.Client {
	given := &http.Transport{DialContext: p.DialContext}
	t.Cleanup(given.CloseIdleConnections)
	const url = "http://127.0.0.1"
	return map[string]*messaging.Client{
		"the own transport": scripted.NewClientOnOwnTransport(t, url, &http.Transport{DialContext: p.DialContext}),
		"a given transport": scripted.NewClientOver(t, url, &http.Client{Transport: given}),
	}
}

func TestNotAfterCutsOffTheBodyOfASend(t *testing.T) {
	within := func(d time.Duration) messaging.RequestOption { return messaging.WithNotAfter(time.Now().Add(d)) }
	post := scripted.Do(messaging.Request{Method: "POST", Path: "/v1/tags", Body: map[string]string{"a": "b"}})
	for _, over := range []string{"the own transport", "a given transport"} {
		scripted.RunInBubble(t, "when the dial takes too long, over "+over, func(t *testing.T) {
			service := newPipes(t, 50*time.Millisecond, 0)
			client := service.clients(t)[over]
			err := scripted.TriggerEvent(t.Context(), client, within(49*time.Millisecond))
			failed := requireNotAfter(t, err, messaging.DeliveryNotSent)
			assert.Equal(t, 1, failed.Attempts)
			synctest.Wait()
			assert.Zero(t, service.acted.Load())

			err = scripted.TriggerEvent(t.Context(), client, within(49*time.Millisecond), messaging.WithRepeatableSend())
			assert.Equal(t, 1, requireNotAfter(t, err, messaging.DeliveryNotSent).Attempts)

			require.NoError(t, scripted.TriggerEvent(t.Context(), client, within(51*time.Millisecond)))
			assert.EqualValues(t, 1, service.acted.Load())
		})
		scripted.RunInBubble(t, "when the end of the body is late, over "+over, func(t *testing.T) {
			service := newPipes(t, 0, 50*time.Millisecond)
			client := service.clients(t)[over]
			send := func(within messaging.RequestOption) error {
				params := scripted.BroadcastTo("ada@example.com")
				params.Message = strings.Repeat("x", 300_000)
				_, err := client.Broadcasts.SendEmail(t.Context(), params, within)
				return err
			}
			requireNotAfter(t, send(within(120*time.Millisecond)), messaging.DeliveryNotSent)
			synctest.Wait()
			assert.Zero(t, service.acted.Load(), "the service does not have the end")
			require.NoError(t, send(within(199*time.Millisecond)), "the response may come later")
			assert.EqualValues(t, 1, service.acted.Load())
		})
		scripted.RunInBubble(t, "of Do, which a service may act on without the body, over "+over, func(t *testing.T) {
			client := newPipes(t, 50*time.Millisecond, 0).clients(t)[over]
			requireNotAfter(t, post(t.Context(), client, within(49*time.Millisecond)), messaging.DeliveryUnknown)
		})
		scripted.RunInBubble(t, "but not a request without a body, over "+over, func(t *testing.T) {
			service := newPipes(t, 50*time.Millisecond, 0)
			remove := scripted.Do(messaging.Request{Method: "DELETE", Path: "/v1/tags/1"})
			require.NoError(t, remove(t.Context(), service.clients(t)[over], within(49*time.Millisecond)))
			assert.EqualValues(t, 1, service.acted.Load())
		})
	}
}

func TestNotAfterIsNotADeliveryOfATransportThatGotAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			_, err := io.ReadAll(req.Body)
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(scripted.Success))}, err
		}})
		requireNotAfter(t, scripted.TriggerEvent(t.Context(), client, messaging.WithNotAfter(time.Now())), messaging.DeliveryUnknown)
	})
}

// A transport that asks for the body has usually written the headers.
func TestNotAfterOfDoIsUnknownOverATransportThatReportsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{func(req *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			_, err := io.ReadAll(req.Body)
			return nil, err
		}})
		post := scripted.Do(messaging.Request{Method: "POST", Path: "/v1/tags", Body: map[string]string{"a": "b"}})
		requireNotAfter(t, post(t.Context(), client, messaging.WithNotAfter(time.Now())), messaging.DeliveryUnknown)
		requireNotAfter(t, scripted.TriggerEvent(t.Context(), client, messaging.WithNotAfter(time.Now())), messaging.DeliveryNotSent)
	})
}

func TestNotAfterBeginsNoWaitThatWouldPassIt(t *testing.T) {
	repeatable := func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		return scripted.TriggerEvent(ctx, client, append(opts, messaging.WithRepeatableSend())...)
	}
	tests := []struct {
		name     string
		call     scripted.Call
		play     scripted.Scene
		within   time.Duration
		attempts int
		took     time.Duration
		delivery messaging.Delivery
		before   error
	}{
		{"a wait that the service asks for", scripted.TriggerEvent, scripted.Responds(429, "", "Retry-After", "10"),
			9 * time.Second, 1, 0, messaging.DeliveryRejected, messaging.ErrRateLimited},
		{"a second wait that the service asks for", scripted.TriggerEvent, scripted.Responds(429, "", "Retry-After", "10"),
			19 * time.Second, 2, 10 * time.Second, messaging.DeliveryRejected, messaging.ErrRateLimited},
		{"a backoff", scripted.TriggerEvent, scripted.NeverConnects(scripted.ErrRefused),
			1500 * time.Millisecond, 2, time.Second, messaging.DeliveryNotSent, scripted.ErrRefused},
		{"a backoff that ends at the time is begun", scripted.TriggerEvent, scripted.NeverConnects(scripted.ErrRefused),
			2 * time.Second, 3, 2 * time.Second, messaging.DeliveryNotSent, scripted.ErrRefused},
		{"a backoff of a send that may have been carried out", repeatable, scripted.Responds(503, ""),
			1500 * time.Millisecond, 2, time.Second, messaging.DeliveryUnknown, messaging.ErrServer},
		{"a backoff of a read", scripted.ReadCustomers, scripted.Responds(503, ""),
			1500 * time.Millisecond, 2, time.Second, messaging.DeliveryUnknown, messaging.ErrServer},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{test.play},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 10, MinWait: time.Second, MaxWait: time.Second}))
			start := time.Now()
			err := test.call(t.Context(), client, messaging.WithNotAfter(start.Add(test.within)))
			assert.Equal(t, test.took, time.Since(start), "it returns immediately")
			failed := requireNotAfter(t, err, test.delivery)
			assert.Equal(t, test.attempts, failed.Attempts)
			assert.Len(t, transport.Sent, test.attempts)
			assert.ErrorIs(t, err, test.before, "the failure before it is kept")
		})
	}
	scripted.RunInBubble(t, "the last attempt that the policy allows keeps its own error", func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, "", "Retry-After", "10")})
		err := scripted.TriggerEvent(t.Context(), client, messaging.WithNotAfter(time.Now().Add(time.Second)), messaging.WithoutRetries())
		require.ErrorIs(t, err, messaging.ErrRateLimited)
		assert.NotErrorIs(t, err, messaging.ErrNotAfter)
		assert.Equal(t, messaging.NextRetry, messaging.NextStepOf(err))
	})
}

func TestNotAfterAppliesToEveryPage(t *testing.T) {
	for _, opts := range [][]messaging.RequestOption{nil, {messaging.WithoutReadAhead()}} {
		synctest.Test(t, func(t *testing.T) {
			next := 0
			client, _ := scripted.NewClient(t, []scripted.Scene{func(req *http.Request) (*http.Response, error) {
				next++
				return scripted.Responds(200, pageWithNext(fmt.Sprint(next)))(req)
			}})
			items, start := 0, time.Now()
			var last error
			opts = append(opts, messaging.WithNotAfter(start.Add(2500*time.Millisecond)))
			for _, err := range client.Customers.All(t.Context(), messaging.CustomerListParams{}, opts...) {
				if last = err; err == nil {
					items++
					time.Sleep(time.Second)
				}
			}
			var page *messaging.PageError
			require.ErrorAs(t, last, &page)
			requireNotAfter(t, last, messaging.DeliveryNotSent)
			assert.NotEmpty(t, page.Cursor, "it says where to resume")
			assert.GreaterOrEqual(t, items, 3)
			assert.Equal(t, time.Duration(items)*time.Second, time.Since(start))
		})
	}
}

func TestNotAfterGivenTwiceIsTheEarlierTime(t *testing.T) {
	for _, order := range [][]time.Duration{{1, time.Hour}, {time.Hour, 1}, {time.Hour, 1, time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
			var opts []messaging.RequestOption
			for _, within := range order {
				opts = append(opts, messaging.WithNotAfter(time.Now().Add(within)))
			}
			require.NoError(t, scripted.TriggerEvent(t.Context(), client, opts...))
			time.Sleep(time.Second)
			requireNotAfter(t, scripted.TriggerEvent(t.Context(), client, opts...), messaging.DeliveryNotSent)
			assert.Len(t, transport.Sent, 1)
		})
	}
}

func TestNotAfterIsNotTheZeroTime(t *testing.T) {
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
	for _, zero := range []time.Time{{}, time.Time{}.In(time.FixedZone("east", 3600))} {
		err := scripted.TriggerEvent(t.Context(), client, messaging.WithNotAfter(zero))
		scripted.RequireProblems(t, err, "WithNotAfter must not be given the zero time")
	}
	assert.Empty(t, transport.Sent)
}
