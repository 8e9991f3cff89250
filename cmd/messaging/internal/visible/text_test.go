package visible

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTextShowsWhatCannotBeSeen(t *testing.T) {
	for text, want := range map[string]string{
		"Größe 注文 ❤️":        "Größe 注文 ❤️",
		"a\u00a0b\u3000c":    "a\u00a0b\u3000c", // spaces
		"a\u202eb\u2066c":    `a\u202eb\u2066c`,
		"a\x00\t\n\x1b\x7fb": `a\u0000\u0009\u000a\u001b\u007fb`,
		"\u0085\u2028\ufeff": `\u0085\u2028\ufeff`,
		"x\u3164\U000e0041y": `x\u3164\U000e0041y`, // letters without a shape
	} {
		assert.Equal(t, want, Text(text))
		unquoted, err := strconv.Unquote(`"` + Text(text) + `"`)
		require.NoError(t, err)
		assert.Equal(t, text, unquoted)
	}
}

func TestProseKeepsWhatProseNeeds(t *testing.T) {
	for text, want := range map[string]string{
		"Größe 注文 ❤️\n\tnext":                "Größe 注文 ❤️\n\tnext",
		"👩\u200d💻 می\u200cخواهم":             "👩\u200d💻 می\u200cخواهم",
		"a\u202eb\u2066c\u2028d":             "a‹U+202E›b‹U+2066›c‹U+2028›d",
		"a\x00\r\x1b\x7f\u0085b":             "a␀␍␛‹U+007F›‹U+0085›b",
		"x\u3164\ufeff\U000e0041\ue000\xffy": "x‹U+3164›‹U+FEFF›‹U+E0041›‹U+E000›\ufffdy",
	} {
		assert.Equal(t, want, Prose(text))
	}
}

func TestJSONHasAnEscapeForWhatIsHidden(t *testing.T) {
	text := "\x00\u0085\u202e\ufeff\U000e0041\u3164ü注<&>\"\\\u200d"
	assert.Equal(t, `"\u0000\u0085\u202e\ufeff\udb40\udc41\u3164ü注<&>\"\\\u200d"`, JSON(text, Hidden))
	assert.Contains(t, JSON(text, HiddenInProse), "\\\u200d\"")
	for _, hidden := range []func(rune) bool{Hidden, HiddenInProse} {
		var read string
		require.NoError(t, json.Unmarshal([]byte(JSON(text, hidden)), &read))
		assert.Equal(t, text, read)
	}
}
