package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/bulk"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/outbox"
)

// importFlags are the flags of the import command.
type importFlags struct {
	*ledgerFlag
	confirm       confirm.Flags
	from, event   string
	rows          rowFlags
	keyColumn     string
	maxRecipients int

	service  *profile.Service
	address  ledger.Address
	existing *box // nil if there is no outbox yet
	file     *bulk.File
}

// imported is what an import did, in JSON.
type imported struct {
	Added   int `json:"added"`
	Present int `json:"present"`
	Skipped int `json:"skipped"`
}

func newOutboxImport(l *ledgerFlag) *cobra.Command {
	flags := &importFlags{ledgerFlag: l}
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Add a trigger for each row of a file",
		Long: `Add a trigger of an event for each row of a file: CSV with a header, JSON
Lines, or a JSON array.
Nothing is sent; that is what "run" does.

A column is named after an event parameter or a customer field: email, customer_id,
first_name, last_name or phone_no ("customer.first_name" if the event has a parameter of
that name). --map reads a column under a different name. An empty value is left out. Columns
of "export customers" that cannot be sent are left out, and the plan lists them.

Each row has a key, and each key is imported once, so you can kill the command and run it
again. The same key with other content is an error. Without --key-column, the key is the hash
of the request, and equal rows are one trigger.`,
		Example: `  messaging -p sandbox outbox import --ledger orders.db --from orders.csv --event "order shipped" --key-column order
  messaging -p sandbox outbox import --ledger orders.db --from orders.csv --event "order shipped" --key-column order --dry-run
  messaging -p sandbox outbox import --ledger list.db --from list.csv --event "order shipped" --map mail=email --map notes=
  messaging -p sandbox outbox import --ledger list.db --from - --event "order shipped" --dry-run <orders.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.from, "from", "", "the `file` to read; - reads stdin (required)")
	flags.rows.add(f)
	f.StringVar(&flags.event, "event", "", "the `name` of the event (required)")
	f.StringVar(&flags.keyColumn, "key-column", "", "the `column` with a key that names each trigger, such as an order number")
	f.IntVar(&flags.maxRecipients, "max-recipients", 0, "the largest number of rows; default: the limit of the profile")
	_, _ = cmd.MarkFlagRequired("from"), cmd.MarkFlagRequired("event") // the flags exist
	flags.confirm.Add(cmd)
	flags.printsOf(cmd, &flags.confirm, imported{})
	return cmd
}

func (flags *importFlags) run(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	if flags.file, err = flags.newFile(cmd); err != nil {
		return err
	}
	if flags.service, err = flags.account(ctx); err != nil {
		return err
	}
	flags.file.Check = flags.service.Client.Check
	err = flags.openExisting(ctx)
	if flags.existing != nil {
		defer flags.existing.ledger.Close()
	}
	if err != nil {
		return err
	}
	if flags.file.Mapper.Event, err = flags.findEvent(ctx, flags.service.Client, flags.event); err != nil {
		return err
	}
	content, err := flags.copied(cmd)
	if err != nil {
		return err
	}
	defer func() {
		_ = content.Close()
		_ = os.Remove(content.Name()) // see copied
	}()
	flags.file.Content = content
	defer saveMemory(15)()
	plan, err := flags.file.Plan(ctx)
	if ctx.Err() != nil {
		return exit.With(exit.Interrupted, "interrupted; nothing was imported")
	}
	if err != nil {
		return exit.With(exit.Usage, "%s: %w; nothing was imported", titleOf(flags.from), err)
	}
	if err := flags.refusal(plan); err != nil {
		return err
	}
	shown, err := flags.plan(ctx, plan)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Add %s to %s?", words.Count(plan.New(), "trigger"), flags.address.Title())
	action := confirm.NewAction(flags.service, "outbox import", fmt.Appendf(nil, "%s\n%x", flags.address.Absolute(), plan.Digest), question,
		fmt.Sprint(plan.New()))
	action.Recipients, action.Nothing = &plan.Rows, plan.New() == 0
	if goes, err := flags.confirm.Decide(ctx, flags.printer, shown, action); err != nil || !goes {
		return err
	}
	return flags.add(ctx, plan)
}

// saveMemory makes garbage collections frequent while hashes of very many rows are held: each
// when the memory has grown by a percentage. They are cheap, since hashes have no pointers to follow.
func saveMemory(percent int) (restore func()) {
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

// openExisting opens the outbox if there is one. It creates nothing.
func (flags *importFlags) openExisting(ctx context.Context) (err error) {
	if flags.address, err = ledger.Find(flags.path); err != nil {
		return err
	}
	if exists, err := flags.address.Exists(ctx); err != nil || !exists {
		return err
	}
	b, err := flags.open(ctx)
	if err != nil {
		return err
	}
	flags.existing = b
	flags.file.Lookup = b.Present
	return flags.checkSource(b)
}

// checkSource returns an error if the rows must not be added to the outbox.
func (flags *importFlags) checkSource(b *box) error {
	if err := b.checkService(flags.service); err != nil || !b.ok || b.source.KeyColumn == flags.keyColumn {
		return err
	}
	return exit.With(exit.Usage, "%s was filled %s, and this import is %s: rows that were sent would get other keys, and be sent again; "+
		"nothing was imported", b.ledger.Title, keysFrom(b.source.KeyColumn), keysFrom(flags.keyColumn))
}

// keysFrom says where keys come from.
func keysFrom(column string) string {
	if column == "" {
		return "without --key-column"
	}
	return "with --key-column " + copies.ShellQuote(column)
}

// newFile returns the file to import as the flags describe it.
func (flags *importFlags) newFile(cmd *cobra.Command) (*bulk.File, error) {
	if cmd.Flags().Changed("max-recipients") && flags.maxRecipients < 1 {
		return nil, exit.With(exit.Usage, "--max-recipients must be at least 1")
	}
	source, err := flags.rows.source(flags.from)
	return &bulk.File{Source: source, Mapper: &bulk.Mapper{KeyColumn: flags.keyColumn}}, err
}

// copied copies the file or stdin to a temporary file, which only this user can read: what is imported is what was shown. Where
// an open file can be removed, nothing is left of it after a kill.
func (flags *importFlags) copied(cmd *cobra.Command) (*os.File, error) {
	from, err := openInput(cmd, flags.from)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	content, err := os.CreateTemp("", "messaging-import-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(content.Name())
	if _, err = io.Copy(content, from); err != nil {
		return nil, exit.With(exit.Usage, "cannot copy %s to a temporary file: %w", titleOf(flags.from), errors.Join(err, content.Close()))
	}
	return content, nil
}

// plan shows what would be imported.
func (flags *importFlags) plan(ctx context.Context, p *bulk.Plan) (*confirm.Plan, error) {
	shown := confirm.NewPlan("Add triggers to an outbox", flags.service)
	shown.Add("event", flags.file.Mapper.Event.Name+" ("+flags.file.Mapper.Event.ID+")")
	shown.Add("file", titleOf(flags.from))
	rows := words.Thousands(p.Rows)
	if flags.existing == nil {
		shown.Add("outbox", flags.address.Absolute()+" (new)")
	} else {
		counts, err := flags.existing.Counts(ctx)
		if err != nil {
			return nil, err
		}
		shown.Add("outbox", flags.address.Absolute())
		if counts.Pending > 0 {
			shown.Add("pending", words.Thousands(counts.Pending)+" of earlier imports, sent by the next run too")
		}
		rows += fmt.Sprintf(": %s new, %s present already", words.Thousands(p.New()), words.Thousands(p.Present))
	}
	if p.Repeated > 0 {
		rows += fmt.Sprintf(", and %s equal to an earlier one, which count once", words.Thousands(p.Repeated))
		if flags.keyColumn == "" {
			rows += "; --key-column tells them apart"
		}
	}
	addLeftOut(shown, flags.file.LeftOut())
	shown.Add("rows", rows)
	shown.Add("first row", string(p.First.Body()))
	if p.Bad.Count > 0 {
		shown.Add("left out", flags.badRows(p))
	}
	return shown, nil
}

// refusal returns an error for a plan that cannot be carried out.
func (flags *importFlags) refusal(p *bulk.Plan) error {
	switch {
	case p.Bad.Count > 0 && !flags.rows.skipBad:
		return exit.With(exit.Usage, "%s\nnothing was imported; correct the file, or pass --skip-bad-rows to leave these rows out",
			flags.badRows(p))
	case p.Rows == 0:
		return exit.With(exit.Usage, "%s: no row can be used; nothing was imported", titleOf(flags.from))
	case p.Conflicts.Count > 0:
		return exit.With(exit.Invalid, "%s: %s with a key that has other content:%s\nnothing was imported; correct them, or give them other "+
			"keys", titleOf(flags.from), words.Count(p.Conflicts.Count, "row"), &p.Conflicts)
	}
	return checkLimit(p.New(), cmp.Or(flags.maxRecipients, flags.service.MaxRecipients),
		fmt.Sprintf("; --max-recipients %d allows them", p.New()))
}

func (flags *importFlags) badRows(p *bulk.Plan) string {
	return fmt.Sprintf("%s: %s of %s rows cannot be used:%s", titleOf(flags.from), words.Thousands(p.Bad.Count),
		words.Thousands(p.Bad.Count+p.Rows+p.Repeated), &p.Bad)
}

// add adds the rows to the outbox.
func (flags *importFlags) add(ctx context.Context, plan *bulk.Plan) error {
	opened, err := flags.address.Open(ctx, true)
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := opened.Claim(ctx, ledger.Source{Service: flags.service.Identity(), Kind: string(flags.service.Kind),
		KeyColumn: flags.keyColumn}); err != nil {
		return err
	}
	b, err := newBox(ctx, opened)
	if err == nil {
		err = flags.checkSource(b) // another import may have been faster
	}
	if err != nil {
		return err
	}
	progress := flags.printer.NewProgress(plan.Rows + plan.Repeated)
	added, present, err := flags.file.Import(ctx, b.Outbox, func(n int) { progress.Set(n, "") })
	progress.Stop()
	flags.printer.Note("%s added, %s present already", words.Thousands(added), words.Thousands(present))
	if err != nil {
		return importError(ctx, err)
	}
	if err := flags.noteNext(ctx, b); err != nil {
		return err
	}
	if flags.printer.IsJSON() {
		return flags.printer.Object(imported{added, present, plan.Bad.Count})
	}
	return nil
}

// noteNext says what there is to send.
func (l *ledgerFlag) noteNext(ctx context.Context, b *box) error {
	counts, err := b.Counts(context.WithoutCancel(ctx)) // the rows were added, also if it is interrupted now
	switch {
	case err != nil:
		return err
	case counts.Pending == 0:
		l.printer.Note("nothing is pending; the outbox: %s", describe(byState(counts)))
	case isPaused(counts):
		l.printer.Note("%s pending, and paused; to send: %s, and then %s", words.Thousands(counts.Pending), l.command("resume"),
			l.command("run", "--until-empty"))
	default:
		l.printer.Note("%s pending; to send: %s", words.Thousands(counts.Pending), l.command("run", "--until-empty"))
	}
	return nil
}

// importError adds to an error what the operator can do about it.
func importError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return exit.With(exit.PartlyDone, "interrupted; run the same command again to go on. Nothing was sent")
	case errors.Is(err, outbox.ErrKeyConflict):
		return exit.With(exit.PartlyDone, "%w: another import has brought it in since the plan was made. The rows before it stay, and "+
			"nothing was sent", err)
	default:
		return exit.With(exit.PartlyDone, "%w; what was added stays, so run the same command again to go on. Nothing was sent", err)
	}
}
