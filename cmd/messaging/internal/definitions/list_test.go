package definitions

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

const unsorted = `{"events": [
	{"parameters": [{"required": true, "name": "b", "type": "Text"}, {"name": "a", "type": "NUMERIC"}],
		"name": "B", "description": "<b> & \u202e"},
	{"name": "A", "parameters": []}]}`

func TestListIsSorted(t *testing.T) {
	list, err := Parse("events.json", []byte(unsorted))
	require.NoError(t, err)
	assert.Equal(t, List{
		{Name: "A"},
		{Name: "B", Description: "<b> & \u202e", Parameters: []messaging.EventParameter{
			{Name: "a", Type: "numeric"}, {Name: "b", Type: "text", Required: true}}},
	}, list)
}

func TestParseNamesEveryProblem(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `line 1: unexpected end of JSON input`},
		{"{\n\n  events", `line 3: invalid character 'e' looking for beginning of object key string`},
		{`{"events": []} x`, `line 1: invalid character 'x' after top-level value`},
		{`{}`, `events are required; write [] for none`},
		{`{"events": {}}`, `line 1: events must be an array`},
		{`{"customers": []}`, `line 1: unknown field "customers"; must be events`},
		{`{"events": [{"name": "A", "parameters": [{"requierd": true}]}]}`,
			`line 1: unknown field "requierd"; did you mean required?`},
		{"{\"events\": [\n{\"name\": \"A\", \"parameters\": [\n{\"required\": 1}]}]}",
			`line 3: events.parameters.required must be a boolean`},
		{`{"events": [{"name": "A"}]}`, `event "A": parameters are required; write [] for none`},
		{`{"events": [{"parameters": []}]}`, `event 1: has no name`},
		{`{"events": [{"name": "A\n", "parameters": []}, {"name": "B", "parameters": []}, {"name": "A\n", "parameters": []}]}`,
			`event "A\u000a": is defined several times, as event 1 and as event 3 of the file`},
		{`{"events": [{"name": "A", "parameters": [{"type": "text"}, {"name": "b"}, {"name": "b", "type": "text"}]}, {"parameters": null}]}`,
			"event \"A\": parameter 1 has no name\nevents.json: event \"A\": parameter \"b\" has no type\n" +
				"events.json: event \"A\": parameter \"b\" is defined several times\nevents.json: event 2: has no name\n" +
				"events.json: event 2: parameters are required; write [] for none"},
	}
	for _, test := range tests {
		_, err := Parse("events.json", []byte(test.text))
		assert.EqualError(t, err, "events.json: "+test.want, test.text)
	}
}
