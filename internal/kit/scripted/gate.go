package scripted

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// NotUTF8 is text with the [Canary] that is not valid UTF-8.
const NotUTF8 = Canary + "\xff"

// Gate is a client, and the transport that remembers what got through.
type Gate struct {
	Client    *messaging.Client
	transport *Transport
	taken     int // of the requests that the transport was given
}

// NewGate returns a gate.
func NewGate(tb testing.TB, opts ...messaging.Option) *Gate {
	tb.Helper()
	client, transport := NewClient(tb, []Scene{func(req *http.Request) (*http.Response, error) {
		answer := `{"success":true,"data":{"id":"signup"}}`
		if req.Method == http.MethodGet {
			answer = `{"success":true,"data":[],"meta":{"has_next_page":false}}`
		}
		return Responds(http.StatusOK, answer)(req)
	}}, opts...)
	return &Gate{Client: client, transport: transport}
}

// Take returns what got through since it was last called: the query or the body of each
// request.
func (g *Gate) Take() []string {
	var passed []string
	for _, sent := range g.transport.Sent[g.taken:] {
		passed = append(passed, sent.URL.RawQuery+sent.Content)
	}
	g.taken += len(passed)
	return passed
}

// Header returns the header of the last request that got through.
func (g *Gate) Header() http.Header { return g.transport.Sent[len(g.transport.Sent)-1].Header }

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
	require.NotEmpty(tb, invalid.Operation)
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

// RequireAlwaysInvalid is for a call that the service would misread, or that cannot be
// sent.
func RequireAlwaysInvalid(tb testing.TB, call Call, problems []string) {
	tb.Helper()
	g := NewGate(tb)
	g.RequireInvalid(tb, call, problems)
	g.RequireInvalid(tb, call, problems, messaging.WithoutValidation())
}
