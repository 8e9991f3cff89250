package cli

import (
	"cmp"
	"context"
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
	"github.com/messaging-go/messaging/outbox"
)

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

// statusTable returns a table with a column for each state.
func statusTable(counts outbox.Counts) output.Table[status] {
	columns := []output.Column[status]{{Name: "service", Text: func(s status) string { return s.Service }}}
	for _, state := range allStates {
		columns = append(columns, output.Column[status]{Name: string(state), Text: func(status) string {
			return strconv.Itoa(countOf(counts, state))
		}})
	}
	return output.Table[status]{Fields: output.FieldsOf(status{}), Columns: append(columns,
		output.Column[status]{Name: "oldest pending", Text: func(s status) string {
			if s.Pending == 0 {
				return "-"
			}
			return counts.OldestPending.Round(time.Second).String()
		}},
		output.Column[status]{Name: "paused", Text: func(s status) string { return cmp.Or(strings.Join(s.Paused, ", "), "no") }})}
}

func newOutboxStatus(l *ledgerFlag) *cobra.Command {
	cmd := l.about(&cobra.Command{
		Use:   "status",
		Short: "Count the entries by state",
		Example: `  messaging outbox status --ledger orders.db
  messaging outbox status --ledger orders.db --json | jq .unclear`,
	}, func(ctx context.Context, b *box, _ []string) error {
		c, err := b.Counts(ctx)
		if err != nil {
			return err
		}
		return output.One(l.printer, statusTable(c), status{c.Pending, c.Sending, c.Accepted, c.Rejected, c.Unclear, c.Dismissed,
			c.OldestPending.Seconds(), append([]string{}, c.Paused...), b.service()})
	})
	l.prints(cmd, output.FieldsOf(status{}))
	return cmd
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

var sampleEntry = entry{EnqueuedAt: sampleTime, NotBefore: sampleTime, SettledAt: sampleTime}

var entryColumns = []output.Column[entry]{
	{Name: "id", Text: func(e entry) string { return strconv.FormatInt(e.ID, 10) }},
	{Name: "key", Text: func(e entry) string { return e.Key }},
	{Name: "state", Text: func(e entry) string { return e.State }},
	{Name: "operation", Text: func(e entry) string { return e.Operation }},
	{Name: "attempts", Text: func(e entry) string { return strconv.Itoa(e.Attempts) }},
	{Name: "delivery", Text: func(e entry) string { return e.Delivery }},
	{Name: "enqueued", Time: func(e entry) time.Time { return e.EnqueuedAt }},
	{Name: "settled", Time: func(e entry) time.Time { return e.SettledAt }},
	{Name: "error", Text: func(e entry) string { return e.Error }},
}

// entryTable has the columns that tell an operator what to do next. The others are in JSON, and in show.
var entryTable = output.Table[entry]{Fields: output.FieldsOf(sampleEntry),
	Columns: append(columnsOf("id", "key", "state", "enqueued"), output.Column[entry]{Name: "error", Text: shortError})}

// shortError returns the error of an entry without the request that the operation makes, which hides the reason in a narrow table.
func shortError(e entry) string {
	said := strings.TrimPrefix(e.Error, e.Operation+": ")
	if request, reason, found := strings.Cut(said, ": "); found && strings.HasPrefix(request, "POST /") {
		return reason
	}
	return e.Error
}

func columnsOf(names ...string) []output.Column[entry] {
	return slices.DeleteFunc(slices.Clone(entryColumns), func(c output.Column[entry]) bool { return !slices.Contains(names, c.Name) })
}

func newOutboxList(l *ledgerFlag) *cobra.Command {
	flags := filterFlags{states: allStates}
	var page outbox.Filter
	cmd := list[entry]{
		use: "list", short: "List entries",
		example: `  messaging outbox list --ledger orders.db --state unclear
  messaging outbox list --ledger orders.db --state rejected --error-contains 422 --json=key,error
  messaging outbox list --ledger orders.db --after 1000 --limit 50`,
		table: entryTable,
		rows: func(c call) iter.Seq2[entry, error] {
			filter, err := flags.filter()
			if err != nil {
				return failed[entry](err)
			}
			if filter.After, filter.Limit = page.After, page.Limit; page.After < 0 || page.Limit < 0 {
				return failed[entry](exit.With(exit.Usage, "--after and --limit must not be negative"))
			}
			return l.entries(c.ctx, filter)
		},
	}.command(l.settings)
	flags.add(cmd)
	cmd.Flags().Int64Var(&page.After, "after", 0, "begin after the entry with this `id`")
	cmd.Flags().IntVar(&page.Limit, "limit", 0, "list at most this many; 0 means all")
	return cmd
}

func (l *ledgerFlag) entries(ctx context.Context, page outbox.Filter) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		b, err := l.open(ctx)
		if err != nil {
			yield(entry{}, err)
			return
		}
		defer b.ledger.Close()
		for e, err := range b.List(ctx, page) {
			if !yield(entryOf(e), err) {
				return
			}
		}
	}
}

// detailTable returns a table of an entry and its request, with or without its body.
func detailTable(body bool) output.Table[entry] {
	sample := sampleEntry
	sample.Emails, sample.CustomerIDs, sample.Body = []string{}, []string{}, json.RawMessage("{}")
	columns := append(slices.Clone(entryColumns),
		output.Column[entry]{Name: "emails", Text: func(e entry) string { return strings.Join(e.Emails, ", ") }},
		output.Column[entry]{Name: "customer ids", Text: func(e entry) string { return strings.Join(e.CustomerIDs, ", ") }})
	if body {
		columns = append(columns, output.Column[entry]{Name: "body", Text: func(e entry) string { return string(e.Body) }})
	}
	return output.Table[entry]{Columns: columns, Fields: output.FieldsOf(sample)}
}

func newOutboxShow(l *ledgerFlag) *cobra.Command {
	var body bool
	cmd := l.about(&cobra.Command{
		Use:   "show KEY",
		Short: "Show an entry and whom it is for",
		Long: `Show an entry and whom it is for. The request is erased once the entry is accepted or
dismissed.`,
		Example: `  messaging outbox show --ledger orders.db A-1001
  messaging outbox show --ledger orders.db A-1001 --body --json | jq .body`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, b *box, args []string) error { return l.show(ctx, b, args[0], body) })
	l.prints(cmd, func() []string { return detailTable(body).Fields() })
	cmd.Flags().BoolVar(&body, "body", false, "show the request as well")
	return cmd
}

func (l *ledgerFlag) show(ctx context.Context, b *box, key string, body bool) error {
	found, err := b.Get(ctx, key)
	if errors.Is(err, outbox.ErrNoEntry) {
		return exit.With(exit.NotFound, "%s has no entry with the key %q", b.ledger.Title, key)
	}
	if err != nil {
		return err
	}
	shown := entryOf(found)
	shown.Emails, shown.CustomerIDs = []string{}, []string{}
	if found.State == outbox.Accepted || found.State == outbox.Dismissed {
		l.printer.Note("the request of an entry that is %s is erased, so its recipients and its body cannot be shown", found.State)
		return output.One(l.printer, detailTable(body), shown)
	}
	prepared, err := b.Prepared(ctx, key)
	if err != nil {
		return err
	}
	to, _ := prepared.Recipients() // of a body that cannot be read, the entry shows none
	shown.Emails, shown.CustomerIDs = append(shown.Emails, to.Emails...), append(shown.CustomerIDs, to.CustomerIDs...)
	if body {
		shown.Body = prepared.Body()
	}
	return output.One(l.printer, detailTable(body), shown)
}
