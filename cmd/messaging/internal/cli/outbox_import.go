package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/bulk"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/outbox"
)

// importFlags are the flags of the import command.
type importFlags struct {
	*ledgerFlag
	confirm       confirm.Flags
	from, event   string
	delimiter     string
	renamed       []string
	keyColumn     string
	skipBadRows   bool
	maxRecipients int
}

const delimiterUsage = "the `character` between the values of CSV, such as ';', or tab; default: a comma"

func newOutboxImport(l *ledgerFlag) *cobra.Command {
	flags := &importFlags{ledgerFlag: l}
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Add a trigger for each row of a file",
		Long: `Add a trigger of an event for each row of a file: CSV with a header, or JSON Lines.
Nothing is sent; that is what "run" does.

A column is named after an event parameter or a customer field: email, customer_id,
first_name, last_name or phone_no ("customer.first_name" if the event has a parameter of
that name). --map reads a column under a different name. An empty value is left out.

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
	f.StringVar(&flags.from, "from", "", "the `file` to read; - reads stdin")
	f.StringVar(&flags.delimiter, "delimiter", "", delimiterUsage)
	f.StringVar(&flags.event, "event", "", "the `name` of the event")
	f.StringArrayVar(&flags.renamed, "map", nil, "what a column holds: `column=parameter`; nothing after = leaves the column out")
	f.StringVar(&flags.keyColumn, "key-column", "", "the `column` with a key that names each trigger, such as an order number")
	f.BoolVar(&flags.skipBadRows, "skip-bad-rows", false, "leave out the rows that cannot be used; the plan shows them")
	f.IntVar(&flags.maxRecipients, "max-recipients", 0, "the largest number of rows; default: the limit of the profile")
	flags.confirm.Add(f)
	return cmd
}

func (flags *importFlags) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	renamed, err := flags.check(cmd)
	if err != nil {
		return err
	}
	service, err := flags.account(ctx)
	if err != nil {
		return err
	}
	address, err := flags.find()
	if err != nil {
		return err
	}
	existing, err := flags.existing(ctx, address, service)
	if err != nil {
		return err
	}
	if existing != nil {
		defer existing.ledger.Close()
	}
	event, err := flags.findEvent(ctx, service)
	if err != nil {
		return err
	}
	file, closeFile, err := flags.file(cmd, service, event, renamed)
	if err != nil {
		return err
	}
	defer closeFile()
	defer saveMemory()()
	file.Lookup = existing.lookup()
	plan, err := file.Plan(ctx)
	if err != nil {
		return planError(ctx, flags.from, err)
	}
	if err := flags.refusal(service, plan); err != nil {
		return err
	}
	shown, err := flags.plan(ctx, service, address, existing, event, file, plan)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Add %s to %s?", words.Count(plan.New(), "trigger"), address.Title())
	action := confirm.NewAction(service, "outbox import", fmt.Appendf(nil, "%s\n%x", address.Absolute(), plan.Digest), question,
		fmt.Sprint(plan.New()))
	action.Recipients, action.BodySHA256 = &plan.Rows, fmt.Sprintf("%x", plan.Digest)
	goes, err := flags.confirm.Decide(ctx, flags.printer, shown, action)
	if err != nil || !goes {
		return err
	}
	return flags.add(ctx, service, address, file, plan)
}

// check returns what --map says of each column.
func (flags *importFlags) check(cmd *cobra.Command) (map[string]string, error) {
	for _, name := range []string{"from", "event", "key-column", "delimiter"} {
		isNeeded := name == "from" || name == "event"
		switch flag := cmd.Flags().Lookup(name); {
		case flag.Changed && flag.Value.String() == "":
			return nil, exit.With(exit.Usage, "--%s must not be empty", name)
		case isNeeded && !flag.Changed:
			return nil, exit.With(exit.Usage, "--%s is missing", name)
		}
	}
	if cmd.Flags().Changed("max-recipients") && flags.maxRecipients < 1 {
		return nil, exit.With(exit.Usage, "--max-recipients must be at least 1")
	}
	renamed := map[string]string{}
	for _, pair := range flags.renamed {
		column, name, ok := strings.Cut(pair, "=")
		if _, twice := renamed[column]; !ok || column == "" || twice {
			return nil, exit.With(exit.Usage, "--map must be column=parameter, once for each column, and not %q", pair)
		}
		renamed[column] = name
	}
	return renamed, flags.confirm.Check()
}

// existing opens the outbox, or returns nil if it does not exist. It returns an error if the
// outbox was filled in another way. It creates nothing.
func (flags *importFlags) existing(ctx context.Context, address ledger.Address, service *profile.Service) (*box, error) {
	exists, err := address.Exists(ctx)
	if err != nil || !exists {
		return nil, err
	}
	b, err := flags.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := flags.checkSource(b, service); err != nil {
		return nil, errors.Join(err, b.ledger.Close())
	}
	return b, nil
}

// checkSource returns an error if the rows must not be added to the outbox.
func (flags *importFlags) checkSource(b *box, service *profile.Service) error {
	if err := b.checkService(service); err != nil || !b.ok || b.source.KeyColumn == flags.keyColumn {
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
	return "with --key-column " + quoteIfNeeded(column)
}

// lookup finds out what the outbox has, if there is one.
func (b *box) lookup() bulk.Lookup {
	if b == nil {
		return nil
	}
	return func(ctx context.Context, items []outbox.Item) (found []bulk.Found, err error) {
		err = b.ledger.Trial(ctx, func(tx outbox.SQLTx) (err error) {
			found, err = bulk.Trial(ctx, b.Outbox, tx, items)
			return err
		})
		return found, err
	}
}

func (flags *importFlags) findEvent(ctx context.Context, service *profile.Service) (*messaging.Event, error) {
	client, err := service.Client()
	if err != nil {
		return nil, err
	}
	limited, cancel := flags.limited(ctx)
	defer cancel()
	return findEvent(limited, client, flags.event)
}

// file returns the file to import. Since it is read twice, stdin is copied first.
func (flags *importFlags) file(cmd *cobra.Command, service *profile.Service, event *messaging.Event,
	renamed map[string]string) (_ *bulk.File, closeFile func(), err error) {
	delimiter, err := rows.ParseDelimiter(flags.delimiter)
	if err != nil {
		return nil, nil, exit.With(exit.Usage, "--delimiter: %w", err)
	}
	mapper, err := bulk.NewMapper(event, renamed, flags.keyColumn)
	if err != nil {
		return nil, nil, exit.With(exit.Usage, "--map: %w", err)
	}
	file := &bulk.File{Name: flags.from, Delimiter: delimiter, Mapper: mapper}
	if service.Allow != nil {
		file.Guard = messaging.AllowOnly(service.Allow...)
	}
	if info, err := os.Stat(flags.from); flags.from != "-" && (err != nil || info.Mode().IsRegular()) {
		file.Open = func() (io.ReadCloser, error) { return os.Open(flags.from) }
		return file, func() {}, nil
	}
	copied, err := flags.copyOnce(cmd)
	if err != nil {
		return nil, nil, exit.With(exit.Unexpected, "cannot read %s: %w", fromTitle(flags.from), err)
	}
	file.Open = func() (io.ReadCloser, error) { return os.Open(copied) }
	return file, func() { _ = os.Remove(copied) }, nil
}

// copyOnce copies what can be read only once: stdin or a pipe.
func (flags *importFlags) copyOnce(cmd *cobra.Command) (path string, err error) {
	if flags.from == "-" {
		return copyOf(cmd.InOrStdin())
	}
	pipe, err := os.Open(flags.from)
	if err != nil {
		return "", err
	}
	defer pipe.Close()
	return copyOf(pipe)
}

func fromTitle(from string) string {
	if from == "-" {
		return "stdin"
	}
	return from
}

// copyOf copies a stream to a temporary file that only this user can read.
func copyOf(r io.Reader) (path string, err error) {
	file, err := os.CreateTemp("", "messaging-import-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, r)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

func planError(ctx context.Context, from string, err error) error {
	if ctx.Err() != nil {
		return exit.With(exit.Interrupted, "interrupted; nothing was imported")
	}
	return exit.With(exit.Usage, "%s: %w; nothing was imported", fromTitle(from), err)
}

// plan shows what would be imported. existing is nil if there is no outbox yet.
func (flags *importFlags) plan(ctx context.Context, service *profile.Service, address ledger.Address, existing *box,
	event *messaging.Event, file *bulk.File, p *bulk.Plan) (*confirm.Plan, error) {
	shown := confirm.NewPlan("Add triggers to an outbox", service)
	shown.Add("event", event.Name+" ("+event.ID+")")
	shown.Add("file", flags.from)
	if existing == nil {
		shown.Add("outbox", address.Absolute()+" (new)")
		shown.Add("rows", words.Thousands(p.Rows)+flags.repeated(p))
	} else {
		counts, err := existing.Counts(ctx)
		if err != nil {
			return nil, err
		}
		shown.Add("outbox", address.Absolute())
		if counts.Pending > 0 {
			shown.Add("pending", words.Thousands(counts.Pending)+" of earlier imports, sent by the next run too")
		}
		shown.Add("rows", fmt.Sprintf("%s: %s new, %s present already%s", words.Thousands(p.Rows), words.Thousands(p.New()),
			words.Thousands(p.Present), flags.repeated(p)))
	}
	if columns := file.Mapper.Mapping(); len(columns) > 0 {
		shown.Add("columns", strings.Join(columns, ", "))
	}
	shown.Add("first row", payloadOf(p.First.Body()))
	if p.Bad.Count > 0 {
		shown.Add("left out", flags.badRows(p))
	}
	return shown, nil
}

// repeated says how many rows are there twice.
func (flags *importFlags) repeated(p *bulk.Plan) string {
	switch {
	case p.Repeated == 0:
		return ""
	case flags.keyColumn != "":
		return fmt.Sprintf(", and %s with the key and the content of an earlier one", words.Thousands(p.Repeated))
	default:
		return fmt.Sprintf(", and %s equal to an earlier one, which count once; --key-column tells them apart", words.Thousands(p.Repeated))
	}
}

// payloadOf lists the values of a trigger, exactly as they are sent.
func payloadOf(body []byte) string {
	var request struct{ Payload map[string]json.RawMessage }
	if json.Unmarshal(body, &request) != nil {
		return string(body)
	}
	var values []string
	for _, name := range slices.Sorted(maps.Keys(request.Payload)) {
		values = append(values, name+" = "+string(request.Payload[name]))
	}
	return strings.Join(values, ", ")
}

// refusal returns an error for a plan that cannot be carried out.
func (flags *importFlags) refusal(service *profile.Service, p *bulk.Plan) error {
	limit := service.MaxRecipients
	if flags.maxRecipients > 0 {
		limit = flags.maxRecipients
	}
	switch {
	case p.Bad.Count > 0 && !flags.skipBadRows:
		return exit.With(exit.Usage, "%s\nnothing was imported; correct the file, or pass --skip-bad-rows to leave these rows out",
			flags.badRows(p))
	case p.Rows == 0:
		return exit.With(exit.Usage, "%s: no row can be used; nothing was imported", flags.from)
	case p.Conflicts.Count > 0:
		return exit.With(exit.Invalid, "%s: %s with a key that has other content:%s\nnothing was imported; correct them, or give them other "+
			"keys", flags.from, words.Count(p.Conflicts.Count, "row"), listed(p.Conflicts))
	case p.New() > limit:
		return exit.With(exit.Usage, "%s rows exceed the limit of %s recipients; if that is what you want, pass --max-recipients %d",
			words.Thousands(p.New()), words.Thousands(limit), p.New())
	}
	return nil
}

func (flags *importFlags) badRows(p *bulk.Plan) string {
	return fmt.Sprintf("%s: %s of %s rows cannot be used:%s", flags.from, words.Thousands(p.Bad.Count),
		words.Thousands(p.Bad.Count+p.Rows+p.Repeated), listed(p.Bad))
}

// listed lists the first problems.
func listed(problems bulk.Problems) string {
	var b strings.Builder
	for _, problem := range problems.First {
		b.WriteString("\n  " + problem.Error())
	}
	if more := problems.Count - len(problems.First); more > 0 {
		b.WriteString("\n  and " + words.Thousands(more) + " more")
	}
	return b.String()
}

// add adds the rows to the outbox.
func (flags *importFlags) add(ctx context.Context, service *profile.Service, address ledger.Address, file *bulk.File,
	plan *bulk.Plan) error {
	opened, err := address.Create(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	b, err := newBox(ctx, opened)
	if err != nil {
		return err
	}
	if b.source, err = opened.Claim(ctx, ledger.Source{Service: service.Identity(), Kind: string(service.Kind),
		KeyColumn: flags.keyColumn}); err != nil {
		return err
	}
	b.ok = true
	if err := flags.checkSource(b, service); err != nil { // another import may have been faster
		return err
	}
	progress := flags.printer.NewProgress(plan.Rows + plan.Repeated)
	done, err := file.Import(ctx, b, plan, func(n int) { progress.Set(output.Counts{OK: n}) })
	progress.Stop()
	atLeast := ""
	if done.AtLeast {
		atLeast = "at least "
	}
	flags.printer.Note("%s%s added, %s present already", atLeast, words.Thousands(done.Added), words.Thousands(done.Present))
	if err != nil {
		return importError(ctx, done, err)
	}
	if err := flags.noteNext(ctx, b); err != nil {
		return err
	}
	if flags.printer.IsJSON() {
		return flags.printer.Object(map[string]int{"added": done.Added, "present": done.Present, "skipped": plan.Bad.Count})
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
		l.printer.Note("nothing is pending; the outbox: %s", describe(counts))
	case len(counts.Paused) > 0:
		l.printer.Note("%s pending, and paused: %s; to send: %s, and then %s", words.Thousands(counts.Pending),
			strings.Join(counts.Paused, ", "), l.command("resume"), l.command("run", "--until-empty"))
	default:
		l.printer.Note("%s pending; to send: %s", words.Thousands(counts.Pending), l.command("run", "--until-empty"))
	}
	return nil
}

// importError adds to an error what the operator can do about it.
func importError(ctx context.Context, done bulk.Imported, err error) error {
	switch {
	case ctx.Err() != nil:
		return exit.With(exit.PartlyDone, "interrupted; run the same command again to go on. Nothing was sent")
	case errors.Is(err, bulk.ErrChanged) && done == (bulk.Imported{}):
		return exit.With(exit.Usage, "the file changed after the plan was made; nothing was imported or sent")
	case errors.Is(err, bulk.ErrChanged):
		return exit.With(exit.PartlyDone, "%w", err)
	case errors.Is(err, outbox.ErrKeyConflict):
		return exit.With(exit.PartlyDone, "%w: another import has brought it in since the plan was made. The rows before it stay, and "+
			"nothing was sent", err)
	default:
		return exit.With(exit.PartlyDone, "%w; what was added stays, so run the same command again to go on. Nothing was sent", err)
	}
}
