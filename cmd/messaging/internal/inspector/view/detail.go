package view

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Detail is what the page of a request shows.
type Detail struct {
	*history.Entry
	Title, Sub string
	Tags       []Tag
	Notes      []note
	Facts      []fact
	Outcome    outcomeView
	Attempts   []Row  // of a call, in their order, if there are several
	Again      string // which of them the request is
	Tabs       []tab
	Actions    []tab // what is done with the request, beside the tabs
	Tab        string
	View       any    // what the tab shows
	Large      string // the size of a message of which only the beginning is read, or ""
}

// tab is a tab of a detail. Only the view of the current one is made.
type tab struct {
	Name, Label string
	Rest        string // of the label, where there is room
	Count       int
	Href        string
	Current     bool

	view func() any
}

type fact struct {
	Label  string
	Values []string
	Href   string
}

// NewDetail returns the detail of an entry with the tab that a query selects.
func NewDetail(box *sandbox.Sandbox, e *history.Entry, query url.Values) *Detail {
	path := fmt.Sprintf("/requests/%d", e.Number)
	urlOf := func(tab string) string { return path + QueryString("q", query.Get("q"), "tab", tab) }
	d := &Detail{Entry: e, Title: title(e), Tags: append([]Tag{OutcomeTag(e)}, replayTag(e)...), Outcome: newOutcome(e),
		Sub: subtitle(e), Notes: notesOf(e, path, urlOf("exchange"))}
	d.Attempts, d.Again = attemptsOf(box.History, e)
	email, push := e.Broadcast()
	d.Facts = factsOf(box, e, email, push)
	if email != nil && len(email.Message) > maxMail {
		d.Large = words.Size(len(email.Message))
	}
	d.Tabs = viewTabs(box, e, email, push)
	d.Actions = actionTabs(box, e, query)
	d.Tab = d.Tabs[0].Name
	isSelected := func(t tab) bool { return t.Name == query.Get("tab") }
	if slices.ContainsFunc(d.Tabs, isSelected) || slices.ContainsFunc(d.Actions, isSelected) {
		d.Tab = query.Get("tab")
	}
	for _, list := range [][]tab{d.Tabs, d.Actions} {
		for i := range list {
			if list[i].Href = urlOf(list[i].Name); list[i].Name == d.Tab {
				list[i].Current, d.View = true, list[i].view()
			}
		}
	}
	return d
}

// subtitle returns the line below the title.
func subtitle(e *history.Entry) string {
	what, to := operation(e), ""
	switch {
	case what != title(e):
	case e.Op == "":
		what = ""
	default:
		what = e.Request.Method + " " + e.Request.Path
	}
	switch {
	case e.Kind == history.Trigger:
		to = prefixed("For ", strings.Join(e.Names, ""))
	case e.Op == service.SendEmailBroadcast.Name, e.Op == service.SendPushBroadcast.Name:
		to = prefixed("To ", recipients(e))
	}
	return joined(to, what, "request "+words.Thousands(e.Number), words.Recent(e.At)+e.At.Format(".000"), took(e.Took))
}

// viewTabs returns the tabs that show what was sent.
func viewTabs(box *sandbox.Sandbox, e *history.Entry, email *fake.EmailBroadcast, push *fake.PushBroadcast) (list []tab) {
	add := func(name, label string, count int, view func() any) {
		list = append(list, tab{Name: name, Label: label, Count: count, view: view})
	}
	if email != nil {
		head := MailHead(email.Message)
		check := mail.Check(head, len(email.Message))
		add("preview", "Preview", 0, func() any { return newPreview(e.Number, email.Message) })
		add("source", "Source", 0, func() any { return newSource(email.Message) })
		add("text", "Text", 0, func() any { return cut(mail.Text(head)) })
		add("check", "Check", len(check), func() any { return check })
	}
	if push != nil {
		add("preview", "Preview", 0, func() any { return push })
	}
	if email != nil || push != nil {
		add("audience", "Audience", 0, func() any { return nil })
	}
	if e.Kind == history.Trigger {
		sent := parameters(e, box.Records)
		add("parameters", "Parameters", len(sent), func() any { return sent })
	}
	return append(list, tab{Name: "exchange", Label: "Request", Rest: " & response", view: func() any { return newExchange(e) }})
}

// actionTabs returns the tabs of what is done with a request.
func actionTabs(box *sandbox.Sandbox, e *history.Entry, query url.Values) []tab {
	with, _ := strconv.Atoi(query.Get("with")) // what is not a number is the previous request
	list := []tab{{Name: "diff", Label: "Compare", view: func() any { return compare(box.History, e, with) }},
		{Name: "copy", Label: "Copy", view: func() any {
			return newCopies(e)
		}}}
	if e.Op != "" {
		list = append(list, tab{Name: "replay", Label: "Replay", view: func() any { return newReplay(e) }})
	}
	return list
}

func newCopies(e *history.Entry) []Snippet {
	list := []Snippet{{"curl", copies.Curl(e.Request, bodyPath(e))}}
	if op := service.Named(e.Op); op != nil && !op.IsRead() {
		list = append(list, Snippet{"Go", copies.Go(e.Op, e.Request.Body)})
	}
	return list
}

// bodyPath is the path of the whole body of a request.
func bodyPath(e *history.Entry) string { return fmt.Sprintf("/api/requests/%d/body", e.Number) }

// attemptsOf returns the attempts of the call of a request, in their order, and which of them
// it is. There are none if there is one.
func attemptsOf(store *history.Store, e *history.Entry) (list []Row, again string) {
	earlier, later := store.Attempts(e), store.Later(e)
	if len(earlier)+len(later) == 0 {
		return nil, ""
	}
	slices.Reverse(earlier)
	for _, each := range slices.Concat(earlier, []*history.Entry{e}, later) {
		row := NewRow(each)
		row.Current = each == e
		list = append(list, row)
	}
	return list, fmt.Sprintf("Looks like attempt %s of %s:", words.Thousands(e.Attempt), words.Thousands(e.Attempt+len(later)))
}

// factsOf returns what stands beside the view.
func factsOf(box *sandbox.Sandbox, e *history.Entry, email *fake.EmailBroadcast, push *fake.PushBroadcast) (list []fact) {
	add := func(label, href string, values ...string) {
		if strings.Join(values, "") != "" {
			list = append(list, fact{label, values, href})
		}
	}
	if email != nil {
		add("Schedule", "", schedule(email.Schedule)...)
		add("From", "", email.SenderName+" <"+email.SenderEmail+">")
		add("Also to", "", email.Email)
		add("Cc", "", email.CC...)
		add("Bcc", "", email.BCC...)
		add("Reply to", "", email.ReplyTo...)
		add("Message type", "", email.MessageType)
		add("Template", "", email.TemplateID)
		add("Email template", "", email.EmailTemplateID)
	}
	if push != nil {
		add("Schedule", "", schedule(push.Schedule)...)
		add("WhatsApp template", "", push.WhatsAppTemplateID)
	}
	add("Sent by", "", e.Request.Header.Get("User-Agent"))
	add("Customers", "", changes(e))
	if event, ok := box.Records.All(records.Events).Find(func(r records.Record) bool { return r.ID() == e.EventID }); ok {
		add("Event", fmt.Sprintf("/events/%d", event.Number), event.Texts()[0])
	}
	if e.Op == service.TriggerEvent.Name {
		switch {
		case len(e.Changes) > 0:
			add("Customer", fmt.Sprintf("/customers/%d", e.Changes[0].Number), customerName(e.Changes[0]))
		case len(e.Names) > 0:
			add("Customer", "/"+QueryString("q", recipientSearch(e.Names[0])), e.Names[0])
		}
	}
	add("Fault", "", kindName(e.Fault))
	return list
}

func schedule(s *fake.Schedule) []string {
	if s == nil {
		return []string{"immediately"}
	}
	return []string{s.Date, s.Timezone, "recorded now, not when it is due"}
}

// changes returns how many customers a request created or updated.
func changes(e *history.Entry) string {
	var parts []string
	if e.Created > 0 {
		parts = append(parts, words.Thousands(e.Created)+" created")
	}
	if e.Updated > 0 {
		parts = append(parts, words.Thousands(e.Updated)+" updated")
	}
	return strings.Join(parts, ", ")
}

// Unshown returns how many customers the request created or updated that are not shown.
func (d *Detail) Unshown() int { return d.Created + d.Updated - len(d.Changes) }
