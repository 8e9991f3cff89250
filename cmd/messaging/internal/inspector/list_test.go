package inspector_test

import (
	"html"
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
		if text := found[1] + found[2]; text != "" {
			lines = append(lines, html.UnescapeString(text))
		} else {
			lines = append(lines, "-")
		}
	}
	return lines
}

func TestAMarkIsBelowItsFirstRow(t *testing.T) {
	f := start(t)
	f.steps([]string{"GET /v1/events", `post /api/mark {"name":"a test"}`, "GET /v1/events", "GET /v1/transactional/statistics",
		"post /api/mark", `post /api/mark {"name":"<b>"}`, "GET /v1/events"})
	for path, want := range map[string]string{
		"/": "4|<b>|3|2|a test|1", "/?before=3": "2|a test|1",
		"/?q=op:events":                  "4|<b>|2|a test|1", // below the first match
		`/?q=op:events+mark:"a+test"`:    "2|a test",
		"/?q=op:events+mark:test":        "",        // a part of the name
		"/rows?section=requests&after=2": "4|<b>|3", // new rows know the older ones
	} {
		assert.Equal(t, want, strings.Join(linesOf(f.get(path).Body), "|"), path)
	}
	assert.Equal(t, "3 requests", f.get("/rows?section=requests&after=3&q=op:events").Header.Get("Rows-Matches"))
	f.steps([]string{"post /api/mark {}", "GET /v1/events"})
	assert.Equal(t, []string{"5", "-"}, linesOf(f.get("/rows?section=requests&after=4").Body))
	f.shows("/api/requests/3", `"mark":"a test"`)
	f.shows("/api/requests/5", `!"mark"`)
}

func TestPagesShowTimesInOneForm(t *testing.T) {
	f := start(t)
	f.steps([]string{"fill", "outage 1h"})
	e, _ := f.box.History.Get(3)
	event, _ := f.box.Records.All(records.Events).WithNumber(1)
	f.shows("/", ">"+e.At.In(zone).Format("15:04:05")+"<")
	f.shows("/requests/3", e.At.In(zone).Format("15:04:05.000"))
	f.shows("/faults", "Outage until "+f.box.OutageUntil().In(zone).Format("15:04:05"))
	f.shows("/help", "in the time zone of the sandbox, HST.")
	f.shows("/events/1", "<dd>"+event.Value.(records.Event).CreatedAt.In(zone).Format("2006-01-02 15:04:05")+"</dd>")
}
