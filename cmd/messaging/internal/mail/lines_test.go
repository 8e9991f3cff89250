package mail_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

func TestLinesBreakAtBlocksAndNotWithinText(t *testing.T) {
	for message, want := range map[string][]string{
		`<table><tr><td class="x">1 <b>one</b></td>two</tr></table>`: {"<table>", "<tr>", `<td class="x">`, "1 <b>one</b>", "</td>", "two",
			"</tr>", "</table>"},
		"Hello,\r\n\n  a < b and {{x}}\n": {"Hello,", "a < b and {{x}}"},
		"":                                nil,
	} {
		assert.Equal(t, want, mail.Lines(message), message)
	}
}

func TestALineIsDividedWhereBlocksBegin(t *testing.T) {
	assert.Equal(t, []string{"<table>", "<tr>", `<td class="x">1 <b>one</b></td></tr></table>`, "<P>two</p>\n"},
		mail.Blocks("<table><tr><td class=\"x\">1 <b>one</b></td></tr></table><P>two</p>\n"))
}

// FuzzLinesKeepEverythingButWhiteSpace shows that a comparison hides no difference.
func FuzzLinesKeepEverythingButWhiteSpace(f *testing.F) {
	for _, seed := range []string{"<p>a</p>", "<style>a{}", "<a href=", "<script><!--<script>",
		"a\x00<b>", "<br/><textarea></p>", "<plaintext><p>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		if !utf8.ValidString(message) {
			t.Skip("the messages of a comparison are valid")
		}
		assert.Equal(t, dense(message), dense(strings.Join(mail.Lines(message), "")))
		assert.Equal(t, message, strings.Join(mail.Blocks(message), ""))
	})
}

// dense returns a text without white space.
func dense(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}
