package inspector

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/messagingtest"
)

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
		{"Template", []string{b.TemplateID}}, {"Email template", []string{b.EmailTemplateID}},
		schedule(b.Schedule),
	}
}

func schedule(s *messaging.Schedule) fact {
	if s == nil {
		return fact{"Schedule", []string{"immediately"}}
	}
	return fact{"Schedule", []string{s.Date, s.Timezone, "recorded now, not when it is due"}}
}

// effectFacts returns how many customers a request created or updated.
func effectFacts(e *history.Entry) []fact {
	created := 0
	for _, c := range e.Customers {
		if c.Created {
			created++
		}
	}
	var parts []string
	if created > 0 {
		parts = append(parts, words.Thousands(created)+" created")
	}
	if updated := len(e.Customers) - created; updated > 0 {
		parts = append(parts, words.Thousands(updated)+" updated")
	}
	return []fact{{"Customers", []string{strings.Join(parts, ", ")}}}
}
