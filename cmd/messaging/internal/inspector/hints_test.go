package inspector_test

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestARequestForNoOperationNamesTheOneThatWasMeant(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 404, f.send("POST", "/v1/event/trigger", skippedBody))
	require.Equal(t, 405, f.send("PUT", "/v1/events/trigger", skippedBody))
	require.Equal(t, 404, f.send("GET", "/elsewhere", ""))
	list := html.UnescapeString(f.get("/").Body)
	assert.Contains(t, list, "did you mean /v1/events/trigger?")
	assert.Contains(t, list, "this path needs POST, not PUT")
	assert.Contains(t, f.get("/api/requests/1").Body, "No operation has this method and path: did you mean /v1/events/trigger?")
	assert.NotContains(t, f.get("/api/requests/3").Body, "did you mean")
}

func TestTheNameOfAnEventInPlaceOfItsIDIsRecognized(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events/trigger", strings.Replace(skippedBody, orderShipped, "order shipped", 1))
	f.send("POST", "/v1/events/trigger", strings.Replace(skippedBody, orderShipped, "nothing", 1))
	assert.Contains(t, f.get("/requests/1").Body, "event_id is the name of an event. Its id is "+orderShipped+".")
	assert.NotContains(t, f.get("/api/requests/2").Body, "is the name of an event")
}

func TestAnotherContentTypeIsNamed(t *testing.T) {
	f := start(t, records.Demo())
	for kind, want := range map[string]string{
		"text/plain; charset=utf-8": `The Content-Type is "text/plain".`, "": "There is no Content-Type.",
	} {
		got := f.do("POST", f.api+"/v1/events/trigger", skippedBody, func(r *http.Request) {
			r.Header.Set("X-Authorization", testKey)
			r.Header.Set("Content-Type", kind)
		})
		require.Equal(t, 415, got.Status)
		assert.Contains(t, html.UnescapeString(f.get("/requests/"+lastOf(f)).Body), want+" The service reads application/json.")
	}
}

// lastOf returns the number of the latest request.
func lastOf(f *fixture) string {
	_, after, _ := strings.Cut(f.get("/").Body, `data-last="`)
	number, _, _ := strings.Cut(after, `"`)
	return number
}

func TestASkippedTimeIsShownInTheFormThatIsRead(t *testing.T) {
	f := start(t, records.Demo())
	for i, value := range []string{`"2026-11-21T10:00:00+01:00"`, `1795251600`, `"21.11.2026"`} {
		require.Equal(t, 200, f.send("POST", "/v1/events/trigger", strings.Replace(skippedBody, `"21.11.2026"`, value, 1)))
		page := f.get("/requests/" + lastOf(f) + "?tab=parameters").Body
		if i < 2 {
			assert.Contains(t, page, "This time in that form: <code>2026-11-21T09:00:00Z</code>", value)
		} else {
			assert.NotContains(t, page, "This time in that form", value)
		}
	}
}

func TestAReplaySaysWhetherItWasEdited(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events/trigger", skippedBody)
	f.replayed(`{"number":1}`)
	edited, err := json.Marshal(strings.Replace(skippedBody, "21.11.2026", "2026-11-21T09:00:00Z", 1))
	require.NoError(t, err)
	f.replayed(`{"number":1,"body":` + string(edited) + `}`)
	as := f.get("/requests/2").Body
	assert.Contains(t, as, `This repeats request 1. <a href="/requests/2?tab=diff&amp;with=1">Compare them</a>`)
	assert.Contains(t, f.get("/requests/3").Body, "This repeats request 1, edited.")
}
