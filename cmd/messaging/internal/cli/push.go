package cli

import (
	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
)

// pushContent is a push broadcast in a file, by the names on the wire, without its audience
// and its time.
type pushContent struct {
	Subject            string `json:"subject"`
	Message            string `json:"message"`
	WhatsAppTemplateID string `json:"whatsapp_template_id"`

	file string
}

func newBroadcastPush(s *settings) *cobra.Command {
	c := new(pushContent)
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Send a push notification to many customers",
		Long:  "Send a push notification to the devices of many customers, now or later." + broadcastText,
		Example: `  messaging -p sandbox broadcast push --subject 'Sale' --message 'Only today' --to-customers customers.csv
  messaging -p sandbox broadcast push --subject 'Sale' --message 'Only today' --all-customers --dry-run`,
	}
	f := cmd.Flags()
	f.StringVar(&c.file, "from-file", "", "JSON `file` with the content, in the field names of the service; replaces the content flags")
	f.StringVar(&c.Subject, "subject", "", "subject")
	f.StringVar(&c.Message, "message", "", "`content`, or @FILE")
	f.StringVar(&c.WhatsAppTemplateID, "whatsapp-template-id", "", "`id` of a WhatsApp template")
	return (&broadcast{content: c}).command(s, cmd)
}

func (c *pushContent) read(cmd *cobra.Command) (err error) {
	if c.file != "" {
		return fromFile(cmd, c.file, c, []string{"subject", "message", "whatsapp-template-id"})
	}
	c.Message, err = textOf(cmd, c.Message)
	return err
}

func (c *pushContent) prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error) {
	return messaging.PushBroadcastParams{Subject: c.Subject, Message: c.Message, WhatsAppTemplateID: c.WhatsAppTemplateID,
		To: to, Schedule: at}.Prepare()
}

func (c *pushContent) addresses() []extraRecipients { return nil }

func (c *pushContent) describe(plan *confirm.Plan) {
	plan.Add("operation", "push broadcast")
	describeText(plan, c.Subject, c.Message, c.Message)
	plan.Add("template", c.WhatsAppTemplateID)
}
