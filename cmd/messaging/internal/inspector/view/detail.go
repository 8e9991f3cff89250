package view

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/messaging-go/messaging"
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
	Tag        Tag
	Notes      []note
	Facts      []fact
	Outcome    outcomeView
	Tabs       []tab
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
	Action      bool // whether it does something with the request, beside the others

	view func() any
}

type fact struct {
	Label  string
	Values []string
	Href   string
}

// NewDetail returns the detail of an entry with the tab that a query selects.
func NewDetail(box *sandbox.Sandbox, e *history.Entry, query url.Values) *Detail {
	urlOf := func(tab string) string { return pathOf(e.Number) + QueryString("q", query.Get("q"), "tab", tab) }
	d := &Detail{Entry: e, Title: title(e), Tag: OutcomeTag(e), Outcome: newOutcome(e),
		Sub: subtitle(e), Notes: notesOf(e, urlOf("exchange"))}
	email, push := e.Broadcast()
	d.Facts = factsOf(box, e, email, push)
	if email != nil && len(email.Params.Message) > maxShown {
		d.Large = humanize.Bytes(uint64(len(email.Params.Message)))
	}
	d.Tabs = tabsOf(box, e, email, push)
	current := max(0, slices.IndexFunc(d.Tabs, func(t tab) bool { return t.Name == query.Get("tab") }))
	for i := range d.Tabs {
		d.Tabs[i].Href, d.Tabs[i].Current = urlOf(d.Tabs[i].Name), i == current
	}
	d.Tab, d.View = d.Tabs[current].Name, d.Tabs[current].view()
	return d
}

// subtitle returns the line below the title, which does not repeat it.
func subtitle(e *history.Entry) string {
	what := e.Request.Method + " " + e.Request.Path
	switch title(e) {
	case what:
		what = ""
	case operation(e):
	default:
		what = operation(e)
	}
	return joined(about(e), what, "request "+words.Thousands(e.Number), words.Recent(e.At)+e.At.Format(".000"), took(e.Took))
}

// tabsOf returns the tabs that show what was sent, and the one that sends it again.
func tabsOf(box *sandbox.Sandbox, e *history.Entry, email *fake.EmailBroadcast, push *fake.PushBroadcast) (list []tab) {
	add := func(name, label string, count int, view func() any) {
		list = append(list, tab{Name: name, Label: label, Count: count, view: view})
	}
	if email != nil {
		head := mailHead(email.Params.Message)
		add("preview", "Preview", 0, func() any { return preview{e.Number, mail.IsHTML(head), mail.IsFixed(head), mail.RemoteImages(head)} })
		add("source", "Source", 0, func() any { return Snippet{"Message as it was sent", cut(email.Params.Message)} })
		add("text", "Text", 0, func() any { return cut(mail.Text(head)) })
	}
	if push != nil {
		add("preview", "Preview", 0, func() any { return push.Params })
	}
	if email != nil || push != nil {
		add("audience", "Audience", 0, func() any { return nil })
	}
	if e.Kind == history.Trigger {
		sent := parameters(e, box.Records)
		add("parameters", "Parameters", len(sent), func() any { return sent })
	}
	return append(list,
		tab{Name: "exchange", Label: "Request", Rest: " & response", view: func() any { return newExchange(e) }},
		tab{Name: "again", Label: "Send again", Action: true,
			view: func() any { return Snippet{"Copy as curl", copies.Curl(e.Request, bodyPath(e))} }})
}

// pathOf is the path of the page of a request.
func pathOf(number int) string { return fmt.Sprintf("/requests/%d", number) }

// bodyPath is the path of the whole body of a request.
func bodyPath(e *history.Entry) string { return fmt.Sprintf("/api/requests/%d/body", e.Number) }

// factsOf returns what stands beside the view.
func factsOf(box *sandbox.Sandbox, e *history.Entry, email *fake.EmailBroadcast, push *fake.PushBroadcast) (list []fact) {
	add := func(label, href string, values ...string) {
		if strings.Join(values, "") != "" {
			list = append(list, fact{label, values, href})
		}
	}
	if email != nil {
		add("Schedule", "", schedule(email.Params.Schedule)...)
		add("From", "", email.Params.SenderName+" <"+email.Params.SenderEmail+">")
		add("Also to", "", email.Params.Email)
		add("Cc", "", email.Params.CC...)
		add("Bcc", "", email.Params.BCC...)
		add("Reply to", "", email.Params.ReplyTo...)
		add("Message type", "", email.Params.MessageType)
		add("Template", "", email.Params.TemplateID)
		add("Email template", "", email.Params.EmailTemplateID)
	}
	if push != nil {
		add("Schedule", "", schedule(push.Params.Schedule)...)
		add("WhatsApp template", "", push.Params.WhatsAppTemplateID)
	}
	add("Sent by", "", e.Request.Header.Get("User-Agent"))
	if event, ok := box.Records.All(records.Events).Find(func(r records.Record) bool { return r.ID() == e.EventID }); ok {
		add("Event", fmt.Sprintf("/events/%d", event.Number), event.Texts()[0])
	}
	if e.Op == service.TriggerEvent.Name {
		switch {
		case len(e.Changes) > 0:
			add("Customer", fmt.Sprintf("/customers/%d", e.Changes[0].Number), cmp.Or(e.Changes[0].Email, e.Changes[0].CustomerID))
		case len(e.Names) > 0:
			add("Customer", "/"+QueryString("q", recipientSearch(e.Names[0])), e.Names[0])
		}
	}
	return list
}

func schedule(s *messaging.Schedule) []string {
	if s == nil {
		return []string{"immediately"}
	}
	return []string{s.Date, s.Timezone, "recorded now, not when it is due"}
}

// Unshown returns how many customers the request created or updated that are not shown.
func (d *Detail) Unshown() int { return d.Created + d.Updated - len(d.Changes) }
