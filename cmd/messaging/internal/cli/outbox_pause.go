package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/internal/service"
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
