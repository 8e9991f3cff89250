package visible

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuoteShowsWhatCannotBeSeen(t *testing.T) {
	for text, want := range map[string]string{
		"Größe 注文 ❤️":        "Größe 注文 ❤️",
		"a\u00a0b\u3000c":    "a\u00a0b\u3000c", // spaces
		"a\u202eb\u2066c":    `a\u202eb\u2066c`,
		"a\x00\t\n\x1b\x7fb": `a\u0000\u0009\u000a\u001b\u007fb`,
		"\u0085\u2028\ufeff": `\u0085\u2028\ufeff`,
		"x\u3164\U000e0041y": `x\u3164\U000e0041y`, // letters without a shape
		`\"`:                 `\\\"`,
	} {
		assert.Equal(t, `"`+want+`"`, Quote(text))
		unquoted, err := strconv.Unquote(Quote(text))
		require.NoError(t, err)
		assert.Equal(t, text, unquoted)
	}
}

func TestJSONHasAnEscapeForWhatIsHidden(t *testing.T) {
	text := "\x00\u0085\u202e\ufeff\U000e0041\u3164ü注<&>\"\\\u200d"
	assert.Equal(t, `"\u0000\u0085\u202e\ufeff\udb40\udc41\u3164ü注<&>\"\\\u200d"`, JSON(text))
	var read string
	require.NoError(t, json.Unmarshal([]byte(JSON(text)), &read))
	assert.Equal(t, text, read)
}
