package cli

import (
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

// checkOperations returns an error for an argument that is no operation. An empty one, such
// as that of a variable that is not set, would mean all.
func checkOperations(_ *cobra.Command, names []string) error {
	for _, name := range names {
		if op := service.Named(name); op == nil || op.IsRead() {
			return exit.With(exit.Usage, "%q is not an operation; the operations are %s", name, service.Names(service.Sends()))
		}
	}
	return nil
}

func newOutboxPause(l *ledgerFlag) *cobra.Command {
	return &cobra.Command{
		Use:   "pause [OPERATION...]",
		Short: "Stop sending, in every process",
		Long: `Stop sending entries with these operations, or all entries, in every process that uses the
outbox, and until "resume". It does not ask. What is being sent now may still be carried
out.`,
		Example: `  messaging outbox pause --ledger orders.db
  messaging outbox pause --ledger orders.db "` + service.TriggerEvent.Name + `"`,
		Args:              checkOperations,
		ValidArgsFunction: completeOp,
		RunE: func(cmd *cobra.Command, operations []string) error {
			b, err := l.look(cmd.Context())
			if err != nil {
				return err
			}
			defer b.ledger.Close()
			if err := advance(cmd.Context(), b.ledger); err != nil {
				return err
			}
			if err := b.Pause(cmd.Context(), operations...); err != nil {
				return err
			}
			l.printer.Note("paused: %s; what was claimed before may still be sent", named(operations))
			return nil
		},
	}
}

func named(operations []string) string {
	if len(operations) == 0 {
		return "all operations"
	}
	return strings.Join(operations, ", ")
}

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
	counts, err := b.Counts(ctx)
	if err != nil {
		return err
	}
	if len(counts.Paused) == 0 {
		l.printer.Note("nothing is paused")
		return nil
	}
	pending, err := selectMatching(ctx, b, outbox.Filter{State: outbox.Pending})
	if err != nil {
		return err
	}
	plan := b.plan("Resume " + named(operations) + " of " + b.ledger.Title)
	plan.Add("paused", strings.Join(counts.Paused, ", "))
	plan.Add("entries", describe(counts))
	for _, operation := range slices.Sorted(maps.Keys(pending.ByOperation)) {
		plan.Add("pending", operation+": "+words.Thousands(pending.ByOperation[operation]))
	}
	pending.Keys = slices.Concat(operations, []string{"of"}, counts.Paused)
	goes, err := flags.Decide(ctx, l.printer, plan, confirm.NewAction(b.of, "outbox resume", []byte(pending.digest()),
		"Send the pending entries?", strconv.Itoa(pending.Count)))
	if err != nil || !goes {
		return err
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
