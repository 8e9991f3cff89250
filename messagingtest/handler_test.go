package messagingtest_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
)

func TestServerRefusesRequestsWithoutAnOperation(t *testing.T) {
	tests := []struct {
		name   string
		change func(*http.Request)
		status int
		allow  string
	}{
		{"an unknown path is 404",
			func(r *http.Request) { r.URL.Path = "/v1/unknown" }, 404, ""},
		{"a path with a trailing slash is 404",
			func(r *http.Request) { r.URL.Path += "/" }, 404, ""},
		{"a path of another version is 404",
			func(r *http.Request) { r.URL.Path = "/v2/events" }, 404, ""},
		{"an unknown path without a key is 404",
			func(r *http.Request) { r.URL.Path = "/"; r.Header.Del("X-Authorization") }, 404, ""},
		{"another method is 405 and lists the allowed methods",
			func(r *http.Request) { r.Method = http.MethodDelete }, 405, "POST, GET"},
		{"POST to a list is 405",
			func(r *http.Request) { r.URL.Path = "/v1/customers" }, 405, "GET"},
		{"GET of a broadcast is 405",
			func(r *http.Request) { r.URL.Path = pushPath; r.Method = http.MethodGet }, 405, "POST"},
		{"a missing key is 401",
			func(r *http.Request) { r.Header.Del("X-Authorization") }, 401, ""},
		{"a wrong key is 401",
			func(r *http.Request) { r.Header.Set("X-Authorization", "another") }, 401, ""},
		{"a key in another header is 401",
			func(r *http.Request) {
				r.Header.Set("Authorization", r.Header.Get("X-Authorization"))
				r.Header.Del("X-Authorization")
			}, 401, ""},
		{"another Content-Type is 415",
			func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, ""},
		{"a missing Content-Type is 415",
			func(r *http.Request) { r.Header.Del("Content-Type") }, 415, ""},
		{"a malformed query is 400",
			func(r *http.Request) { r.Method = http.MethodGet; r.URL.RawQuery = "per_page=%zz" }, 400, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			r := newRequest(t, s, http.MethodPost, "/v1/events", `{"name":"n","description":"d","parameters":[]}`)
			test.change(r)
			refused := send(t, r)
			assert.Equal(t, test.status, refused.StatusCode)
			assert.Equal(t, test.allow, refused.Header.Get("Allow"))
			assert.Equal(t, "application/json", refused.Header.Get("Content-Type"))
			assert.Regexp(t, `^\{"success":false,"message":"[^"]+"\}$`, refused.Body)
			assert.Contains(t, get(t, s, "/v1/events").Body, `"data":[]`, "the request was not carried out")
		})
	}
}

func TestServerRefusesABodyThatIsNotAJSONObject(t *testing.T) {
	s := messagingtest.NewServer(t)
	for _, body := range []string{"", "null", "[]", `"text"`, "{", `{"name":}`, `{} {}`, "name=n"} {
		t.Run(body, func(t *testing.T) {
			refused := post(t, s, "/v1/events", body)
			assert.Equal(t, http.StatusBadRequest, refused.StatusCode)
			assert.JSONEq(t, `{"success":false,"message":"body is not a JSON object"}`, refused.Body)
		})
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
	tests := []struct {
		name   string
		body   io.Reader
		status int
	}{
		{"a body larger than 16 MiB is 413", endless{}, http.StatusRequestEntityTooLarge},
		{"a body that cannot be read is 400", broken{}, http.StatusBadRequest},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			r := httptest.NewRequest(http.MethodPost, "/v1/events", test.body)
			r.Header.Set("X-Authorization", s.APIKey())
			recorder := httptest.NewRecorder()
			s.Handler().ServeHTTP(recorder, r)
			assert.Equal(t, test.status, recorder.Code)
			require.Len(t, s.Requests(), 1)
			assert.Empty(t, s.Requests()[0].Body, "a partial body is not recorded")
		})
	}
}
