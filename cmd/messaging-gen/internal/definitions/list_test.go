package definitions

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const unsorted = `{"events": [
	{"parameters": [{"required": true, "name": "b", "type": "Text"}, {"name": "a", "type": "NUMERIC"}],
		"name": "B", "description": "<b> & \u0000` + "\u0085\u202e\u2028\ufeff\U000e0041" + `ü注"},
	{"name": "A", "parameters": []}]}`

func TestListIsSortedAndHasOneFormThatHidesNoCharacter(t *testing.T) {
	canonical, err := os.ReadFile("testdata/events.json")
	require.NoError(t, err)
	for _, text := range []string{unsorted, string(canonical)} {
		list, err := Parse("events.json", []byte(text))
		require.NoError(t, err)
		assert.Equal(t, string(canonical), list.JSON())
	}
	assert.Equal(t, "{\n  \"events\": []\n}\n", List{}.JSON())
}

func TestParseNamesEveryProblem(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `line 1: unexpected end of JSON input`},
		{"{\n\n  events", `line 3: invalid character 'e' looking for beginning of object key string`},
		{`{"events": []} x`, `line 1: invalid character 'x' after top-level value`},
		{"{\"events\": [\n\"\xff", `the file is not UTF-8`},
		{`{}`, `events are required; write [] for none`},
		{`[]`, `line 1: the file must be an object`},
		{`null`, `events are required; write [] for none`},
		{`{"events": {}}`, `line 1: events must be an array`},
		{`{"customers": []}`, `line 1: unknown key "customers"; must be events`},
		{`{"events": [{"name": "A", "parameters": [{"requierd": true}]}]}`,
			`line 1: unknown key "requierd"; must be name or type or required`},
		{"{\"events\": [{\"name\": \"A\",\n\"Parameters\": []}]}", `line 2: unknown key "Parameters"; must be name or description or parameters`},
		{"{\"events\": [], \"Events\": []}", `line 1: unknown key "Events"; must be events`},
		{"{\"events\": [{\"name\": \"A\", \"parameters\": [{\"name\": \"a\",\n\"name\": \"b\"}]}]}", `line 2: the key "name" is there already`},
		{"{\"events\": [\n{\"name\": \"A\", \"parameters\": [\n{\"required\": 1}]}]}",
			`line 3: events.parameters.required must be true or false`},
		{`{"events": [{"name": "A"}]}`, `event "A": parameters are required; write [] for none`},
		{`{"events": [{"parameters": []}]}`, `event 1: has no name`},
		{`{"events": [{"name": "A\n", "parameters": []}, {"name": "B", "parameters": []}, {"name": "A\n", "parameters": []}]}`,
			`event "A\n": is defined several times, as event 1 and as event 3 of the file`},
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
