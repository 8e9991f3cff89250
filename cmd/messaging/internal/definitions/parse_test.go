package definitions

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseNamesTheProblem(t *testing.T) {
	for text, want := range map[string]string{
		"":               `line 1: unexpected end of JSON input`,
		"{\n\n  events":  `line 3: invalid character 'e' looking for beginning of object key string`,
		`{"events": {}}`: `line 1: events must be an array`,
		`{"Events": []}`: `line 1: unknown field "Events"; must be events`,
		"{\"events\": [\n{\"name\": \"A\", \"parameters\": [\n{\"required\": 1}]}]}": `line 3: events.parameters.required must be a boolean`,
		`{"events": [{"name": "A", "parameters": [{"x": true}]}]}`:                   `line 1: unknown field "x"; must be name, type or required`,
		`{"events": [{"name": "A\n"}, {"name": "B"}, {"name": "A\n"}]}`:              `event "A\u000a" is defined several times`,
	} {
		_, err := Parse("events.json", []byte(text))
		assert.EqualError(t, err, "events.json: "+want, text)
	}
}
