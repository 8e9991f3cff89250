package search_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
)

func TestTermsAreWrittenAsTheyWereRead(t *testing.T) {
	for text, want := range map[string]string{
		`a -b !c`: "a -b -c", `-op:"trigger event"`: `-op:"trigger event"`, `"op:trigger event"`: `op:"trigger event"`,
		`"Dear all: hi"`: `"Dear all: hi"`, `"-op:x" "!"`: `"-op:x" !`, `-"a b" "c d"`: `-"a b" "c d"`,
		`- ""`: "-", `--x`: `-"-x"`,
	} {
		var written []string
		for _, term := range search.Terms(text) {
			written = append(written, term.String())
		}
		assert.Equal(t, want, strings.Join(written, " "))
		assert.Equal(t, search.Terms(text), search.Terms(strings.Join(written, " ")))
	}
}

func TestJoinKeepsArgumentsTogether(t *testing.T) {
	joined := search.Join([]string{"op:trigger event", "!op:list events", `-"a b" c`, "-x"})
	assert.Equal(t, `op:"trigger event" -op:"list events" -"a b" c -x`, joined)
	assert.Equal(t, []search.Term{{Text: "op:trigger event"}, {Text: "op:list events", Not: true}, {Text: "a b", Not: true}, {Text: "c"},
		{Text: "x", Not: true}}, search.Terms(joined))
}
