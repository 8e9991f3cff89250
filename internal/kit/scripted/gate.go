package scripted

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// NotUTF8 is text with the [Canary] that is not valid UTF-8.
const NotUTF8 = Canary + "\xff"

// Gate is a client, with a server behind it that remembers what got through.
type Gate struct {
	Client *messaging.Client

	mu     sync.Mutex
	passed []string    // a request each: its query or its body
	header http.Header // of the last one
}

// NewGate returns a gate whose client has an API key.
func NewGate(tb testing.TB, opts ...messaging.Option) *Gate {
	tb.Helper()
	return NewGateWithKey(tb, "test-key-1", opts...)
}

// NewGateWithKey returns a gate whose client has the given API key.
func NewGateWithKey(tb testing.TB, key string, opts ...messaging.Option) *Gate {
	tb.Helper()
	g := new(Gate)
	server := httptest.NewServer(http.HandlerFunc(g.serve))
	tb.Cleanup(server.Close)
	var err error
	g.Client, err = messaging.NewClient(server.URL, key, append(opts, messaging.WithHTTPClient(server.Client()))...)
	require.NoError(tb, err)
	return g
}

func (g *Gate) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.passed, g.header = append(g.passed, r.URL.RawQuery+string(body)), r.Header
	g.mu.Unlock()
	answer := `{"success":true,"data":{"id":"signup"}}`
	if r.Method == http.MethodGet {
		answer = `{"success":true,"data":[]}`
	}
	_, _ = io.WriteString(w, answer)
}

// Take returns what got through since it was last called.
func (g *Gate) Take() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	passed := g.passed
	g.passed = nil
	return passed
}

// Header returns the header of the last request that got through.
func (g *Gate) Header() http.Header {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.header
}

// RequireSent makes a call that must get through, and returns its query or body.
func (g *Gate) RequireSent(tb testing.TB, call Call, opts ...messaging.RequestOption) string {
	tb.Helper()
	require.NoError(tb, call(tb.Context(), g.Client, opts...))
	passed := g.Take()
	require.Len(tb, passed, 1)
	return passed[0]
}

// RequireInvalid makes a call that must not get through, for exactly the given reasons.
func (g *Gate) RequireInvalid(tb testing.TB, call Call, problems []string, opts ...messaging.RequestOption) {
	tb.Helper()
	RequireProblems(tb, call(tb.Context(), g.Client, opts...), problems...)
	require.Empty(tb, g.Take(), "nothing may reach the service")
}

// RequireProblems holds err to what is promised of every [messaging.ValidationError],
// and to exactly the given problems in their order.
func RequireProblems(tb testing.TB, err error, problems ...string) {
	tb.Helper()
	var found []string
	for _, field := range RequireValidationError(tb, err).Fields {
		found = append(found, field.String())
	}
	require.Equal(tb, problems, found)
}

// RequireValidationError holds err to what is promised of every
// [messaging.ValidationError], and returns it.
func RequireValidationError(tb testing.TB, err error) *messaging.ValidationError {
	tb.Helper()
	var invalid *messaging.ValidationError
	require.ErrorAs(tb, err, &invalid)
	require.ErrorIs(tb, err, messaging.ErrValidation)
	require.Equal(tb, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	require.NotEmpty(tb, invalid.Op)
	require.NotEmpty(tb, invalid.Fields)
	for _, field := range invalid.Fields {
		for _, message := range field.Messages {
			require.NotContains(tb, message, ";", "the text of the error has it between two problems")
		}
	}

	text := err.Error()
	require.NotContains(tb, text, "\n")
	require.LessOrEqual(tb, utf8.RuneCountInString(text), 310)
	require.True(tb, utf8.ValidString(text), "the text must be valid UTF-8")
	require.NotContains(tb, strings.ToLower(text), Canary, "a value must not be quoted")
	return invalid
}

// RequireInvalidUnlessLifted is for a call that [messaging.WithoutValidation] lets pass.
func RequireInvalidUnlessLifted(tb testing.TB, call Call, problems []string) {
	tb.Helper()
	g := NewGate(tb)
	g.RequireInvalid(tb, call, problems)
	g.RequireSent(tb, call, messaging.WithoutValidation())
}

// RequireAlwaysInvalid is for a call that the service would misread, or that cannot be
// sent.
func RequireAlwaysInvalid(tb testing.TB, call Call, problems []string) {
	tb.Helper()
	g := NewGate(tb)
	g.RequireInvalid(tb, call, problems)
	g.RequireInvalid(tb, call, problems, messaging.WithoutValidation())
}
