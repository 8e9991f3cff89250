package inspector

import (
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
)

// emailView is what the tabs of an email show. Each method does the work of one tab, so
// that a tab does not wait for that of others.
type emailView struct {
	*fake.EmailBroadcast
	entry *history.Entry

	checked  bool // whether findings has what check returns
	findings []mail.Finding
}

// maxMail is how much of a message is read as HTML.
const maxMail = 256 << 10

// head returns the beginning of the message that is read as HTML.
func head(message string) string {
	if len(message) <= maxMail {
		return message
	}
	end := maxMail
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end]
}

// Number returns the number of the request.
func (v *emailView) Number() int { return v.entry.Number }

// Large reports whether only the beginning of the message is read.
func (v *emailView) Large() bool { return len(v.Message) > maxMail }

// Size returns the size of the message in words.
func (v *emailView) Size() string { return words.Size(len(v.Message)) }

// HTML reports whether the message is shown as HTML.
func (v *emailView) HTML() bool { return mail.IsHTML(head(v.Message)) }

// RemoteImages returns the number of images that are not loaded.
func (v *emailView) RemoteImages() int { return mail.RemoteImages(head(v.Message)) }

// IsFixed reports whether the message needs a width that no phone has.
func (v *emailView) IsFixed() bool { return mail.IsFixed(head(v.Message)) }

// Links returns the links of the message, up to a number that a page can show.
func (v *emailView) Links() []mail.Link {
	links := mail.Links(head(v.Message))
	return links[:min(len(links), maxRows)]
}

// Text returns the text of the message.
func (v *emailView) Text() string { return cutText(mail.Text(head(v.Message))) }

// Source returns the beginning of the message as it was sent.
func (v *emailView) Source() string { return cutText(v.Message) }

// Cut returns how many bytes of the source are not shown.
func (v *emailView) Cut() int { return max(0, len(v.Message)-maxShown) }

// checked is what can go wrong in email programs, with its line in the source or 0.
type checked struct {
	mail.Finding
	Line int
}

// Tag returns the severity.
func (c checked) Tag() tag {
	return tag{Class: map[mail.Severity]string{mail.High: "bad", mail.Medium: "warn"}[c.Severity], Text: string(c.Severity)}
}

// check returns what can go wrong in email programs. A tab, its count and a note need it, and it is looked for once.
func (v *emailView) check() []mail.Finding {
	if !v.checked {
		v.checked, v.findings = true, mail.Check(head(v.Message), len(v.Message))
	}
	return v.findings
}

// Findings is check with lines.
func (v *emailView) Findings() (findings []checked) {
	lines, end := v.Lines(), len(v.Message)-v.Cut()
	for _, f := range v.check() {
		found := checked{Finding: f}
		if f.At < end {
			found.Line = lineAt(lines, f.At)
		}
		findings = append(findings, found)
	}
	return findings
}

// maxRows is how many rows a table shows.
const maxRows = 500

// cutText returns the beginning of a text that a page can show.
func cutText(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}

func emailFacts(b *fake.EmailBroadcast) []fact {
	return []fact{
		{"From", []string{b.SenderName + " <" + b.SenderEmail + ">"}},
		{"Also to", []string{b.Email}},
		{"Cc", b.CC}, {"Bcc", b.BCC}, {"Reply to", b.ReplyTo},
		{"Message type", []string{b.MessageType}},
		{"Template", []string{b.TemplateID}}, {"Email template", []string{b.EmailTemplateID}},
		schedule(b.Schedule),
	}
}

func schedule(s *fake.Schedule) fact {
	if s == nil {
		return fact{"Schedule", []string{"immediately"}}
	}
	return fact{"Schedule", []string{s.Date, s.Timezone, "recorded now, not when it is due"}}
}

// effectFacts returns how many customers a request created or updated.
func effectFacts(e *history.Entry) []fact {
	var parts []string
	if e.Created > 0 {
		parts = append(parts, words.Thousands(e.Created)+" created")
	}
	if e.Updated > 0 {
		parts = append(parts, words.Thousands(e.Updated)+" updated")
	}
	return []fact{{"Customers", []string{strings.Join(parts, ", ")}}}
}
