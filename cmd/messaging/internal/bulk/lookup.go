package bulk

import (
	"context"

	"github.com/messaging-go/messaging/outbox"
)

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

// Lookup finds out what an outbox has under the keys of some items.
type Lookup func(ctx context.Context, items []outbox.Item) ([]Found, error)

// lookupBatch is how many items are looked up together.
const lookupBatch = 500

// look counts what the outbox has under the keys of the lines. A new outbox has nothing, and
// no lookup.
func (p *Plan) look(ctx context.Context, lookup Lookup, lines []line) error {
	found := make([]Found, len(lines))
	if lookup != nil {
		items := make([]outbox.Item, len(lines))
		for i, l := range lines {
			items[i] = l.item
		}
		var err error
		if found, err = lookup(ctx, items); err != nil {
			return err
		}
	}
	for i, each := range found {
		switch each {
		case New:
			p.Fresh.Add(lines[i].tokens)
		case Present:
			p.Present++
		case Conflicting:
			if p.Conflicting++; len(p.Conflicts) < shown {
				p.Conflicts = append(p.Conflicts, Conflict{lines[i].number, lines[i].item.Key})
			}
		}
	}
	return nil
}

// Conflict is a row whose key the outbox has with another request.
type Conflict struct {
	Line int
	Key  string
}
