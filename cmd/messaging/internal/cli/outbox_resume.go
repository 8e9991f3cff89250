package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
)

func newOutboxResume(l *ledgerFlag) *cobra.Command {
	var flags confirm.Flags
	cmd := &cobra.Command{
		Use:   "resume [OPERATION...]",
		Short: "Send again after a pause",
		Long: `End the pause of these operations. Without one, end every pause. A pause of all is not
ended by naming operations.`,
		Example: `  messaging outbox resume --ledger orders.db
  messaging outbox resume --ledger orders.db "` + service.TriggerEvent.Name + `"`,
		Args:              checkOperations,
		ValidArgsFunction: completeOp,
		RunE: func(cmd *cobra.Command, operations []string) error {
			if err := flags.Check(); err != nil {
				return err
			}
			return l.resume(cmd, &flags, operations)
		},
	}
	flags.Add(cmd.Flags())
	return cmd
}

func (l *ledgerFlag) resume(cmd *cobra.Command, flags *confirm.Flags, operations []string) error {
	ctx := cmd.Context()
	b, err := l.look(ctx)
	if err != nil {
		return err
	}
	defer b.ledger.Close()
	planned, err := b.resumption(ctx, operations)
	if err != nil {
		return err
	}
	if len(planned.counts.Paused) == 0 {
		l.printer.Note("nothing is paused")
		return nil
	}
	plan := b.plan("Resume " + named(operations) + " of " + b.ledger.Title)
	plan.Add("paused", strings.Join(planned.counts.Paused, ", "))
	plan.Add("entries", describe(planned.counts))
	pending := planned.pending
	for _, operation := range slices.Sorted(maps.Keys(pending.ByOperation)) {
		plan.Add("pending", operation+": "+words.Thousands(pending.ByOperation[operation]))
	}
	question := "Let them be sent?"
	if pending.Count == 0 {
		question = "End the pause?"
	}
	goes, err := flags.Decide(ctx, l.printer, plan, confirm.NewAction(b.of, "outbox resume", []byte(planned.content),
		question, strconv.Itoa(pending.Count)))
	if err != nil || !goes {
		return err
	}
	if now, err := b.resumption(ctx, operations); err != nil {
		return err
	} else if now.content != planned.content {
		return exit.With(exit.Usage, "nothing was resumed: what is pending or paused has changed since the plan was shown")
	}
	if err := advance(ctx, b.ledger); err != nil {
		return err
	}
	if err := b.Resume(ctx, operations...); err != nil {
		return err
	}
	l.printer.Note("resumed: %s", named(operations))
	return nil
}

// resumption is what the end of a pause would send.
type resumption struct {
	counts  outbox.Counts
	pending selected
	content string // what the operator confirms
}

func (b *box) resumption(ctx context.Context, operations []string) (r resumption, err error) {
	if r.counts, err = b.Counts(ctx); err != nil {
		return r, err
	}
	if r.pending, err = selectMatching(ctx, b, outbox.Filter{State: outbox.Pending}); err != nil {
		return r, err
	}
	of, _, err := b.ledger.Origin(ctx)
	if err != nil {
		return r, err
	}
	// The generation tells a pause from one that somebody has begun since.
	r.pending.Keys = slices.Concat(operations, []string{"of"}, r.counts.Paused, []string{strconv.FormatInt(of.Generation, 10)})
	r.content = r.pending.digest()
	return r, nil
}
