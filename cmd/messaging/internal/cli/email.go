package cli

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
)

// emailContent is an email broadcast in a file, by the names on the wire, without its
// audience and its time.
type emailContent struct {
	SenderEmail     string                     `json:"sender_email"`
	SenderName      string                     `json:"sender_name"`
	Email           string                     `json:"email"`
	Subject         string                     `json:"subject"`
	CC              []string                   `json:"cc"`
	BCC             []string                   `json:"bcc"`
	ReplyTo         []string                   `json:"reply_to"`
	Message         string                     `json:"message"`
	TemplateID      string                     `json:"template_id"`
	EmailTemplateID string                     `json:"email_template_id"`
	Variables       map[string]json.RawMessage `json:"variables"`
	MessageType     string                     `json:"message_type"`
}

// emailFlagNames are the flags that --from-file takes the place of.
var emailFlagNames = []string{"sender-email", "sender-name", "email", "subject", "cc", "bcc", "reply-to", "message",
	"template-id", "email-template-id", "variables", "message-type"}

func newBroadcastEmail(s *settings) *cobra.Command {
	var content emailContent
	var variables, file string
	var b broadcast
	cmd := &cobra.Command{
		Use:   "email",
		Short: "Send an email to many customers",
		Long:  "Send an email to many customers, now or later." + broadcastText,
		Example: `  messaging -p sandbox broadcast email --sender-email news@acme.test --sender-name Acme --email archive@acme.test \
    --subject 'We have moved' --message '<p>Our new address is …</p>' --message-type announcement --to-customers customers.csv
  messaging -p sandbox broadcast email --from-file email.json --all-customers --dry-run`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&file, "from-file", "", "JSON `file` with the content, in the field names of the service; replaces the content flags")
	content.addFlags(f, &variables)
	b.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if err := checkNotEmpty(cmd); err != nil {
			return err
		}
		if file != "" {
			err = fromFile(cmd, file, &content, emailFlagNames)
		} else {
			err = content.read(cmd, variables)
		}
		if err == nil {
			err = content.checkAddresses()
		}
		if err != nil {
			return err
		}
		return b.run(cmd, s, &content)
	}
	return cmd
}

// addFlags adds the flags of the content. variables are not parsed.
func (c *emailContent) addFlags(f *pflag.FlagSet, variables *string) {
	f.StringVar(&c.SenderEmail, "sender-email", "", "`address` of the sender")
	f.StringVar(&c.SenderName, "sender-name", "", "`name` of the sender")
	f.StringVar(&c.Email, "email", "", "`address` that the service requires in addition to the audience; it counts as a recipient")
	f.StringVar(&c.Subject, "subject", "", "subject")
	f.StringVar(&c.Message, "message", "", "`content`, or @FILE")
	f.StringVar(&c.MessageType, "message-type", "", "kind of the message")
	f.StringVar(&c.TemplateID, "template-id", "", "`id` of a template")
	f.StringVar(&c.EmailTemplateID, "email-template-id", "", "`id` of an email template")
	f.StringVar(variables, "variables", "", "variables of the template: a JSON `object`, or @FILE")
	f.StringSliceVar(&c.CC, "cc", nil, "`addresses` of cc")
	f.StringSliceVar(&c.BCC, "bcc", nil, "`addresses` of bcc")
	f.StringSliceVar(&c.ReplyTo, "reply-to", nil, "`addresses` of reply-to")
}

// read reads what the flags name.
func (c *emailContent) read(cmd *cobra.Command, variables string) (err error) {
	if c.Message, err = textOf(cmd, c.Message); err != nil {
		return err
	}
	for _, list := range [][]string{c.CC, c.BCC, c.ReplyTo} {
		for i := range list {
			list[i] = strings.TrimSpace(list[i]) // of "a@acme.test, b@acme.test"
		}
	}
	c.Variables, err = variablesOf(cmd, variables)
	return err
}

// checkAddresses returns an error for an address that is not what it looks like.
func (c *emailContent) checkAddresses() error {
	for _, each := range c.addresses() {
		for _, address := range each.addresses {
			if !alike.IsAddressAlone(address) {
				return exit.With(exit.Usage, "%s: %q must be an address alone, such as ada@example.com; nothing was sent", each.field, address)
			}
		}
	}
	return errors.Join(checkVisible("sender_email", c.SenderEmail), checkVisible("email", c.Email),
		checkVisible("cc", c.CC...), checkVisible("bcc", c.BCC...), checkVisible("reply_to", c.ReplyTo...))
}

func (c *emailContent) texts() []field {
	return append(c.labels(), field{"subject", c.Subject}, field{"message", c.Message})
}

// labels are the texts that are no prose.
func (c *emailContent) labels() []field {
	return []field{{"sender_name", c.SenderName}, {"message_type", c.MessageType}, {"template_id", c.TemplateID},
		{"email_template_id", c.EmailTemplateID}}
}

func (c *emailContent) prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error) {
	var variables map[string]any
	if c.Variables != nil {
		variables = make(map[string]any, len(c.Variables))
	}
	for name, value := range c.Variables {
		variables[name] = value
	}
	return messaging.EmailBroadcastParams{SenderEmail: c.SenderEmail, SenderName: c.SenderName, Email: c.Email, Subject: c.Subject,
		CC: c.CC, BCC: c.BCC, ReplyTo: c.ReplyTo, Message: c.Message, TemplateID: c.TemplateID, EmailTemplateID: c.EmailTemplateID,
		Variables: variables, MessageType: c.MessageType, To: to, Schedule: at}.Prepare()
}

func (c *emailContent) addresses() []extraRecipients {
	return []extraRecipients{{"email", []string{c.Email}}, {"cc", c.CC}, {"bcc", c.BCC}}
}

func (c *emailContent) describe(plan *confirm.Plan, doubt doubting) {
	plan.Add("operation", "email broadcast")
	plan.Add("sender", c.SenderName+" <"+c.SenderEmail+">")
	describeText(plan, doubt, c.Subject, c.Message, mail.Text(c.Message), c.Variables)
	describeVariables(plan, doubt, c.Variables)
	describeGiven(plan, "type", c.MessageType, "template", c.TemplateID, "email template", c.EmailTemplateID)
	plan.Add("email", c.Email)
	describeGiven(plan, "cc", strings.Join(c.CC, ", "), "bcc", strings.Join(c.BCC, ", "), "reply-to", strings.Join(c.ReplyTo, ", "))
	if c.TemplateID != "" && c.EmailTemplateID != "" {
		plan.Warn("both template_id and email_template_id are set")
	}
	c.doubt(doubt)
}

// doubt adds what looks like a mistake in the texts and addresses beside the message.
func (c *emailContent) doubt(doubt doubting) {
	for _, each := range c.labels() {
		doubtEach(doubt, each.name, oddity.Label, each.text)
	}
	doubtEach(doubt, "sender_email", oddity.Address, c.SenderEmail)
	doubtEach(doubt, "reply_to", oddity.Address, c.ReplyTo...)
	for _, each := range c.addresses() {
		doubtEach(doubt, each.field, oddity.Address, each.addresses...)
	}
}
