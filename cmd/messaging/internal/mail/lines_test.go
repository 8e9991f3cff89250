package mail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

func TestALineIsDividedWhereBlocksBegin(t *testing.T) {
	assert.Equal(t, []string{"<table>", "<tr>", `<td class="x">1 <b>one</b></td></tr></table>`, "<P>two</p>\n"},
		mail.Blocks("<table><tr><td class=\"x\">1 <b>one</b></td></tr></table><P>two</p>\n"))
}

// FuzzBlocksKeepEverything shows that the source of a message is exactly what was sent.
func FuzzBlocksKeepEverything(f *testing.F) {
	for _, seed := range []string{"<p>a</p>\n", "<style>a{}", "<a href=", "<script><!--<script>", "a\x00<b>", "<br/><textarea></p>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) { assert.Equal(t, message, strings.Join(mail.Blocks(message), "")) })
}
