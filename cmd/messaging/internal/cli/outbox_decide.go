package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/outbox"
)

// decision is a command that decides about entries: resend or dismiss.
type decision struct {
	*ledgerFlag
	confirm confirm.Flags
	filter  filterFlags
	name    string
	again   bool
	// states are those that the command changes.
	states []outbox.State
	// warn returns what the operator risks, for the numbers of entries by state.
	warn func(byState map[outbox.State]int) string
	// decide decides about entries, by their keys.
	decide func(ctx context.Context, b *box, keys ...string) ([]outbox.Decision, error)
}

func newOutboxResend(l *ledgerFlag) *cobra.Command {
	d := &decision{ledgerFlag: l, name: "resend", states: []outbox.State{outbox.Unclear, outbox.Rejected},
		warn: func(byState map[outbox.State]int) string {
			if n := byState[outbox.Unclear]; n > 0 {
				entries, them := words.Thousands(n)+" unclear entries", "them"
				if n == 1 {
					entries, them = "1 unclear entry", "it"
				}
				return entries + " may already have gone through; resending " + them + " could send " + them + " twice. If the response was " +
					"lost, that is likely; if a process was killed, some may not even have been sent. The error of an entry names the cause"
			}
			return ""
		},
		decide: func(ctx context.Context, b *box, keys ...string) ([]outbox.Decision, error) {
			return b.Resend(ctx, keys...)
		},
	}
	cmd := d.command("Make unclear or rejected entries pending again",
		`Make unclear or rejected entries pending again, so that "run" sends them.

An unclear entry may have been carried out; sending it again can carry it out twice. A
person has to confirm that on a terminal; a script needs --again. With "-", the keys are the
lines of stdin.

Entries whose sender may still be alive are skipped, and the time when they can be resent
is shown.`, `  messaging -p sandbox outbox resend --ledger orders.db --state unclear --dry-run
  messaging -p sandbox outbox resend --ledger orders.db --state rejected --error-contains 422 --dry-run
  messaging -p sandbox outbox resend --ledger orders.db A-1001
  echo A-1001 | messaging -p sandbox outbox resend --ledger orders.db -`)
	cmd.Flags().BoolVar(&d.again, "again", false, "resend even if the entries may have gone through, or others like them were sent since")
	return cmd
}

func newOutboxDismiss(l *ledgerFlag) *cobra.Command {
	d := &decision{ledgerFlag: l, name: "dismiss", states: []outbox.State{outbox.Pending, outbox.Unclear, outbox.Rejected},
		warn: func(byState map[outbox.State]int) string {
			if n := byState[outbox.Pending]; n > 0 {
				return words.Thousands(n) + " pending: they will never be sent, and their requests are erased"
			}
			return "their requests are erased"
		},
		decide: func(ctx context.Context, b *box, keys ...string) ([]outbox.Decision, error) {
			return b.Dismiss(ctx, keys...)
		},
	}
	return d.command("Settle pending, unclear or rejected entries without sending them",
		`Settle entries without sending them: pending ones that are no longer wanted, and unclear or
rejected ones that you have dealt with, for example because they were carried out. Their
requests are erased. The entries stay in the list, so a later import does not add them again.
With "-", the keys are the lines of stdin.`, `  messaging outbox dismiss --ledger orders.db --state unclear --dry-run
  messaging outbox dismiss --ledger orders.db --state pending --enqueued-before 2026-12-01T09:00:00Z --dry-run
  messaging outbox dismiss --ledger orders.db A-1001
  echo A-1001 | messaging outbox dismiss --ledger orders.db -`)
}

func (d *decision) command(short, long, example string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     d.name + " KEY... | - | --state STATE",
		Short:   short,
		Long:    long,
		Example: example,
		RunE: func(cmd *cobra.Command, keys []string) error {
			keys, err := keysOf(cmd, keys)
			if err != nil {
				return err
			}
			return d.run(cmd, keys)
		},
	}
	d.filter.add(cmd)
	cmd.Flags().Lookup("state").Usage = "entries in this `state`: " + joined(d.states)
	d.confirm.Add(cmd.Flags())
	return cmd
}

// keysOf returns the keys without repetitions, in their order. For "-", they are the lines of
// stdin.
func keysOf(cmd *cobra.Command, args []string) (keys []string, err error) {
	if slices.Equal(args, []string{"-"}) {
		data, err := readInput(cmd, "-")
		if err != nil {
			return nil, err
		}
		args = nil
		for line := range strings.Lines(string(data)) {
			if key := strings.TrimRight(line, "\r\n"); key != "" {
				args = append(args, key)
			}
		}
		if args == nil {
			return nil, exit.With(exit.Usage, "stdin has no keys; nothing was changed")
		}
	}
	seen := make(map[string]bool, len(args))
	for _, key := range args {
		if !seen[key] {
			keys = append(keys, key)
		}
		seen[key] = true
	}
	return keys, nil
}

func (d *decision) run(cmd *cobra.Command, keys []string) error {
	filter, err := d.check(cmd, keys)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	b, err := d.look(ctx)
	if err != nil {
		return err
	}
	defer b.ledger.Close()
	if d.name == "resend" && b.recorded {
		if b.of, err = d.account(ctx); err != nil {
			return err
		}
		if err := d.checkOwner(ctx, b.ledger, b.of); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		return d.decideKeys(ctx, b, keys)
	}
	return d.decideMatching(ctx, b, filter)
}

// check returns the filter of the flags. There are either keys or a filter.
func (d *decision) check(cmd *cobra.Command, keys []string) (filter outbox.Filter, err error) {
	given, err := d.filter.given(cmd)
	switch {
	case err != nil:
		return filter, err
	case given == (len(keys) > 0):
		return filter, exit.With(exit.Usage, "which entries? Name their keys (in quotes, if one begins with #), or select them with --state %s "+
			"and other flags; not both", d.states[0])
	case slices.Contains(keys, ""):
		return filter, exit.With(exit.Usage, "a KEY must not be empty")
	}
	if filter, err = d.filter.filter(); err != nil {
		return filter, err
	}
	if given && !slices.Contains(d.states, filter.State) {
		return filter, exit.With(exit.Usage, "--state must be %s: %s changes no others", joined(d.states), d.name)
	}
	return filter, d.confirm.Check()
}

func joined(states []outbox.State) string {
	var names []string
	for _, s := range states {
		names = append(names, string(s))
	}
	return words.List(names, "or")
}

// plan begins with the service, if the command calls one.
func (d *decision) plan(b *box, s selected) *confirm.Plan {
	title := strings.ToUpper(d.name[:1]) + d.name[1:] + " entries of " + s.Ledger
	if d.name == "resend" {
		return confirm.NewPlan(title, b.of)
	}
	return b.plan(title)
}

// ask shows what is selected, and asks.
func (d *decision) ask(ctx context.Context, b *box, s selected) (bool, error) {
	plan := d.plan(b, s)
	for _, state := range slices.Sorted(maps.Keys(s.ByState)) {
		plan.Add(string(state), words.Thousands(s.ByState[state]))
	}
	for _, operation := range slices.Sorted(maps.Keys(s.ByOperation)) {
		plan.Add("operation", operation+": "+words.Thousands(s.ByOperation[operation]))
	}
	plan.Add("keys", s.keys())
	if warning := d.warn(s.ByState); warning != "" {
		if d.name == "resend" && !d.again {
			plan.Doubt("--again", "%s", warning)
		} else {
			plan.Warn("%s", warning)
		}
		if s.ByState[outbox.Unclear] > 0 {
			plan.Warn("look first: %s", d.ledgerFlag.command("list", "--state", "unclear"))
		}
	}
	if n := s.otherThan(d.states); n > 0 {
		plan.Warn("%s skips %s of them; it changes only %s entries", d.name, words.Thousands(n), joined(d.states))
	}
	since, err := d.sentSince(ctx, b, s)
	if err != nil {
		return false, err
	}
	for _, each := range since {
		plan.Warn("%s", each.Describe("trigger"))
	}
	entries := words.Thousands(s.Count) + " entries"
	if s.Count == 1 {
		entries = "1 entry"
	}
	question := strings.ToUpper(d.name[:1]) + d.name[1:] + " " + entries + "?"
	action := confirm.NewAction(b.of, "outbox "+d.name, []byte(s.digest()+d.shownSince(since)), question, strconv.Itoa(s.Count))
	action.Recipients, action.Refused = &s.Count, d.refusalToResend(since)
	goes, err := d.confirm.Decide(ctx, d.printer, plan, action)
	if err == nil && goes {
		err = d.refusalAfterAnswer(ctx, b, s, since)
	}
	return goes && err == nil, err
}

func (d *decision) decideMatching(ctx context.Context, b *box, filter outbox.Filter) error {
	shown, err := selectMatching(ctx, b, filter)
	if err != nil {
		return err
	}
	if shown.Count == 0 {
		d.printer.Note("no entry matches; nothing to do")
		return nil
	}
	goes, err := d.ask(ctx, b, shown)
	if err != nil || !goes {
		return err
	}
	if err := advance(ctx, b.ledger); err != nil {
		return err
	}
	done, err := d.decideSelected(ctx, b, shown)
	d.printer.Note("%s changed, %s skipped", words.Thousands(done.Changed), words.Thousands(done.Skipped))
	if d.printer.IsJSON() {
		err = errors.Join(d.printer.Object(map[string]int{"changed": done.Changed, "skipped": done.Skipped}), err)
	}
	return d.conclude(ctx, b, done.Changed, done.Skipped, done.RetryAt, err)
}

// decideSelected decides about the entries that the operator has seen. Those that do not
// match any more are skipped, and those that match since then are left alone.
func (d *decision) decideSelected(ctx context.Context, b *box, shown selected) (done outbox.Decided, err error) {
	for after := int64(0); after < shown.Largest; {
		var keys []string
		if keys, after, err = shown.next(ctx, b, after); err != nil || after == 0 {
			break
		}
		var decisions []outbox.Decision
		decisions, err = d.decide(ctx, b, keys...)
		for _, each := range decisions {
			if each.Changed {
				done.Changed++
			} else if each.RetryAt.After(done.RetryAt) {
				done.RetryAt = each.RetryAt
			}
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		done.Skipped = shown.Count - done.Changed
	}
	return done, err
}

// changed is a decision as it is printed.
type changed struct {
	Key      string    `json:"key"`
	Changed  bool      `json:"changed"`
	State    string    `json:"state"`
	Delivery string    `json:"delivery"`
	Why      string    `json:"why"`
	RetryAt  time.Time `json:"retry_at,omitzero"`
}

var changedTable = output.Table[changed]{
	Columns: []output.Column[changed]{
		{Name: "key", Text: func(c changed) string { return c.Key }},
		{Name: "changed", Text: func(c changed) string { return strconv.FormatBool(c.Changed) }},
		{Name: "state", Text: func(c changed) string { return c.State }},
		{Name: "reason", Text: func(c changed) string { return c.Why }},
		{Name: "retry at", Time: func(c changed) time.Time { return c.RetryAt }},
	},
	Fields: output.FieldsOf(changed{RetryAt: time.Unix(0, 0)}),
}

func (d *decision) decideKeys(ctx context.Context, b *box, keys []string) error {
	rows, err := output.NewRows(d.printer, changedTable)
	if err != nil {
		return err
	}
	shown, err := selectKeys(ctx, b, keys)
	if err != nil {
		return err
	}
	if shown.otherThan(d.states) == shown.Count {
		return d.nothingToChange(shown)
	}
	goes, err := d.ask(ctx, b, shown)
	if err != nil || !goes {
		return err
	}
	now, err := selectKeys(ctx, b, keys) // it may have taken a while to answer
	if err != nil {
		return err
	}
	if now.digest() != shown.digest() {
		return exit.With(exit.Usage, "an entry has changed since the plan was shown; nothing was changed. Run the command again")
	}
	if err := advance(ctx, b.ledger); err != nil {
		return err
	}
	decisions, err := d.decide(ctx, b, keys...)
	skipped, retryAt := 0, time.Time{}
	for _, each := range decisions {
		row := changed{each.Key, each.Changed, string(each.State), words.Delivery(each.Delivery), "", each.RetryAt}
		if !each.Changed {
			skipped++
			row.Why = each.Why.String()
		}
		if each.RetryAt.After(retryAt) {
			retryAt = each.RetryAt
		}
		err = errors.Join(err, rows.Write(row))
	}
	return d.conclude(ctx, b, len(decisions)-skipped, skipped, retryAt, errors.Join(err, rows.Close()))
}

// nothingToChange says that every entry would be skipped. There is nothing to confirm, so a dry
// run prints no digest.
func (d *decision) nothingToChange(s selected) error {
	text := words.Thousands(s.Count) + " skipped: " + d.name + " changes only " + joined(d.states) + " entries, and none of these is"
	if d.confirm.DryRun {
		d.printer.Note("%s", text)
		return nil
	}
	return exit.With(exit.PartlyDone, "%s", text)
}

// conclude says how to send what was changed, and returns the error for a command that has skipped entries.
func (d *decision) conclude(ctx context.Context, b *box, changed, skipped int, retryAt time.Time, err error) error {
	if d.name == "resend" && b.recorded && changed > 0 && err == nil {
		err = d.noteNext(ctx, b.Outbox)
	}
	switch {
	case err != nil && changed > 0:
		return exit.With(exit.PartlyDone, "%w; %s were changed before; run the command again", err, words.Thousands(changed))
	case err != nil || skipped == 0:
		return err
	case !retryAt.IsZero():
		return exit.With(exit.PartlyDone, "%s skipped, because their sender may still be alive; run the command again after %s",
			words.Thousands(skipped), retryAt.UTC().Format(time.RFC3339))
	default:
		return exit.With(exit.PartlyDone, "%s skipped", words.Thousands(skipped))
	}
}
