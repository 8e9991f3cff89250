package cli

import (
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

FILE is CSV with a header, or JSON Lines, with the names customer_id, email, first_name,
last_name and phone_no. "-" is stdin. The service creates or updates the customers in it.`

// content is what a broadcast command sends.
type content interface {
	// read reads the flags of the content, or the file in their place.
	read(cmd *cobra.Command) error
	// prepare adds the audience and the time, and prepares the broadcast.
	prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error)
	// describe adds lines to the plan.
	describe(plan *confirm.Plan)
	// addresses are the recipients outside of the audience.
	addresses() []extraRecipients
}

// broadcast is what a broadcast command is about to do.
type broadcast struct {
	content
	confirm  confirm.Flags
	audience audienceFlags
	when     whenFlags
	again    bool
}

// command completes a command that sends a broadcast. Its flags of the content are there.
func (b *broadcast) command(s *settings, cmd *cobra.Command) *cobra.Command {
	b.audience.add(cmd)
	b.when.add(cmd)
	b.confirm.Add(cmd.Flags())
	addAgain(cmd, &b.again)
	s.printsOf(cmd, &b.confirm, acceptedFields)
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd, s) }
	return cmd
}

func (b *broadcast) run(cmd *cobra.Command, s *settings) error {
	ctx := cmd.Context()
	if err := checkNotEmpty(cmd); err != nil {
		return err
	}
	if err := b.read(cmd); err != nil {
		return err
	}
	if err := b.confirm.Check(); err != nil {
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
	if err != nil && !cmd.Flags().Changed("from-file") {
		err = byFlags(err, nil)
	}
	if err != nil {
		return err
	}
	audience.extra = b.addresses()
	if err := audience.checkLimit(ctx, s, service, prepared); err != nil {
		return err
	}
	plan := confirm.NewPlan("Send a broadcast", service)
	b.describe(plan)
	audience.describe(plan)
	b.when.describe(plan)
	send := &send{service: service, plan: plan, question: "Send this broadcast?", answer: audience.answer(),
		prepared: []*messaging.Prepared{prepared}, options: audience.guards(), recipients: audience.total, due: b.when.time,
		again: b.again, recheck: b.when.checkAhead}
	send.accepted = s.reportAccepted(send)
	return s.send(ctx, &b.confirm, send)
}

// excerpt is how many characters of a message the plan shows.
const excerpt = 160

// describeText adds the subject, the beginning of the message, its placeholders and the hosts of its links to a plan. text is
// what readers see of the message.
func describeText(plan *confirm.Plan, subject, message, text string) {
	plan.Add("subject", subject)
	text = strings.Join(strings.Fields(text), " ")
	shown := words.Shortened(text, excerpt)
	if shown != text {
		shown += " (" + words.Count(len([]rune(text)), "character") + ")"
	}
	if text == "" && message != "" {
		shown = "without text"
	}
	plan.Add("message", shown)
	plan.Add("placeholders", words.Shortened(strings.Join(mail.Placeholders(subject, message), ", "), excerpt))
	plan.Add("links to", words.Shortened(strings.Join(hostsOf(message), ", "), excerpt))
}

// hostsOf returns the hosts to which a message links, each once.
func hostsOf(message string) (hosts []string) {
	for _, link := range mail.Links(message) {
		to, err := url.Parse(link.URL)
		if err == nil && to.Host != "" && !slices.Contains(hosts, to.Host) {
			hosts = append(hosts, to.Host)
		}
	}
	return hosts
}
