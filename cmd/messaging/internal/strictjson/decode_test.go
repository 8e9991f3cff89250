package strictjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
)

func TestDecodeRefusesAKeyThatIsThereTwice(t *testing.T) {
	for data, want := range map[string]string{
		"{\"a\": 1,\n\"b\": 2,\n\"a\": 3}":               `line 3: "a" is there already`,
		"{\"a\": [{\"b\": 1}, {\"b\": {}, \n\"b\": 1}]}": `line 2: "b" is there already`,
		"{\"a\": {}, \"\\u0061\": 1}":                    `line 1: "a" is there already`,
	} {
		var into map[string]json.RawMessage
		assert.EqualError(t, strictjson.Decode([]byte(data), &into), want, data)
	}
	var customer struct{ Email string }
	assert.EqualError(t, strictjson.Decode([]byte(`{"email": "a", "EMAIL": "b"}`), &customer), `line 1: "EMAIL" is there already`)
	for _, data := range []string{`{"a": 1, "A": 2}`, `{"a": "a", "b": ["a", "a"], "c": {"a": 1}, "d": [{"a": 1}, {"a": 2}]}`, `{}`} {
		var into map[string]json.RawMessage
		assert.NoError(t, strictjson.Decode([]byte(data), &into), data)
	}
}

func TestDecodeReadsJSONAfterAByteOrderMark(t *testing.T) {
	var into struct{ Name string }
	require.NoError(t, strictjson.Decode([]byte("\ufeff{\"name\":\"a\"}"), &into))
	assert.Equal(t, "a", into.Name)
	require.ErrorContains(t, strictjson.Decode([]byte("\ufeff{\n\"name\":1}"), &into), "line 2: ")
}
