package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
)

// pushContent is [messaging.PushBroadcastParams] in a file, by the names on the wire, without the audience and the time.
type pushContent struct {
	Subject            string              `json:"subject"`
	Message            string              `json:"message"`
	WhatsAppTemplateID string              `json:"whatsapp_template_id"`
	To                 messaging.Audience  `json:"-"`
	Schedule           *messaging.Schedule `json:"-"`
}

func newBroadcastPush(s *settings) *cobra.Command {
	return (&broadcast{content: new(pushContent)}).command(s, "push", "Send a push notification to many customers",
		"Send a push notification to the devices of many customers, now or later.",
		`  messaging -p sandbox broadcast push --subject 'Sale' --message 'Only today' --to-customers customers.csv
  messaging -p sandbox broadcast push --subject 'Sale' --message 'Only today' --all-customers --dry-run`)
}

func (c *pushContent) flags(f *pflag.FlagSet) {
	f.StringVar(&c.Subject, "subject", "", "subject")
	f.StringVar(&c.Message, "message", "", "`content`, or @FILE")
	f.StringVar(&c.WhatsAppTemplateID, "whatsapp-template-id", "", "`id` of a WhatsApp template")
}

func (c *pushContent) read(cmd *cobra.Command) (err error) {
	c.Message, err = textOf(cmd, c.Message)
	return err
}

func (c *pushContent) params() any { return c }

func (c *pushContent) prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error) {
	c.To, c.Schedule = to, at
	return messaging.PushBroadcastParams(*c).Prepare()
}

func (c *pushContent) addresses() []extraRecipients { return nil }

func (c *pushContent) describe(plan *confirm.Plan) {
	plan.Add("operation", "push broadcast")
	describeText(plan, c.Subject, c.Message, c.Message)
	plan.Add("template", c.WhatsAppTemplateID)
}
