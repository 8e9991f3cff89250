package fake_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
)

func TestObserverReceivesWhatARequestCreated(t *testing.T) {
	s := serve(t, fake.Config{})
	s.AddCustomers(fake.Customer{CustomerParams: messaging.CustomerParams{Email: "ada@example.com"}})

	s.post(t, emailPath, emailBody)
	email := s.last(t)
	assert.Equal(t, 1, email.Number)
	assert.Equal(t, "send email broadcast", email.Op)
	assert.Equal(t, http.StatusOK, email.Status)
	assert.Equal(t, http.StatusOK, email.Request.StatusCode)
	assert.JSONEq(t, emailBody, string(email.Request.Body))
	assert.Equal(t, "application/json", email.ResponseHeader.Get("Content-Type"))
	assert.JSONEq(t, `{"success":true,"data":null,"message":"Email Broadcast sent successfully"}`, string(email.ResponseBody))
	assert.Same(t, effects[fake.EmailBroadcast](s)[0], email.Effect)
	require.Len(t, email.Customers, 2)
	assert.False(t, email.Customers[0].Created)
	assert.True(t, email.Customers[1].Created)
	assert.Equal(t, s.Customers(), []fake.Customer{email.Customers[0].Customer, email.Customers[1].Customer})
	assert.Empty(t, email.Problems)
	assert.False(t, email.ForeignKey)
	assert.WithinDuration(t, time.Now(), email.At, time.Minute)
	assert.Positive(t, email.Took)

	s.post(t, pushPath, pushBody)
	assert.Same(t, effects[fake.PushBroadcast](s)[0], s.last(t).Effect)

	s.post(t, eventsPath, eventBody)
	event := s.last(t).Effect.(*fake.Event)
	assert.Equal(t, s.Events()[0], *event)
	assert.Equal(t, fake.Timestamp, event.Parameters[0].Type)

	s.post(t, triggerPath, `{"event_id":"`+event.ID+`","payload":{"email":"eve@example.com","shipped_at":"today"}}`)
	assert.Same(t, effects[fake.Trigger](s)[0], s.last(t).Effect)
	assert.Equal(t, []string{"shipped_at"}, s.last(t).Effect.(*fake.Trigger).Skipped)
	assert.Equal(t, "eve@example.com", s.last(t).Customers[0].Customer.Email)

	s.get(t, eventsPath)
	assert.Nil(t, s.last(t).Effect)
	assert.Equal(t, 5, s.last(t).Number)
}

func TestObserverReceivesWhyARequestWasRefused(t *testing.T) {
	s := serve(t, fake.Config{})
	_, refused := s.post(t, eventsPath, `{"name":"n","parameters":[{"name":"email","type":"text"}]}`)
	var body struct{ Errors map[string][]string }
	require.NoError(t, json.Unmarshal([]byte(refused), &body))
	assert.Equal(t, body.Errors, s.last(t).Problems)
	assert.Contains(t, s.last(t).Problems, "parameters.0.name")
	assert.Nil(t, s.last(t).Effect)

	s.post(t, eventsPath, `not JSON`)
	assert.Equal(t, http.StatusBadRequest, s.last(t).Status)
	s.get(t, "/elsewhere")
	assert.Equal(t, http.StatusNotFound, s.last(t).Status)
	assert.Empty(t, s.last(t).Op)
	send(t, s.request(t, http.MethodDelete, eventsPath, ""))
	assert.Equal(t, "POST, GET", s.last(t).ResponseHeader.Get("Allow"))
}

func TestObserverLearnsOfAForeignKey(t *testing.T) {
	s := serve(t, fake.Config{})
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
	r := s.request(t, http.MethodGet, eventsPath, "")
	r.Header.Set("Authorization", "Bearer live-1")
	send(t, r)
	assert.True(t, s.last(t).ForeignKey, "another key in Authorization")
	r.Header.Set("Authorization", "Bearer "+s.APIKey())
	send(t, r)
	assert.False(t, s.last(t).ForeignKey)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.request(t, http.MethodGet, eventsPath, "")
			r.Header["X-Authorization"] = test.keys
			send(t, r)
			assert.Equal(t, test.foreign, s.last(t).ForeignKey)
		})
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
	s := serve(t, fake.Config{})
	begun := false
	s.ServeHTTP(firstByte{httptest.NewRecorder(), func() {
		begun = true
		assert.Len(t, s.all(), 1)
	}}, httptest.NewRequest(http.MethodGet, eventsPath, nil))
	assert.True(t, begun)
}

func TestObserverReceivesTheFault(t *testing.T) {
	s := serve(t, fake.Config{})
	tests := []struct {
		fault      fake.Fault
		status     int
		carriedOut bool
	}{
		{fake.Fault{Kind: fake.Status, Status: 502, Body: "<html>"}, 502, false},
		{fake.Fault{Kind: fake.RateLimited, After: fake.Duration(time.Second)}, 429, false},
		{fake.Fault{Kind: fake.Malformed, Body: "{"}, 200, true},
		{fake.Fault{Kind: fake.Slow, After: fake.Duration(time.Millisecond)}, 200, true},
		{fake.Fault{Kind: fake.AnswerLost}, 0, true},
		{fake.Fault{Kind: fake.NotReached}, 0, false},
		{fake.Fault{}, 200, true},
	}
	for _, test := range tests {
		t.Run(test.fault.Kind, func(t *testing.T) {
			s.AddRule(once(test.fault))
			response, err := http.DefaultClient.Do(s.request(t, http.MethodPost, pushPath, pushBody))
			if err == nil {
				require.NoError(t, response.Body.Close())
			}
			assert.Equal(t, test.status == 0, err != nil)
			assert.Equal(t, test.fault.Kind, s.last(t).Fault)
			assert.Equal(t, test.status, s.last(t).Status)
			assert.Equal(t, test.carriedOut, s.last(t).Effect != nil)
			assert.Equal(t, test.status == 0, s.last(t).ResponseHeader == nil)
			assert.Equal(t, test.status == 0, s.last(t).ResponseBody == nil)
		})
	}
	s.AddRule(once(always(500).Fault))
	s.post(t, eventsPath, `{}`)
	assert.Empty(t, s.last(t).Problems, "the request was not validated")
	s.AddRule(once(fake.Fault{Kind: fake.Malformed, Body: "{"}))
	s.post(t, eventsPath, `{}`)
	assert.Contains(t, s.last(t).Problems, "name", "the fault hides it from the client only")
}

func TestObserverNumbersExchangesByTheirOutcome(t *testing.T) {
	s := serve(t, fake.Config{})
	s.AddRule(once(fake.Fault{Kind: fake.Slow, After: fake.Duration(time.Hour)}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(s.request(t, http.MethodPost, pushPath, pushBody).WithContext(ctx))
		slow <- err
	}()
	require.Eventually(t, func() bool { return len(s.Requests()) == 1 }, time.Minute, time.Millisecond)
	s.get(t, eventsPath)
	cancel()
	require.ErrorIs(t, <-slow, context.Canceled)
	require.Eventually(t, func() bool { return len(s.all()) == 2 }, time.Minute, time.Millisecond)
	first, second := s.all()[0], s.all()[1]
	assert.Equal(t, []any{1, "list events", 2, "send push broadcast"}, []any{first.Number, first.Op, second.Number, second.Op})
	assert.True(t, second.At.Before(first.At))
	assert.Zero(t, second.Status, "the client has disconnected")
	assert.NotNil(t, second.Effect, "it was carried out")
	assert.Equal(t, http.StatusOK, s.Requests()[0].StatusCode)
}

func TestObserverMayCallTheServer(t *testing.T) {
	var s *fake.Server
	s = fake.New(fake.Config{Observe: func(e *fake.Exchange) {
		if e.Number == 1 {
			assert.Len(t, s.Requests(), 1)
			s.Reset()
			s.AddRule(once(always(http.StatusConflict).Fault))
		}
	}})
	for _, want := range []int{http.StatusUnauthorized, http.StatusConflict} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, eventsPath, nil))
		assert.Equal(t, want, w.Code)
	}
}
