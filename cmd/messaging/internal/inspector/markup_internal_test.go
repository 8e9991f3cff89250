package inspector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/internal/fake"
)

func TestMarkupHasAClassForEachPartOfATag(t *testing.T) {
	assert.Equal(t, []sourceLine{
		{Number: 1, Parts: []part{{"c", "<!doctype html>"}, {"", "\n"}}},
		{Number: 2, at: 16, Parts: []part{{"k", "<a"}, {"", " "}, {"n", "href"}, {"", "="}, {"s", `"x?a=1"`}, {"", " "}, {"n", "hidden"},
			{"k", ">"}, {"", "Hi & bye"}, {"k", "</a"}, {"k", ">"}, {"c", "<!-- <b> -->"}, {"k", "<br"}, {"", " "}, {"k", "/>"}}},
	}, markup("<!doctype html>\n<a href=\"x?a=1\" hidden>Hi & bye</a><!-- <b> --><br />", true))
}

func TestALineBeginsWhereABlockDoes(t *testing.T) {
	var shown strings.Builder
	lines := markup("<table><tr><td><b>a</b></td><td>b</td></tr></table>\n<p>c\n\n x</p><P>d", true)
	for _, line := range lines {
		fmt.Fprintf(&shown, "%d %d %s ", line.Number, line.at, line.Indentation)
		for _, p := range line.Parts {
			shown.WriteString(strings.ReplaceAll(p.Text, "\n", "↵"))
		}
		shown.WriteString("\n")
	}
	assert.Equal(t, `1 0  <table>
2 7 i1 <tr>
3 11 i2 <td><b>a</b></td>
4 28 i2 <td>b</td>
5 38 i1 </tr>
6 43 i0 </table>↵
7 52  <p>c↵
8 57  ↵
9 58   x</p>
10 64 i0 <P>d
`, shown.String())
	assert.Equal(t, []int{0, 1, 1, 2, 9, 9, 10}, []int{lineAt(lines, -1), lineAt(lines, 0), lineAt(lines, 6), lineAt(lines, 7),
		lineAt(lines, 58), lineAt(lines, 63), lineAt(lines, 1000)})
}

func TestASourceInReadableLinesKeepsThem(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for message, want := range map[string]int{
		"<div>\n<p>Hi</p><p>you</p>\n</div>": 3, "<p>a</p><p>b</p>": 1,
		"<p>" + long[:120] + "</p><p>b</p>": 2, "<div>\n<p>a</p><p>" + long + "</p>\n</div>": 4,
	} {
		view := &emailView{EmailBroadcast: &fake.EmailBroadcast{Message: message}}
		assert.Len(t, view.Lines(), want, message)
		assert.Equal(t, want > strings.Count(message, "\n")+1, view.AreLinesAdded(), message)
	}
}

func linesOf(message string) []sourceLine {
	return (&emailView{EmailBroadcast: &fake.EmailBroadcast{Message: message}}).Lines()
}

func TestASourceWithTooManyTagsHasLinesWithoutColors(t *testing.T) {
	const row = "<b><b><b>\n"
	lines := linesOf(strings.Repeat(row, maxParts/4))
	assert.Len(t, lines, maxParts/4)
	assert.Equal(t, []part{{"k", "<b"}, {"k", ">"}, {"k", "<b"}, {"k", ">"}, {"k", "<b"}, {"k", ">"}, {"", "\n"}}, lines[0].Parts)
	assert.Equal(t, []part{{"", row}}, lines[maxParts/4-1].Parts)
}

func TestASourceWithTooManyLinesHasTheOthersInOne(t *testing.T) {
	message := strings.Repeat("<b>\n", maxParts+2)
	lines := linesOf(message)
	assert.Len(t, lines, maxParts+1)
	assert.Equal(t, sourceLine{Parts: []part{{"", "<b>\n<b>\n"}}, at: 4 * maxParts}, lines[maxParts])
	var all strings.Builder
	for _, line := range lines {
		all.WriteString(line.text())
	}
	assert.Equal(t, message, all.String())
}

func TestTheLineIsMarkedInWhichGmailCutsOffAMessage(t *testing.T) {
	const line = "<p>0123456789</p>\n"
	clipped := func(lines []sourceLine) (numbers []int) {
		for _, l := range lines {
			if l.Clipped {
				numbers = append(numbers, l.Number)
			}
		}
		return numbers
	}
	assert.Equal(t, []int{mail.Clipped/len(line) + 1}, clipped(linesOf(strings.Repeat(line, 6000))))
	assert.Empty(t, clipped(linesOf(strings.Repeat(line, 100))))
}

func FuzzMarkupIsExactlyTheSource(f *testing.F) {
	for _, source := range []string{"", "<", "<a", "<a b='", "</>", "<a b=c/>x", "<style>a<b</style>",
		"<textarea><b>", "a\x00<b\r\n c=\"\r\">", "<p>\n\n<p>\n",
		"<!--", "<?x?>", "<a\xff b>", "<svg><![CDATA[x]]>", "< a>", "<a/=b>", "<script>\"</script>'", "<plaintext><b>"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		var b strings.Builder
		for _, addLines := range []bool{false, true} {
			b.Reset()
			for i, line := range markup(source, addLines) {
				assert.Equal(t, b.Len(), line.at)
				assert.Equal(t, i+1, line.Number)
				for _, p := range line.Parts {
					b.WriteString(p.Text)
				}
			}
			assert.Equal(t, source, b.String())
		}
	})
}
