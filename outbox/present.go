package outbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Presence is what Enqueue would find under the key of an item.
type Presence string

// The presences.
const (
	// Absent means that no entry has the key.
	Absent Presence = "absent"
	// Present means that an entry has the key and the same request. It can be in any state.
	Present Presence = "present"
	// Conflict means that an entry has the key and a different request; see [ErrKeyConflict].
	Conflict Presence = "conflict"
)

// Present reports for each item, in their order, whether its entry exists. It checks the items
// as [Outbox.Enqueue] does, returns an error for the first invalid one, and writes nothing. Items
// are compared with the entries of the outbox, not with each other.
func (o *Outbox[Tx]) Present(ctx context.Context, items ...Item) ([]Presence, error) {
	all := make([]Presence, 0, len(items))
	for batch := range slices.Chunk(items, keyBatch) {
		var err error
		if all, err = o.addPresences(ctx, all, batch); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addPresences adds those of a batch of items.
func (o *Outbox[Tx]) addPresences(ctx context.Context, all []Presence, items []Item) ([]Presence, error) {
	keys, digests := make([]string, len(items)), make([][]byte, len(items))
	for i, item := range items {
		entry, err := o.plainEntry(ctx, item)
		if err != nil {
			return nil, keyed("look for", item.Key, err)
		}
		keys[i], digests[i] = entry.Key, entry.Digest
	}
	found, err := o.ledger.Find(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("outbox: look for entries: %w", err)
	}
	byKey := make(map[string]ledger.Entry, len(found))
	for _, e := range found {
		byKey[e.Key] = e
	}
	for i, key := range keys {
		presence := Conflict
		if e, ok := byKey[key]; !ok {
			presence = Absent
		} else if bytes.Equal(e.Digest, digests[i]) {
			presence = Present
		}
		all = append(all, presence)
	}
	return all, nil
}
