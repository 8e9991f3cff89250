package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/outbox"
)

func newOutbox(s *settings) *cobra.Command {
	l := &ledgerFlag{settings: s}
	cmd := group("outbox", "Trigger an event for every row of a file, at most once",
		newOutboxImport(l), newOutboxRun(l), newOutboxStatus(l), newOutboxList(l), newOutboxShow(l),
		newOutboxResend(l), newOutboxDismiss(l), newOutboxQuarantine(l), newOutboxPause(l), newOutboxResume(l))
	cmd.Long = `Trigger an event for every row of a file, at most once.

"import" writes the triggers to an outbox, and "run" sends them. Both can be killed at any
moment: run the same command again, and it goes on. Whatever cannot be known after a crash
is unclear, and is not sent again until you say so with "resend".

The outbox is a SQLite file, which --ledger names, or the Postgres database of
` + ledger.Variable + `. After it was restored from a backup, call "quarantine" first.`
	cmd.Example = `  messaging -p sandbox outbox import --ledger orders.db --from orders.csv --event "order shipped" \
    --key-column order --dry-run
  messaging -p sandbox outbox run --ledger orders.db --until-empty
  messaging outbox status --ledger orders.db
  messaging outbox list --ledger orders.db --state unclear`
	cmd.PersistentFlags().StringVar(&l.path, "ledger", "", "the `file` of the outbox; default: the database of "+ledger.Variable)
	return cmd
}

// ledgerFlag is the flag that names the outbox.
type ledgerFlag struct {
	*settings
	path string
}

// about completes a command about an outbox that exists.
func (l *ledgerFlag) about(cmd *cobra.Command, run func(ctx context.Context, b *box, args []string) error) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b, err := l.open(cmd.Context())
		if err != nil {
			return err
		}
		defer b.ledger.Close()
		return run(cmd.Context(), b, args)
	}
	return cmd
}

// command is another command about the same outbox, to be pasted into a shell.
func (l *ledgerFlag) command(name string, args ...string) string {
	words := []string{"outbox", name}
	if l.path != "" {
		words = append(words, "--ledger", l.path)
	}
	return l.settings.command(append(words, args...)...)
}

// box is an open outbox. Unless it is one of "run" or "import", it calls no service.
type box struct {
	*outbox.Outbox[outbox.SQLTx]
	ledger *ledger.Ledger
	// source is what the first import wrote. ok is false for an outbox of another program.
	source ledger.Source
	ok     bool
}

// service names the service of the entries.
func (b *box) service() string {
	if !b.ok {
		return "that of another program"
	}
	return b.source.Service
}

func (b *box) isSandbox() bool { return b.source.Kind == string(profile.Sandbox) }

// get returns the entry with a key.
func (b *box) get(ctx context.Context, key string) (outbox.Entry, error) {
	found, err := b.Get(ctx, key)
	if errors.Is(err, outbox.ErrNoEntry) {
		err = exit.With(exit.NotFound, "%s has no entry with the key %q; nothing was changed", b.ledger.Title, key)
	}
	return found, err
}

// countOf counts the entries that a filter selects.
func countOf(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], filter outbox.Filter) (n int, err error) {
	for _, err := range o.List(ctx, filter) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// open opens an outbox that exists, for a command that calls no service.
func (l *ledgerFlag) open(ctx context.Context) (*box, error) {
	address, err := ledger.Find(l.path)
	if err != nil {
		return nil, err
	}
	opened, err := address.Open(ctx, false)
	if err != nil {
		return nil, err
	}
	b, err := newBox(ctx, opened)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return b, nil
}

func newBox(ctx context.Context, l *ledger.Ledger) (*box, error) {
	client, err := messaging.NewClient("https://127.0.0.1", "not-a-key")
	if err != nil {
		return nil, err
	}
	b := &box{ledger: l}
	if b.Outbox, err = outbox.New(l.Store, client); err == nil {
		b.source, b.ok, err = l.Source(ctx)
	}
	return b, err
}

// checkService returns an error if the entries of the outbox are for another service.
func (b *box) checkService(now *profile.Service) error {
	if !b.ok || b.source.Service == now.Identity() {
		return nil
	}
	hint := ""
	before, _, _ := strings.Cut(b.source.Service, "#")
	if after, _, isSandbox := strings.Cut(now.Identity(), "#"); isSandbox && before == after {
		hint = ": the sandbox was started again, and remembers nothing. Import the file into a new outbox, or start the sandbox with " +
			"the same --start-id each time"
	}
	return exit.With(exit.Usage, "%s holds entries for %s, but %s is %s%s; nothing was changed or sent", b.ledger.Title, b.source.Service,
		now.Title(), now.Identity(), hint)
}
