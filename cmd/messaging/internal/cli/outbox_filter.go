package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
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
	after, before                   string
}

// filterNames are the names of the flags.
var filterNames = []string{"state", "operation", "enqueued-after", "enqueued-before", "error-contains"}

func (flags *filterFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&flags.state, "state", "", "entries in this `state`: "+words.List(namesOf(flags.states), "or"))
	f.StringVar(&flags.operation, "operation", "", "entries with this `operation`, such as \""+service.TriggerEvent.Name+"\"")
	f.StringVar(&flags.after, "enqueued-after", "", "entries that were added after this `time`, such as 2026-12-01T09:00:00Z")
	f.StringVar(&flags.before, "enqueued-before", "", "entries that were added before this `time`")
	f.StringVar(&flags.errorContains, "error-contains", "", "entries whose error contains this `text`")
	states := cobra.FixedCompletions(namesOf(flags.states), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("state", states)         // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("operation", completeOp) // the flag exists
}

// filter returns the filter, and whether any of the flags is set. An empty one, such as that of a variable that is not set,
// would select everything, and is an error.
func (flags *filterFlags) filter(cmd *cobra.Command) (f outbox.Filter, given bool, err error) {
	for _, name := range filterNames {
		flag := cmd.Flags().Lookup(name)
		if flag.Changed && visible.IsBlank(flag.Value.String()) {
			return f, false, exit.With(exit.Usage, "--%s is empty; is a variable not set?", name)
		}
		given = given || flag.Changed
	}
	f = outbox.Filter{State: outbox.State(flags.state), Operation: flags.operation, ErrorContains: flags.errorContains}
	switch {
	case f.State != "" && !slices.Contains(flags.states, f.State):
		return f, given, exit.With(exit.Usage, "--state: %q must be %s", flags.state, words.List(namesOf(flags.states), "or"))
	case f.Operation != "" && service.Named(f.Operation) == nil:
		return f, given, exit.With(exit.Usage, "--operation: %q is not an operation; the operations are %s", f.Operation,
			service.Names(service.Sends()))
	}
	if f.EnqueuedAfter, err = parseTime("--enqueued-after", flags.after); err == nil {
		f.EnqueuedBefore, err = parseTime("--enqueued-before", flags.before)
	}
	return f, given, err
}

func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, exit.With(exit.Usage, "%s: %q must be a time with its zone, such as 2026-12-01T09:00:00Z or 2026-12-01T09:00:00+01:00",
			flag, text)
	}
	return at, nil
}
