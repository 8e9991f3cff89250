package cli

import (
	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
)

// pushContent is a push broadcast in a file, by the names on the wire, without its audience
// and its time.
type pushContent struct {
	Subject            string `json:"subject"`
	Message            string `json:"message"`
	WhatsAppTemplateID string `json:"whatsapp_template_id"`
}

func newBroadcastPush(s *settings) *cobra.Command {
	var content pushContent
	var file string
	var b broadcast
	cmd := &cobra.Command{
		Use:   "push",
		Short: "Send a push notification to many customers",
		Long:  "Send a push notification to the devices of many customers, now or later." + broadcastText,
		Example: `  messaging -p sandbox broadcast push --subject 'Sale' --message 'Only today' --to-customers customers.csv
  messaging -p sandbox broadcast push --subject 'Sale' --message 'Only today' --all-customers --dry-run`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&file, "from-file", "", "JSON `file` with the content, in the field names of the service; replaces the content flags")
	f.StringVar(&content.Subject, "subject", "", "subject")
	f.StringVar(&content.Message, "message", "", "`content`, or @FILE")
	f.StringVar(&content.WhatsAppTemplateID, "whatsapp-template-id", "", "`id` of a WhatsApp template")
	b.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if err := checkNotEmpty(cmd); err != nil {
			return err
		}
		if file != "" {
			err = fromFile(cmd, file, &content, []string{"subject", "message", "whatsapp-template-id"})
		} else {
			content.Message, err = textOf(cmd, content.Message)
		}
		if err != nil {
			return err
		}
		return b.run(cmd, s, &content)
	}
	return cmd
}

func (c *pushContent) prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error) {
	return messaging.PushBroadcastParams{Subject: c.Subject, Message: c.Message, WhatsAppTemplateID: c.WhatsAppTemplateID,
		To: to, Schedule: at}.Prepare()
}

func (c *pushContent) texts() []field {
	return []field{{"subject", c.Subject}, {"message", c.Message}, {"whatsapp_template_id", c.WhatsAppTemplateID}}
}

func (c *pushContent) addresses() []extraRecipients { return nil }

func (c *pushContent) describe(plan *confirm.Plan, doubt doubting) {
	plan.Add("operation", "push broadcast")
	describeText(plan, doubt, c.Subject, c.Message, c.Message, nil)
	describeGiven(plan, "template", c.WhatsAppTemplateID)
	doubtEach(doubt, "whatsapp_template_id", oddity.Label, c.WhatsAppTemplateID)
}
