package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
)

// runFlags are the flags of the run command.
type runFlags struct {
	*ledgerFlag
	inFlight   int
	untilEmpty bool
}

func newOutboxRun(l *ledgerFlag) *cobra.Command {
	flags := &runFlags{ledgerFlag: l}
	cmd := l.about(&cobra.Command{
		Use:   "run",
		Short: "Send what is in the outbox",
		Long: `Send the entries of the outbox until you stop the command or, with --until-empty, until
nothing is pending. It does not ask, because import already did.

You can stop it with Ctrl-C or kill it. Run it again to continue. Entries that were being
sent when it was killed become unclear after about 40 seconds, and are not sent again. Any
number of these commands can run at the same time.

If the service refuses the key, it is asked for again, at most every 30 seconds. With
--until-empty, the command ends if that does not help, or if each entry is denied with 403.`,
		Example: `  messaging -p sandbox outbox run --ledger orders.db --until-empty
  messaging -p sandbox outbox run --ledger orders.db --until-empty --in-flight 16`,
	}, flags.run)
	f := cmd.Flags()
	f.IntVar(&flags.inFlight, "in-flight", 64, "number of entries to send at the same time; a kill leaves at most twice that many unclear")
	f.BoolVar(&flags.untilEmpty, "until-empty", false, "end when nothing is pending")
	l.fields[cmd] = func() []string { return output.FieldsOf(ran{}) }
	return cmd
}

func (flags *runFlags) run(ctx context.Context, b *box, _ []string) error {
	d := &delivery{runFlags: flags, done: map[outbox.State]int{}}
	service, err := flags.account(ctx, messaging.WithHooks(messaging.Hooks{AttemptDone: d.denials.attempted}))
	if err != nil {
		return err
	}
	if !b.ok {
		return exit.With(exit.Usage, "%s was not filled by messaging outbox import; the program that it belongs to sends its entries",
			b.ledger.Title)
	}
	if err := b.checkService(service); err != nil {
		return err
	}
	d.denials.service = service
	service.AskAgain(func(account string) {
		d.denials.changed()
		d.printer.Line("the key has changed: fingerprint %s, from %s", account, service.KeySource)
	})
	options := []outbox.Option{
		outbox.WithInFlight(flags.inFlight),
		outbox.WithKeepSettled(0), // a row that was sent must not be sent again by a later import
		outbox.WithLogger(slog.New(slog.NewTextHandler(flags.printer.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))),
		outbox.WithOnSettled(d.settled),
	}
	if service.Rate > 0 {
		options = append(options, outbox.WithRateLimiter(rate.NewLimiter(service.Rate, 1)))
	}
	if flags.timeout > 0 {
		options = append(options, outbox.WithSendTimeout(flags.timeout))
	}
	if d.outbox, err = outbox.New(b.ledger.Store, service.Client, options...); err != nil {
		return exit.With(exit.Usage, "%w", err)
	}
	return d.run(ctx)
}

// ran is what a run did, in JSON.
type ran struct {
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Unclear  int `json:"unclear"`
	Pending  int `json:"pending"` // after it
}

// delivery is one run of an outbox.
type delivery struct {
	*runFlags
	outbox   *outbox.Outbox[outbox.SQLTx]
	progress *output.Progress
	denials  denials

	mu   sync.Mutex
	sent int
	done map[outbox.State]int // what became of them
}

// settled counts what became of an entry. The outbox calls it.
func (d *delivery) settled(_ context.Context, entry outbox.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent++
	d.done[entry.State]++
	d.progress.Set(d.sent, describe(d.done))
}

func (d *delivery) run(ctx context.Context) error {
	counts, err := d.outbox.Counts(ctx)
	if err != nil {
		return err
	}
	if counts.Sending > 0 {
		d.printer.Line("%s with another process; what it does not record within about 40 seconds becomes unclear",
			words.Count(counts.Sending, "entry"))
	}
	if isPaused(counts) {
		d.printer.Line("warning: paused; nothing is sent until you run: %s", d.command("resume"))
	}
	d.progress = d.printer.NewProgress(counts.Pending) // those that others are sending end when they end
	defer d.progress.Stop()
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	sendBegan.Store(true)
	go func() { ended <- d.outbox.Run(running) }()
	denied, err := d.watch(running)
	stop()
	if ctx.Err() != nil {
		d.printer.Line("stopping after the requests in flight; press Ctrl-C again to stop now and leave them unclear")
	}
	if err := errors.Join(err, d.wait(ended)); err != nil {
		return d.afterSome(err)
	}
	d.progress.Stop()
	return d.conclude(ctx, denied)
}

// afterSome returns an error that ended the run, with what was sent before it.
func (d *delivery) afterSome(err error) error {
	if exit.CodeOf(err) != exit.Unexpected || d.sent == 0 {
		return err
	}
	return exit.With(exit.PartlyDone, "in this run: %s; then: %w", describe(d.done), err)
}

// wait waits until what is in flight has ended, or until a second signal.
func (d *delivery) wait(ended <-chan error) error {
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	select {
	case err := <-ended:
		if err != nil {
			return exit.With(exit.Unknown, "%w; an outcome may not be recorded, and its entry becomes unclear: %s", err,
				d.listUnclear())
		}
		return nil
	case <-again:
		return exit.With(exit.Unknown, "interrupted twice; what was being sent becomes unclear: %s", d.listUnclear())
	}
}

// isPaused reports whether a pause keeps the triggers, which are all that an import adds, from being sent.
func isPaused(counts outbox.Counts) bool {
	return slices.Contains(counts.Paused, service.TriggerEvent.Name)
}

// watch returns when ctx ends. With --until-empty, it also returns when nothing is pending, when a pause keeps back what is, or
// with the error of a service that denies everything; without, it says so now and then.
func (d *delivery) watch(ctx context.Context) (denied, err error) {
	var said time.Time
	for ctx.Err() == nil {
		began := time.Now()
		denied := d.denials.refused(ctx, d.outbox)
		if d.untilEmpty {
			counts, err := d.outbox.Counts(ctx)
			isDone := denied != nil || err != nil || counts.Sending == 0 && (counts.Pending == 0 || isPaused(counts))
			if ctx.Err() == nil && isDone {
				return denied, err
			}
		} else if denied != nil && time.Since(said) >= denialRepeat {
			said = time.Now()
			d.printer.Line("nothing is sent: %v", denied)
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(300*time.Millisecond, 20*time.Since(began))): // counting must not slow the sending down
		}
	}
	return nil, nil
}

// conclude reports what is in the outbox now, and what the operator has to decide. denied is why the run ended early.
func (d *delivery) conclude(ctx context.Context, denied error) error {
	counts, err := d.outbox.Counts(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	left, unclear := counts.Pending+counts.Sending, d.done[outbox.Unclear]
	summary := "nothing was sent in this run"
	if d.sent > 0 {
		summary = "in this run: " + describe(d.done)
	}
	d.printer.Note("%s; the outbox: %s", summary, describe(byState(counts)))
	if d.printer.IsJSON() {
		if err := d.printer.Object(ran{d.done[outbox.Accepted], d.done[outbox.Rejected], unclear, counts.Pending}); err != nil {
			return err
		}
	}
	if d.untilEmpty {
		unclear = counts.Unclear
	}
	switch {
	case unclear > 0:
		return exit.With(exit.Unknown, "%s unclear: they may or may not have been carried out; find out, dismiss those that were, and "+
			"resend the others: %s", words.Thousands(unclear), d.listUnclear())
	case denied != nil, !d.untilEmpty: // otherwise, it was stopped, which is how it ends
		return denied
	case left > 0 && ctx.Err() != nil && d.sent == 0:
		return exit.With(exit.Interrupted, "interrupted; nothing was sent")
	case left > 0 && isPaused(counts):
		return exit.With(exit.PartlyDone, "%s are not sent, because they are paused; to go on: %s", words.Thousands(left),
			d.command("resume"))
	case left > 0: // it was interrupted, or another process has added some
		return exit.With(exit.PartlyDone, "run the same command again to go on with the remaining %s", words.Thousands(left))
	case counts.Rejected > 0:
		return exit.With(exit.PartlyDone, "%s rejected; to see why: %s", words.Thousands(counts.Rejected),
			d.command("list", "--state", "rejected"))
	}
	return nil
}

// listUnclear is how to see the unclear entries.
func (d *delivery) listUnclear() string { return d.command("list", "--state", "unclear") }

func byState(c outbox.Counts) map[outbox.State]int {
	return map[outbox.State]int{outbox.Pending: c.Pending, outbox.Sending: c.Sending, outbox.Accepted: c.Accepted,
		outbox.Rejected: c.Rejected, outbox.Unclear: c.Unclear, outbox.Dismissed: c.Dismissed}
}

// describe lists the states that have entries.
func describe(counts map[outbox.State]int) string {
	var parts []string
	for _, state := range allStates {
		if n := counts[state]; n > 0 {
			parts = append(parts, words.Thousands(n)+" "+string(state))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "empty")
}
