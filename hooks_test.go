package messaging_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// hookLog records what hooks are told. Durations are apart from the results.
type hookLog struct {
	mu       sync.Mutex
	lines    []string
	calls    []messaging.CallInfo
	results  []messaging.CallResult
	attempts []messaging.AttemptResult
	took     []time.Duration // of each attempt, and then of the call
}

func (l *hookLog) hooks() messaging.Hooks {
	return messaging.Hooks{
		CallStart: func(ctx context.Context, call messaging.CallInfo) context.Context {
			l.add(func() { l.calls = append(l.calls, call) }, "start %s", call.Operation)
			return ctx
		},
		CallDone: func(_ context.Context, call messaging.CallInfo, r messaging.CallResult) {
			l.add(func() {
				l.took = append(l.took, r.Duration)
				r.Duration = 0
				l.results = append(l.results, r)
			}, "done %s", call.Operation)
		},
		AttemptStart: func(ctx context.Context, attempt messaging.AttemptInfo) context.Context {
			l.add(func() {}, "start %d", attempt.Attempt)
			return ctx
		},
		AttemptDone: func(_ context.Context, _ messaging.CallInfo, r messaging.AttemptResult) {
			l.add(func() {
				l.took = append(l.took, r.Duration)
				r.Duration = 0
				l.attempts = append(l.attempts, r)
			}, "done %d", r.Attempt)
		},
	}
}

func (l *hookLog) add(keep func(), format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func TestHooksSeeACallAndItsAttempts(t *testing.T) {
	scripted.RunInBubble(t, "a read that is retried", func(t *testing.T) {
		var log hookLog
		client, _ := scripted.NewClient(t, []scripted.Scene{takes(time.Minute, scripted.Responds(503, "")),
			takes(time.Hour, scripted.Responds(200, `{"success":true,"data":[]}`))}, messaging.WithHooks(log.hooks()),
			messaging.WithAttemptTimeout(24*time.Hour), messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Second, MaxWait: time.Second}))
		require.NoError(t, scripted.ReadCustomers(t.Context(), client))
		assert.Equal(t, []string{"start list customers", "start 1", "done 1", "start 2", "done 2", "done list customers"}, log.lines)
		assert.Equal(t, []messaging.CallInfo{{Operation: "list customers", Method: "GET", Path: "/v1/customers",
			Scheme: "https", Host: "api.example.com", Port: 443}}, log.calls)
		assert.Equal(t, []messaging.AttemptResult{
			{Attempt: 1, StatusCode: 503, Delivery: messaging.DeliveryUnknown, ErrorType: "503", Wait: time.Second},
			{Attempt: 2, StatusCode: 200, Delivery: messaging.DeliveryAccepted},
		}, log.attempts)
		assert.Equal(t, []messaging.CallResult{{Attempts: 2, Delivery: messaging.DeliveryAccepted}}, log.results)
		assert.Equal(t, []time.Duration{time.Minute, time.Hour, time.Minute + time.Second + time.Hour}, log.took)
	})
}

func TestHooksAreToldWhyACallFailed(t *testing.T) {
	unavailable, success := scripted.Responds(503, ""), scripted.Responds(200, `{"success":true,"data":[]}`)
	cancelled := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return scripted.ReadCustomers(ctx, c, opts...)
	}
	within := func(d time.Duration, call scripted.Call) scripted.Call {
		return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return call(ctx, c, opts...)
		}
	}
	cancelledAfter := func(d time.Duration, call scripted.Call) scripted.Call {
		return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			ctx, cancel := context.WithCancel(ctx)
			defer time.AfterFunc(d, cancel).Stop()
			return call(ctx, c, opts...)
		}
	}
	late := func(call scripted.Call, within time.Duration) scripted.Call {
		return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			return call(ctx, c, append(opts, messaging.WithNotAfter(time.Now().Add(within)))...)
		}
	}
	pages := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := messaging.Collect(c.Events.All(ctx, messaging.EventListParams{}, opts...))
		return err
	}
	tests := []struct {
		name string
		call scripted.Call
		play scripted.Scene
		want messaging.CallResult
	}{
		{"a success", scripted.ReadCustomers, success, messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryAccepted}},
		{"invalid arguments", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Events.Trigger(ctx, messaging.EventTriggerParams{}, opts...)
			return err
		}, success, messaging.CallResult{Delivery: messaging.DeliveryNotSent, ErrorType: "validation"}},
		{"invalid arguments of a list", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Customers.List(ctx, messaging.CustomerListParams{PerPage: -1}, opts...)
			return err
		}, success, messaging.CallResult{Delivery: messaging.DeliveryNotSent, ErrorType: "validation"}},
		{"invalid arguments of Do", scripted.Do(messaging.Request{Path: "/v1/tags"}), success,
			messaging.CallResult{Delivery: messaging.DeliveryNotSent, ErrorType: "validation"}},
		{"nothing prepared", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Send(ctx, nil, opts...)
			return err
		}, success, messaging.CallResult{Delivery: messaging.DeliveryNotSent, ErrorType: "validation"}},
		{"no context", func(_ context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			var none context.Context
			return scripted.ReadCustomers(none, c, opts...)
		}, success, messaging.CallResult{Delivery: messaging.DeliveryNotSent, ErrorType: "validation"}},
		{"the refusal of a guard", scripted.SendBroadcast, success,
			messaging.CallResult{Delivery: messaging.DeliveryNotSent, ErrorType: "guard"}},
		{"a cursor that comes again", pages, scripted.Responds(200,
			`{"success":true,"data":[{"id":"e"}],"meta":{"has_next_page":true,"next_page_cursor":null}}`),
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryAccepted, ErrorType: "bad_cursor"}},
		{"a lookup of another customer, a success", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Customers.Get(ctx, "c-1", opts...)
			return err
		}, scripted.Responds(200, `{"success":true,"data":{"data":[{"customer_id":"c-2"}]}}`),
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryAccepted}},
		{"a guard that fails with a bad cursor", scripted.CreateEvent, success,
			messaging.CallResult{Delivery: messaging.DeliveryNotSent, ErrorType: "guard"}},
		{"a call that is cancelled while a guard works",
			cancelledAfter(time.Second, scripted.Do(messaging.Request{Operation: "wait", Method: "PUT", Path: "/v1/x"})), success,
			messaging.CallResult{Delivery: messaging.DeliveryNotSent}},
		{"a call that is cancelled with a cause while a guard works",
			endedBy(errors.New("shutting down"), scripted.Do(messaging.Request{Operation: "wait", Method: "PUT", Path: "/v1/x"})), success,
			messaging.CallResult{Delivery: messaging.DeliveryNotSent}},
		{"a status", scripted.TriggerEvent, unavailable,
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryUnknown, ErrorType: "503"}},
		{"a refusal", scripted.TriggerEvent, scripted.Responds(200, scripted.Failure),
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryRejected, ErrorType: "refused"}},
		{"a lost connection", scripted.TriggerEvent, scripted.Breaks(scripted.ErrReset),
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryUnknown, ErrorType: "connection_lost"}},
		{"no connection", scripted.TriggerEvent, scripted.NeverConnects(scripted.ErrRefused),
			messaging.CallResult{Attempts: 3, Delivery: messaging.DeliveryNotSent, ErrorType: "connect"}},
		{"a context that was done before", cancelled, success, messaging.CallResult{Delivery: messaging.DeliveryNotSent}},
		{"the deadline of the caller", within(time.Minute, scripted.TriggerEvent), scripted.Connects(scripted.Hangs),
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryUnknown, ErrorType: "attempt_timeout"}},
		{"the deadline of the caller during an attempt", within(time.Second, scripted.TriggerEvent), scripted.Connects(scripted.Hangs),
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryUnknown, ErrorType: "deadline"}},
		{"a call that is cancelled during an attempt", cancelledAfter(time.Second, scripted.TriggerEvent), scripted.Connects(scripted.Hangs),
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryUnknown}},
		{"a time limit that has passed", late(scripted.TriggerEvent, -1), success,
			messaging.CallResult{Delivery: messaging.DeliveryNotSent, ErrorType: "not_after"}},
		{"a time limit that passes during an attempt", late(scripted.TriggerEvent, time.Second),
			func(req *http.Request) (*http.Response, error) {
				time.Sleep(2 * time.Second)
				_, err := io.ReadAll(req.Body)
				return nil, err
			}, messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryNotSent, ErrorType: "not_after"}},
		{"a time limit that would pass during a wait", late(scripted.ReadCustomers, time.Second), unavailable,
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryUnknown, ErrorType: "not_after"}},
		{"a call that is cancelled during a wait", cancelledAfter(time.Second, scripted.ReadCustomers), unavailable,
			messaging.CallResult{Attempts: 1, Delivery: messaging.DeliveryUnknown}},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			var log hookLog
			client, _ := scripted.NewClient(t, []scripted.Scene{test.play}, messaging.WithHooks(log.hooks()),
				messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: 5 * time.Second, MaxWait: 5 * time.Second}),
				messaging.WithGuard(func(ctx context.Context, p *messaging.Prepared) error {
					switch p.Operation() {
					case "send email broadcast":
						return errors.New("no emails")
					case "create event":
						return fmt.Errorf("looking up: %w", messaging.ErrBadCursor)
					case "wait":
						<-ctx.Done()
						return context.Cause(ctx)
					}
					return nil
				}))
			err := test.call(t.Context(), client)
			require.Len(t, log.results, 1)
			assert.Equal(t, test.want, log.results[0])
			assert.Equal(t, messaging.DeliveryOf(err), log.results[0].Delivery, "what the caller is told")
			assert.Len(t, log.attempts, test.want.Attempts)
		})
	}
}

func TestHooksAreToldTheOperationOfEveryCall(t *testing.T) {
	for _, operation := range scripted.Operations {
		for name, call := range operation.Calls {
			t.Run(operation.Name+" by "+name, func(t *testing.T) {
				var log hookLog
				client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, `{"success":true,"data":null}`)},
					messaging.WithHooks(log.hooks()))
				_ = call(t.Context(), client)
				assert.Contains(t, log.calls, messaging.CallInfo{Operation: operation.Name, Method: operation.Method, Path: operation.Path,
					Send: !operation.IsRead(), Scheme: "https", Host: "api.example.com", Port: 443})
				assert.Len(t, log.results, len(log.calls))
			})
		}
	}
}

func TestHooksAreToldNoPathOfDo(t *testing.T) {
	var log hookLog
	client, err := messaging.NewClient("http://[::1]:1/base", "test-key-1", messaging.WithHooks(log.hooks()))
	require.NoError(t, err)
	request := messaging.Request{Operation: "tag", Method: "PUT", Path: "/v1/customers/ada%40example.com"}
	_, err = client.Do(t.Context(), request, messaging.WithoutRetries())
	require.Error(t, err)
	_, err = client.Do(t.Context(), messaging.Request{Method: "GET /v1/customers?emails=ada@example.com", Path: "/v1/customers"})
	require.Error(t, err)
	assert.Equal(t, []messaging.CallInfo{{Operation: "tag", Method: "PUT", Scheme: "http", Host: "::1", Port: 1, Send: true},
		{Operation: "do request", Scheme: "http", Host: "::1", Port: 1, Send: true}}, log.calls)
}

// Leaving a range early cancels the page that is read ahead, whose call ends before
// the range does.
func TestHooksOfPagesReadAheadAreComplete(t *testing.T) {
	for _, list := range scripted.Lists() {
		for _, leaveAfter := range []int{1, 3, 4, 100} {
			t.Run(fmt.Sprintf("%s, %d items", list.Name, leaveAfter), func(t *testing.T) {
				pages := scripted.Pages{
					"":  {Items: []string{"1", "2"}, Meta: scripted.MetaBefore("b")},
					"b": {Items: []string{"3", "4"}, Meta: scripted.MetaBefore("c")},
					"c": {Items: []string{"5", "6"}, Meta: scripted.MetaOfLastPage},
				}
				var log hookLog
				client := scripted.NewInMemoryClient(t, scripted.NewListService(list, pages), messaging.WithHooks(log.hooks()))
				seen := 0
				for _, err := range list.All(t.Context(), client, "") {
					require.NoError(t, err)
					if seen++; seen == leaveAfter {
						break
					}
				}
				assert.Len(t, log.results, len(log.calls), "every call that starts is done")
				starts := slices.DeleteFunc(slices.Clone(log.lines), func(line string) bool { return line != "start 1" })
				assert.Len(t, log.attempts, len(starts), "every attempt that starts is done")
			})
		}
	}
}

func TestHooksAreCompleteWhenTheTransportPanics(t *testing.T) {
	var log hookLog
	client, _ := scripted.NewClient(t, []scripted.Scene{func(*http.Request) (*http.Response, error) { panic("boom") }},
		messaging.WithHooks(log.hooks()))
	assert.PanicsWithValue(t, "boom", func() { _ = scripted.TriggerEvent(t.Context(), client) })
	assert.Equal(t, []string{"start trigger event", "start 1", "done 1", "done trigger event"}, log.lines)
	assert.Equal(t, []messaging.CallResult{{Attempts: 1, Delivery: messaging.DeliveryUnknown, ErrorType: "_OTHER"}}, log.results)
	assert.Equal(t, []messaging.AttemptResult{{Attempt: 1, Delivery: messaging.DeliveryUnknown, ErrorType: "_OTHER"}}, log.attempts)
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }

func TestHooksAreCompleteWhenAValuePanics(t *testing.T) {
	calls := map[string]scripted.Call{
		"trigger event": func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "e", Email: "ada@example.com",
				Values: map[string]any{"a": panicking{}}}, opts...)
			return err
		},
		"tag": scripted.Do(messaging.Request{Operation: "tag", Method: "PUT", Path: "/v1/tags", Body: panicking{}}),
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			var log hookLog
			client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)}, messaging.WithHooks(log.hooks()))
			assert.PanicsWithValue(t, "boom", func() { _ = call(t.Context(), client) })
			assert.Equal(t, []string{"start " + name, "done " + name}, log.lines)
			assert.Equal(t, []messaging.CallResult{{Delivery: messaging.DeliveryNotSent, ErrorType: "_OTHER"}}, log.results)
		})
	}
}

type contextKey string

// valuesIn are those of the keys "caller", "call" and "attempt" that ctx has.
func valuesIn(ctx context.Context) string {
	return fmt.Sprintf("%v %v %v", ctx.Value(contextKey("caller")), ctx.Value(contextKey("call")), ctx.Value(contextKey("attempt")))
}

func TestHooksAddValuesToTheContextOfWhatFollows(t *testing.T) {
	seen := map[string]string{}
	note := func(who string, ctx context.Context) { seen[who] = valuesIn(ctx) }
	hooks := messaging.Hooks{
		CallStart: func(ctx context.Context, _ messaging.CallInfo) context.Context {
			note("CallStart", ctx)
			return context.WithValue(context.WithValue(ctx, contextKey("call"), 1), contextKey("caller"), "replaced")
		},
		AttemptStart: func(ctx context.Context, attempt messaging.AttemptInfo) context.Context {
			note("AttemptStart", ctx)
			return context.WithValue(ctx, contextKey("attempt"), attempt.Attempt)
		},
		AttemptDone: func(ctx context.Context, _ messaging.CallInfo, _ messaging.AttemptResult) { note("AttemptDone", ctx) },
		CallDone:    func(ctx context.Context, _ messaging.CallInfo, _ messaging.CallResult) { note("CallDone", ctx) },
	}
	over := scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
		note("transport", req.Context())
		return scripted.Responds(200, scripted.Success)(req)
	})
	client, err := messaging.NewClient("https://api.example.com", "", messaging.WithHTTPClient(&http.Client{Transport: over}),
		messaging.WithHooks(hooks), messaging.WithHooks(messaging.Hooks{CallStart: func(context.Context, messaging.CallInfo) context.Context {
			return nil // takes nothing away
		}}),
		messaging.WithKeySource(func(ctx context.Context) (string, error) { note("key source", ctx); return "test-key-1", nil }),
		messaging.WithRateLimiter(limiterFunc(func(ctx context.Context) error { note("limiter", ctx); return nil })),
		messaging.WithGuard(func(ctx context.Context, _ *messaging.Prepared) error { note("guard", ctx); return nil }),
		messaging.WithLogger(slog.New(contextHandler{slog.DiscardHandler, func(ctx context.Context) { note("log", ctx) }})))
	require.NoError(t, err)
	require.NoError(t, scripted.TriggerEvent(context.WithValue(t.Context(), contextKey("caller"), 0), client))
	const caller, call, attempt = "0 <nil> <nil>", "replaced 1 <nil>", "replaced 1 1"
	assert.Equal(t, map[string]string{"CallStart": caller, "guard": call, "limiter": call, "key source": call, "AttemptStart": call,
		"transport": attempt, "log": attempt, "AttemptDone": attempt, "CallDone": call}, seen)
}

type limiterFunc func(context.Context) error

func (f limiterFunc) Wait(ctx context.Context) error { return f(ctx) }

// contextHandler tells the context of each record.
type contextHandler struct {
	slog.Handler
	told func(context.Context)
}

func (h contextHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h contextHandler) Handle(ctx context.Context, _ slog.Record) error {
	h.told(ctx)
	return nil
}

// The context that a hook returns takes the place of the caller's, with its end.
func TestHooksReplaceTheContext(t *testing.T) {
	type contextOf = func(context.Context) context.Context
	inASecond := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		time.AfterFunc(time.Hour, cancel)
		return ctx
	}
	ended := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	tests := []struct {
		name          string
		call, attempt contextOf
		want          error
		sent          int
	}{
		{"nil keeps the caller's", nil, nil, context.Canceled, 1},
		{"an end of the call before anything is sent", ended, nil, context.Canceled, 0},
		{"a deadline of the call", inASecond, nil, context.DeadlineExceeded, 1},
		{"an end of the attempt", nil, ended, context.Canceled, 1},
		{"a deadline of the attempt", nil, inASecond, context.DeadlineExceeded, 1},
		{"a call without the caller's end", context.WithoutCancel, nil, messaging.ErrAttemptTimeout, 1},
		{"an attempt without the caller's end", nil, context.WithoutCancel, messaging.ErrAttemptTimeout, 1},
	}
	orNil := func(of contextOf, ctx context.Context) context.Context {
		if of == nil {
			return nil
		}
		return of(ctx)
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Connects(scripted.Hangs)},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}), messaging.WithHooks(messaging.Hooks{
					CallStart: func(ctx context.Context, _ messaging.CallInfo) context.Context { return orNil(test.call, ctx) },
					AttemptStart: func(ctx context.Context, _ messaging.AttemptInfo) context.Context {
						return orNil(test.attempt, ctx)
					}}))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(2*time.Second, cancel)
			err := scripted.TriggerEvent(ctx, client)
			require.ErrorIs(t, err, test.want)
			assert.Len(t, transport.Sent, test.sent)
			want := messaging.DeliveryUnknown
			if test.sent == 0 {
				want = messaging.DeliveryNotSent
			}
			assert.Equal(t, want, messaging.DeliveryOf(err))
		})
	}
}

func TestHooksSetHeadersOfOneAttempt(t *testing.T) {
	setHeaders := func(_ context.Context, attempt messaging.AttemptInfo) context.Context {
		attempt.SetHeader("traceparent", fmt.Sprint("attempt-", attempt.Attempt))
		if attempt.Attempt == 1 {
			attempt.SetHeader("Only-The-First", "yes")
		}
		attempt.SetHeader("X-Authorization", "another key")
		attempt.SetHeader("Content-Type", "text/plain")
		attempt.SetHeader("x_authorization", "another key")
		attempt.SetHeader("Cookie", "session=1")
		attempt.SetHeader("X_HTTP_Method_Override", "DELETE")
		attempt.SetHeader("Authorization", "of a gateway")
		attempt.SetHeader("With-Control", "a\nb")
		attempt.SetHeader("with blank", "a")
		attempt.SetHeader("", "a")
		return nil
	}
	scripted.RunInBubble(t, "", func(t *testing.T) {
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, ""), scripted.Responds(200, scripted.Success)},
			messaging.WithHooks(messaging.Hooks{AttemptStart: setHeaders}))
		require.NoError(t, scripted.TriggerEvent(t.Context(), client, messaging.WithHeader("Traceparent", "of the call")))
		require.Len(t, transport.Sent, 2)
		for i, sent := range transport.Sent {
			assert.Equal(t, []string{fmt.Sprint("attempt-", i+1)}, sent.Header["Traceparent"])
			assert.Equal(t, []string{scripted.SecretKey}, sent.Header["X-Authorization"])
			assert.Equal(t, []string{"application/json"}, sent.Header["Content-Type"])
			assert.Equal(t, []string{"of a gateway"}, sent.Header["Authorization"])
			for _, refused := range []string{"With-Control", "With blank", "", "X_authorization", "Cookie",
				"X_http_method_override"} {
				assert.NotContains(t, sent.Header, refused)
			}
		}
		assert.Contains(t, transport.Sent[0].Header, "Only-The-First")
		assert.NotContains(t, transport.Sent[1].Header, "Only-The-First")
	})
}

func TestHooksGivenTwiceAreBothCalled(t *testing.T) {
	var lines []string
	hooks := func(name string) messaging.Option {
		return messaging.WithHooks(messaging.Hooks{
			CallStart: func(context.Context, messaging.CallInfo) context.Context {
				lines = append(lines, "start "+name)
				return nil
			},
			CallDone: func(context.Context, messaging.CallInfo, messaging.CallResult) { lines = append(lines, "done "+name) },
		})
	}
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)}, hooks("a"), hooks("b"))
	require.NoError(t, scripted.TriggerEvent(t.Context(), client))
	assert.Equal(t, []string{"start a", "start b", "done b", "done a"}, lines)
}

// What hooks and guards need is only allocated if there are any. The numbers are those
// of the last version that had neither.
func TestHooksAndGuardsThatAreUnsetAllocateNothing(t *testing.T) {
	scripted.SkipUnderRace(t)
	allocations := func(call scripted.Call, opts ...messaging.Option) float64 {
		client := newUntracedClient(t, opts...)
		return testing.AllocsPerRun(100, func() { _ = call(context.Background(), client) })
	}
	tests := map[string]struct {
		call scripted.Call
		most float64
	}{"list": {scripted.ReadCustomers, 41}, "trigger": {scripted.TriggerEvent, 40}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			unset := allocations(test.call)
			assert.LessOrEqual(t, unset, test.most)
			hooked := allocations(test.call, messaging.WithHooks(messaging.Hooks{
				CallDone: func(context.Context, messaging.CallInfo, messaging.CallResult) {}}))
			assert.Greater(t, hooked, unset, "or this test measures nothing")
		})
	}
}

func newUntracedClient(tb testing.TB, opts ...messaging.Option) *messaging.Client {
	tb.Helper()
	over := scripted.RoundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	})
	return scripted.NewClientOver(tb, "https://api.example.com", &http.Client{Transport: over}, opts...)
}
