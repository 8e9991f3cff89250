package bulk

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"iter"
	"time"

	"github.com/messaging-go/messaging/outbox"
)

// Imported counts what an import did. Present are the rows that were there before, and
// repeated ones.
type Imported struct{ Added, Present int }

// Enqueuer is the part of an outbox that an import needs.
type Enqueuer interface {
	EnqueueAll(ctx context.Context, items iter.Seq2[outbox.Item, error]) (added, present int, err error)
}

// ErrChanged reports a file that is not the one of the plan.
var ErrChanged = errors.New("the file changed after the plan was made; only rows of the plan were imported, and nothing was sent")

// Import adds the rows of a plan to an outbox, without the bad ones, and no other row. It can
// be repeated: a row that is there is not added again. report is called every now and then with the number
// of rows that were read. What is being stored at the end of ctx is still counted.
func (f *File) Import(ctx context.Context, o Enqueuer, plan *Plan, report func(done int)) (Imported, error) {
	all := sha256.New()
	items := func(yield func(outbox.Item, error) bool) {
		done := 0
		for line, err := range f.lines(ctx) {
			if asProblem(err) != nil {
				continue
			}
			if err == nil {
				err = plan.check(line, all)
				if done++; done%reportEvery == 0 {
					report(done)
				}
			}
			if !yield(line.item, err) {
				return
			}
		}
	}
	storing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(storeGrace, cancel) })()
	added, present, err := o.EnqueueAll(storing, items)
	if err == nil && [sha256.Size]byte(all.Sum(nil)) != plan.Digest {
		err = ErrChanged
	}
	return Imported{added, present}, err
}

// check returns an error for a row that is not in the plan, and adds its hashes to all.
func (p *Plan) check(l line, all hash.Hash) error {
	key, now := l.sum(all)
	if planned, ok := p.requests.Get(key); !ok || planned.body != now.body {
		return ErrChanged
	}
	return nil
}

// storeGrace is how long the outbox may take after the end of an import for the rows that it is storing.
const storeGrace = 5 * time.Second

// reportEvery is the number of rows between two reports.
const reportEvery = 1000
