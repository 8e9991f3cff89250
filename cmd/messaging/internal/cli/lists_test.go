package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
)

func TestAPageThatIsTooLargeIsAskedForInParts(t *testing.T) {
	o := operatorOf(t, 0)
	for range 100 {
		o.service.AddTransactional(messaging.TransactionalMessage{Channel: "email", Subject: "s", Message: strings.Repeat("m", 120_000)})
	}
	for _, args := range [][]string{{"message", "list"}, {"export", "messages", "--to", "messages.csv"}} {
		assert.Contains(t, o.ends(1, args...), "(pass a smaller --per-page)")
		o.must(append(args, "--per-page", "50")...)
	}
}
