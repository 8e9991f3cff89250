package inspector

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/messagingtest"
)

func TestMarkupHasAClassForEachPartOfATag(t *testing.T) {
	assert.Equal(t, []part{
		{"c", "<!doctype html>"}, {"", "\n"}, {"k", "<a"}, {"", " "}, {"n", "href"}, {"", "="}, {"s", `"x?a=1"`}, {"", " "}, {"n", "hidden"},
		{"k", ">"}, {"", "Hi & bye"}, {"k", "</a"}, {"k", ">"}, {"c", "<!-- <b> -->"}, {"k", "<br"}, {"", " "}, {"k", "/>"}, {"", ""},
	}, markup("<!doctype html>\n<a href=\"x?a=1\" hidden>Hi & bye</a><!-- <b> --><br />"))
}

func TestALineBeginsWhereABlockDoes(t *testing.T) {
	var lines strings.Builder
	for _, p := range markup("<table><tr><td><b>a</b></td><td>b</td></tr></table>\n<p>c</p><P>d") {
		if _, indentation, ok := strings.Cut(p.Class, " i"); ok {
			lines.WriteString("\n" + indentation + " ")
		}
		lines.WriteString(p.Text)
	}
	assert.Equal(t, `<table>
1 <tr>
2 <td><b>a</b></td>
2 <td>b</td>
1 </tr>
0 </table>
<p>c</p>
0 <P>d`, lines.String())
}

func TestASourceWithTooManyTagsHasNoColors(t *testing.T) {
	message := strings.Repeat("<b>", maxParts)
	view := &emailView{EmailBroadcast: &messagingtest.EmailBroadcast{Message: message}}
	assert.Equal(t, []part{{"", message}}, view.Markup())
}

func FuzzMarkupIsExactlyTheSource(f *testing.F) {
	for _, source := range []string{"", "<", "<a", "<a b='", "</>", "<a b=c/>x", "<style>a<b</style>",
		"<textarea><b>", "a\x00<b\r\n c=\"\r\">",
		"<!--", "<?x?>", "<a\xff b>", "<svg><![CDATA[x]]>", "< a>", "<a/=b>", "<script>\"</script>'", "<plaintext><b>"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		var b strings.Builder
		for _, p := range markup(source) {
			b.WriteString(p.Text)
		}
		assert.Equal(t, source, b.String())
	})
}
