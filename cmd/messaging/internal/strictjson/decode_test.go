package strictjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
)

func TestAKeyThatIsThereTwiceIsRefusedAtEveryLevel(t *testing.T) {
	for data, want := range map[string]string{
		"{\"a\": 1,\n\"b\": 2,\n\"a\": 3}":               `line 3: "a" is there already`,
		"{\"a\": [{\"b\": 1}, {\"b\": {}, \n\"b\": 1}]}": `line 2: "b" is there already`,
		"{\"a\": {}, \"\\u0061\": 1}":                    `line 1: "a" is there already`,
	} {
		var into map[string]json.RawMessage
		assert.EqualError(t, strictjson.Decode([]byte(data), &into), want, data)
	}
	for _, data := range []string{`{"a": 1, "A": 2}`, `{"a": "a", "b": ["a", "a"], "c": {"a": 1}, "d": [{"a": 1}, {"a": 2}]}`, `{}`,
		"\ufeff{\"a\": 1}"} {
		var into map[string]json.RawMessage
		assert.NoError(t, strictjson.Decode([]byte(data), &into), data)
	}
}

func TestAKeyThatDiffersInCaseIsUnknownAtEveryLevel(t *testing.T) {
	for data, want := range map[string]string{
		`{"Email": "a@example.com"}`: `line 1: unknown field "Email"; must be customer_id, email, first_name, last_name, phone_no or devices`,
		"{\"devices\": [{\"device_token\": \"x\",\n\"Device_Token\": \"y\"}]}": `line 2: unknown field "Device_Token"; must be device_type or ` +
			`device_token`,
		"\ufeff{\n\"email\": 1}":                  `line 2: email must be a string`,
		"{\"devices\": [\n{\"device_type\": 1}]}": `line 2: devices.device_type must be a string`,
		``:        `line 1: unexpected end of JSON input`,
		`[]`:      `line 1: the JSON must be an object`,
		" null\n": `it is null, and holds nothing`,
	} {
		assert.EqualError(t, strictjson.Decode([]byte(data), new(messaging.CustomerParams)), want, data)
	}
}
