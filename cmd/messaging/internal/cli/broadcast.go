package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// broadcastText is what is the same for every broadcast command.
const broadcastText = `

Pass exactly one of --to-customers, --segments and --all-customers. The plan goes to
stderr first; then the command asks on the terminal. Without a terminal, run it with
--dry-run, and then with --confirm and the digest that the dry run printed.

FILE is CSV with a header, JSON Lines, or a JSON array, with the names customer_id, email,
first_name, last_name and phone_no; --map reads a column under a different name. Columns of
"export customers" that cannot be sent are left out. "-" is stdin. The service creates or
updates the customers in FILE.`

// content is what a broadcast command sends. It is decoded from a file, or set by flags.
type content interface {
	// flags adds the flags of the content.
	flags(set *pflag.FlagSet)
	// read completes what the flags have set.
	read(cmd *cobra.Command) error
	// params returns what a file of the content is decoded into.
	params() any
	// prepare adds the audience and the time, and prepares the broadcast.
	prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error)
	// describe adds lines to the plan.
	describe(plan *confirm.Plan)
	// title returns the subject.
	title() string
}

// broadcast is what a broadcast command is about to do.
type broadcast struct {
	content
	file     string
	confirm  confirm.Flags
	audience audienceFlags
	when     whenFlags
	again    bool
}

func (b *broadcast) command(s *settings, use, short, long, example string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long + broadcastText, Example: example, Args: cobra.NoArgs}
	b.flags(cmd.Flags())
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	cmd.Flags().StringVar(&b.file, "from-file", "",
		"JSON `file` with the content, in the field names of the service; replaces the content flags")
	for _, name := range names {
		cmd.MarkFlagsMutuallyExclusive("from-file", name)
	}
	b.audience.add(cmd)
	b.when.add(cmd)
	b.confirm.Add(cmd)
	addAgain(cmd, &b.again)
	s.printsOf(cmd, &b.confirm, acceptedSend{})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd, s) }
	return cmd
}

// readContent reads the flags of the content, or the file in their place.
func (b *broadcast) readContent(cmd *cobra.Command) error {
	if b.file != "" {
		return decodeInput(cmd, b.file, b.params())
	}
	return b.read(cmd)
}

func (b *broadcast) run(cmd *cobra.Command, s *settings) error {
	ctx := cmd.Context()
	if err := b.readContent(cmd); err != nil {
		return err
	}
	at, err := b.when.schedule()
	if err != nil {
		return err
	}
	audience, err := b.audience.read(cmd)
	if err != nil {
		return err
	}
	service, err := s.account(ctx)
	if err != nil {
		return err
	}
	prepared, err := b.prepare(audience.to, at)
	if err != nil && b.file == "" {
		err = byFlags(err, cmd.Flags())
	}
	if err != nil {
		return err
	}
	if err := b.audience.guard(cmd, s, audience, service, prepared); err != nil {
		return err
	}
	plan := confirm.NewPlan("Send a broadcast", service)
	b.describe(plan)
	audience.describe(plan)
	b.when.describe(plan)
	return s.send(ctx, &b.confirm, &send{service: service, plan: plan, question: "Send this broadcast?", answer: audience.answer,
		prepared: []*messaging.Prepared{prepared}, recipients: audience.total, subject: b.title(), due: b.when.time, again: b.again,
		recheck: b.when.checkAhead})
}

// excerpt is how many characters of a message the plan shows.
const excerpt = 160

// describeText adds the subject, the beginning of the message and its placeholders to a plan. text is what readers see of the
// message.
func describeText(plan *confirm.Plan, subject, message, text string) {
	plan.Add("subject", subject)
	text = strings.Join(strings.Fields(text), " ")
	if text == "" && message != "" {
		text = "without text"
	}
	plan.Add("message", words.Shortened(text, excerpt))
	plan.Add("placeholders", words.Shortened(strings.Join(mail.Placeholders(subject, message), ", "), excerpt))
}
