package messagingtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// observed collects the exchanges of a server.
type observed struct {
	mu        sync.Mutex
	exchanges []*messagingtest.Exchange
}

func (o *observed) observe(e *messagingtest.Exchange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.exchanges = append(o.exchanges, e)
}

func (o *observed) all() []*messagingtest.Exchange {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.exchanges
}

// last returns the latest exchange. Since it is observed before its response is sent,
// there is nothing to wait for.
func (o *observed) last(t *testing.T) *messagingtest.Exchange {
	t.Helper()
	require.NotEmpty(t, o.all())
	return o.all()[len(o.all())-1]
}

func newObserved(t *testing.T, opts ...messagingtest.Option) (*messagingtest.Server, *observed) {
	t.Helper()
	o := new(observed)
	return messagingtest.NewServer(t, append(opts, messagingtest.WithObserver(o.observe))...), o
}

const (
	emailBody = `{"sender_email":"news@acme.test","sender_name":"Acme","email":"news@acme.test","subject":"Moved","message":"<p>Hi</p>",` +
		`"message_type":"announcement","schedule_type":"send-now","recipients":{"type":"customer","customers":[` +
		`{"email":"ada@example.com"},{"email":"grace@example.com","devices":[{"device_type":"ios","device_token":"t"}]}]}}`
	eventBody = `{"name":"order shipped","description":"d","parameters":[{"name":"shipped_at","type":"Timestamp","required":true}]}`
)

func TestObserverReceivesWhatARequestCreated(t *testing.T) {
	s, o := newObserved(t)
	s.AddCustomers(messaging.Customer{Email: "ada@example.com"})

	post(t, s, "/v1/broadcast/send/email", emailBody)
	email := o.last(t)
	assert.Equal(t, 1, email.Number)
	assert.Equal(t, "send email broadcast", email.Op)
	assert.Equal(t, http.StatusOK, email.Status)
	assert.Equal(t, http.StatusOK, email.Request.StatusCode)
	assert.JSONEq(t, emailBody, string(email.Request.Body))
	assert.Equal(t, "application/json", email.ResponseHeader.Get("Content-Type"))
	assert.JSONEq(t, `{"success":true,"data":null,"message":"Email Broadcast sent successfully"}`, string(email.ResponseBody))
	assert.Equal(t, s.EmailBroadcasts()[0], *email.Effect.(*messagingtest.EmailBroadcast))
	require.Len(t, email.Customers, 2)
	assert.False(t, email.Customers[0].Created)
	assert.True(t, email.Customers[1].Created)
	assert.Equal(t, s.Customers(), []messagingtest.Customer{email.Customers[0].Customer, email.Customers[1].Customer})
	assert.Empty(t, email.Problems)
	assert.False(t, email.ForeignKey)
	assert.WithinDuration(t, time.Now(), email.At, time.Minute)
	assert.Positive(t, email.Took)

	post(t, s, pushPath, `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`)
	assert.Equal(t, s.PushBroadcasts()[0], *o.last(t).Effect.(*messagingtest.PushBroadcast))

	post(t, s, "/v1/events", eventBody)
	event := o.last(t).Effect.(*messaging.Event)
	assert.Equal(t, s.Events()[0], *event)
	assert.Equal(t, messaging.ParameterTimestamp, event.Parameters[0].Type)

	post(t, s, "/v1/events/trigger", `{"event_id":"`+event.ID+`","payload":{"email":"eve@example.com","shipped_at":"today"}}`)
	assert.Equal(t, s.Triggers()[0], *o.last(t).Effect.(*messagingtest.Trigger))
	assert.Equal(t, []string{"shipped_at"}, o.last(t).Effect.(*messagingtest.Trigger).Skipped)
	assert.Equal(t, "eve@example.com", o.last(t).Customers[0].Customer.Email)

	get(t, s, "/v1/events")
	assert.Nil(t, o.last(t).Effect)
	assert.Equal(t, 5, o.last(t).Number)
}

func TestObserverReceivesWhyARequestWasRefused(t *testing.T) {
	s, o := newObserved(t)
	refused := post(t, s, "/v1/events", `{"name":"n","parameters":[{"name":"email","type":"text"}]}`)
	assert.Equal(t, refused.problems(t), o.last(t).Problems)
	assert.Contains(t, o.last(t).Problems, "parameters.0.name")
	assert.Nil(t, o.last(t).Effect)

	post(t, s, "/v1/events", `not JSON`)
	assert.Equal(t, http.StatusBadRequest, o.last(t).Status)
	get(t, s, "/elsewhere")
	assert.Equal(t, http.StatusNotFound, o.last(t).Status)
	assert.Empty(t, o.last(t).Op)
	send(t, newRequest(t, s, http.MethodDelete, "/v1/events", ""))
	assert.Equal(t, "POST, GET", o.last(t).ResponseHeader.Get("Allow"))
}

func TestObserverLearnsOfAForeignKeyButNotTheKey(t *testing.T) {
	s, o := newObserved(t)
	tests := map[string]struct {
		keys    []string
		foreign bool
	}{
		"the key of the server": {[]string{s.APIKey()}, false},
		"no key":                {nil, false},
		"an empty key":          {[]string{""}, false},
		"another key":           {[]string{"live-1"}, true},
		"another key behind it": {[]string{s.APIKey(), "live-1"}, true},
	}
	r := newRequest(t, s, http.MethodGet, "/v1/events", "")
	r.Header.Set("Authorization", "Bearer live-1")
	send(t, r)
	assert.True(t, o.last(t).ForeignKey, "another key in Authorization")
	r.Header.Set("Authorization", "Bearer "+s.APIKey())
	send(t, r)
	assert.False(t, o.last(t).ForeignKey)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRequest(t, s, http.MethodGet, "/v1/events?token=live-1", "")
			r.Header["X-Authorization"] = test.keys
			r.Header.Set("Cookie", "session=live-1")
			send(t, r)
			assert.Equal(t, test.foreign, o.last(t).ForeignKey)
			assert.NotContains(t, fmt.Sprintf("%+v", *o.last(t)), "live-1")
		})
	}
}

func TestObserverReceivesTheFault(t *testing.T) {
	s, o := newObserved(t)
	once := s.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}),
		messaging.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	tests := []struct {
		fault      messagingtest.Fault
		kind       string
		status     int
		carriedOut bool
	}{
		{messagingtest.Status(502, "<html>"), "status", 502, false},
		{messagingtest.RateLimited(time.Second), "rate_limited", 429, false},
		{messagingtest.Malformed("{"), "malformed", 200, true},
		{messagingtest.Slow(time.Millisecond), "slow", 200, true},
		{messagingtest.AnswerLost(), "answer_lost", 0, true},
		{messagingtest.NotReached(), "not_reached", 0, false},
		{messagingtest.Fault{}, "", 200, true},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			s.FailNext(1, test.fault)
			_ = pushToAll(t, once)
			assert.Equal(t, test.kind, o.last(t).Fault)
			assert.Equal(t, test.status, o.last(t).Status)
			assert.Equal(t, test.carriedOut, o.last(t).Effect != nil)
			assert.Equal(t, test.status == 0, o.last(t).ResponseHeader == nil)
			assert.Equal(t, test.status == 0, o.last(t).ResponseBody == nil)
		})
	}
	s.FailNext(1, messagingtest.Status(500))
	post(t, s, "/v1/events", `{}`)
	assert.Empty(t, o.last(t).Problems, "the request was not validated")
	s.FailNext(1, messagingtest.Malformed("{"))
	post(t, s, "/v1/events", `{}`)
	assert.Contains(t, o.last(t).Problems, "name", "the fault hides it from the client only")
}

func TestObserverReceivesNoStatusIfTheClientHasDisconnected(t *testing.T) {
	s, o := newObserved(t)
	err := sendAndThen(t, s, func(cancel context.CancelFunc) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return len(o.all()) == 1 }, 5*time.Minute, time.Millisecond)
	assert.Zero(t, o.last(t).Status)
	assert.NotNil(t, o.last(t).Effect, "it was carried out")
	assert.Equal(t, http.StatusOK, s.Requests()[0].StatusCode)
}

func TestObserverNumbersExchangesByTheirOutcome(t *testing.T) {
	s, o := newObserved(t)
	err := sendAndThen(t, s, func(cancel context.CancelFunc) {
		get(t, s, "/v1/events")
		cancel()
	})
	require.Error(t, err)
	s.Close()
	require.Len(t, o.all(), 2)
	assert.Equal(t, []any{1, "list events", 2, "send push broadcast"},
		[]any{o.all()[0].Number, o.all()[0].Op, o.all()[1].Number, o.all()[1].Op})
	assert.True(t, o.all()[1].At.Before(o.all()[0].At))
}

func TestObserverIsCalledBeforeTheResponseInTheOrderOfNumbers(t *testing.T) {
	const goroutines, rounds = 8, 25
	s, o := newObserved(t)
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			for round := range rounds {
				path := fmt.Sprintf("/%d/%d", i, round)
				get(t, s, path)
				found := false
				for _, e := range o.all() {
					found = found || e.Request.Path == path
				}
				assert.True(t, found, "the response came before its exchange was observed")
			}
		})
	}
	all.Wait()
	for i, e := range o.all() {
		require.Equal(t, i+1, e.Number)
	}
}

// firstByte is an http.ResponseWriter that reports when a response begins.
type firstByte struct {
	http.ResponseWriter
	begins func()
}

func (w firstByte) WriteHeader(status int) {
	w.begins()
	w.ResponseWriter.WriteHeader(status)
}

func TestObserverIsCalledBeforeTheFirstByte(t *testing.T) {
	s, o := newObserved(t)
	begun := false
	s.Handler().ServeHTTP(firstByte{httptest.NewRecorder(), func() {
		begun = true
		assert.Len(t, o.all(), 1)
	}}, httptest.NewRequest(http.MethodGet, "/v1/events", nil))
	assert.True(t, begun)
}

func TestObserverMayCallTheServer(t *testing.T) {
	var s *messagingtest.Server
	s = messagingtest.NewServer(t, messagingtest.WithObserver(func(e *messagingtest.Exchange) {
		if e.Number == 1 {
			assert.Len(t, s.Requests(), 1)
			s.FailNext(1, messagingtest.Status(http.StatusTeapot))
			s.Reset()
			s.FailNext(1, messagingtest.Status(http.StatusConflict))
		}
	}))
	assert.Equal(t, http.StatusOK, get(t, s, "/v1/events").StatusCode)
	assert.Equal(t, http.StatusConflict, get(t, s, "/v1/events").StatusCode)
}
