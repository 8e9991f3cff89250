package inspector_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// linesOf returns the numbers of the rows of a list and the names of its marks, in order.
func linesOf(page string) (lines []string) {
	line := regexp.MustCompile(`data-number="(\d+)"|data-mark="\d+">mark (?:<span class="tail" title="[^"]*"><bdi>([^<]*)</bdi>)?`)
	for _, found := range line.FindAllStringSubmatch(page, -1) {
		switch {
		case found[1] != "":
			lines = append(lines, found[1])
		case found[2] != "":
			lines = append(lines, html.UnescapeString(found[2]))
		default:
			lines = append(lines, "-")
		}
	}
	return lines
}

func TestAMarkIsBelowItsFirstRow(t *testing.T) {
	f := start(t, records.Demo())
	read := func() { f.send("GET", "/v1/events", "") }
	mark := func(body string) {
		assert.Equal(t, 200, f.do("POST", f.ui+"/api/mark", body, header("Content-Type", "application/json")).Status)
	}
	read()
	mark(`{"name":"a test"}`)
	read()
	f.send("GET", "/v1/transactional/statistics", "")
	mark("")
	mark(`{"name":"<b>"}`)
	read()
	assert.Equal(t, []string{"4", "<b>", "3", "2", "a test", "1"}, linesOf(f.get("/").Body))
	assert.Equal(t, []string{"4", "<b>", "2", "a test", "1"}, linesOf(f.get("/?q=op:events").Body), "of a search, below the first match")
	assert.Equal(t, []string{"2", "a test"}, linesOf(f.get(`/?q=op:events+mark:"a+test"`).Body))
	assert.Empty(t, linesOf(f.get("/?q=op:events+mark:test").Body), "a part of the name")
	assert.Equal(t, []string{"2", "a test", "1"}, linesOf(f.get("/?before=3").Body))
	assert.Equal(t, []string{"4", "<b>", "3"}, linesOf(f.get("/rows?section=requests&after=2").Body), "new rows know the older ones")
	mark(`{}`)
	read()
	assert.Equal(t, []string{"5", "-"}, linesOf(f.get("/rows?section=requests&after=4").Body))
	assert.Contains(t, f.get("/api/requests/3").Body, `"mark":"a test"`)
	assert.NotContains(t, f.get("/api/requests/5").Body, `"mark"`)
}

func TestANameOfAMarkThatIsTooLongIsRefused(t *testing.T) {
	f := start(t, records.Demo())
	for body, problem := range map[string]string{`{"name":"` + strings.Repeat("x", 201) + `"}`: "at most 200 bytes",
		`{"nme":"x"}`: "unknown field"} {
		got := f.do("POST", f.ui+"/api/mark", body, header("Content-Type", "application/json"))
		assert.Equal(t, 422, got.Status)
		assert.Contains(t, got.Body, problem)
	}
}

func TestTheLatestNamedMarksAreFilters(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	mark := func(name string) { f.box.History.Mark(name) }
	page := func(query string) string { return html.UnescapeString(f.get("/" + query).Body) }
	assert.NotContains(t, page(""), "<span>Mark</span>", "there is none")
	for _, name := range []string{"first", "a", "b", "", "check_out", `quo"ted`, "c", "a test", "a"} {
		mark(name)
	}
	assert.Contains(t, page("?q=ada"), `<span>Mark</span><a class="chip" href="/?q=ada+mark%3Aa&filter=open">a</a>`+
		`<a class="chip" href="/?q=ada+mark%3A%22a+test%22&filter=open">a test</a><a class="chip" href="/?q=ada+mark%3Ac&filter=open">c</a>`+
		`<a class="chip" href="/?q=ada+mark%3A`+url.QueryEscape(`quo\"ted`)+`&filter=open">quo"ted</a>`+
		`<a class="chip" href="/?q=ada+mark%3Acheck_out&filter=open">check_out</a></p>`, "only the latest 5 are there")
	assert.Contains(t, page("?q=mark:c"), `<a class="chip" href="/?filter=open" aria-current="true">c</a>`)
	f.post("/api/reset?what=history", "")
	f.send("GET", "/v1/events", "")
	assert.NotContains(t, page(""), "<span>Mark</span>")
}

func TestAMarkThatIsSetAgainBeginsAnew(t *testing.T) {
	f := start(t, records.Demo())
	for _, name := range []string{"a test", "another", "a test", "a test of more"} {
		f.box.History.Mark(name)
		f.send("GET", "/v1/events", "")
	}
	body := f.get(`/api/requests?q=` + url.QueryEscape(`mark:"a test"`)).Body
	assert.Equal(t, 1, strings.Count(body, `"number":`), "neither what came after an earlier mark of the name, nor after a longer name")
	assert.Contains(t, body, `"number":3,`)
}
