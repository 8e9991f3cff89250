package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
)

func newBroadcast(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "broadcast",
		Short: "Send an email or a push notification to many customers",
		Example: `  messaging -p sandbox broadcast email --help
  messaging -p sandbox broadcast push --help`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newBroadcastEmail(s), newBroadcastPush(s))
	return cmd
}

// broadcastText is what is the same for every broadcast command.
const broadcastText = `

Pass exactly one of --to-customers, --segments and --all-customers. The plan goes to
stderr first; then the command asks on the terminal. Without a terminal, run it with
--dry-run, and then with --confirm and the digest that the dry run printed.

FILE is CSV with a header, or JSON Lines, with the names customer_id, email, first_name,
last_name and phone_no. "-" is stdin. The service creates or updates the customers in it.`

// content is what a broadcast command sends.
type content interface {
	// prepare adds the audience and the time, and prepares the broadcast.
	prepare(to messaging.Audience, at *messaging.Schedule) (*messaging.Prepared, error)
	// describe adds lines to the plan, and what looks like a mistake.
	describe(plan *confirm.Plan, doubt doubting)
	// texts are those of which none may be blank.
	texts() []field
	// addresses are the fields with recipients outside of the audience.
	addresses() []extraRecipients
}

// broadcast is what a broadcast command is about to do.
type broadcast struct {
	confirm  confirm.Flags
	audience audienceFlags
	when     whenFlags
	again    bool
}

func (b *broadcast) add(cmd *cobra.Command) {
	b.audience.add(cmd)
	b.when.add(cmd)
	b.confirm.Add(cmd.Flags())
	addAgain(cmd, &b.again)
}

// run plans the broadcast, asks, and sends it.
func (b *broadcast) run(cmd *cobra.Command, s *settings, content content) error {
	ctx := cmd.Context()
	if err := checkNotBlank(content.texts()); err != nil {
		return err
	}
	if err := b.audience.check(cmd.Flags()); err != nil {
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
	prepared, err := content.prepare(audience.to, at)
	if err != nil {
		return err
	}
	audience.extra = content.addresses()
	if err := audience.checkLimit(ctx, s, service, prepared); err != nil {
		return err
	}
	send := sending{service: service, prepared: prepared, options: audience.guards(), count: audience.total,
		again: b.again, broadcast: true, look: "a broadcast has no id to look up: ask a recipient, or look in the service's own dashboard,",
		terms: []string{"op:" + prepared.Operation(), termOf("subject:", subjectOf(content))}}
	if err := send.recall(); err != nil {
		return err
	}
	plan := confirm.NewPlan("Send a broadcast", service)
	doubt := doubtOf(plan, b.audience.doubts)
	content.describe(plan, doubt)
	audience.describe(plan)
	b.when.describe(plan, doubt, at)
	send.describe(plan)
	if ok, err := b.decide(ctx, s, plan, audience, &send); err != nil || !ok {
		return err
	}
	return s.deliver(ctx, send)
}

// decide asks, and looks again at what may have changed while the question waited.
func (b *broadcast) decide(ctx context.Context, s *settings, plan *confirm.Plan, audience *audience, send *sending) (bool, error) {
	action := send.action("Send this broadcast?", audience.answer())
	action.At = b.when.utc()
	ok, err := b.confirm.Decide(ctx, s.printer, plan, action)
	if err != nil || !ok {
		return false, err
	}
	if b.confirm.Asked() {
		if err := audience.countAgain(ctx, s, send.service); err != nil {
			return false, err
		}
	}
	return true, b.when.checkAhead()
}

func subjectOf(c content) string {
	for _, each := range c.texts() {
		if each.name == "subject" {
			return each.text
		}
	}
	return ""
}
