package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
)

// decision is a command that decides about entries: resend or dismiss.
type decision struct {
	*ledgerFlag
	name   string
	filter filterFlags
	expect confirm.Expect
	sends  bool // what was decided is sent later
	decide func(b *box, ctx context.Context, keys ...string) ([]outbox.Decision, error)
}

func newOutboxResend(l *ledgerFlag) *cobra.Command {
	d := &decision{ledgerFlag: l, name: "resend", sends: true, decide: (*box).Resend,
		filter: filterFlags{states: []outbox.State{outbox.Unclear, outbox.Rejected}}}
	return d.command("Make unclear or rejected entries pending again",
		`Make unclear or rejected entries pending again, so that "run" sends them.

An unclear entry may have been carried out; sending it again can carry it out twice. Entries
whose sender may still be alive are skipped, and the time when they can be resent is shown.`,
		`  messaging -p sandbox outbox resend --ledger orders.db --state unclear
  messaging -p sandbox outbox resend --ledger orders.db --state rejected --error-contains 422 --expect 3
  messaging -p sandbox outbox resend --ledger orders.db A-1001 --expect 1`)
}

func newOutboxDismiss(l *ledgerFlag) *cobra.Command {
	d := &decision{ledgerFlag: l, name: "dismiss", decide: (*box).Dismiss,
		filter: filterFlags{states: []outbox.State{outbox.Pending, outbox.Unclear, outbox.Rejected}}}
	return d.command("Settle pending, unclear or rejected entries without sending them",
		`Settle entries without sending them: pending ones that are no longer wanted, and unclear or
rejected ones that you have dealt with, for example because they were carried out. Their
requests are erased. The entries stay in the list, so a later import does not add them again.`,
		`  messaging outbox dismiss --ledger orders.db --state unclear
  messaging outbox dismiss --ledger orders.db --state pending --enqueued-before 2026-12-01T09:00:00Z --expect 120
  messaging outbox dismiss --ledger orders.db A-1001 --expect 1`)
}

func (d *decision) command(short, long, example string) *cobra.Command {
	cmd := d.about(&cobra.Command{
		Use:   d.name + " KEY... | --state STATE",
		Short: short,
		Long: long + `

It asks on a terminal. A script passes --expect with the number of entries; "list" with the
same flags shows them.`,
		Example: example,
		Args:    cobra.ArbitraryArgs,
	}, d.run)
	d.filter.add(cmd.Flags())
	d.filter.complete(cmd)
	d.expect.Add(cmd.Flags())
	d.fields[cmd] = func() []string { return output.FieldsOf(decided{}) }
	return cmd
}

// decided is what became of the entries.
type decided struct {
	Changed int `json:"changed"`
	Skipped int `json:"skipped"`
}

func (d *decision) run(ctx context.Context, b *box, keys []string) error {
	if err := d.filter.check(); err != nil {
		return err
	}
	if selects := d.filter.filter != (outbox.Filter{}); selects == (len(keys) > 0) || selects && d.filter.filter.State == "" {
		return exit.With(exit.Usage, "which entries? Name their keys (in quotes, if one begins with #), or select them with --state %s "+
			"and other flags; not both", d.filter.states[0])
	}
	if d.sends && b.ok {
		service, err := d.account(ctx)
		if err != nil {
			return err
		}
		if err := b.checkService(service); err != nil {
			return err
		}
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	shown, err := d.find(ctx, b, keys)
	if err != nil {
		return err
	}
	if len(shown) == 0 {
		d.printer.Note("no entry can be changed; nothing to do")
		return d.report(decided{}, time.Time{})
	}
	title := strings.ToUpper(d.name[:1]) + d.name[1:]
	if err := d.expect.Decide(ctx, d.printer, d.plan(title, b, shown), len(shown), title+" "+words.Count(len(shown), "entry")+"?",
		!b.isSandbox()); err != nil {
		return err
	}
	now, err := d.find(ctx, b, keys)
	if err != nil {
		return err
	}
	return d.carryOut(ctx, b, shown, now)
}

// chosen is an entry to decide about, as it was shown.
type chosen struct {
	key      string
	state    outbox.State
	attempts int
}

// find returns the entries that can be changed now: those with the keys or, without any, those that the filter selects.
func (d *decision) find(ctx context.Context, b *box, keys []string) (found []chosen, err error) {
	for _, key := range keys {
		e, err := b.get(ctx, key)
		if err != nil {
			return nil, err
		}
		if slices.Contains(d.filter.states, e.State) {
			found = append(found, chosen{key, e.State, e.Attempts})
		}
	}
	if len(keys) > 0 {
		return found, nil
	}
	for e, err := range b.List(ctx, d.filter.filter) {
		if err != nil {
			return nil, err
		}
		found = append(found, chosen{e.Key, e.State, e.Attempts})
	}
	return found, nil
}

func (d *decision) plan(title string, b *box, shown []chosen) *confirm.Plan {
	const listed = 5
	var keys []string
	byState := map[outbox.State]int{}
	for i, e := range shown {
		if byState[e.state]++; i < listed {
			keys = append(keys, e.key)
		}
	}
	plan := confirm.NewOfflinePlan(title + " entries of " + b.ledger.Title)
	plan.Add("service", b.service())
	for _, state := range d.filter.states {
		if n := byState[state]; n > 0 {
			plan.Add(string(state), words.Thousands(n))
		}
	}
	text := strings.Join(keys, ", ")
	if more := len(shown) - listed; more > 0 {
		text += " and " + words.Thousands(more) + " more"
	}
	plan.Add("keys", text)
	if n := byState[outbox.Unclear]; d.sends && n > 0 {
		plan.Add("note", words.Count(n, "entry")+" may have been carried out, and could be carried out twice; look first: "+
			d.ledgerFlag.command("list", "--state", "unclear"))
	} else if !d.sends {
		plan.Add("note", "they will never be sent, and their requests are erased")
	}
	return plan
}

// carryOut decides about what was shown. An entry that has changed since then is skipped: one that was sent again may have been
// carried out again.
func (d *decision) carryOut(ctx context.Context, b *box, shown, now []chosen) error {
	same := map[chosen]bool{}
	for _, e := range now {
		same[e] = true
	}
	var keys []string
	for _, e := range shown {
		if same[e] {
			keys = append(keys, e.key)
		}
	}
	decisions, err := d.decide(b, ctx, keys...)
	var done decided
	var retryAt time.Time
	for _, each := range decisions {
		if each.Changed {
			done.Changed++
		} else if each.RetryAt.After(retryAt) {
			retryAt = each.RetryAt
		}
	}
	if err != nil && done.Changed > 0 {
		return exit.With(exit.PartlyDone, "%w; %s changed before; run the command again", err, words.Count(done.Changed, "entry"))
	}
	if err != nil {
		return err
	}
	done.Skipped = len(shown) - done.Changed
	d.printer.Note("%s changed, %s skipped", words.Thousands(done.Changed), words.Thousands(done.Skipped))
	if d.sends && b.ok && done.Changed > 0 { // otherwise, the program that wrote the outbox sends them
		if err := d.noteNext(ctx, b); err != nil {
			return err
		}
	}
	return d.report(done, retryAt)
}

// report prints what was done. retryAt is when those that were skipped can be changed, if that is known.
func (d *decision) report(done decided, retryAt time.Time) error {
	if d.printer.IsJSON() {
		if err := d.printer.Object(done); err != nil {
			return err
		}
	}
	switch {
	case done.Skipped == 0:
		return nil
	case !retryAt.IsZero():
		return exit.With(exit.PartlyDone, "%s skipped, because their sender may still be alive; run the command again after %s",
			words.Count(done.Skipped, "entry"), retryAt.UTC().Format(time.RFC3339))
	default:
		return exit.With(exit.PartlyDone, "%s skipped, which have changed since they were shown, or can never be sent again",
			words.Count(done.Skipped, "entry"))
	}
}

// pause is a command that pauses, or ends a pause.
type pause struct {
	*ledgerFlag
	operation string // "" for all
	expect    confirm.Expect
}

func (p *pause) about(cmd *cobra.Command, run func(context.Context, *box, []string) error) *cobra.Command {
	cmd = p.ledgerFlag.about(cmd, run)
	cmd.Flags().StringVar(&p.operation, "op", "", "only entries with this `operation`, such as \""+service.TriggerEvent.Name+"\"")
	completeOperation(cmd)
	return cmd
}

func newOutboxPause(l *ledgerFlag) *cobra.Command {
	p := &pause{ledgerFlag: l}
	return p.about(&cobra.Command{
		Use:   "pause",
		Short: "Stop sending, in every process",
		Long: `Stop sending the entries, in every process that uses the outbox, until "resume". It does not ask.
What is being sent now may still be carried out.`,
		Example: `  messaging outbox pause --ledger orders.db
  messaging outbox pause --ledger shop.db --op 'send email broadcast'`,
	}, func(ctx context.Context, b *box, _ []string) error {
		err := checkOperation(p.operation)
		if err == nil && p.operation == "" {
			err = b.PauseAll(ctx)
		} else if err == nil {
			err = b.Pause(ctx, p.operation)
		}
		if err == nil {
			p.printer.Note("paused; what was claimed before may still be sent")
		}
		return err
	})
}

func newOutboxResume(l *ledgerFlag) *cobra.Command {
	p := &pause{ledgerFlag: l}
	cmd := p.about(&cobra.Command{
		Use:   "resume",
		Short: "End every pause, or that of an operation",
		Long: `End every pause, or that of --op, also one that another program has set. It asks on a terminal.
A script passes --expect with the number of pending entries, of that operation with --op.`,
		Example: `  messaging outbox resume --ledger orders.db
  messaging outbox resume --ledger orders.db --expect 120
  messaging outbox resume --ledger shop.db --op 'send email broadcast' --expect 3`,
	}, p.resume)
	p.expect.Add(cmd.Flags())
	return cmd
}

func (p *pause) resume(ctx context.Context, b *box, _ []string) error {
	if err := checkOperation(p.operation); err != nil {
		return err
	}
	counts, err := b.Counts(ctx)
	if err != nil {
		return err
	}
	paused := slices.DeleteFunc(counts.Paused, func(name string) bool { return p.operation != "" && name != p.operation })
	if len(paused) == 0 {
		p.printer.Note("nothing is paused")
		return nil
	}
	pending, err := p.pending(ctx, b)
	if err != nil {
		return err
	}
	if pending > 0 {
		plan := confirm.NewOfflinePlan("Resume " + b.ledger.Title)
		plan.Add("service", b.service())
		plan.Add("paused", strings.Join(paused, ", "))
		plan.Add("pending", words.Thousands(pending))
		if err := p.expect.Decide(ctx, p.printer, plan, pending, "Let them be sent?", !b.isSandbox()); err != nil {
			return err
		}
		if now, err := p.pending(ctx, b); err != nil {
			return err
		} else if now != pending {
			return exit.With(exit.Usage, "nothing was resumed: %s are pending now", words.Count(now, "entry"))
		}
	}
	if err := b.Resume(ctx, paused...); err != nil {
		return err
	}
	p.printer.Note("resumed: %s", strings.Join(paused, ", "))
	return nil
}

// pending counts the pending entries of the operation.
func (p *pause) pending(ctx context.Context, b *box) (int, error) {
	if p.operation == "" {
		counts, err := b.Counts(ctx)
		return counts.Pending, err
	}
	return countOf(ctx, b.Outbox, outbox.Filter{State: outbox.Pending, Operation: p.operation})
}

func newOutboxQuarantine(l *ledgerFlag) *cobra.Command {
	return l.about(&cobra.Command{
		Use:   "quarantine",
		Short: "After a restore: make all that may have been sent since the backup unclear",
		Long: `Make all pending, sending and rejected entries unclear, so that nothing is sent until you
"resend" or "dismiss" it. Call it after the outbox was restored from a backup or copied, and
before the first "run": a backup does not know what was sent since. It does not ask.
Rows imported since the backup are new to the outbox: before you import their files again, find
out which were sent.`,
		Example: `  messaging outbox quarantine --ledger restored.db
  messaging outbox list --ledger restored.db --state unclear`,
	}, func(ctx context.Context, b *box, _ []string) error {
		n, err := b.Quarantine(ctx)
		if err == nil {
			l.printer.Note("%s unclear now; look before you resend or dismiss them: %s", words.Thousands(n), l.command("list", "--state", "unclear"))
		}
		return err
	})
}
