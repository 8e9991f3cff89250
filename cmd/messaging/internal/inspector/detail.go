package inspector

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/messagingtest"
)

// entryDetail is what the detail of a request, a broadcast or a trigger shows.
type entryDetail struct {
	*history.Entry
	Title, Sub string
	Tags       []tag
	Tabs       []tab
	Tab        string
	Notes      []note
	Facts      []fact

	Outcome  outcomeView
	Email    *emailView
	Push     *messagingtest.PushBroadcast
	Trigger  *triggerView
	Audience []messaging.Recipient
	Request  exchangeSide
	Response exchangeSide
	Diff     *diffView
	Curl     string
}

type tab struct {
	Name, Label string
	Count       int
	Href        string
	Current     bool
}

type fact struct {
	Label  string
	Values []string
}

type exchangeSide struct {
	Header []headerLine
	Lines  []jsonLine // nil if the body is not JSON
	Text   string     // of a body that is not JSON
	Cut    int        // how many bytes are not shown
	Empty  bool
}

type headerLine struct{ Name, Value string }

type diffView struct {
	Previous int
	Lines    []diffLine
	Same     bool
	TooLong  bool
}

// newDetail returns the detail of an entry with the selected tab. The base is
// the path of its list.
func (in *Inspector) newDetail(e *history.Entry, base, selected, query string) *entryDetail {
	d := &entryDetail{Entry: e, Title: operation(e), Tags: tags(e), Outcome: newOutcome(e), Curl: curl(e)}
	d.Request = newSide(e.Request.Header, e.Request.Body, e.Problems)
	d.Response = newSide(e.ResponseHeader, e.ResponseBody, nil)
	d.Sub = fmt.Sprintf("Request %s · %s · %s", words.Thousands(e.Number), e.At.Format("2 Jan 15:04:05.000"), took(e.Took))
	switch effect := e.Effect.(type) {
	case *messagingtest.EmailBroadcast:
		d.Title, d.Email, d.Audience = effect.Subject, newEmail(effect), effect.Recipients
		d.Sub = "Email broadcast to " + audience(effect.AllCustomers, effect.Recipients) + " · " + d.Sub
		d.Facts = emailFacts(effect)
	case *messagingtest.PushBroadcast:
		d.Title, d.Push, d.Audience = effect.Subject, effect, effect.Recipients
		d.Sub = "Push broadcast to " + audience(effect.AllCustomers, effect.Recipients) + " · " + d.Sub
		d.Facts = []fact{schedule(effect.Schedule), {"WhatsApp template", []string{effect.WhatsAppTemplateID}}}
	case *messagingtest.Trigger:
		d.Title, d.Trigger = effect.EventName, in.newTrigger(e, effect)
		d.Sub = "Triggered for " + who(effect) + " · " + d.Sub
	}
	d.Notes = notes(d)
	d.Facts = slices.DeleteFunc(append(d.Facts, effectFacts(e)...), func(f fact) bool { return strings.Join(f.Values, "") == "" })
	d.Tabs, d.Tab = tabs(d, base, selected, query)
	if d.Tab == "diff" {
		d.Diff = in.newDiff(e)
	}
	return d
}

// tabs returns the tabs of a detail, and the name of the current one.
func tabs(d *entryDetail, base, selected, query string) (list []tab, current string) {
	add := func(name, label string, count int) { list = append(list, tab{Name: name, Label: label, Count: count}) }
	if d.Email != nil {
		add("preview", "Preview", 0)
		add("source", "Source", 0)
		add("text", "Text", 0)
		add("variables", "Variables", len(d.Email.Variables)+len(d.Email.Undefined))
		add("links", "Links", len(d.Email.Links))
	}
	if d.Push != nil {
		add("preview", "Preview", 0)
	}
	if d.Email != nil || d.Push != nil {
		add("audience", "Audience", 0)
	}
	if d.Trigger != nil {
		add("parameters", "Parameters", len(d.Trigger.Parameters))
	}
	add("exchange", "Request & response", 0)
	add("diff", "Diff", 0)
	current = list[0].Name
	if slices.ContainsFunc(list, func(t tab) bool { return t.Name == selected }) {
		current = selected
	}
	for i := range list {
		list[i].Current = list[i].Name == current
		list[i].Href = fmt.Sprintf("%s/%d%s", base, d.Number, queryString("q", query, "tab", list[i].Name))
	}
	return list, current
}

// queryString returns the query of a URL without empty values.
func queryString(namesAndValues ...string) string {
	var parts []string
	for i := 0; i < len(namesAndValues); i += 2 {
		if value := namesAndValues[i+1]; value != "" {
			parts = append(parts, namesAndValues[i]+"="+template.URLQueryEscaper(value))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}

func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

func newSide(header http.Header, body []byte, problems map[string][]string) exchangeSide {
	side := exchangeSide{Empty: len(body) == 0}
	for _, name := range sortedKeys(header) {
		side.Header = append(side.Header, headerLine{name, strings.Join(header[name], ", ")})
	}
	lines, ok := jsonLines(body, problems)
	if ok {
		side.Lines = lines
		return side
	}
	if len(body) > maxShown {
		side.Cut = len(body) - maxShown
		body = body[:maxShown]
	}
	side.Text = strings.ToValidUTF8(string(body), string(utf8.RuneError))
	return side
}

// newDiff compares the body of a request with the previous one of the same
// operation.
func (in *Inspector) newDiff(e *history.Entry) *diffView {
	var query history.Query
	found, _ := in.box.History.Find(query.And(func(other *history.Entry) bool {
		return other.Op == e.Op && other.Request.Path == e.Request.Path && other.Request.Method == e.Request.Method
	}), e.Number, 1)
	if len(found) == 0 {
		return &diffView{}
	}
	lines, ok := diff(requestLines(found[0]), requestLines(e))
	same := !slices.ContainsFunc(lines, func(l diffLine) bool { return l.Sign != " " })
	return &diffView{Previous: found[0].Number, Lines: lines, Same: same && ok, TooLong: !ok}
}

// requestLines returns the query and the body of a request as lines.
func requestLines(e *history.Entry) (lines []string) {
	for _, name := range sortedKeys(e.Request.Query) {
		lines = append(lines, name+" = "+strings.Join(e.Request.Query[name], ", "))
	}
	body, ok := jsonLines(e.Request.Body, nil)
	if !ok {
		return append(lines, strings.Split(strings.ToValidUTF8(string(e.Request.Body), string(utf8.RuneError)), "\n")...)
	}
	for _, line := range body {
		lines = append(lines, line.Indent+line.Text())
	}
	return lines
}
