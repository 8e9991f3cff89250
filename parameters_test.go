package messaging_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func TestParametersKeepMembersWithoutAFieldInExtra(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	type extra = map[string]json.RawMessage
	for name, test := range map[string]struct {
		wire string
		want messaging.EventParameter
	}{
		"none": {`{"name":"a","type":"text","required":true}`,
			messaging.EventParameter{Name: "a", Type: "text", Required: true}},
		"several": {`{"name":"a","type":"text","required":false,"id":7,"default":{"x":[1.50]},"":null}`,
			messaging.EventParameter{Name: "a", Type: "text", Extra: extra{"id": raw("7"), "default": raw(`{"x":[1.50]}`), "": raw("null")}}},
		"a name in another case": {`{"name":"a","Name":"b","type":"text","required":false}`,
			messaging.EventParameter{Name: "a", Type: "text", Extra: extra{"Name": raw(`"b"`)}}},
		"one that is there twice": {`{"name":"a","type":"text","required":false,"id":1,"id":2}`,
			messaging.EventParameter{Name: "a", Type: "text", Extra: extra{"id": raw("2")}}},
	} {
		t.Run(name, func(t *testing.T) {
			var parameter messaging.EventParameter
			require.NoError(t, json.Unmarshal([]byte(test.wire), &parameter))
			assert.Equal(t, test.want, parameter)
			scripted.RequireRoundTrip(t, &parameter)

			var event messaging.Event
			require.NoError(t, json.Unmarshal([]byte(`{"id":"e-1","parameters":[`+test.wire+`]}`), &event))
			assert.Equal(t, []messaging.EventParameter{test.want}, event.Parameters)
			assert.Nil(t, event.Extra)
			scripted.RequireRoundTrip(t, &event)
		})
	}
}

func TestParametersAreWrittenAsTheyWereRead(t *testing.T) {
	for _, wire := range []string{`{"name":"a","type":"text","required":true}`, `{"name":"a","type":"text","required":true,"id":[1.50]}`} {
		var parameter messaging.EventParameter
		require.NoError(t, json.Unmarshal([]byte(wire), &parameter))
		written, err := json.Marshal(parameter)
		require.NoError(t, err)
		assert.JSONEq(t, wire, string(written))
		byPointer, err := json.Marshal([]*messaging.EventParameter{&parameter})
		require.NoError(t, err)
		assert.JSONEq(t, `[`+wire+`]`, string(byPointer))
	}
}

func TestAParameterThatDoesNotFitMovesAllToTheEvent(t *testing.T) {
	const parameters = `[{"name":"a","id":7},{"name":"b","required":"yes"}]`
	var event messaging.Event
	require.NoError(t, json.Unmarshal([]byte(`{"id":"e-1","parameters":`+parameters+`}`), &event))
	assert.Equal(t, messaging.Event{ID: "e-1", Extra: map[string]json.RawMessage{"parameters": json.RawMessage(parameters)}}, event)
}

// withExtra creates an event with a parameter that has these members besides its own.
func withExtra(extra map[string]json.RawMessage) scripted.Call {
	return eventWith(func(p *messaging.EventCreateParams) { p.Parameters[0].Extra = extra })
}

func TestCreateSendsTheExtraMembersOfAParameter(t *testing.T) {
	sent := scripted.NewGate(t).RequireSent(t, withExtra(map[string]json.RawMessage{
		"default": json.RawMessage(`{ "x": [1.50, "é"] }`), "id": json.RawMessage(`7`), "unit": nil}))
	assert.JSONEq(t, `{"name":"signup","description":"Somebody signed up.","parameters":[
		{"name":"plan","type":"text","required":false,"default":{"x":[1.50,"é"]},"id":7,"unit":null}]}`, sent)
	assert.Contains(t, sent, "1.50")
}

func TestCreateRefusesExtraMembersThatHaveAField(t *testing.T) {
	const field = " is not an extra member: set the field instead"
	value := json.RawMessage(`"` + canary + `"`)
	requireAlwaysInvalid(t, []invalidCall{
		{"as the service spells them", withExtra(map[string]json.RawMessage{"name": value, "type": value, "required": value}),
			[]string{"parameters.0.name" + field, "parameters.0.required" + field, "parameters.0.type" + field}},
		{"in any case", withExtra(map[string]json.RawMessage{"NAME": value, "Type": value, "requireD": value}),
			[]string{"parameters.0.NAME" + field, "parameters.0.Type" + field, "parameters.0.requireD" + field}},
		{"what is not JSON", withExtra(map[string]json.RawMessage{"a": json.RawMessage(canary), "b": json.RawMessage(`{"` + canary + `":`),
			"c": json.RawMessage(`1 2`), "d": {}}),
			[]string{"parameters.0.a cannot be written as JSON", "parameters.0.b cannot be written as JSON",
				"parameters.0.c cannot be written as JSON", "parameters.0.d cannot be written as JSON"}},
		{"a name that is not UTF-8", withExtra(map[string]json.RawMessage{"a\xff": value}),
			[]string{`parameters.0.a\xff has a name that is not valid UTF-8`}},
		{"a value that is not UTF-8", withExtra(map[string]json.RawMessage{"a": json.RawMessage(`"` + notUTF8 + `"`)}),
			[]string{"parameters.0.a must be valid UTF-8"}},
	})
	_, err := messaging.EventCreateParams{Name: "a", Description: "b", Parameters: []messaging.EventParameter{
		{Name: "c", Type: "text", Extra: map[string]json.RawMessage{"name": value}}}}.Prepare()
	scripted.RequireProblems(t, err, "parameters.0.name"+field)
}

func TestEnsureSendsTheExtraMembersAndDoesNotCompareThem(t *testing.T) {
	g := scripted.NewGate(t)
	p := messaging.EventCreateParams{Name: "signup", Description: "Somebody signed up.", Parameters: []messaging.EventParameter{
		{Name: "plan", Type: "text", Extra: map[string]json.RawMessage{"default": json.RawMessage(`"free"`)}}}}
	_, err := g.Client.Events.Ensure(t.Context(), p)
	require.NoError(t, err)
	assert.Contains(t, g.Take()[1], `"default":"free"`)

	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200,
		`{"success":true,"data":[{"id":"e-1","name":"signup","parameters":[{"name":"plan","type":"text","default":"gold"}]}]}`)})
	event, err := client.Events.Ensure(t.Context(), p)
	require.NoError(t, err)
	assert.JSONEq(t, `"gold"`, string(event.Parameters[0].Extra["default"]))
}
