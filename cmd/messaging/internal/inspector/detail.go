package inspector

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/verdict"
	"github.com/messaging-go/messaging/messagingtest"
)

// entryDetail is what the detail of a request, a broadcast or a trigger shows.
type entryDetail struct {
	*history.Entry
	Title, Sub string
	Outcome    []tag
	Tabs       []tab
	Tab        string
	Notes      []note
	Facts      []fact

	Verdict  verdictView
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

// note is a remark with the class of its color.
type note struct{ Class, Text string }

type fact struct {
	Label  string
	Values []string
}

// verdictView is what package messaging tells the caller.
type verdictView struct {
	Tag        tag
	Error      string
	WhatToDo   string
	ShowAsRead bool
}

type exchangeSide struct {
	Header []headerLine
	Lines  []jsonLine // nil if the body is not JSON
	Text   string     // of a body that is not JSON
	Cut    int        // how many bytes are not shown
	Empty  bool
}

type headerLine struct{ Name, Value string }

type emailView struct {
	*messagingtest.EmailBroadcast
	HTML         bool
	RemoteImages int
	Links        []mail.Link
	Text         string
	Variables    []variable
	Undefined    []string // placeholders without a variable
}

type variable struct {
	Name, Value string
	Used        bool
}

type triggerView struct {
	EventNumber int
	Event       messaging.Event
	Parameters  []parameterView
	Customer    *messagingtest.CustomerChange
}

type parameterView struct {
	Name, Type string
	Required   bool
	Value      string // as it was sent, in JSON; "" if it was not
	Outcome    tag
	Skipped    bool
}

type diffView struct {
	Previous int
	Lines    []diffLine
	Same     bool
	TooLong  bool
}

// newDetail returns the detail of an entry with the selected tab. The base is
// the path of its list.
func (in *Inspector) newDetail(e *history.Entry, base, selected, query string) *entryDetail {
	d := &entryDetail{Entry: e, Title: operation(e), Outcome: tags(e), Verdict: newVerdict(e), Curl: curl(e)}
	d.Request = newSide(e.Request.Header, e.Request.Body, e.Problems)
	d.Response = newSide(e.ResponseHeader, e.ResponseBody, nil)
	d.Sub = fmt.Sprintf("Request %s · %s · %s", thousands(e.Number), e.At.Format("2 Jan 15:04:05.000"), took(e.Took))
	switch effect := e.Effect.(type) {
	case *messagingtest.EmailBroadcast:
		d.Title, d.Email, d.Audience = effect.Subject, newEmail(effect), effect.Recipients
		d.Sub = "E-mail broadcast to " + audience(effect.AllCustomers, effect.Recipients) + " · " + d.Sub
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

// newVerdict follows the table "Was it sent?" of the documentation.
func newVerdict(e *history.Entry) verdictView {
	v := verdict.Of(e.Exchange)
	view := verdictView{Tag: tag{"bad", v.Delivery.String()}, ShowAsRead: isRead(e)}
	if v.Err != nil {
		view.Error = v.Err.Error()
	}
	switch {
	case v.Err == nil:
		view.Tag.Class, view.WhatToDo = "ok", "Nothing: it was carried out."
		if isRead(e) {
			view.WhatToDo = "Nothing: the list was read."
		}
	case v.Delivery == messaging.DeliveryAccepted:
		view.Tag.Class, view.WhatToDo = "ok", "Nothing: it was carried out, although the response can't be read."
	case isRead(e) && v.Retryable:
		view.WhatToDo = "Read it again: a read changes nothing. The client does so by itself."
	case v.Delivery == messaging.DeliveryUnknown:
		view.Tag.Class = "unknown"
		view.WhatToDo = "Set it aside: it may have been carried out. The client does not send it again."
	case v.Retryable:
		view.WhatToDo = "Queue it again: nothing was done."
	case errors.Is(v.Err, messaging.ErrValidation):
		view.WhatToDo = "Fix the request: nothing was done."
	case errors.Is(v.Err, messaging.ErrUnauthorized), errors.Is(v.Err, messaging.ErrNotFound):
		view.WhatToDo = "Check the API key and the base URL: nothing was done."
	default:
		view.WhatToDo = "Read the message of the error: nothing was done."
	}
	return view
}

// notes are the remarks above the tabs.
func notes(d *entryDetail) (list []note) {
	add := func(class, format string, args ...any) {
		list = append(list, note{class, fmt.Sprintf(format, args...)})
	}
	if d.ForeignKey {
		add("bad", "A foreign key was sent here. Some configuration points at the sandbox with the key of another service. "+
			"The key was not recorded; if it is a real one, replace it.")
	}
	switch {
	case d.Fault == "answer_lost":
		add("unknown", "A fault closed the connection after the request was carried out. The caller can't know that.")
	case d.Fault == "slow" && d.Status == 0:
		add("unknown", "A fault delayed the request until the client gave up. It was carried out.")
	case d.Fault == "malformed":
		add("unknown", "A fault replaced the response. The request was carried out.")
	case d.Fault == "slow":
		add("warn", "A fault delayed the response.")
	case d.Fault != "":
		add("bad", "A fault made this response. The request was not carried out.")
	}
	if n := len(d.Skipped); n > 0 {
		add("warn", "%s skipped. The response says success, and the event was triggered without.", plural(n, "value")+" "+was(n))
	}
	if d.Email != nil {
		for _, name := range d.Email.Undefined {
			add("warn", "{{%s}} has no variable. What the service makes of it is not documented.", name)
		}
	}
	if len(d.Problems) > 0 {
		add("bad", "%s in the request; see the marked lines.", plural(len(d.Problems), "problem"))
	}
	return list
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
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

func newEmail(b *messagingtest.EmailBroadcast) *emailView {
	view := &emailView{EmailBroadcast: b, HTML: mail.IsHTML(b.Message), RemoteImages: mail.RemoteImages(b.Message),
		Links: mail.Links(b.Message), Text: mail.Text(b.Message)}
	used := mail.Placeholders(b.Subject, b.Message)
	for _, name := range sortedKeys(b.Variables) {
		value, err := json.Marshal(b.Variables[name])
		if err != nil {
			value = []byte(err.Error())
		}
		view.Variables = append(view.Variables, variable{name, string(value), slices.Contains(used, name)})
	}
	for _, name := range used {
		if _, ok := b.Variables[name]; !ok {
			view.Undefined = append(view.Undefined, name)
		}
	}
	return view
}

func emailFacts(b *messagingtest.EmailBroadcast) []fact {
	return []fact{
		{"From", []string{b.SenderName + " <" + b.SenderEmail + ">"}},
		{"To", []string{b.Email}},
		{"Cc", b.CC}, {"Bcc", b.BCC}, {"Reply to", b.ReplyTo},
		{"Message type", []string{b.MessageType}},
		{"Template", []string{b.TemplateID}}, {"E-mail template", []string{b.EmailTemplateID}},
		schedule(b.Schedule),
	}
}

func schedule(s *messaging.Schedule) fact {
	if s == nil {
		return fact{"Schedule", []string{"immediately"}}
	}
	return fact{"Schedule", []string{s.Date, s.Timezone, "recorded now, not when it is due"}}
}

// effectFacts tells which customers a request created or updated.
func effectFacts(e *history.Entry) []fact {
	created := 0
	for _, c := range e.Customers {
		if c.Created {
			created++
		}
	}
	var parts []string
	if created > 0 {
		parts = append(parts, thousands(created)+" created")
	}
	if updated := len(e.Customers) - created; updated > 0 {
		parts = append(parts, thousands(updated)+" updated")
	}
	return []fact{{"Customers", []string{strings.Join(parts, ", ")}}}
}

func (in *Inspector) newTrigger(e *history.Entry, t *messagingtest.Trigger) *triggerView {
	view := &triggerView{Event: messaging.Event{ID: t.EventID, Name: t.EventName}}
	if event, ok := in.box.Event(t.EventID); ok {
		view.EventNumber, view.Event = event.Number, event.Record
	}
	if len(e.Customers) > 0 {
		view.Customer = &e.Customers[0]
	}
	payload := e.Payload()
	for _, p := range view.Event.Parameters {
		view.Parameters = append(view.Parameters, newParameter(p, payload[p.Name], t))
		delete(payload, p.Name)
	}
	for _, name := range sortedKeys(payload) {
		if name == "email" || name == "customer" {
			continue
		}
		view.Parameters = append(view.Parameters, parameterView{Name: name, Type: "unknown", Value: string(payload[name]),
			Outcome: tag{"warn", "not a parameter of the event"}})
	}
	return view
}

func newParameter(p messaging.EventParameter, value json.RawMessage, t *messagingtest.Trigger) parameterView {
	view := parameterView{Name: p.Name, Type: string(p.Type), Required: p.Required, Value: string(value),
		Skipped: slices.Contains(t.Skipped, p.Name)}
	switch {
	case view.Skipped:
		view.Outcome = tag{"bad", "skipped"}
	case len(value) == 0 || string(value) == "null":
		view.Value, view.Outcome = "", tag{"", "not sent"}
	default:
		view.Outcome = tag{"ok", "read"}
	}
	return view
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
