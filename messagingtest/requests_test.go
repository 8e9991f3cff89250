package messagingtest_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
)

func TestRequestsAreRecordedEvenIfTheyFail(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.FailNext(1, messagingtest.Status(http.StatusTeapot))
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

func TestRequestsAreRecordedWithoutTheKey(t *testing.T) {
	s := messagingtest.NewServer(t)
	keys := map[string]http.Header{
		"the key of the server":   {"X-Authorization": {s.APIKey()}},
		"another key":             {"X-Authorization": {"sk-live-1"}},
		"several keys":            {"X-Authorization": {"sk-live-1", "sk-live-2"}},
		"a key in a lower header": {"x-authorization": {"sk-live-1"}},
	}
	for name, header := range keys {
		t.Run(name, func(t *testing.T) {
			r := newRequest(t, s, http.MethodGet, "/v1/events", "")
			r.Header = header
			send(t, r)
			recorded := s.Requests()[len(s.Requests())-1].Header
			assert.Equal(t, []string{"REDACTED"}, recorded["X-Authorization"])
		})
	}
	r := newRequest(t, s, http.MethodGet, "/v1/events", "")
	r.Header.Del("X-Authorization")
	send(t, r)
	assert.NotContains(t, s.Requests()[len(s.Requests())-1].Header, "X-Authorization", "a missing header stays missing")
}

func TestRequestsAreRecordedWithoutOtherCredentials(t *testing.T) {
	s := messagingtest.NewServer(t)
	r := newRequest(t, s, http.MethodGet, "/v1/events?per_page=5&API_KEY=live-1&token=live-1&token=live-2", "")
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key"} {
		r.Header.Set(name, "live-1")
	}
	send(t, r)
	recorded := s.Requests()[0]
	assert.Equal(t, url.Values{"per_page": {"5"}, "API_KEY": {"REDACTED"}, "token": {"REDACTED"}}, recorded.Query)
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Authorization"} {
		assert.Equal(t, []string{"REDACTED"}, recorded.Header[name])
	}
}

func TestRequestsAreReturnedAsCopies(t *testing.T) {
	s := messagingtest.NewServer(t)
	post(t, s, "/v1/events?a=b", `{}`)
	mine := s.Requests()[0]
	mine.Query["a"][0] = "changed"
	mine.Query.Set("c", "added")
	mine.Header["Content-Type"][0] = "changed"
	mine.Body[0] = '!'
	again := s.Requests()[0]
	assert.Equal(t, url.Values{"a": {"b"}}, again.Query)
	assert.Equal(t, "application/json", again.Header.Get("Content-Type"))
	assert.Equal(t, `{}`, string(again.Body))
}
