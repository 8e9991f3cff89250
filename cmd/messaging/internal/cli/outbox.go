package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/outbox"
)

func newOutbox(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "outbox",
		Short: "Trigger an event for every row of a file, at most once",
		Long: `Trigger an event for every row of a file, at most once.

"import" writes the triggers to an outbox, and "run" sends them. Both can be killed at any
moment: run the same command again, and it goes on. Whatever cannot be known after a crash
is unclear, and is not sent again until you say so with "resend".

The outbox is a SQLite file, which --ledger names, or the Postgres database of
` + ledger.Variable + `.`,
		Example: `  messaging -p sandbox outbox import --ledger orders.db --from orders.csv --event "order shipped" --key-column order --dry-run
  messaging -p sandbox outbox run --ledger orders.db --until-empty
  messaging outbox status --ledger orders.db
  messaging outbox list --ledger orders.db --state unclear`,
	}
	l := &ledgerFlag{settings: s}
	cmd.PersistentFlags().StringVar(&l.path, "ledger", "", "the `file` of the outbox; default: the database of "+ledger.Variable)
	l.flag = cmd.PersistentFlags().Lookup("ledger")
	cmd.AddCommand(newOutboxImport(l), newOutboxRun(l), newOutboxStatus(l), newOutboxList(l), newOutboxShow(l),
		newOutboxResend(l), newOutboxDismiss(l), newOutboxPause(l), newOutboxResume(l))
	return cmd
}

// ledgerFlag is the flag that names the outbox.
type ledgerFlag struct {
	*settings
	path string
	flag *pflag.Flag
}

func (l *ledgerFlag) find() (ledger.Address, error) {
	if l.flag.Changed && l.path == "" {
		return ledger.Address{}, exit.With(exit.Usage, "--ledger is empty; is a variable not set?")
	}
	return ledger.Find(l.path, os.LookupEnv)
}

// command is another command about the same outbox, to be pasted into a shell.
func (l *ledgerFlag) command(name string, args ...string) string {
	words := []string{"outbox", name}
	if l.path != "" {
		words = append(words, "--ledger", l.path)
	}
	return l.settings.command(append(words, args...)...)
}

// open opens an outbox that exists.
func (l *ledgerFlag) open(ctx context.Context) (*ledger.Ledger, error) {
	address, err := l.find()
	if err != nil {
		return nil, err
	}
	return address.Open(ctx)
}

// box is an open outbox whose commands call no service.
type box struct {
	*outbox.Outbox[outbox.SQLTx]
	ledger *ledger.Ledger
	// of is the service of the entries, as far as it is known. Its name is the ledger.
	of *profile.Service
	// recorded is false for an outbox of another program, which has no origin.
	recorded bool
	origin   ledger.Origin
	// stale reports whether entries may have been sent without the outbox knowing of it.
	stale bool
}

// plan returns a plan of a command that calls no service.
func (b *box) plan(title string) *confirm.Plan {
	plan := confirm.NewOfflinePlan(title)
	plan.Add("outbox", b.ledger.Title)
	plan.Add("service", b.of.Host)
	return plan
}

// look opens the outbox for a command that calls no service.
func (l *ledgerFlag) look(ctx context.Context) (*box, error) {
	opened, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	b, err := newBox(ctx, opened)
	if err == nil {
		err = l.warnIfStale(ctx, b)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return b, nil
}

// warnIfStale says that what an outbox shows as pending or rejected may have been sent.
func (l *ledgerFlag) warnIfStale(ctx context.Context, b *box) error {
	if !b.recorded {
		return nil
	}
	state, err := stateFolder()
	if err != nil {
		l.printer.Warn("whether a backup was restored is not known: %v", err)
		return nil
	}
	reasons, err := staleness(ctx, b.ledger, b.origin, state)
	if err != nil || len(reasons) == 0 {
		return err
	}
	b.stale = true
	l.printer.Warn("%s. What is pending or rejected here may have been sent", strings.Join(reasons, ". "))
	return nil
}

func newBox(ctx context.Context, l *ledger.Ledger) (*box, error) {
	origin, recorded, err := l.Origin(ctx)
	if err != nil {
		return nil, err
	}
	of := &profile.Service{Name: l.Title, BaseURL: origin.BaseURL, Host: origin.Identity, Kind: profile.Kind(origin.Kind)}
	if !recorded {
		of.Host, of.Kind = "that of another program", profile.Production
	}
	noKey := func(context.Context) (string, error) { return "", errors.New("this command sends nothing") }
	client, err := messaging.NewClient("https://127.0.0.1", "", messaging.WithKeySource(noKey))
	if err != nil {
		return nil, err
	}
	o, err := outbox.New(l.Store, client)
	if err != nil {
		return nil, err
	}
	return &box{Outbox: o, ledger: l, of: of, recorded: recorded, origin: origin}, nil
}
