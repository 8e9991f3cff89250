package bulk

import (
	"context"
	"errors"

	"github.com/messaging-go/messaging/outbox"
)

// Lookup adds items to the outbox for trial, and says what it has under their keys.
type Lookup func(ctx context.Context, items []outbox.Item) ([]Found, error)

// Found is what an outbox has under the key of an item.
type Found uint8

// What an outbox can have.
const (
	// New means that it has nothing.
	New Found = iota
	// Present means that it has the same request.
	Present
	// Conflicting means that it has another request, so that the item cannot be added.
	Conflicting
)

// lookupBatch is how many items are looked up together.
const lookupBatch = 500

// Trial finds out what the outbox has under the keys of items. It adds them in a transaction that has to be rolled back: all
// at once or, if there is a conflict, one by one.
func Trial[Tx any](ctx context.Context, o *outbox.Outbox[Tx], tx Tx, items []outbox.Item) ([]Found, error) {
	found := make([]Found, len(items))
	entries, err := o.EnqueueAllTx(ctx, tx, items...)
	for i, e := range entries {
		if e.Present {
			found[i] = Present
		}
	}
	if !errors.Is(err, outbox.ErrKeyConflict) {
		return found, err
	}
	for i, item := range items {
		switch e, err := o.EnqueueTx(ctx, tx, item); {
		case errors.Is(err, outbox.ErrKeyConflict):
			found[i] = Conflicting
		case err != nil:
			return nil, err
		case e.Present:
			found[i] = Present
		}
	}
	return found, nil
}
