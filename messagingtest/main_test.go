package messagingtest_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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

// problems returns the errors of a 422 response, such as "email: is required; name: is required".
func (r reply) problems(t *testing.T) string {
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
	var problems []string
	for _, path := range slices.Sorted(maps.Keys(body.Errors)) {
		problems = append(problems, path+": "+strings.Join(body.Errors[path], ", "))
	}
	return strings.Join(problems, "; ")
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

// checkRefused posts the body with each of some changes that make it invalid, and checks that
// the server responds with the problems and changes nothing.
func checkRefused(t *testing.T, s *messagingtest.Server, path, valid string, cases ...map[string]string) {
	t.Helper()
	for _, problems := range cases {
		for changes, want := range problems {
			assert.Equal(t, want, post(t, s, path, changed(t, valid, changes)).problems(t), changes)
		}
	}
	require.Empty(t, s.EmailBroadcasts())
	require.Empty(t, s.PushBroadcasts())
	require.Empty(t, s.Triggers())
	require.Empty(t, s.Customers())
	require.Equal(t, http.StatusOK, post(t, s, path, valid).StatusCode, "the unchanged body is valid")
}
