package generate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigThatCannotBeReadNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"rename = 1":            "gen.toml: rename must be a table",
		"[rename]\n\"A\" = \"B": "gen.toml: toml: line 2 (last key \"rename.A\"): unexpected EOF; expected '\"'",
		"[rename]\nallow_empty=[]": "gen.toml: toml: line 2 (last key \"rename.allow_empty\"): incompatible types: TOML value has type []any; " +
			"destination has type string",
		"[renames]\nA=\"B\"": "gen.toml: unknown key renames; must be allow_empty, ignore or rename",
	} {
		c := Config{Path: "gen.toml"}
		assert.EqualError(t, c.parse(text), want, text)
	}
}

func TestConfigNeedNotExist(t *testing.T) {
	folder := t.TempDir()
	c, err := ReadConfig(filepath.Join(folder, "events.json"))
	require.NoError(t, err)
	assert.Equal(t, Config{Path: filepath.Join(folder, "gen.toml")}, c)
	require.NoError(t, os.Mkdir(c.Path, 0o700))
	_, err = ReadConfig(filepath.Join(folder, "events.json"))
	assert.Error(t, err)
}

func TestConfigWithAKeyThatMatchesNothingIsInvalid(t *testing.T) {
	c := Config{Path: "gen.toml"}
	require.NoError(t, c.parse(`
		allow_empty = ["E", "E.a", "E.missing"]
		[rename]
		"E.b" = "X"
		"e" = "Y"
		"E.email" = "Z"
		"E" = "Shipped"`))
	_, _, err := Code(eventWith(t, "a", "b", "email"), c, "events", "events.json")
	assert.EqualError(t, err, `gen.toml: rename: "E.email" is neither an event nor EVENT.PARAMETER
gen.toml: rename: "e" is neither an event nor EVENT.PARAMETER
gen.toml: allow_empty: "E" is not EVENT.PARAMETER of a required text
gen.toml: allow_empty: "E.a" is not EVENT.PARAMETER of a required text
gen.toml: allow_empty: "E.missing" is not EVENT.PARAMETER of a required text`)
}

func TestIgnoreLineKeepsWhatIsIgnored(t *testing.T) {
	c := Config{Ignore: []string{"b"}}
	assert.Equal(t, `ignore = ["a \"x\"", "b", "c\u202e"]`, c.IgnoreLine([]string{"c\u202e", `a "x"`}))
}
