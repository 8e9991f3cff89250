package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
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

func number(get func(status) int) func(status) string {
	return func(s status) string { return strconv.Itoa(get(s)) }
}

var statusTable = output.Table[status]{
	Columns: []output.Column[status]{
		{Name: "service", Text: func(s status) string { return s.Service }},
		{Name: "pending", Text: number(func(s status) int { return s.Pending })},
		{Name: "sending", Text: number(func(s status) int { return s.Sending })},
		{Name: "accepted", Text: number(func(s status) int { return s.Accepted })},
		{Name: "rejected", Text: number(func(s status) int { return s.Rejected })},
		{Name: "unclear", Text: number(func(s status) int { return s.Unclear })},
		{Name: "dismissed", Text: number(func(s status) int { return s.Dismissed })},
		{Name: "oldest pending", Text: func(s status) string {
			if s.Pending == 0 {
				return "-"
			}
			return time.Duration(s.OldestPending * float64(time.Second)).Round(time.Second).String()
		}},
		{Name: "paused", Text: func(s status) string { return cmp.Or(strings.Join(s.Paused, ", "), "no") }},
	},
	Fields: output.FieldsOf(status{}),
}

func newOutboxStatus(l *ledgerFlag) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Count the entries by state",
		Example: `  messaging outbox status --ledger orders.db
  messaging outbox status --ledger orders.db --json | jq .unclear`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := l.open(cmd.Context())
			if err != nil {
				return err
			}
			defer b.ledger.Close()
			c, err := b.Counts(cmd.Context())
			if err != nil {
				return err
			}
			return output.One(l.printer, statusTable, status{c.Pending, c.Sending, c.Accepted, c.Rejected, c.Unclear, c.Dismissed,
				c.OldestPending.Seconds(), append([]string{}, c.Paused...), b.service()})
		},
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
}

func entryOf(e outbox.Entry) entry {
	return entry{e.ID, e.Key, e.Operation, string(e.State), e.Attempts, words.Delivery(e.Delivery), e.Error, e.EnqueuedAt,
		e.NotBefore, e.SettledAt}
}

var sampleEntry = entry{EnqueuedAt: time.Unix(0, 0), NotBefore: time.Unix(0, 0), SettledAt: time.Unix(0, 0)}

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
	var page outbox.ListParams
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List entries",
		Example: `  messaging outbox list --ledger orders.db --state unclear
  messaging outbox list --ledger orders.db --state rejected --error-contains 422 --json=key,error
  messaging outbox list --ledger orders.db --after 1000 --limit 50`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if page.After < 0 || page.Limit < 0 {
				return exit.With(exit.Usage, "--after and --limit must not be negative")
			}
			if page.Filter, _, err = flags.filter(cmd); err != nil {
				return err
			}
			return l.list(cmd.Context(), page)
		},
	}
	flags.add(cmd)
	cmd.Flags().Int64Var(&page.After, "after", 0, "begin after the entry with this `id`")
	cmd.Flags().IntVar(&page.Limit, "limit", 0, "list at most this many; 0 means all")
	return cmd
}

func (l *ledgerFlag) list(ctx context.Context, page outbox.ListParams) error {
	rows, err := output.NewRows(l.printer, entryTable)
	if err != nil {
		return err
	}
	b, err := l.open(ctx)
	if err != nil {
		return errors.Join(rows.Close(), err)
	}
	defer b.ledger.Close()
	for e, err := range b.List(ctx, page) {
		if err == nil {
			err = rows.Write(entryOf(e))
		}
		if err != nil {
			return errors.Join(rows.Close(), err)
		}
	}
	return rows.Close()
}

// detail is an entry with its request.
type detail struct {
	entry
	Emails      []string        `json:"emails"`
	CustomerIDs []string        `json:"customer_ids"`
	Body        json.RawMessage `json:"body,omitempty"`
}

// detailTable returns a table of an entry and its request, with or without its body.
func detailTable(body bool) output.Table[detail] {
	columns := detailColumns()
	if !body {
		columns = columns[:len(columns)-1]
	}
	return output.Table[detail]{Columns: columns, Fields: output.FieldsOf(detail{entry: sampleEntry, Body: json.RawMessage("{}")})}
}

// detailColumns returns the columns of an entry, and those of its request, the last of which is its body.
func detailColumns() (columns []output.Column[detail]) {
	for _, c := range entryColumns {
		column := output.Column[detail]{Name: c.Name}
		if c.Time != nil {
			column.Time = func(d detail) time.Time { return c.Time(d.entry) }
		} else {
			column.Text = func(d detail) string { return c.Text(d.entry) }
		}
		columns = append(columns, column)
	}
	return append(columns,
		output.Column[detail]{Name: "emails", Text: func(d detail) string { return strings.Join(d.Emails, ", ") }},
		output.Column[detail]{Name: "customer ids", Text: func(d detail) string { return strings.Join(d.CustomerIDs, ", ") }},
		output.Column[detail]{Name: "body", Text: func(d detail) string { return string(d.Body) }})
}

func newOutboxShow(l *ledgerFlag) *cobra.Command {
	var body bool
	cmd := &cobra.Command{
		Use:   "show KEY",
		Short: "Show an entry and whom it is for",
		Long: `Show an entry and whom it is for. The request is erased once the entry is accepted or
dismissed.`,
		Example: `  messaging outbox show --ledger orders.db A-1001
  messaging outbox show --ledger orders.db A-1001 --body --json | jq .body`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return l.show(cmd.Context(), args[0], body) },
	}
	cmd.Flags().BoolVar(&body, "body", false, "show the request as well")
	return cmd
}

func (l *ledgerFlag) show(ctx context.Context, key string, body bool) error {
	b, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer b.ledger.Close()
	found, err := b.Get(ctx, key)
	if errors.Is(err, outbox.ErrNoEntry) {
		return exit.With(exit.NotFound, "%s has no entry with the key %q", b.ledger.Title, key)
	}
	if err != nil {
		return err
	}
	shown := detail{entry: entryOf(found)}
	if found.State != outbox.Accepted && found.State != outbox.Dismissed {
		prepared, err := b.Prepared(ctx, key)
		if err != nil {
			return err
		}
		shown.request(prepared, body)
	} else {
		l.printer.Note("the request of an entry that is %s is erased, so its recipients and its body cannot be shown", found.State)
	}
	return output.One(l.printer, detailTable(body), shown)
}

func (d *detail) request(p *messaging.Prepared, body bool) {
	to, _ := p.Recipients() // of a body that cannot be read, the entry shows none
	d.Emails, d.CustomerIDs = to.Emails, to.CustomerIDs
	if body {
		d.Body = p.Body()
	}
}
