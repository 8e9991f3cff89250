package messagingtest_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

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
