package scripted

import (
	"encoding/json"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// FailureOf makes a call of one attempt that plays a scene, and returns its error.
func FailureOf(tb testing.TB, call Call, play Scene) error {
	tb.Helper()
	client, _ := NewClient(tb, []Scene{play}, messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	err := call(tb.Context(), client)
	require.Error(tb, err)
	return err
}

// RequireOneShortLine requires that the text of an error is one line of bounded
// length without control characters, with the given beginning and ending.
func RequireOneShortLine(tb testing.TB, err error, beginning, ending string) {
	tb.Helper()
	text := err.Error()
	require.True(tb, utf8.ValidString(text), "%q", text)
	require.False(tb, strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", text)
	require.LessOrEqual(tb, utf8.RuneCountInString(text), 310, "%q", text)
	require.True(tb, strings.HasPrefix(text, beginning), "%q must begin with %q", text, beginning)
	require.True(tb, strings.HasSuffix(text, ending), "%q must end with %q", text, ending)
}

// RequireRoundTrip requires that a model is decoded from its own encoding
// unchanged, except for the white space within members of Extra.
func RequireRoundTrip(tb testing.TB, model Model) {
	tb.Helper()
	encoded, err := json.Marshal(model)
	require.NoError(tb, err)
	decoded := reflect.New(reflect.TypeOf(model).Elem()).Interface().(Model)
	require.NoError(tb, json.Unmarshal(encoded, decoded), "%s", encoded)
	extra := reflect.ValueOf(model).Elem().FieldByName("Extra").Interface().(map[string]json.RawMessage)
	for key, value := range extra {
		extra[key], err = json.Marshal(value) // without white space
		require.NoError(tb, err)
	}
	require.Equal(tb, model, decoded, "%s", encoded)
}

// SkipUnderRace skips a test that counts allocations: under the race detector,
// [sync.Pool] drops items at random.
func SkipUnderRace(tb testing.TB) {
	tb.Helper()
	build, ok := debug.ReadBuildInfo()
	require.True(tb, ok)
	if slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		tb.Skip("the race detector changes the number of allocations")
	}
}
