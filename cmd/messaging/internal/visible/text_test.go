package visible

import (
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
