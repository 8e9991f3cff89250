package inspector_test

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// broadcastOf returns the body of a broadcast with other members.
func broadcastOf(oldAndNew ...string) string {
	return strings.NewReplacer(oldAndNew...).Replace(emailBody)
}

// markOf returns the marks of a row, and what they say. A badge says no more than its label.
func markOf(list string) (label, text string) {
	var labels []string
	tags := regexp.MustCompile(`<span class="tag warn( folded)?" title="([^"]*)">([^<]*)</span>`)
	for _, found := range tags.FindAllStringSubmatch(list, -1) {
		if found[2] != found[3] {
			labels, text = append(labels, found[3]), found[2]
		}
	}
	return strings.Join(labels, ", "), text
}

func TestAnEmailOfWhichReadersMissSomethingIsWorthALook(t *testing.T) {
	f := start(t, records.Demo())
	for _, message := range []string{"there", "<a href='http://localhost/x'>here</a><script>x()</script>"} {
		require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", broadcastOf("Moved", "Offer", "{{name}}", message)))
	}
	_, findings := overviewOf(t, f.get("/").Body)
	assert.Equal(t, []string{"email check Offer Link to this machine, which nobody else can open: http://localhost/x #2",
		"email check Offer &lt;script&gt; is removed #2"}, findings)
	assert.Contains(t, f.get("/broadcasts/2").Body,
		`http://localhost/x, and 2 more. <a href="/broadcasts/2?tab=check">Show the check</a>`)
	assert.NotContains(t, f.get("/broadcasts/1").Body, "Show the check")
	assert.Contains(t, f.get("/?q=note:email_check").Body, `<span id="matches">1 match</span>`)

	for _, kilobytes := range []int{140, 600} {
		long := strings.Repeat("<p>text</p>", kilobytes<<10/11)
		require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", broadcastOf("Moved", "Long", "{{name}}", long)))
	}
	assert.Contains(t, f.get("/?q=note:email_check").Body, `<span id="matches">3 matches</span>`)
	_, findings = overviewOf(t, f.get("/").Body)
	assert.Equal(t, "email check Long The message has 614 kB: Gmail cuts off what is over 104 kB (102 KiB) #4", findings[0])
}

func TestTheMarkOfALargeRequestNamesItsNotes(t *testing.T) {
	f := start(t, records.Demo())
	large := broadcastOf("{{name}}", "{{nme}}", `"customers":[`, `"customers":[`+strings.Repeat(`{"email":"a@example.com"},`, 700))
	require.Greater(t, len(large), 16<<10)
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", large))
	mark, text := markOf(html.UnescapeString(f.get("/").Body))
	assert.Equal(t, "no variable", mark)
	assert.Equal(t, "The page of the request says more.", text)
}

func TestSuspiciousSuccessesAreMarked(t *testing.T) {
	const push, trigger = "/v1/broadcast/send/push-notification", "/v1/events/trigger"
	values := `{"event_id":"` + orderShipped + `","payload":{"email":"ada@example.com","order":"A-1","shipped_at":"2026-11-21T09:00:00Z",%s}}`
	for name, test := range map[string]struct{ path, body, mark, note, codes string }{
		"an unknown key": {"/v1/broadcast/send/email", broadcastOf(`"recipients"`, `"reciepients":[],"recipients"`), "unknown key",
			"keys that the operation does not have: reciepients (did you mean recipients?).", "unknown_key"},
		"all customers and recipients": {push, `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now",
			"recipients":{"type":"segment","segments":["vip"]}}`, "two audiences", "has both all_customers and recipients.", "two_audiences"},
		"a date in the past": {"/v1/broadcast/send/email", broadcastOf("2030-01-01", "2020-01-01"), "in the past",
			"The schedule was in the past", "in_the_past"},
		"the name of another event": {"/v1/events", `{"name":"order shipped","description":"d","parameters":[]}`,
			"same name", "There was already an event with this name.", "same_name"},
		"another type": {trigger, fmt.Sprintf(values, `"parcels":"two"`), "wrong type",
			"another type than its parameter: parcels (numeric).", "wrong_type"},
		"another parameter": {trigger, fmt.Sprintf(values, `"color":"red"`), "unknown key",
			"neither the operation nor the event has: payload.color.", "unknown_key"},
		"a missing variable": {"/v1/broadcast/send/email", broadcastOf("{{name}}", "{{nme}}"), "no variable",
			"No variable was sent for {{nme}}.", "no_variable"},
		"what the SDK refuses": {"/v1/broadcast/send/email", broadcastOf(`"Acme"`, `"Acme\n"`), "the SDK refuses it",
			"the SDK refuses this request", "sdk_refuses"},
		"an empty value": {trigger, fmt.Sprintf(strings.Replace(values, "A-1", "", 1), `"parcels":2`), "empty value",
			"order is empty, although the event requires a value.", "empty_value"},
		"an unknown type": {"/v1/events", `{"name":"n","description":"d","parameters":[{"name":"a","type":"number","required":true}]}`,
			"unknown type", "than text, numeric or timestamp, the types that are documented: a (number).", "unknown_type"},
		"two things": {trigger, fmt.Sprintf(values, `"parcels":"two","color":"red"`), "unknown key, wrong type",
			"payload.color.", "unknown_key wrong_type"},
		"something that has a tag":  {trigger, skippedBody, "", "1 value was skipped.", "skipped"},
		"nothing":                   {trigger, fmt.Sprintf(values, `"parcels":2`), "", "", ""},
		"a broadcast with no notes": {"/v1/broadcast/send/email", emailBody, "", "", ""},
	} {
		f := start(t, records.Demo())
		require.Equal(t, 200, f.send("POST", test.path, test.body), name)
		list := html.UnescapeString(f.get("/").Body)
		if mark, text := markOf(list); test.mark != "" {
			assert.Equal(t, test.mark, mark, name)
			assert.Contains(t, text, test.note, name)
		} else {
			assert.Empty(t, mark, name)
		}
		assert.Contains(t, html.UnescapeString(f.get("/requests/1").Body), test.note, name)
		var detail struct{ Notes []struct{ Code, Text string } }
		require.NoError(t, json.Unmarshal([]byte(f.get("/api/requests/1").Body), &detail))
		assert.Equal(t, test.note != "", len(detail.Notes) > 0, name)
		var codes, texts []string
		for _, note := range detail.Notes {
			codes, texts = append(codes, note.Code), append(texts, note.Text)
			assert.Contains(t, f.get("/api/requests?q=note:"+note.Code).Body, `"number":1`, name)
		}
		assert.Contains(t, strings.Join(texts, "\n"), test.note, name)
		assert.Equal(t, test.codes, strings.Join(codes, " "), name)
		assert.Equal(t, test.note != "", strings.Contains(f.get("/api/requests?q=has:notes").Body, `"number":1`), name)
		assert.Equal(t, test.note == "", strings.Contains(f.get("/api/requests?q=-has:notes").Body, `"number":1`), name)
	}
}

func TestAPlaceholderIsANoteOnlyIfItsNameIsNowhere(t *testing.T) {
	f := start(t, records.Demo())
	send := func(message, variables string) {
		require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", broadcastOf("Hi {{name}}, ", message, `{"name":"Ada"}`, variables)))
	}
	send(`{{first_name}} {{ customer.LastName | default: \"you\" }} {{CUSTOMER_ID}} {{unsubscribe_url}} {{view-in-browser}}`, "{}")
	send("{{order.id}} {{order.total}} {{name}} {% if vip %}", `{"name":"Ada","order":{"id":7}}`)
	assert.JSONEq(t, `[]`, notesOf(t, f, 1))
	assert.Contains(t, notesOf(t, f, 2), "No variable was sent for {{order.total}}. ")

	page := html.UnescapeString(f.get("/requests/1?tab=variables").Body)
	assert.Regexp(t, `customer\.LastName</code><td>–<td><span class="tag ">customer field\? not documented</span>`, page)
	assert.Regexp(t, `unsubscribe_url</code><td>–<td><span class="tag ">filled in by the service\? not documented</span>`, page)
	assert.NotContains(t, page, `warn">no variable</span>`)
	assert.NotContains(t, page, "{%")
	page = html.UnescapeString(f.get("/requests/2?tab=variables").Body)
	assert.Regexp(t, `order</code><td><code>\{"id":7\}</code><td><span class="tag ok">in the message</span>`, page)
	assert.NotContains(t, page, "order.id</code>")
	assert.Contains(t, page, "Only names in the form {{name}} are recognized. The message also has {% … %}, which is not read here.")
}

// notesOf returns the notes of a request as JSON.
func notesOf(t *testing.T, f *fixture, number int) string {
	t.Helper()
	var detail struct{ Notes json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(f.get(fmt.Sprintf("/api/requests/%d", number)).Body), &detail))
	return string(detail.Notes)
}

func TestNotesOfALargeRequestAreThoseThatNeedNoReading(t *testing.T) {
	f := start(t, records.Demo())
	quoted, err := json.Marshal(strings.Repeat("x ", 1<<19))
	require.NoError(t, err)
	large := broadcastOf(`"recipients"`, `"reciepients":`+string(quoted)+`,"recipients"`)
	for range 2 {
		require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", large))
	}
	list := f.get("/").Body
	mark, _ := markOf(list)
	assert.Empty(t, mark)
	assert.Equal(t, 1, strings.Count(list, `title="duplicate?"`))
	assert.Contains(t, f.get("/api/requests?q=has:notes").Body, `"number":2`)
	assert.NotContains(t, f.get("/api/requests?q=has:notes").Body, `"number":1`)
}
