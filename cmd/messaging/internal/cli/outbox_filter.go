package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
)

// allStates are in the order of an entry's life.
var allStates = []outbox.State{outbox.Pending, outbox.Sending, outbox.Accepted, outbox.Rejected, outbox.Unclear, outbox.Dismissed}

func namesOf(states []outbox.State) (names []string) {
	for _, state := range states {
		names = append(names, string(state))
	}
	return names
}

// filterFlags are the flags that select entries.
type filterFlags struct {
	states []outbox.State // those that can be selected

	state, operation, errorContains string
	after, before                   time.Time
}

func (flags *filterFlags) add(cmd *cobra.Command) {
	f, zoned := cmd.Flags(), []string{time.RFC3339}
	f.StringVar(&flags.state, "state", "", "entries in this `state`: "+words.List(namesOf(flags.states), "or"))
	f.StringVar(&flags.operation, "operation", "", "entries with this `operation`, such as \""+service.TriggerEvent.Name+"\"")
	f.TimeVar(&flags.after, "enqueued-after", time.Time{}, zoned, "entries that were added after this `time`, such as 2026-12-01T09:00:00Z")
	f.TimeVar(&flags.before, "enqueued-before", time.Time{}, zoned, "entries that were added before this `time`")
	f.StringVar(&flags.errorContains, "error-contains", "", "entries whose error contains this `text`")
	states := cobra.FixedCompletions(namesOf(flags.states), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("state", states)         // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("operation", completeOp) // the flag exists
}

// filter returns the filter, which is empty if no flag is set.
func (flags *filterFlags) filter() (outbox.Filter, error) {
	state := outbox.State(flags.state)
	if state != "" && !slices.Contains(flags.states, state) {
		return outbox.Filter{}, exit.With(exit.Usage, "--state: %q must be %s", state, words.List(namesOf(flags.states), "or"))
	}
	if flags.operation != "" {
		if err := checkOperations(nil, []string{flags.operation}); err != nil {
			return outbox.Filter{}, err
		}
	}
	return outbox.Filter{State: state, Operation: flags.operation, EnqueuedAfter: flags.after, EnqueuedBefore: flags.before,
		ErrorContains: flags.errorContains}, nil
}

// checkOperations returns an error for a name that is not one of an operation.
func checkOperations(_ *cobra.Command, names []string) error {
	for _, name := range names {
		if op := service.Named(name); op == nil || op.IsRead() {
			return exit.With(exit.Usage, "%q is not an operation; the operations are %s", name, service.Names(service.Sends()))
		}
	}
	return nil
}
