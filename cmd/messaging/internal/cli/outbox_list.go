package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
)

// allStates are in the order of an entry's life.
var allStates = []outbox.State{outbox.Pending, outbox.Sending, outbox.Accepted, outbox.Rejected, outbox.Unclear, outbox.Dismissed}

// filterFlags are the flags that select entries.
type filterFlags struct {
	states []outbox.State // those that can be selected
	filter outbox.Filter  // the zero Filter if no flag is set
}

// names lists the states that can be selected.
func (flags *filterFlags) names() string {
	var names []string
	for _, state := range flags.states {
		names = append(names, string(state))
	}
	return words.List(names, "or")
}

// complete completes the values of the flags of a command.
func (flags *filterFlags) complete(cmd *cobra.Command) *cobra.Command {
	completeFlag(cmd, "state", flags.states...)
	completeOperation(cmd)
	return cmd
}

// completeOperation completes --op with the operations that can be in an outbox.
func completeOperation(cmd *cobra.Command) {
	completeFlag(cmd, "op", strings.Split(service.Names(service.Sends()), ", ")...)
}

func completeFlag[T ~string](cmd *cobra.Command, flag string, values ...T) {
	var texts []string
	for _, value := range values {
		texts = append(texts, string(value))
	}
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(texts, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

func (flags *filterFlags) add(f *pflag.FlagSet) {
	zoned := []string{time.RFC3339}
	f.StringVar((*string)(&flags.filter.State), "state", "", "entries in this `state`: "+flags.names())
	f.StringVar(&flags.filter.Operation, "op", "", "entries with this `operation`, such as \""+service.TriggerEvent.Name+"\"")
	f.TimeVar(&flags.filter.EnqueuedAfter, "enqueued-after", time.Time{}, zoned,
		"entries that were added after this `time`, such as 2026-12-01T09:00:00Z")
	f.TimeVar(&flags.filter.EnqueuedBefore, "enqueued-before", time.Time{}, zoned, "entries that were added before this `time`")
	f.StringVar(&flags.filter.ErrorContains, "error-contains", "", "entries whose error contains this `text`")
}

// check returns an error for a state or an operation that cannot be selected.
func (flags *filterFlags) check() error {
	if state := flags.filter.State; state != "" && !slices.Contains(flags.states, state) {
		return exit.With(exit.Usage, "--state: %q must be %s", state, flags.names())
	}
	return checkOperation(flags.filter.Operation)
}

// checkOperation returns an error for the name of no operation. "" is all of them.
func checkOperation(name string) error {
	if op := service.Named(name); name != "" && (op == nil || op.IsRead()) {
		return exit.With(exit.Usage, "--op: %q is not an operation; the operations are %s", name, service.Names(service.Sends()))
	}
	return nil
}

// inBox opens the outbox for the rows of a list.
func (l *ledgerFlag) inBox(rows func(call, *box, func(any) error) error) func(call, func(any) error) error {
	return func(c call, write func(any) error) error {
		b, err := l.open(c.ctx)
		if err != nil {
			return err
		}
		defer b.ledger.Close()
		return rows(c, b, write)
	}
}

// status is the outbox as a whole.
type status struct {
	Service       string   `json:"service"`
	Pending       int      `json:"pending"`
	Sending       int      `json:"sending"`
	Accepted      int      `json:"accepted"`
	Rejected      int      `json:"rejected"`
	Unclear       int      `json:"unclear"`
	Dismissed     int      `json:"dismissed"`
	OldestPending int      `json:"oldest_pending"` // seconds
	Paused        []string `json:"paused"`         // operations
	Denied        string   `json:"denied"`         // the error of a pending entry with 401 or 403
}

func newOutboxStatus(l *ledgerFlag) *cobra.Command {
	return list{
		use: "status", short: "Count the entries by state",
		example: `  messaging outbox status --ledger orders.db
  messaging outbox status --ledger orders.db --json | jq .unclear`,
		table: output.Table{Sample: status{}}, one: true,
		rows: l.inBox(func(c call, b *box, write func(any) error) error {
			n, err := b.Counts(c.ctx)
			if err != nil {
				return err
			}
			denied, err := deniedOf(c.ctx, b.Outbox)
			if err != nil {
				return err
			}
			return write(status{b.service(), n.Pending, n.Sending, n.Accepted, n.Rejected, n.Unclear, n.Dismissed,
				int(n.OldestPending.Seconds()), append([]string{}, n.Paused...), denied})
		}),
	}.command(l.settings)
}

// shownEntry is an entry with what its request says.
type shownEntry struct {
	outbox.Entry
	Emails      []string        `json:"emails"`
	CustomerIDs []string        `json:"customer_ids"`
	Body        json.RawMessage `json:"body,omitempty"`
}

var sampleEntry = outbox.Entry{EnqueuedAt: sampleTime, DueAt: sampleTime, SettledAt: sampleTime, NotAfter: sampleTime}

func newOutboxList(l *ledgerFlag) *cobra.Command {
	flags := filterFlags{states: allStates}
	return flags.complete(list{
		use: "list", short: "List entries",
		example: `  messaging outbox list --ledger orders.db --state unclear
  messaging outbox list --ledger orders.db --state rejected --error-contains 422 --json=key,error`,
		flags: flags.add,
		table: output.Table{Sample: sampleEntry,
			Columns: []string{"id", "key", "state", "error"}}, // what says what to do next; JSON and show have the others
		rows: l.inBox(func(c call, b *box, write func(any) error) error {
			if err := flags.check(); err != nil {
				return err
			}
			return each(b.List(c.ctx, flags.filter), write)
		}),
	}.command(l.settings))
}

func newOutboxShow(l *ledgerFlag) *cobra.Command {
	return list{
		use: "show KEY", short: "Show an entry, whom it is for, and its request",
		long: `Show an entry, whom it is for, and its request. The request is erased once the entry is accepted
or dismissed.`,
		example: `  messaging outbox show --ledger orders.db A-1001
  messaging outbox show --ledger orders.db A-1001 --json | jq .body`,
		args: cobra.ExactArgs(1), one: true,
		table: output.Table{Sample: shownEntry{Entry: sampleEntry, Body: json.RawMessage("{}")}},
		rows:  l.inBox(showEntry),
	}.command(l.settings)
}

func showEntry(c call, b *box, write func(any) error) error {
	found, err := b.get(c.ctx, c.args[0])
	if err != nil {
		return err
	}
	shown := shownEntry{Entry: found, Emails: []string{}, CustomerIDs: []string{}} // not null
	if found.State == outbox.Accepted || found.State == outbox.Dismissed {
		c.printer.Note("the request of an entry that is %s is erased, so its recipients and its body cannot be shown", found.State)
		return write(shown)
	}
	prepared, err := b.Prepared(c.ctx, c.args[0])
	if err != nil {
		return err
	}
	to, _ := prepared.Recipients() // of a body that cannot be read, the entry shows none
	shown.Emails, shown.CustomerIDs = append(shown.Emails, to.Emails...), append(shown.CustomerIDs, to.CustomerIDs...)
	shown.Body = prepared.Body()
	return write(shown)
}
