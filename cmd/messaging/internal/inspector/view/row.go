package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// Row is a line of a list of requests.
type Row struct {
	*history.Entry
	Icon     string // of the operation
	Title    string // what people look for
	Failure  string // why it failed
	Op, Who  string
	Query    string // of the URL, cut
	Outcome  Tag
	Badges   []Tag // what else is to be said, the suspicious first
	Href     string
	Current  bool
	Attempts []Row // the same request before, latest first, where it looks like a retry
	Later    int   // how many attempts after it a search does not find
	// Begins is the mark after which the row is the first of the list, or nil.
	Begins *history.Mark
	Date   string // unless it is today
}

// maxRowQuery is how many characters of a query are in a row.
const maxRowQuery = 60

// NewRow returns the row of a request, with the URL of its page.
func NewRow(e *history.Entry) Row {
	r := Row{Entry: e, Icon: icon(e), Title: title(e), Failure: failure(e), Who: about(e), Outcome: OutcomeTag(e), Badges: badges(e),
		Href: fmt.Sprintf("/requests/%d", e.Number)}
	query, _ := url.QueryUnescape(e.Request.Query.Encode()) // it was just escaped
	r.Query = words.Shortened(prefixed("?", query), maxRowQuery)
	if date := words.Date(e.At); date != words.Date(time.Now()) {
		r.Date = date
	}
	if op := operation(e); op != r.Title {
		r.Op = op
	}
	return r
}

// isOf reports whether the row is that of a request, or of a call with it.
func (r Row) isOf(number int) bool {
	return r.Number == number || slices.ContainsFunc(r.Attempts, func(attempt Row) bool { return attempt.Number == number })
}

// Numbers returns the numbers of the earlier attempts.
func (r Row) Numbers() string {
	var numbers []string
	for _, attempt := range r.Attempts {
		numbers = append(numbers, strconv.Itoa(attempt.Number))
	}
	return strings.Join(numbers, " ")
}

// Sent returns how often the request was sent until this attempt.
func (r Row) Sent() int { return len(r.Attempts) + 1 }

// Duration returns how long the request took, if it took long: in memory, all others take no time.
func (r Row) Duration() string {
	if r.Took < 10*time.Millisecond {
		return ""
	}
	return took(r.Took)
}

// title returns what people look for: the subject of a broadcast, or the name of an event.
func title(e *history.Entry) string {
	if e.EventName == "" && e.Subject != "" && visible.IsBlank(e.Subject) {
		return "(blank subject)"
	}
	return cmp.Or(e.EventName, e.Subject, operation(e))
}

// icon returns what a request is for, as its row shows it.
func icon(e *history.Entry) string {
	switch op := service.Named(e.Op); {
	case op == nil:
		return "other"
	case op.IsRead():
		return "read"
	default:
		return map[*service.Operation]string{service.SendEmailBroadcast: "email", service.SendPushBroadcast: "push",
			service.TriggerEvent: "trigger", service.CreateEvent: "create"}[op]
	}
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
		t := ruleTag(n.Code)
		if n.Code == "skipped" {
			t.Text = fmt.Sprintf("%d skipped", len(e.Skipped))
		}
		list = append(list, t)
	}
	return append(list, replayTag(e)...)
}

func replayTag(e *history.Entry) []Tag {
	if e.ReplayOf == 0 {
		return nil
	}
	return []Tag{{"", fmt.Sprintf("replay of %d", e.ReplayOf)}}
}

// ruleTag is what a rule finds, in a few words.
func ruleTag(id string) Tag {
	switch id {
	case "foreign_key":
		return Tag{"bad", "wrong key"}
	case "duplicate":
		return Tag{"warn", "duplicate?"}
	case "sdk_refuses":
		return Tag{"warn", "the SDK refuses it"}
	}
	return Tag{"warn", strings.ReplaceAll(id, "_", " ")}
}

// failure returns why a request failed, in a line.
func failure(e *history.Entry) string {
	switch {
	case e.ForeignKey:
		return "the API key is not that of this sandbox"
	case e.Fault == "slow" && e.Status == 0:
		return "fault: slow, and the connection was closed"
	case e.Fault == "status":
		return fmt.Sprintf("fault: status %d", e.Status)
	case e.Fault != "" && (e.Fault != "slow" || e.Status < 400): // a fault that only delays a refusal is not its reason
		return "fault: " + kindName(e.Fault)
	case e.Status == 0:
		return "the client disconnected"
	case len(e.Problems) > 0:
		path := sortedKeys(e.Problems)[0]
		text := path + " " + e.Problems[path][0]
		if more := len(e.Problems) - 1; more > 0 {
			text += fmt.Sprintf(", and %d more", more)
		}
		return text
	case e.Status < 400:
		return ""
	case e.LacksKey():
		return e.Key()
	case e.Op == "":
		return cmp.Or(findings.RightOperation(e), "no operation has this method and path")
	case e.Status == http.StatusBadRequest && len(e.Request.Body) <= maxTitled:
		return bodyProblem(e.Request.Body)
	default:
		var body struct{ Message string }
		_ = json.Unmarshal(e.ResponseBody, &body) // another response has no message
		return body.Message
	}
}

// maxTitled is the size of the largest body that is read for a row. A page has many rows.
const maxTitled = 16 << 10

// about returns whom a request was for, or how much it created or listed.
func about(e *history.Entry) string {
	switch {
	case e.Kind == history.Event:
		return words.Count(e.Parameters, "parameter")
	case e.Op == service.TriggerEvent.Name:
		return joined(append(slices.Clone(e.Names), firstValues(e))...)
	}
	return prefixed("to ", recipients(e))
}

// firstValues returns some values of a trigger, which tell it from others of the same event and customer.
func firstValues(e *history.Entry) string {
	const most, longest = 2, 28
	if len(e.Request.Body) > maxTitled {
		return ""
	}
	payload := e.Object("payload")
	delete(payload, "email")
	delete(payload, "customer")
	var values []string
	for _, name := range sortedKeys(payload) {
		value := string(payload[name])
		if unquoted := ""; json.Unmarshal(payload[name], &unquoted) == nil {
			value = unquoted
		}
		if value != "" && len(values) < most {
			values = append(values, name+" "+words.Shortened(value, longest))
		}
	}
	return joined(values...)
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
	case len(e.Names) > 0:
		parts = append(parts, e.Names[0])
	case e.Named > 0:
		parts = append(parts, words.Count(e.Named, "customer"))
	}
	if e.SegmentCount > 0 {
		parts = append(parts, words.Count(e.SegmentCount, "segment"))
	}
	return strings.Join(parts, " and ")
}
