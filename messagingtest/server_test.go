package messagingtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

const pushPath = "/v1/broadcast/send/push-notification"

// toEveryone is the smallest broadcast.
var toEveryone = messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello, everyone.", To: messaging.AllCustomers()}

func TestServerIsClosedWhenItsTestEnds(t *testing.T) {
	var s *messagingtest.Server
	t.Run("test with a server", func(t *testing.T) {
		s = messagingtest.NewServer(t)
		assert.Equal(t, http.StatusOK, get(t, s, "/v1/events").StatusCode)
	})
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(pushToAll(t, s.Client())), "the server no longer listens")
}

func TestServerCanBeClosedTwice(t *testing.T) {
	s, err := messagingtest.Start()
	require.NoError(t, err)
	s.Close()
	s.Close()
}

func TestServerHandlerWorksBehindAnotherServerAndAPrefix(t *testing.T) {
	s := messagingtest.NewServer(t)
	own := httptest.NewServer(http.StripPrefix("/sandbox", s.Handler()))
	defer own.Close()
	client, err := messaging.NewClient(own.URL+"/sandbox", s.APIKey(), messaging.WithHTTPClient(own.Client()))
	require.NoError(t, err)

	_, err = client.Broadcasts.SendPush(t.Context(), toEveryone)
	require.NoError(t, err)
	s.Fail("", 1, messagingtest.AnswerLost())
	_, err = client.Broadcasts.SendPush(t.Context(), toEveryone)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Len(t, s.PushBroadcasts(), 2)
}

func TestServerClientPanicsOnAnInvalidOption(t *testing.T) {
	s := messagingtest.NewServer(t)
	assert.Panics(t, func() { s.Client(messaging.WithAttemptTimeout(-time.Second)) })
}

func TestServerClientOptionsOverrideTheDefaults(t *testing.T) {
	noKey := errors.New("no key")
	tests := map[string]struct {
		option   messaging.Option
		attempts int
		isErr    error
	}{
		"a retry policy": {messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}), 1, messaging.ErrServer},
		"an HTTP client": {messaging.WithHTTPClient(&http.Client{Transport: respondingWith(http.StatusForbidden)}), 0, messaging.ErrForbidden},
		"a key source":   {messaging.WithKeySource(func(context.Context) (string, error) { return "", noKey }), 0, noKey},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			s.Fail("", 2, messagingtest.Status(http.StatusServiceUnavailable))
			_, err := s.Client(test.option).Events.List(t.Context(), messaging.EventListParams{})
			require.ErrorIs(t, err, test.isErr)
			assert.Len(t, s.Requests(), test.attempts)
		})
	}
}

// respondingWith is a transport that responds to every request with a status.
type respondingWith int

func (status respondingWith) RoundTrip(*http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(int(status))
	return recorder.Result(), nil
}

func TestServerClientRetriesWithoutAPause(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.Fail("", 2, messagingtest.Status(http.StatusServiceUnavailable))
	var longest time.Duration
	hooks := messaging.Hooks{AttemptDone: func(_ context.Context, _ messaging.CallInfo, r messaging.AttemptResult) {
		longest = max(longest, r.Wait)
	}}
	page, err := s.Client(messaging.WithHooks(hooks)).Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	assert.Equal(t, 3, page.Response.Attempts)
	assert.Positive(t, longest)
	assert.LessOrEqual(t, longest, 10*time.Millisecond, "the default waits take at least half a second")
}

func TestServerRefusesRequestsWithoutAnOperation(t *testing.T) {
	withoutKey := func(r *http.Request) { r.Header.Del("X-Authorization") }
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, test := range map[string]struct {
		change func(*http.Request)
		status int
		allow  string
	}{
		"an unknown path":      {func(r *http.Request) { r.URL.Path = "/v1/unknown" }, 404, ""},
		"a trailing slash":     {func(r *http.Request) { r.URL.Path += "/" }, 404, ""},
		"another version":      {func(r *http.Request) { r.URL.Path = "/v2/events" }, 404, ""},
		"a path without a key": {func(r *http.Request) { r.URL.Path = "/"; withoutKey(r) }, 404, ""},
		"another method":       {func(r *http.Request) { r.Method = http.MethodDelete }, 405, "POST, GET"},
		"a POST to a list":     {func(r *http.Request) { r.URL.Path = "/v1/customers" }, 405, "GET"},
		"a GET of a broadcast": {func(r *http.Request) { r.URL.Path = pushPath; r.Method = http.MethodGet }, 405, "POST"},
		"no key":               {withoutKey, 401, ""},
		"a wrong key":          {set("X-Authorization", "another"), 401, ""},
		"a key elsewhere":      {func(r *http.Request) { set("Authorization", r.Header.Get("X-Authorization"))(r); withoutKey(r) }, 401, ""},
		"another Content-Type": {set("Content-Type", "text/plain"), 415, ""},
		"no Content-Type":      {func(r *http.Request) { r.Header.Del("Content-Type") }, 415, ""},
		"a malformed query":    {func(r *http.Request) { r.Method = http.MethodGet; r.URL.RawQuery = "per_page=%zz" }, 400, ""},
	} {
		s := messagingtest.NewServer(t)
		r := newRequest(t, s, http.MethodPost, "/v1/events", `{"name":"n","description":"d","parameters":[]}`)
		test.change(r)
		refused := send(t, r)
		assert.Equal(t, test.status, refused.StatusCode, name)
		assert.Equal(t, test.allow, refused.Header.Get("Allow"), name)
		assert.Equal(t, "application/json", refused.Header.Get("Content-Type"), name)
		assert.Regexp(t, `^\{"success":false,"message":"[^"]+"\}$`, refused.Body, name)
		assert.Contains(t, get(t, s, "/v1/events").Body, `"data":[]`, "the request was not carried out")
	}
}

func TestServerRefusesABodyThatIsNotAJSONObject(t *testing.T) {
	s := messagingtest.NewServer(t)
	for _, body := range []string{"", "null", "[]", `"text"`, "{", `{"name":}`, `{} {}`, "name=n"} {
		refused := post(t, s, "/v1/events", body)
		assert.Equal(t, http.StatusBadRequest, refused.StatusCode, body)
		assert.JSONEq(t, `{"success":false,"message":"body is not a JSON object"}`, refused.Body, body)
	}
}

func TestServerAcceptsAContentTypeWithParameters(t *testing.T) {
	s := messagingtest.NewServer(t)
	r := newRequest(t, s, http.MethodPost, "/v1/events", `{"name":"n","description":"d","parameters":[]}`)
	r.Header.Set("Content-Type", "Application/JSON; charset=utf-8")
	assert.Equal(t, http.StatusOK, send(t, r).StatusCode)
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// broken is a body that cannot be read.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestServerRefusesAnIncompleteBody(t *testing.T) {
	for status, body := range map[int]io.Reader{http.StatusRequestEntityTooLarge: endless{}, http.StatusBadRequest: broken{}} {
		s := messagingtest.NewServer(t)
		r := httptest.NewRequest(http.MethodPost, "/v1/events", body)
		r.Header.Set("X-Authorization", s.APIKey())
		recorder := httptest.NewRecorder()
		s.Handler().ServeHTTP(recorder, r)
		assert.Equal(t, status, recorder.Code)
		require.Len(t, s.Requests(), 1)
		assert.Empty(t, s.Requests()[0].Body, "a partial body is not recorded")
	}
}

func TestRequestsAreRecordedEvenIfTheyFail(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.Fail("", 1, messagingtest.Status(http.StatusTeapot))
	send(t, newRequest(t, s, http.MethodPut, "/v1/events?dry=run&dry=again", "not JSON"))
	get(t, s, "/v1/customers?emails=ada%40example.com")
	post(t, s, "/v1/events", `{"name":"n"}`)
	get(t, s, "/elsewhere")

	requests := s.Requests()
	require.Len(t, requests, 4)
	first := requests[0]
	assert.Equal(t, http.MethodPut, first.Method)
	assert.Equal(t, "/v1/events", first.Path)
	assert.Equal(t, url.Values{"dry": {"run", "again"}}, first.Query)
	assert.Equal(t, "application/json", first.Header.Get("Content-Type"))
	assert.Equal(t, "not JSON", string(first.Body))
	assert.Equal(t, url.Values{"emails": {"ada@example.com"}}, requests[1].Query)
	var statuses []int
	for _, r := range requests {
		statuses = append(statuses, r.StatusCode)
	}
	assert.Equal(t, []int{418, 200, 422, 404}, statuses)
}

func TestRequestsAreRecordedAsTheyWereSentButForTheKeyOfTheServer(t *testing.T) {
	s := messagingtest.NewServer(t)
	client := s.Client(messaging.WithHeader("Authorization", "Bearer of-the-gateway"), messaging.WithHeader("X-Session", "s-1"))
	_, err := client.Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	header := s.Requests()[0].Header
	assert.Equal(t, []string{"Bearer of-the-gateway"}, header["Authorization"])
	assert.Equal(t, []string{"s-1"}, header["X-Session"])
	assert.Equal(t, []string{"[API key]"}, header["X-Authorization"])

	r := newRequest(t, s, http.MethodGet, "/v1/events?token=t-1&key="+s.APIKey(), "")
	r.Header["X-Authorization"] = []string{"another-key"}
	send(t, r)
	assert.Equal(t, url.Values{"token": {"t-1"}, "key": {"[API key]"}}, s.Requests()[1].Query)
	assert.Equal(t, []string{"another-key"}, s.Requests()[1].Header["X-Authorization"])

	r.Header.Del("X-Authorization")
	send(t, r)
	assert.NotContains(t, s.Requests()[2].Header, "X-Authorization", "a missing header stays missing")
}
