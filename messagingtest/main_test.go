package messagingtest_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/messaging-go/messaging/messagingtest"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is an HTTP response that was read completely.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       string
}

// problems returns the errors of a 422 response.
func (r reply) problems(t *testing.T) map[string][]string {
	t.Helper()
	require.Equal(t, http.StatusUnprocessableEntity, r.StatusCode, r.Body)
	var body struct {
		Success *bool
		Message string
		Errors  map[string][]string
	}
	require.NoError(t, json.Unmarshal([]byte(r.Body), &body))
	require.NotNil(t, body.Success)
	require.False(t, *body.Success)
	require.NotEmpty(t, body.Message)
	return body.Errors
}

// get sends a GET request with the API key, without using the client.
func get(t *testing.T, s *messagingtest.Server, target string) reply {
	t.Helper()
	return send(t, newRequest(t, s, http.MethodGet, target, ""))
}

// post sends a POST request with the API key, without using the client.
func post(t *testing.T, s *messagingtest.Server, path, body string) reply {
	t.Helper()
	return send(t, newRequest(t, s, http.MethodPost, path, body))
}

func newRequest(t *testing.T, s *messagingtest.Server, method, target, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+target, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("X-Authorization", s.APIKey())
	r.Header.Set("Content-Type", "application/json")
	return r
}

func send(t *testing.T, r *http.Request) reply {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return reply{response.StatusCode, response.Header, string(body)}
}

// changed returns a JSON object with the members of changes added or replaced. A null
// removes a member, since the service treats it as absent.
func changed(t *testing.T, object, changes string) string {
	t.Helper()
	var members, replacements map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(object), &members))
	require.NoError(t, json.Unmarshal([]byte(changes), &replacements))
	maps.Copy(members, replacements)
	encoded, err := json.Marshal(members)
	require.NoError(t, err)
	return string(encoded)
}

// snapshot returns the JSON of a value, to compare it with a later state.
func snapshot(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	return string(encoded)
}

// refusedCase is a change that makes a valid body invalid, and the errors that the server
// responds with.
type refusedCase struct {
	name    string
	changes string
	want    map[string][]string
}

// checkRefused posts the body with the changes of each case, and checks that the server
// responds with the errors and changes nothing.
func checkRefused(t *testing.T, s *messagingtest.Server, path, valid string, cases []refusedCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			refused := post(t, s, path, changed(t, valid, test.changes))
			require.Equal(t, test.want, refused.problems(t))
			require.Empty(t, s.EmailBroadcasts())
			require.Empty(t, s.PushBroadcasts())
			require.Empty(t, s.Triggers())
			require.Empty(t, s.Customers())
		})
	}
	require.Equal(t, http.StatusOK, post(t, s, path, valid).StatusCode, "the unchanged body is valid")
}
