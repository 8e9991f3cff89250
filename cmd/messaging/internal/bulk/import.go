package bulk

import (
	"context"
	"iter"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/outbox"
)

// Imported counts what an import did. Present are the rows that were there before, and
// repeated ones.
type Imported struct{ Added, Present int }

// Enqueuer is the part of an outbox that an import needs.
type Enqueuer interface {
	EnqueueAll(ctx context.Context, items iter.Seq2[outbox.Item, error]) (added, present int, err error)
}

// Import adds the rows of a file to an outbox, without the bad ones. It can be repeated: a row that is there is not added
// again. report is called every now and then with the number of rows that were read. What is being stored at the end of ctx
// is still counted.
func (f *File) Import(ctx context.Context, o Enqueuer, report func(done int)) (Imported, error) {
	items := func(yield func(outbox.Item, error) bool) {
		done := 0
		for line, err := range f.lines(ctx) {
			if rows.ProblemOf(err) != nil {
				continue
			}
			if done++; done%reportEvery == 0 {
				report(done)
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
	return Imported{added, present}, err
}

// storeGrace is how long the outbox may take after the end of an import for the rows that it is storing.
const storeGrace = 5 * time.Second

// reportEvery is the number of rows between two reports.
const reportEvery = 1000
