package messagingtest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestRecordsHaveAFloat64OrForNumbersBeyondItAJSONNumber(t *testing.T) {
	s := newTriggerServer(t)
	for number, want := range map[string]any{
		`0`:                      0.0,
		`19.50`:                  19.5,
		`-7e2`:                   -700.0,
		`1e20`:                   1e20, // an exponent is how a float64 is written
		`1.7976931348623157e308`: 1.7976931348623157e308,
		`9007199254740992`:       9007199254740992.0,
		`-9007199254740992`:      -9007199254740992.0,

		`9007199254740993`:     json.Number("9007199254740993"),
		`-9007199254740993`:    json.Number("-9007199254740993"),
		`18446744073709551616`: json.Number("18446744073709551616"),
		`1e400`:                json.Number("1e400"),
		`-1e400`:               json.Number("-1e400"),
	} {
		s.Reset()
		s.AddEvents(shipped)
		values := `{"total":` + number + `,"lines":[{"total":` + number + `}],"due":null}`
		post(t, s, emailPath, changed(t, validEmail, `{"variables":`+values+`}`))
		post(t, s, triggerPath, changed(t, validTrigger, `{"payload":`+changed(t, values,
			`{"email":"ada@example.com","order":"A-1","at":"2030-05-01T09:00:00Z"}`)+`}`))

		require.Len(t, s.EmailBroadcasts(), 1, number)
		require.Len(t, s.Triggers(), 1, number)
		variables, triggered := s.EmailBroadcasts()[0].Params.Variables, s.Triggers()[0].Params.Values
		lines := []any{map[string]any{"total": want}}
		assert.Equal(t, map[string]any{"total": want, "lines": lines, "due": nil}, variables)
		assert.Equal(t, map[string]any{"total": want, "lines": lines, "due": nil, "order": "A-1", "at": "2030-05-01T09:00:00Z"}, triggered)
	}
}

func TestRecordsOfLargeIdsCanBeComparedWithWhatWasSent(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.AddEvents(messaging.Event{ID: "paid"})
	params := messaging.EventTriggerParams{EventID: "paid", Email: "ada@example.com",
		Values: map[string]any{"invoice": json.Number("1234567890123456789"), "total": 19.5}}
	_, err := s.Client().Events.Trigger(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, params, s.Triggers()[0].Params)
}
