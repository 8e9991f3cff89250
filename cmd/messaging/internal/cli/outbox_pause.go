package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
)

// allOperations are those of the entries.
var allOperations = strings.Split(service.Names(service.Sends()), ", ")

// orAll returns the operations, or all of them without any.
func orAll(operations []string) []string {
	if len(operations) == 0 {
		return allOperations
	}
	return operations
}

func named(operations []string) string {
	if len(operations) == len(allOperations) {
		return "all operations"
	}
	return strings.Join(operations, ", ")
}

func newOutboxPause(l *ledgerFlag) *cobra.Command {
	return l.about(&cobra.Command{
		Use:   "pause [OPERATION...]",
		Short: "Stop sending, in every process",
		Long: `Stop sending entries with these operations, or all entries, in every process that uses the
outbox, and until "resume". It does not ask. What is being sent now may still be carried
out.`,
		Example: `  messaging outbox pause --ledger orders.db
  messaging outbox pause --ledger orders.db "` + service.TriggerEvent.Name + `"`,
		Args:              checkOperations,
		ValidArgsFunction: completeOp,
	}, func(ctx context.Context, b *box, operations []string) error {
		operations = orAll(operations)
		err := b.Pause(ctx, operations...)
		if err == nil {
			l.printer.Note("paused: %s; what was claimed before may still be sent", named(operations))
		}
		return err
	})
}

func newOutboxResume(l *ledgerFlag) *cobra.Command {
	var expect confirm.Expect
	cmd := l.about(&cobra.Command{
		Use:   "resume [OPERATION...]",
		Short: "Send again after a pause",
		Long: `End the pause of these operations. Without one, end every pause.

It asks on a terminal. A script passes --expect with the number of pending entries.`,
		Example: `  messaging outbox resume --ledger orders.db
  messaging outbox resume --ledger orders.db "` + service.TriggerEvent.Name + `" --expect 120`,
		Args:              checkOperations,
		ValidArgsFunction: completeOp,
	}, func(ctx context.Context, b *box, operations []string) error {
		return l.resume(ctx, b, &expect, orAll(operations))
	})
	expect.Add(cmd.Flags())
	return cmd
}

func (l *ledgerFlag) resume(ctx context.Context, b *box, expect *confirm.Expect, operations []string) error {
	counts, err := b.Counts(ctx)
	if err != nil {
		return err
	}
	if len(counts.Paused) == 0 {
		l.printer.Note("nothing is paused")
		return nil
	}
	pending, err := pendingOf(ctx, b.Outbox, operations)
	if err != nil {
		return err
	}
	if pending > 0 {
		plan := confirm.NewOfflinePlan("Resume " + named(operations) + " of " + b.ledger.Title)
		plan.Add("service", b.service())
		plan.Add("paused", named(counts.Paused))
		plan.Add("pending", words.Thousands(pending))
		if err := expect.Decide(ctx, l.printer, plan, pending, "Let them be sent?", !b.isSandbox()); err != nil {
			return err
		}
		if now, err := pendingOf(ctx, b.Outbox, operations); err != nil {
			return err
		} else if now != pending {
			return exit.With(exit.Usage, "nothing was resumed: %s are pending now", words.Entries(now))
		}
	}
	if err := b.Resume(ctx, operations...); err != nil {
		return err
	}
	l.printer.Note("resumed: %s", named(operations))
	return nil
}

// pendingOf counts the pending entries with some operations.
func pendingOf(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], operations []string) (n int, err error) {
	if len(operations) == len(allOperations) {
		counts, err := o.Counts(ctx)
		return counts.Pending, err
	}
	for _, operation := range operations {
		for _, err := range o.List(ctx, outbox.Filter{State: outbox.Pending, Operation: operation}) {
			if err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

func newOutboxQuarantine(l *ledgerFlag) *cobra.Command {
	return l.about(&cobra.Command{
		Use:   "quarantine",
		Short: "After a restore: make all that may have been sent since the backup unclear",
		Long: `Make all pending, sending and rejected entries unclear, so that nothing is sent until you
"resend" or "dismiss" it. Call it after the outbox was restored from a backup or copied, and
before the first "run": a backup does not know what was sent since. It does not ask.`,
		Example: `  messaging outbox quarantine --ledger restored.db
  messaging outbox list --ledger restored.db --state unclear`,
	}, func(ctx context.Context, b *box, _ []string) error {
		// What was rejected may have been resent since the backup.
		if _, err := b.ResendAll(ctx, outbox.Filter{State: outbox.Rejected}); err != nil {
			return err
		}
		n, err := b.Quarantine(ctx)
		if err == nil {
			l.printer.Note("%s unclear now; look before you resend or dismiss them: %s", words.Thousands(n), l.command("list", "--state", "unclear"))
		}
		return err
	})
}
