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

// TestMain fails the package when any test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is an answer as it stands on the wire.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       string
}

// problems returns the errors of a 422.
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

// get asks with the key of the service, and with nothing of the client.
func get(t *testing.T, s *messagingtest.Server, target string) reply {
	t.Helper()
	return send(t, newRequest(t, s, http.MethodGet, target, ""))
}

// post sends a body with the key of the service.
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

// changed returns a JSON object with the members of changes in place of its
// own. A null takes one away, since the service treats it as absent.
func changed(t *testing.T, object, changes string) string {
	t.Helper()
	var members, replacements map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(object), &members))
	require.NoError(t, json.Unmarshal([]byte(changes), &replacements))
	maps.Copy(members, replacements)
	text, err := json.Marshal(members)
	require.NoError(t, err)
	return string(text)
}

// written writes a value down, so that it can be told whether it changes.
func written(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// refusedCase is a change to a sound body, and what is wrong with it then.
type refusedCase struct {
	name    string
	changes string
	want    map[string][]string
}

// checkRefused posts every case on its own, and sees that nothing was done.
func checkRefused(t *testing.T, s *messagingtest.Server, path, sound string, cases []refusedCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			refused := post(t, s, path, changed(t, sound, test.changes))
			require.Equal(t, test.want, refused.problems(t))
			require.Empty(t, s.EmailBroadcasts())
			require.Empty(t, s.PushBroadcasts())
			require.Empty(t, s.Triggers())
			require.Empty(t, s.Customers())
		})
	}
	require.Equal(t, http.StatusOK, post(t, s, path, sound).StatusCode, "the body that the cases change is sound")
}
