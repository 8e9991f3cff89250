package definitions

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseNamesTheProblem(t *testing.T) {
	for text, want := range map[string]string{
		"": `line 1: unexpected end of JSON input`,
		"{\"events\": [\n{\"name\": \"A\", \"parameters\": [\n{\"required\": 1}]}]}": `line 3: events.parameters.required must be a boolean`,
		`{"events": [{"name": "A\n"}, {"name": "B"}, {"name": "A\n"}]}`:              `event "A\u000a" is defined several times`,
	} {
		_, err := Parse("events.json", []byte(text))
		assert.EqualError(t, err, "events.json: "+want, text)
	}
}
