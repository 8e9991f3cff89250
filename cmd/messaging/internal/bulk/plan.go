package bulk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/outbox"
)

// Plan is what an import would do.
type Plan struct {
	// Rows are those to import. Repeated have the key and the request of an earlier row.
	Rows, Repeated int
	// Present are the rows that the outbox has.
	Present int
	// Bad are the rows that cannot be used, and Conflicts those whose key has another request, in the file or in the outbox.
	Bad, Conflicts rows.Problems
	// First is the first row that can be used, or nil.
	First *messaging.Prepared
	// Digest is that of every key and request, in order.
	Digest [sha256.Size]byte
}

// New is how many rows would be added.
func (p *Plan) New() int { return p.Rows - p.Present - p.Conflicts.Count }

// prefix is the beginning of a hash. Two of them are not equal by chance.
type prefix [8]byte

// request is what a plan keeps of a row: the hash of the body, and the line.
type request struct {
	body prefix
	line uint32
}

// Plan reads the file. The error is about the file as a whole; see [Plan.Bad] for rows.
func (f *File) Plan(ctx context.Context) (*Plan, error) {
	plan := new(Plan)
	all := sha256.New()
	requests := map[prefix]request{} // by the hash of the key
	var unknown []line               // not looked up yet
	for line, err := range f.lines(ctx) {
		if problem := rows.ProblemOf(err); problem != nil {
			plan.Bad.Add(problem)
			continue
		}
		if err != nil {
			return plan, err
		}
		key := sha256.Sum256([]byte(line.item.Key))
		_, _ = all.Write(key[:]) // a hash returns no error
		_, _ = all.Write(line.body[:])
		if plan.add(line, requests, prefix(key[:])) {
			unknown = append(unknown, line)
		}
		if len(unknown) == lookupBatch {
			if err := plan.look(ctx, f.Lookup, unknown); err != nil {
				return plan, err
			}
			unknown = unknown[:0]
		}
	}
	if err := plan.look(ctx, f.Lookup, unknown); err != nil {
		return plan, err
	}
	if plan.Rows+plan.Bad.Count == 0 {
		return plan, errors.New("the file has no rows")
	}
	all.Sum(plan.Digest[:0])
	return plan, nil
}

// add adds a row, and reports whether it is the first one with its key.
func (p *Plan) add(l line, requests map[prefix]request, key prefix) bool {
	now := request{prefix(l.body[:]), uint32(l.number)}
	switch earlier, repeated := requests[key]; {
	case !repeated:
		requests[key] = now
		if p.Rows++; p.First == nil {
			p.First = l.item.Prepared
		}
		return true
	case earlier.body == now.body:
		p.Repeated++
	default:
		p.Rows++
		p.conflict(l, fmt.Sprintf("line %d", earlier.line))
	}
	return false
}

func (p *Plan) conflict(l line, where string) {
	p.Conflicts.Add(&rows.Problem{Line: l.number, Text: fmt.Sprintf("the key %q has other content in %s", l.item.Key, where)})
}

// Lookup finds out what the outbox has under the keys of items; see [outbox.Outbox.Present].
type Lookup func(ctx context.Context, items ...outbox.Item) ([]outbox.Presence, error)

// lookupBatch is how many items are looked up together.
const lookupBatch = 500

// look counts what the outbox has under the keys of the lines.
func (p *Plan) look(ctx context.Context, lookup Lookup, lines []line) error {
	if lookup == nil || len(lines) == 0 {
		return nil
	}
	items := make([]outbox.Item, len(lines))
	for i, l := range lines {
		items[i] = l.item
	}
	found, err := lookup(ctx, items...)
	for i, presence := range found {
		switch presence {
		case outbox.Present:
			p.Present++
		case outbox.Conflict:
			p.conflict(lines[i], "the outbox")
		}
	}
	return err
}
