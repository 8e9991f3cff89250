package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

// shown returns the lines of a source with their numbers, offsets and indentations.
func shown(lines []sourceLine) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%d %d %s ", line.Number, line.at, line.Indentation)
		for _, p := range line.Parts {
			b.WriteString(strings.ReplaceAll(p.Text, "\n", "↵"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestASourceHasAClassForEachPartOfATag(t *testing.T) {
	assert.Equal(t, []sourceLine{
		{Number: 1, Parts: []part{{"c", "<!doctype html>"}, {"", "\n"}}},
		{Number: 2, at: 16, Parts: []part{{"k", "<a"}, {"", " "}, {"n", "href"}, {"", "="}, {"s", `"x?a=1"`}, {"", " "}, {"n", "hidden"},
			{"k", ">"}, {"", "Hi & bye"}, {"k", "</a>"}, {"c", "<!-- <b> -->"}, {"k", "<br"}, {"", " "}, {"k", "/>"}}},
	}, newSource("<!doctype html>\n<a href=\"x?a=1\" hidden>Hi & bye</a><!-- <b> --><br />").Lines)
}

func TestALineBeginsWhereABlockDoesIfItsOwnAreTooLong(t *testing.T) {
	long := strings.Repeat("x", 1000)
	s := newSource("<table><tr><td><b>a</b></td><td>b</td></tr></table>\n<p>c\n\n x</p><P>" + long)
	assert.True(t, s.Divided)
	assert.Equal(t, `1 0  <table>
2 7 i1 <tr>
3 11 i2 <td><b>a</b></td>
4 28 i2 <td>b</td>
5 38 i1 </tr>
6 43 i0 </table>↵
7 52  <p>c↵
8 57  ↵
9 58   x</p>
10 64 i0 <P>`+long+"\n", shown(s.Lines))
	assert.Equal(t, []int{-1, 0, 0, 1, 8, 8, 9}, []int{lineIndex(s.Lines, -1), lineIndex(s.Lines, 0), lineIndex(s.Lines, 6),
		lineIndex(s.Lines, 7), lineIndex(s.Lines, 58), lineIndex(s.Lines, 63), lineIndex(s.Lines, 1000)})
	for message, want := range map[string]int{"<div>\n<p>Hi</p><p>you</p>\n</div>": 3, "<p>a</p><p>b</p>": 1,
		"<p>" + long[:120] + "</p><p>b</p>": 2} {
		assert.Len(t, newSource(message).Lines, want, message)
	}
}

func TestASourceThatIsTooLongForAPageIsCut(t *testing.T) {
	const row = "<b><b><b>\n"
	lines := newSource(strings.Repeat(row, maxParts/4)).Lines
	assert.Equal(t, []part{{"k", "<b><b><b>"}, {"", "\n"}}, lines[0].Parts)
	assert.Equal(t, []part{{"", row}}, lines[maxParts/4-1].Parts, "there are too many colors")
	s := newSource(strings.Repeat("x\n", maxParts+2))
	assert.Len(t, s.Lines, maxParts)
	assert.Equal(t, 4, s.Cut)
	clipped := func(lines []sourceLine) (numbers []int) {
		for _, l := range lines {
			if l.Clipped {
				numbers = append(numbers, l.Number)
			}
		}
		return numbers
	}
	const line = "<p>0123456789</p>\n"
	assert.Equal(t, []int{mail.Clipped/len(line) + 1}, clipped(newSource(strings.Repeat(line, 6000)).Lines))
	assert.Empty(t, clipped(newSource(strings.Repeat(line, 100)).Lines))
}

func FuzzASourceIsExactlyTheMessage(f *testing.F) {
	for _, source := range []string{"", "<", "<a", "<a b='", "</>", "<a b=c/>x", "<style>a<b</style>", "<textarea><b>",
		"a\x00<b\r\n c=\"\r\">",
		"<p>\n\n<p>\n", "<!--", "<?x?>", "<svg><![CDATA[x]]>", "< a>", "<a/=b>", "<script>\"</script>'", "<plaintext><b>"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for _, divide := range []bool{false, true} {
			p := sourcePrinter{divide: divide}
			p.print(source)
			var b strings.Builder
			for i, line := range p.lines {
				assert.Equal(t, b.Len(), line.at)
				assert.Equal(t, i+1, line.Number)
				for _, part := range line.Parts {
					b.WriteString(part.Text)
				}
			}
			assert.Equal(t, source, b.String())
		}
	})
}
