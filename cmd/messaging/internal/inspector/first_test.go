package inspector_test

import (
	"html"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

const filter = `<details class="chips"`

var firstCommand = regexp.MustCompile(`(?s)<code>(curl .*?)</code>`)

// TestTheFirstRequestOfAnEmptyListFillsIt runs the command that an empty list shows.
func TestTheFirstRequestOfAnEmptyListFillsIt(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl")
	}
	f := start(t, records.Seed{})
	page := f.get("/").Body
	assert.NotContains(t, page, filter)
	command := html.UnescapeString(firstCommand.FindStringSubmatch(page)[1])
	out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "curl ", "curl -sf ", 1)).CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	page = f.get("/").Body
	assert.Contains(t, page, `class="row"`)
	assert.Contains(t, page, filter)
	assert.NotContains(t, page, "422 rejected")
}

func TestASearchInAnEmptyHistoryShowsHowToSend(t *testing.T) {
	f := start(t, records.Demo())
	page := f.get("/?q=has:skipped").Body
	assert.Contains(t, page, "Send something here")
	assert.NotContains(t, page, "Nothing matches")
	f.send("GET", "/v1/events", "")
	assert.Contains(t, f.get("/?q=has:skipped").Body, "1 request is kept, and none of them matches.")
}

func TestPagesShowTimesInOneForm(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	f.post("/api/outage", `{"for":"1h"}`)
	e, _ := f.box.History.Get(3)
	for path, want := range map[string]string{
		"/":            ">" + e.At.In(zone).Format("15:04:05"),
		"/requests/3":  e.At.In(zone).Format("15:04:05.000"),
		"/faults":      "Outage until " + f.box.OutageUntil().In(zone).Format("15:04:05"),
		"/help":        "in the time zone of the sandbox, HST.",
		"/customers/1": "", "/events/1": "", "/messages/1": "",
	} {
		page := f.get(path).Body
		assert.Contains(t, page, want, path)
		text := regexp.MustCompile(`<pre[\s\S]*?</pre>|<code>2006-[^<]*</code>|<[^>]*>`).ReplaceAllString(page, " ")
		assert.NotRegexp(t, `\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)|\dT\d\d:`, text, path)
	}
	event, _ := f.box.Records.All(records.Events).WithNumber(1)
	message, _ := f.box.Records.All(records.Messages).WithNumber(1)
	for path, created := range map[string]time.Time{"/events/1": event.Model().(messaging.Event).CreatedAt,
		"/messages/1": message.Model().(messaging.TransactionalMessage).CreatedAt} {
		assert.Contains(t, f.get(path).Body, "<dd>"+created.In(zone).Format("2006-01-02 15:04:05")+"</dd>", path)
	}
}
