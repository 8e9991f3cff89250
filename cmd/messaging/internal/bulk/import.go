package bulk

import (
	"context"

	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/outbox"
)

// Imported counts what an import did. Present are the rows that were there before, and
// repeated ones.
type Imported struct{ Added, Present int }

// Import adds the rows of a file to an outbox, without the bad ones. It can be repeated: a row that is there is not added
// again. report is called every now and then with the number of rows that were read.
func (f *File) Import(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], report func(done int)) (done Imported, err error) {
	done.Added, done.Present, err = o.EnqueueAll(ctx, func(yield func(outbox.Item, error) bool) {
		read := 0
		for line, err := range f.lines(ctx) {
			if rows.ProblemOf(err) != nil {
				continue
			}
			if read++; read%reportEvery == 0 {
				report(read)
			}
			if !yield(line.item, err) {
				return
			}
		}
	})
	return done, err
}

// reportEvery is the number of rows between two reports.
const reportEvery = 1000
