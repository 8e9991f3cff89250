package inspector

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// row is a line of the list of requests, broadcasts or triggers.
type row struct {
	Number   int
	At       string // for programs
	Date     string // unless it is today, or a line has it
	Time     string
	Millis   string
	Kind     string // of the operation
	Title    string // what people look for
	End      string // of a long path, which a narrow row keeps, or ""
	Failure  string // why it failed
	Op, Who  string
	Query    string // of the URL, cut
	Took     string
	Outcome  tag
	Badges   []tag // what else is to be said
	Href     string
	Current  bool
	Attempts []row // the same request before, latest first, where it looks like a retry
	Later    int   // how many attempts after it a search does not find
	// Begins is the mark after which the row is the first of the list, or nil.
	Begins *markLine
	// Next is the date of the older row, if that is another one.
	Next string
}

// markLine is a line below the first row after a mark.
type markLine struct {
	ID         int
	Name, Time string // the name may be empty
}

// divide adds the lines between rows, which are those of the entries: marks and dates.
func (in *Inspector) divide(rows []row, entries []*history.Entry, q history.Query) {
	for i, e := range entries {
		var older *history.Entry
		if i+1 < len(entries) {
			older = entries[i+1]
		} else if found, _ := in.box.History.Find(q, e.Number, 1); len(found) > 0 {
			older = found[0]
		}
		if e.Mark != nil && (older == nil || older.Mark != e.Mark) {
			rows[i].Begins = &markLine{e.Mark.ID, e.Mark.Name, words.Clock(e.Mark.At)}
		}
		if older != nil && words.Date(older.At) != words.Date(e.At) {
			rows[i].Next = words.Date(older.At)
		}
		rows[i].Date = ""
	}
}

// tag is an outcome in words. Its class gives it its color.
type tag struct{ Class, Text string }

// maxPathEnd is how many characters at the end of a path are never cut off, since paths often begin alike.
const maxPathEnd = 10

// maxRowQuery is how many characters of a query are in a row.
const maxRowQuery = 60

func newRow(e *history.Entry) row {
	r := row{Number: e.Number, At: e.At.Format(time.RFC3339), Time: words.Clock(e.At), Millis: e.At.Format(".000"), Kind: kind(e),
		Title:   title(e),
		Failure: failure(e), Who: about(e), Took: noticeable(e.Took), Outcome: outcomeTag(e), Badges: badges(e),
		Query: readableQuery(e, maxRowQuery)}
	if date := words.Date(e.At); date != words.Date(time.Now()) {
		r.Date = date
	}
	if op := operation(e); op != r.Title {
		r.Op = op
	}
	if runes := []rune(r.Title); e.Op == "" && len(runes) > 2*maxPathEnd {
		at := len(runes) - maxPathEnd
		r.Title, r.End = string(runes[:at]), string(runes[at:])
	}
	return r
}

// isOf reports whether the row is that of a request, or of a call with it.
func (r row) isOf(number int) bool {
	return r.Number == number || slices.ContainsFunc(r.Attempts, func(attempt row) bool { return attempt.Number == number })
}

// Numbers returns the numbers of the earlier attempts.
func (r row) Numbers() string {
	var numbers []string
	for _, attempt := range r.Attempts {
		numbers = append(numbers, strconv.Itoa(attempt.Number))
	}
	return strings.Join(numbers, " ")
}

// sign is a badge or a mark as a row shows it.
type sign struct {
	Class, Text, Title string
	Folded             bool // whether a narrow row leaves it out
}

// signs are those of a row.
type signs []sign

// Signs returns the badges and the marks, those that are suspicious first.
func (r row) Signs() (list signs) {
	var neutral signs
	for _, badge := range r.Badges {
		s := sign{Class: badge.Class, Text: badge.Text, Title: badge.Text}
		if s.Class == "" {
			neutral = append(neutral, s)
		} else {
			list = append(list, s)
		}
	}
	list = append(list, neutral...)
	for i := range list {
		list[i].Folded = i > 0
	}
	return list
}

// More returns the sign for those that a narrow row leaves out, or nil.
func (list signs) More() *sign {
	if len(list) < 2 {
		return nil
	}
	more := sign{Class: list[1].Class, Text: fmt.Sprintf("+%d", len(list)-1)}
	for _, each := range list[1:] {
		more.Title += each.Text + "\n"
	}
	return &more
}

// Sent returns how often the request was sent until this attempt.
func (r row) Sent() int { return len(r.Attempts) + 1 }

// Tries says how often the request was sent, if that was more than once.
func (r row) Tries() string {
	switch {
	case r.Later > 0:
		return fmt.Sprintf("%s of %s attempts", words.Thousands(r.Sent()), words.Thousands(r.Sent()+r.Later))
	case r.Sent() > 1:
		return words.Thousands(r.Sent()) + " attempts"
	default:
		return ""
	}
}

// title returns what people look for: the subject of a broadcast, or the name of an event.
func title(e *history.Entry) string {
	if e.EventName != "" {
		return e.EventName
	}
	if e.Subject != "" && visible.IsBlank(e.Subject) {
		return "(blank subject)"
	}
	return cmp.Or(e.Subject, operation(e))
}

// kind returns what a request is for, as the icon of its row shows it.
func kind(e *history.Entry) string {
	switch e.Op {
	case service.SendEmailBroadcast.Name:
		return "email"
	case service.SendPushBroadcast.Name:
		return "push"
	case service.TriggerEvent.Name:
		return "trigger"
	case service.CreateEvent.Name:
		return "create"
	case "":
		return "other"
	default:
		return "read"
	}
}

// operation returns the name of the operation as a heading.
func operation(e *history.Entry) string {
	if e.Op == "" {
		return e.Request.Method + " " + e.Request.Path
	}
	return capitalized(e.Op)
}

func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func isRead(e *history.Entry) bool { return e.IsRead() }

// tags are the outcome of a request, and whether it is a replay. Notes say the rest.
func tags(e *history.Entry) []tag { return append([]tag{outcomeTag(e)}, replayTags(e)...) }

func replayTags(e *history.Entry) []tag {
	if e.ReplayOf == 0 {
		return nil
	}
	return []tag{{"", fmt.Sprintf("replay of %d", e.ReplayOf)}}
}

func badges(e *history.Entry) (list []tag) {
	for _, n := range e.Notes() {
		list = append(list, noteTag(e, n))
	}
	return append(list, replayTags(e)...)
}

// noteTag is a note in a few words.
func noteTag(e *history.Entry, n history.Note) tag {
	switch n.Code {
	case "foreign_key":
		return tag{"bad", "wrong key"}
	case "skipped":
		return tag{"warn", fmt.Sprintf("%d skipped", len(e.Skipped))}
	case "duplicate":
		return tag{"warn", "duplicate?"}
	case "sdk_refuses":
		return tag{"warn", "the SDK refuses it"}
	}
	return tag{"warn", strings.ReplaceAll(n.Code, "_", " ")}
}

// outcomeTag returns what the SDK reports, in a word.
func outcomeTag(e *history.Entry) tag {
	switch delivery, _ := e.Delivery(); {
	case delivery == messaging.DeliveryAccepted:
		return tag{"ok", "accepted"}
	case delivery == messaging.DeliveryRejected:
		return tag{"bad", fmt.Sprintf("%d rejected", e.Status)}
	case e.Status < 300: // no response, or one that says nothing although its status does
		return tag{"unknown", "unknown"}
	default:
		return tag{"unknown", fmt.Sprintf("%d unknown", e.Status)}
	}
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
	case e.Fault != "" && !isOnlyDelayed(e):
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
	case lacksKey(e):
		return keyFailure(e.Key())
	case e.Op == "":
		return cmp.Or(findings.RightOperation(e), "no operation has this method and path")
	case e.Status == http.StatusBadRequest && len(e.Request.Body) <= maxTitled:
		return bodyProblem(e.Request.Body)
	case e.Status >= 400:
		return messageOf(e.ResponseBody)
	case e.Fault != "":
		return "fault: " + kindName(e.Fault)
	default:
		return ""
	}
}

// isOnlyDelayed reports whether a fault delayed the response, and did nothing else: the request was refused for another
// reason.
func isOnlyDelayed(e *history.Entry) bool { return e.Fault == "slow" && e.Status >= 400 }

// about returns whom a request was for, or how much it created or listed.
func about(e *history.Entry) string {
	switch {
	case e.Kind == history.Event:
		return words.Count(e.Parameters, "parameter")
	case isRead(e) && e.Status == http.StatusOK:
		return listed(e)
	case requestsTrigger(e):
		return joined(append(slices.Clone(e.Names), firstValues(e))...)
	}
	return prefixed("to ", recipients(e, 1))
}

// firstValues returns some values of a trigger, which tell it from others of the same event and
// customer. Those that were skipped come first.
func firstValues(e *history.Entry) string {
	const most, longest = 2, 28
	if len(e.Request.Body) > maxTitled {
		return ""
	}
	payload := e.Payload()
	names := slices.DeleteFunc(sortedKeys(payload), func(name string) bool { return name == "email" || name == "customer" })
	isRead := func(name string) int {
		if e.Skips(name) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(names, func(a, b string) int { return isRead(a) - isRead(b) })
	var values []string
	for _, name := range names {
		value := string(payload[name])
		if unquoted := ""; json.Unmarshal(payload[name], &unquoted) == nil {
			value = unquoted
		}
		if runes := []rune(value); len(runes) > longest {
			value = strings.TrimSpace(string(runes[:longest-1])) + "…"
		}
		if value != "" && len(values) < most {
			values = append(values, name+" "+value)
		}
	}
	return joined(values...)
}

// prefixed returns a text with what is before it, unless it is empty.
func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// joined returns the texts that are not empty, with points between them.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), " · ")
}

// recipients returns who a broadcast goes to, with the first customers by name. A segment has no size, because the
// service does not return it.
func recipients(e *history.Entry, most int) string {
	names := e.Names[:min(len(e.Names), most)]
	if e.Everyone || len(names) == 0 {
		return describeAudience(e.Everyone, e.Named, e.SegmentCount)
	}
	text := strings.Join(names, ", ")
	if more := e.Named - len(names); more > 0 {
		text += " +" + words.Thousands(more)
	}
	if e.SegmentCount > 0 {
		text += " and " + words.Count(e.SegmentCount, "segment")
	}
	return text
}

func describeAudience(all bool, customers, segments int) string {
	if all {
		return "all customers"
	}
	var parts []string
	if customers > 0 {
		parts = append(parts, words.Count(customers, "customer"))
	}
	if segments > 0 {
		parts = append(parts, words.Count(segments, "segment"))
	}
	return strings.Join(parts, " and ")
}

// listed returns the size of a page, from its response.
func listed(e *history.Entry) string {
	type page struct {
		Data json.RawMessage
		Meta struct {
			HasNext bool `json:"has_next_page"`
			HasPrev bool `json:"has_prev_page"`
		}
	}
	var body page
	if len(e.ResponseBody) > maxShown || json.Unmarshal(e.ResponseBody, &body) != nil {
		return ""
	}
	if len(body.Data) > 0 && body.Data[0] == '{' { // customers: the page is one level deeper
		var inner page
		if json.Unmarshal(body.Data, &inner) != nil {
			return ""
		}
		body = inner
	}
	var rows []json.RawMessage
	if json.Unmarshal(body.Data, &rows) != nil {
		return ""
	}
	text := words.Count(len(rows), "row")
	if body.Meta.HasNext {
		text += ", more follow"
	} else if body.Meta.HasPrev {
		text += ", the last page"
	}
	return text
}

// messageOf returns the message of an error response.
func messageOf(response []byte) string {
	var body struct{ Message string }
	_ = json.Unmarshal(response, &body) // another response has no message
	return body.Message
}

// maxTitled is the size of the largest body that is read for a row. A page has many rows.
const maxTitled = 16 << 10
