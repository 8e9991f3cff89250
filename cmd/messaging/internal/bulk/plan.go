package bulk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/hashes"
	"github.com/messaging-go/messaging/outbox"
)

// Plan is what an import would do.
type Plan struct {
	// Rows are those to import. Repeated have the key and the request of an earlier row.
	Rows, Repeated int
	// Present are the rows that the outbox has.
	Present int
	// Bad are the rows that cannot be used, and Conflicts those whose key has another request, in the file or in the outbox.
	Bad, Conflicts Problems
	// First is the first row that can be used, or nil.
	First *messaging.Prepared
	// Digest is that of every key and request, in order.
	Digest [sha256.Size]byte

	requests hashes.Map[request] // by the hash of the key
}

// New is how many rows would be added.
func (p *Plan) New() int { return p.Rows - p.Present - p.Conflicts.Count }

// Problems are rows that cannot be imported.
type Problems struct {
	Count int
	// First are the problems of the first of them.
	First []error
}

// shown is how many problems are kept.
const shown = 10

func (p *Problems) add(err error) {
	if p.Count++; p.Count <= shown {
		p.First = append(p.First, err)
	}
}

// request is what a plan keeps of a row: the hash of the request, and the line.
type request struct {
	body [8]byte
	line uint32
}

// sum returns the hash of the key and the request, and adds them to all.
func (l line) sum(all hash.Hash) (hashes.Hash, request) {
	key, body := sha256.Sum256([]byte(l.item.Key)), sha256.Sum256(l.item.Prepared.Body())
	_, _ = all.Write(key[:]) // a hash returns no error
	_, _ = all.Write(body[:])
	return hashes.Hash(key[:]), request{[8]byte(body[:]), uint32(l.number)}
}

// Plan reads the file. The error is about the file as a whole; see [Plan.Bad] for rows.
func (f *File) Plan(ctx context.Context) (*Plan, error) {
	plan := new(Plan)
	all := sha256.New()
	var unknown []line // not looked up yet
	for line, err := range f.lines(ctx) {
		if problem := asProblem(err); problem != nil {
			plan.Bad.add(problem)
			continue
		}
		if err != nil {
			return plan, err
		}
		if plan.add(line, all) {
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

// add adds a row, and reports whether it is one to import.
func (p *Plan) add(l line, all hash.Hash) bool {
	key, now := l.sum(all)
	switch earlier, added := p.requests.Add(key, now); {
	case added:
		if p.Rows++; p.First == nil {
			p.First = l.item.Prepared
		}
		return true
	case earlier.body == now.body:
		p.Repeated++
	default:
		p.Rows++
		p.Conflicts.add(fmt.Errorf("line %d: the key %q has other content in line %d", l.number, l.item.Key, earlier.line))
	}
	return false
}

// look counts what the outbox has under the keys of the lines.
func (p *Plan) look(ctx context.Context, lookup Lookup, lines []line) error {
	if lookup == nil || len(lines) == 0 {
		return nil
	}
	items := make([]outbox.Item, len(lines))
	for i, l := range lines {
		items[i] = l.item
	}
	found, err := lookup(ctx, items)
	for i, each := range found {
		switch each {
		case Present:
			p.Present++
		case Conflicting:
			p.Conflicts.add(fmt.Errorf("line %d: the key %q has other content in the outbox", lines[i].number, lines[i].item.Key))
		}
	}
	return err
}
