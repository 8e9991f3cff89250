package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/bulk"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/outbox"
)

// target is the outbox of an import.
type target struct {
	address ledger.Address
	// fresh is whether this import creates the outbox, or has created it and was killed.
	fresh bool
	// exists is whether there is an outbox now.
	exists bool
	// has is what it holds.
	has outbox.Counts
}

// newTarget returns the outbox of an import. opened is nil if there is none yet.
func newTarget(ctx context.Context, address ledger.Address, opened *ledger.Ledger, plan bulk.Plan) (t target, err error) {
	t = target{address: address, exists: opened != nil}
	if t.fresh, err = isNew(ctx, opened, plan); err != nil || !t.exists {
		return t, err
	}
	b, err := newBox(ctx, opened)
	if err != nil {
		return t, err
	}
	t.has, err = b.Counts(ctx)
	return t, err
}

// open opens the outbox. One that has gone since the plan was made is not created again.
func (t target) open(ctx context.Context) (*ledger.Ledger, error) {
	if t.exists {
		return t.address.Open(ctx)
	}
	return t.address.Create(ctx)
}

func (t target) title() string {
	if t.exists {
		return t.address.Absolute()
	}
	return t.address.Absolute() + " (new)"
}

// present says what the outbox has of the rows.
func (t target) present(p bulk.Plan) string {
	if !t.exists {
		return ""
	}
	return fmt.Sprintf(": %s new, %s already there, %s conflicting", words.Thousands(p.Rows-p.Present-p.Conflicting),
		words.Thousands(p.Present), words.Thousands(p.Conflicting))
}

// isNew reports whether the outbox is new to the import of this plan. The outbox of an import
// that was killed counts as new: the digest that confirmed it still does.
func isNew(ctx context.Context, opened *ledger.Ledger, plan bulk.Plan) (bool, error) {
	if opened == nil {
		return true, nil
	}
	of, recorded, err := opened.Origin(ctx)
	return !recorded || of.Plan == hex.EncodeToString(plan.Digest[:]), err
}

// conflicts lists the first rows that the outbox has with another request.
func conflicts(p bulk.Plan) string {
	var lines []string
	for _, c := range p.Conflicts {
		lines = append(lines, fmt.Sprintf("  line %d: the outbox has another request under the key %q", c.Line, c.Key))
	}
	if more := p.Conflicting - len(p.Conflicts); more > 0 {
		lines = append(lines, "  and "+words.Thousands(more)+" more")
	}
	return strings.Join(lines, "\n") + "\nnothing was imported; correct these rows, or give them other keys"
}

// lookupIn returns a function that finds out what the outbox has under the keys of items. It
// adds them in a transaction that is rolled back.
func lookupIn(ctx context.Context, opened *ledger.Ledger) (bulk.Lookup, error) {
	b, err := newBox(ctx, opened)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, items []outbox.Item) (found []bulk.Found, err error) {
		err = opened.Trial(ctx, func(tx outbox.SQLTx) error {
			found, err = foundOf(ctx, b.Outbox, tx, items)
			return err
		})
		return found, err
	}, nil
}

// foundOf adds the items in a transaction, all at once or, if there is a conflict, one by one.
func foundOf(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], tx outbox.SQLTx, items []outbox.Item) ([]bulk.Found, error) {
	found := make([]bulk.Found, len(items))
	entries, err := o.EnqueueAllTx(ctx, tx, items...)
	if err == nil {
		for i, e := range entries {
			if e.Present {
				found[i] = bulk.Present
			}
		}
		return found, nil
	}
	if !errors.Is(err, outbox.ErrKeyConflict) {
		return nil, err
	}
	for i, item := range items {
		switch e, err := o.EnqueueTx(ctx, tx, item.Key, item.Prepared); {
		case errors.Is(err, outbox.ErrKeyConflict):
			found[i] = bulk.Conflicting
		case err != nil:
			return nil, err
		case e.Present:
			found[i] = bulk.Present
		}
	}
	return found, nil
}
