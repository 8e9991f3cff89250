package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// Row is a line of a list of requests.
type Row struct {
	*history.Entry
	Title    string // what people look for
	Failure  string // why it failed
	Op, Who  string
	Outcome  Tag
	Badges   []Tag // what else is to be said, the suspicious first
	Href     string
	Current  bool
	Attempts []Row // the same request before, latest first, where it looks like a retry
	Later    int   // how many attempts after it a search does not find
	// Begins is the mark after which the row is the first of the list, or nil.
	Begins *history.Mark
}

// NewRow returns the row of a request, with the URL of its page.
func NewRow(e *history.Entry) Row {
	r := Row{Entry: e, Title: title(e), Failure: failure(e), Who: about(e), Outcome: OutcomeTag(e), Badges: badges(e),
		Href: pathOf(e.Number)}
	if op := operation(e); op != r.Title {
		r.Op = op
	}
	return r
}

// title returns what people look for: the subject of a broadcast, or the name of an event.
func title(e *history.Entry) string {
	if e.EventName == "" && e.Subject != "" && visible.IsBlank(e.Subject) {
		return "(blank subject)"
	}
	return cmp.Or(e.EventName, e.Subject, operation(e))
}

// operation returns the name of the operation as a heading.
func operation(e *history.Entry) string {
	if e.Op == "" {
		return e.Request.Method + " " + e.Request.Path
	}
	return capitalized(e.Op)
}

// badges are what the rules found, and whether the request is a replay.
func badges(e *history.Entry) (list []Tag) {
	for _, n := range e.Notes() {
		list = append(list, ruleTag(n.Code))
	}
	if e.ReplayOf > 0 {
		list = append(list, Tag{"", fmt.Sprintf("replay of %d", e.ReplayOf)})
	}
	return list
}

// ruleTags are the rules whose tag is not their id as a warning.
var ruleTags = map[string]Tag{"foreign_key": {"bad", "wrong key"}, "key_header": {"bad", "key header"}, "wrong_path": {"bad", "wrong path"},
	"duplicate": {"warn", "duplicate?"}, "sdk_refuses": {"warn", "the SDK refuses it"}}

// ruleTag is what a rule finds, in a few words.
func ruleTag(id string) Tag {
	return cmp.Or(ruleTags[id], Tag{"warn", spaced(id)})
}

// failure returns why a request failed, in a line.
func failure(e *history.Entry) string {
	switch {
	case e.ForeignKey:
		return "the API key is not that of this sandbox"
	case e.Fault == "status":
		return fmt.Sprintf("fault: status %d", e.Status)
	case e.Fault != "" && (e.Fault != "slow" || e.Status < 400): // a fault that only delays a refusal is not its reason
		return "fault: " + spaced(e.Fault)
	case e.Status == 0:
		return "the client disconnected"
	case len(e.Problems) > 0:
		return firstProblem(e)
	case e.Status < 400:
		return ""
	case e.LacksKey():
		return e.Key()
	}
	var body struct{ Message string }
	_ = json.Unmarshal(e.ResponseBody, &body) // another response has no message
	return cmp.Or(reason(e), body.Message)
}

// firstProblem returns the first problem of a request, and how many others there are.
func firstProblem(e *history.Entry) string {
	path := sortedKeys(e.Problems)[0]
	text := path + " " + e.Problems[path][0]
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf(", and %s more", words.Thousands(more))
	}
	return text
}

// maxTitled is the size of the largest body that is read for a row. A page has many rows.
const maxTitled = 16 << 10

// reason says why a request was refused as a whole, or returns "".
func reason(e *history.Entry) string {
	body := e.Request.Body
	switch {
	case e.Status < 400, e.LacksKey(), len(e.Problems) > 0, len(body) > maxTitled:
		return ""
	case e.Op == "":
		return cmp.Or(findings.RightOperation(e), "no operation has this method and path; /openapi.json lists them")
	case e.Status != http.StatusBadRequest:
		return ""
	case len(bytes.TrimSpace(body)) == 0:
		return "the request has no body"
	case json.Valid(body):
		return "the body is JSON, but not an object"
	default:
		return "the body is not JSON"
	}
}

// about returns whom a request was for, or how much it created, or its query.
func about(e *history.Entry) string {
	switch {
	case e.Kind == history.Event:
		return words.Count(e.Parameters, "parameter")
	case e.Op == service.TriggerEvent.Name:
		return strings.Join(e.Names, "")
	}
	const longest = 60
	query, _ := url.QueryUnescape(e.Request.Query.Encode()) // it was just escaped
	return cmp.Or(prefixed("to ", recipients(e)), words.Shortened(prefixed("?", query), longest))
}

// recipients returns who a broadcast goes to, with the first customer by name. A segment has
// no size, because the service does not return it.
func recipients(e *history.Entry) string {
	if e.Everyone {
		return "all customers"
	}
	var parts []string
	switch {
	case len(e.Names) > 0 && e.Named > 1:
		parts = append(parts, e.Names[0]+" +"+words.Thousands(e.Named-1))
	case e.Named > 0:
		parts = append(parts, cmp.Or(strings.Join(e.Names, ""), "1 customer"))
	}
	if e.SegmentCount > 0 {
		parts = append(parts, words.Count(e.SegmentCount, "segment"))
	}
	return strings.Join(parts, " and ")
}

// Describe returns a request in a line, such as: request 41, Trigger event, order shipped, ada@example.com, 422 rejected.
func Describe(e *history.Entry) string {
	const longest = 60
	text := fmt.Sprintf("request %d", e.Number)
	for _, part := range []string{operation(e), title(e), about(e), OutcomeTag(e).Text} {
		if part != "" && !strings.HasSuffix(text, part) {
			text += ", " + visible.Prose(words.Shortened(part, longest))
		}
	}
	return text
}
