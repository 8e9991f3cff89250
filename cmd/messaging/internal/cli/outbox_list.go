package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
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

// status is the outbox as a whole.
type status struct {
	Pending       int      `json:"pending"`
	Sending       int      `json:"sending"`
	Accepted      int      `json:"accepted"`
	Rejected      int      `json:"rejected"`
	Unclear       int      `json:"unclear"`
	Dismissed     int      `json:"dismissed"`
	OldestPending float64  `json:"oldest_pending"` // seconds
	Paused        []string `json:"paused"`
	Service       string   `json:"service"`
}

var statusTable = output.Table[status]{Fields: output.FieldsOf(status{}), Columns: []output.Column[status]{
	{Name: "service", Text: func(s status) string { return s.Service }},
	{Name: "pending", Text: func(s status) string { return strconv.Itoa(s.Pending) }},
	{Name: "sending", Text: func(s status) string { return strconv.Itoa(s.Sending) }},
	{Name: "accepted", Text: func(s status) string { return strconv.Itoa(s.Accepted) }},
	{Name: "rejected", Text: func(s status) string { return strconv.Itoa(s.Rejected) }},
	{Name: "unclear", Text: func(s status) string { return strconv.Itoa(s.Unclear) }},
	{Name: "dismissed", Text: func(s status) string { return strconv.Itoa(s.Dismissed) }},
	{Name: "oldest pending", Text: func(s status) string {
		if s.Pending == 0 {
			return "-"
		}
		return time.Duration(s.OldestPending * float64(time.Second)).Round(time.Second).String()
	}},
	{Name: "paused", Text: func(s status) string { return cmp.Or(strings.Join(s.Paused, ", "), "no") }},
}}

func newOutboxStatus(l *ledgerFlag) *cobra.Command {
	return get[status]{
		use: "status", short: "Count the entries by state",
		example: `  messaging outbox status --ledger orders.db
  messaging outbox status --ledger orders.db --json | jq .unclear`,
		table: statusTable,
		find: inBox(l, func(c call, b *box) (*status, error) {
			n, err := b.Counts(c.ctx)
			return &status{n.Pending, n.Sending, n.Accepted, n.Rejected, n.Unclear, n.Dismissed, n.OldestPending.Seconds(),
				append([]string{}, n.Paused...), b.service()}, err
		}),
	}.command(l.settings)
}

// inBox finds a row in the outbox.
func inBox[T any](l *ledgerFlag, find func(call, *box) (*T, error)) func(call) (*T, error) {
	return func(c call) (*T, error) {
		b, err := l.open(c.ctx)
		if err != nil {
			return nil, err
		}
		defer b.ledger.Close()
		return find(c, b)
	}
}

// entry is an entry as it is printed.
type entry struct {
	ID         int64     `json:"id"`
	Key        string    `json:"key"`
	Operation  string    `json:"operation"`
	State      string    `json:"state"`
	Attempts   int       `json:"attempts"`
	Delivery   string    `json:"delivery"`
	Error      string    `json:"error"`
	EnqueuedAt time.Time `json:"enqueued_at"`
	NotBefore  time.Time `json:"not_before,omitzero"`
	SettledAt  time.Time `json:"settled_at,omitzero"`

	// Those of its request, which show alone reads.
	Emails      []string        `json:"emails,omitzero"`
	CustomerIDs []string        `json:"customer_ids,omitzero"`
	Body        json.RawMessage `json:"body,omitempty"`
}

func entryOf(e outbox.Entry) entry {
	return entry{ID: e.ID, Key: e.Key, Operation: e.Operation, State: string(e.State), Attempts: e.Attempts,
		Delivery: words.Delivery(e.Delivery), Error: e.Error, EnqueuedAt: e.EnqueuedAt, NotBefore: e.NotBefore, SettledAt: e.SettledAt}
}

var entryColumns = []output.Column[entry]{
	{Name: "id", Text: func(e entry) string { return strconv.FormatInt(e.ID, 10) }},
	{Name: "key", Text: func(e entry) string { return e.Key }},
	{Name: "state", Text: func(e entry) string { return e.State }},
	{Name: "enqueued", Time: func(e entry) time.Time { return e.EnqueuedAt }},
	{Name: "operation", Text: func(e entry) string { return e.Operation }},
	{Name: "attempts", Text: func(e entry) string { return strconv.Itoa(e.Attempts) }},
	{Name: "delivery", Text: func(e entry) string { return e.Delivery }},
	{Name: "settled", Time: func(e entry) time.Time { return e.SettledAt }},
	{Name: "error", Text: func(e entry) string { return e.Error }},
	{Name: "emails", Text: func(e entry) string { return strings.Join(e.Emails, ", ") }},
	{Name: "customer ids", Text: func(e entry) string { return strings.Join(e.CustomerIDs, ", ") }},
	{Name: "body", Text: func(e entry) string { return string(e.Body) }},
}

// entryTable has the columns that tell an operator what to do next. The others are in JSON, and in show.
var entryTable = output.Table[entry]{
	Fields:  output.FieldsOf(entry{EnqueuedAt: sampleTime, NotBefore: sampleTime, SettledAt: sampleTime}),
	Columns: append(entryColumns[:4:4], output.Column[entry]{Name: "error", Text: shortError}),
}

// detailTable has all of an entry and its request.
var detailTable = output.Table[entry]{
	Fields: output.FieldsOf(entry{EnqueuedAt: sampleTime, NotBefore: sampleTime, SettledAt: sampleTime,
		Emails: []string{}, CustomerIDs: []string{}, Body: json.RawMessage("{}")}),
	Columns: entryColumns,
}

// shortError returns the error of an entry without the request that the operation makes, which hides the reason in a narrow table.
func shortError(e entry) string {
	said := strings.TrimPrefix(e.Error, e.Operation+": ")
	if request, reason, found := strings.Cut(said, ": "); found && strings.HasPrefix(request, "POST /") {
		return reason
	}
	return e.Error
}

func newOutboxList(l *ledgerFlag) *cobra.Command {
	flags := filterFlags{states: allStates}
	cmd := list[entry]{
		use: "list", short: "List entries",
		example: `  messaging outbox list --ledger orders.db --state unclear
  messaging outbox list --ledger orders.db --state rejected --error-contains 422 --json=key,error`,
		table: entryTable,
		rows: func(c call) iter.Seq2[entry, error] {
			filter, err := flags.filter()
			if err != nil {
				return failed[entry](err)
			}
			return l.entries(c, filter)
		},
	}.command(l.settings)
	flags.add(cmd)
	return cmd
}

func (l *ledgerFlag) entries(c call, page outbox.Filter) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		b, err := l.open(c.ctx)
		if err != nil {
			yield(entry{}, err)
			return
		}
		defer b.ledger.Close()
		for e, err := range b.List(c.ctx, page) {
			if !yield(entryOf(e), err) {
				return
			}
		}
	}
}

func newOutboxShow(l *ledgerFlag) *cobra.Command {
	return get[entry]{
		use: "show KEY", short: "Show an entry, whom it is for, and its request",
		long: `Show an entry, whom it is for, and its request. The request is erased once the entry is accepted
or dismissed.`,
		example: `  messaging outbox show --ledger orders.db A-1001
  messaging outbox show --ledger orders.db A-1001 --json | jq .body`,
		args:  cobra.ExactArgs(1),
		table: detailTable,
		find:  inBox(l, showEntry),
	}.command(l.settings)
}

func showEntry(c call, b *box) (*entry, error) {
	found, err := b.Get(c.ctx, c.args[0])
	if errors.Is(err, outbox.ErrNoEntry) {
		err = exit.With(exit.NotFound, "%s has no entry with the key %q", b.ledger.Title, c.args[0])
	}
	if err != nil {
		return nil, err
	}
	shown := entryOf(found)
	shown.Emails, shown.CustomerIDs = []string{}, []string{} // not null
	if found.State == outbox.Accepted || found.State == outbox.Dismissed {
		c.printer.Note("the request of an entry that is %s is erased, so its recipients and its body cannot be shown", found.State)
		return &shown, nil
	}
	prepared, err := b.Prepared(c.ctx, c.args[0])
	if err != nil {
		return nil, err
	}
	to, _ := prepared.Recipients() // of a body that cannot be read, the entry shows none
	shown.Emails, shown.CustomerIDs = append(shown.Emails, to.Emails...), append(shown.CustomerIDs, to.CustomerIDs...)
	shown.Body = prepared.Body()
	return &shown, nil
}
