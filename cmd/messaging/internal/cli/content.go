package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// emailParams are read from a file, which the methods of the type in package messaging refuse: it has no audience and no time.
type emailParams messaging.EmailBroadcastParams

// emailContent is an email broadcast.
type emailContent struct {
	emailParams
	variables string
}

func newBroadcastEmail(s *settings) *cobra.Command {
	return (&broadcast{content: new(emailContent)}).command(s, "email", "Send an email to many customers",
		"Send an email to many customers, now or later.",
		`  messaging -p sandbox broadcast email --sender-email news@acme.test --sender-name Acme --email archive@acme.test \
    --subject 'We have moved' --message '<p>Our new address is …</p>' --message-type announcement --to-customers customers.csv
  messaging -p sandbox broadcast email --from-file email.json --all-customers --dry-run`)
}

// needed marks the flags that a broadcast cannot do without.
const needed = " (required without --from-file)"

func (c *emailContent) flags(f *pflag.FlagSet) {
	f.StringVar(&c.SenderEmail, "sender-email", "", "`address` of the sender"+needed)
	f.StringVar(&c.SenderName, "sender-name", "", "`name` of the sender"+needed)
	f.StringVar(&c.Email, "email", "", "`address` that the service takes in addition to the audience; it counts as a recipient"+needed)
	f.StringVar(&c.Subject, "subject", "", "subject"+needed)
	f.StringVar(&c.Message, "message", "", "`content`, or @FILE"+needed)
	f.StringVar(&c.MessageType, "message-type", "", "kind of the message, such as announcement; which there are is not documented"+needed)
	f.StringVar(&c.TemplateID, "template-id", "", "`id` of a template")
	f.StringVar(&c.EmailTemplateID, "email-template-id", "", "`id` of an email template")
	f.StringVar(&c.variables, "variables", "", "variables of the template: a JSON `object`, or @FILE")
	f.StringSliceVar(&c.CC, "cc", nil, "`addresses` of cc")
	f.StringSliceVar(&c.BCC, "bcc", nil, "`addresses` of bcc")
	f.StringSliceVar(&c.ReplyTo, "reply-to", nil, "`addresses` of reply-to")
}

func (c *emailContent) read(cmd *cobra.Command) (err error) {
	if c.Message, err = textOf(cmd, c.Message); err != nil {
		return err
	}
	for _, list := range [][]string{c.CC, c.BCC, c.ReplyTo} {
		for i := range list {
			list[i] = strings.TrimSpace(list[i]) // of "a@acme.test, b@acme.test"
		}
	}
	c.Variables, err = variablesOf(cmd, c.variables)
	return err
}

func (c *emailContent) params() any { return &c.emailParams }

func (c *emailContent) title() string { return c.Subject }

func (c *emailContent) prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error) {
	c.To, c.Schedule = to, at
	return messaging.EmailBroadcastParams(c.emailParams).Prepare()
}

func (c *emailContent) describe(plan *confirm.Plan) {
	plan.Add("operation", "email broadcast")
	plan.Add("sender", c.SenderName+" <"+c.SenderEmail+">")
	describeText(plan, c.Subject, c.Message, mail.Text(c.Message))
	for _, name := range slices.Sorted(maps.Keys(c.Variables)) {
		value, _ := json.Marshal(c.Variables[name]) // it was decoded
		plan.Add("variable", name+" = "+words.Shortened(string(value), excerpt))
	}
	missing := slices.DeleteFunc(mail.Placeholders(c.Subject, c.Message),
		func(name string) bool { return mail.HasVariable(c.Variables, name) })
	plan.Add("no variable", words.Shortened(strings.Join(missing, ", "), excerpt))
	plan.Add("type", c.MessageType)
	plan.Add("template", c.TemplateID)
	plan.Add("email template", c.EmailTemplateID)
	plan.Add("email", c.Email)
	plan.Add("cc", strings.Join(c.CC, ", "))
	plan.Add("bcc", strings.Join(c.BCC, ", "))
	plan.Add("reply-to", strings.Join(c.ReplyTo, ", "))
}

// pushContent is a push broadcast.
type pushContent messaging.PushBroadcastParams

func newBroadcastPush(s *settings) *cobra.Command {
	return (&broadcast{content: new(pushContent)}).command(s, "push", "Send a push notification to many customers",
		"Send a push notification to the devices of many customers, now or later.",
		`  messaging -p sandbox broadcast push --subject 'Sale' --message 'Only today' --to-customers customers.csv
  messaging -p sandbox broadcast push --subject 'Sale' --message 'Only today' --all-customers --dry-run`)
}

func (c *pushContent) flags(f *pflag.FlagSet) {
	f.StringVar(&c.Subject, "subject", "", "subject"+needed)
	f.StringVar(&c.Message, "message", "", "`content`, or @FILE"+needed)
	f.StringVar(&c.WhatsAppTemplateID, "whatsapp-template-id", "", "`id` of a WhatsApp template")
}

func (c *pushContent) read(cmd *cobra.Command) (err error) {
	c.Message, err = textOf(cmd, c.Message)
	return err
}

func (c *pushContent) params() any { return c }

func (c *pushContent) title() string { return c.Subject }

func (c *pushContent) prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error) {
	c.To, c.Schedule = to, at
	return messaging.PushBroadcastParams(*c).Prepare()
}

func (c *pushContent) describe(plan *confirm.Plan) {
	plan.Add("operation", "push broadcast")
	describeText(plan, c.Subject, c.Message, c.Message)
	plan.Add("template", c.WhatsAppTemplateID)
}
