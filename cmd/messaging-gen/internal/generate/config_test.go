package generate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/strictjson"
)

func configOf(t *testing.T, text string) Config {
	c := Config{path: "gen.json"}
	require.NoError(t, strictjson.Decode([]byte(text), &c))
	return c
}

func TestConfigIsReadToTheLetter(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "gen.json")
	for text, want := range map[string]string{
		"{\"rename\": {\n\"A\": []}}": "line 2: rename must be a string",
		`{"renames": {}}`:             `line 1: unknown key "renames"; must be allow_empty or ignore or rename`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadConfig(filepath.Join(folder, "events.json"))
		assert.EqualError(t, err, path+": "+want, text)
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"rename": {"a": "B", "A": "C"}}`), 0o600))
	c, err := ReadConfig(filepath.Join(folder, "events.json"))
	require.NoError(t, err)
	assert.Len(t, c.Rename, 2, "names may differ in case")
	require.NoError(t, os.Remove(path))
	c, err = ReadConfig(filepath.Join(folder, "events.json"))
	require.NoError(t, err, "it need not exist")
	assert.Equal(t, Config{path: path}, c)
}

func TestConfigWithAKeyThatMatchesNothingIsInvalid(t *testing.T) {
	c := configOf(t, `{"allow_empty": ["E", "E.a", "E.missing"], "rename": {"E.b": "X", "e": "Y", "E.email": "Z", "E": "Shipped"}}`)
	_, _, err := code(eventWith(t, "a", "b", "email"), c, "events", "events.json")
	assert.EqualError(t, err, `gen.json: rename: "E.email" is neither an event nor EVENT.PARAMETER
gen.json: rename: "e" is neither an event nor EVENT.PARAMETER
gen.json: allow_empty: "E" is not EVENT.PARAMETER of a required text
gen.json: allow_empty: "E.a" is not EVENT.PARAMETER of a required text
gen.json: allow_empty: "E.missing" is not EVENT.PARAMETER of a required text`)
}
