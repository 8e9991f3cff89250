package messagingtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTransportTicketIsNotRecorded(t *testing.T) {
	s := NewServer(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/events", strings.NewReader(`{}`))
	require.NoError(t, err)
	request.Header.Set("X-Custom", "value")
	sent := request.Header.Clone()

	response, err := transport{s}.RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	assert.Equal(t, sent, request.Header)
	require.Len(t, s.Requests(), 1)
	assert.NotContains(t, s.Requests()[0].Header, ticketHeader)
	assert.Equal(t, []string{"value"}, s.Requests()[0].Header["X-Custom"])
	assert.Zero(t, stored(s), "no ticket is stored for a request without a fault")
}

// stored returns how many faults wait for their requests.
func stored(s *Server) (n int) {
	s.tickets.faults.Range(func(any, any) bool { n++; return true })
	return n
}

// arrive sends a request without the transport and returns the response status.
func arrive(s *Server, ticket string) int {
	request := httptest.NewRequest(http.MethodGet, "/v1/events", nil)
	request.Header.Set("X-Authorization", s.APIKey())
	request.Header.Set(ticketHeader, ticket)
	response := httptest.NewRecorder()
	s.Handler().ServeHTTP(response, request)
	return response.Code
}

func TestTransportTicketIsValidOnceAndUntilAReset(t *testing.T) {
	s := NewServer(t)
	first, second := s.tickets.issue(Status(http.StatusTeapot).fault), s.tickets.issue(Status(http.StatusConflict).fault)
	last := s.tickets.issue(Status(http.StatusTeapot).fault)
	s.Fail("", 1, Status(http.StatusGone))

	assert.Equal(t, http.StatusConflict, arrive(s, second))
	assert.Equal(t, http.StatusTeapot, arrive(s, first))
	for _, used := range []string{first, second} {
		assert.Equal(t, http.StatusOK, arrive(s, used), "a used ticket takes no fault")
	}
	assert.Equal(t, http.StatusGone, arrive(s, ""), "the last fault is still queued")
	s.Reset()
	s.Fail("", 1, Status(http.StatusGone))
	assert.Equal(t, http.StatusOK, arrive(s, last))
	assert.Equal(t, http.StatusGone, arrive(s, ""))
}
