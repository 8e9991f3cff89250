package bulk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ahead"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/outbox"
)

// File is a file of rows to import. It is read twice: for the plan, and to import it.
type File struct {
	rows.Source
	// Content must not change.
	Content io.ReadSeeker
	Mapper  *Mapper
	// Check refuses a row, as the client would refuse to send it. It can be nil.
	Check func(context.Context, *messaging.Prepared) error
	// Lookup finds out what the outbox has already. It is nil for a new outbox.
	Lookup Lookup
}

// line is an item with the number of its line and the hash of its body.
type line struct {
	item   outbox.Item
	number int
	body   [sha256.Size]byte
}

// linesAhead is how many lines are read while others are checked and stored.
const linesAhead = 1000

// lines ranges over the items, which are made in the background. A *rows.Problem is about one row, and the range goes on after
// it. Any other error is the last element.
func (f *File) lines(ctx context.Context) iter.Seq2[line, error] {
	return ahead.Of(ctx, linesAhead, f.read)
}

func (f *File) read(ctx context.Context) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		reader, err := f.open()
		if err != nil {
			yield(line{}, err)
			return
		}
		for row, err := range reader.All() {
			if err == nil {
				err = ctx.Err()
			}
			next := line{number: row.Line}
			if err == nil {
				next.item, next.body, err = f.Mapper.item(row)
			}
			if err == nil {
				err = f.refusal(ctx, row, next.item)
			}
			if !yield(next, err) {
				return
			}
		}
	}
}

// open reads the header. One that lacks a parameter of the event is an error.
func (f *File) open() (*rows.Reader, error) {
	m := f.Mapper
	f.Key, f.IsKnown, f.Known, f.Unused = m.KeyColumn, m.isKnown, m.known(), recipients.Unused
	if _, err := f.Content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	reader, err := f.NewReader(f.Content)
	for _, p := range m.Event.Parameters {
		if err == nil && p.Required && reader.Lacks(p.Name) {
			err = fmt.Errorf("line 1: no column holds %q, which the event requires; pass --map COLUMN=%[1]s if it has another name", p.Name)
		}
	}
	return reader, err
}

// refusal returns the problem with a row that a guard refuses.
func (f *File) refusal(ctx context.Context, row rows.Row, item outbox.Item) error {
	if f.Check == nil {
		return nil
	}
	err := f.Check(ctx, item.Prepared)
	if refused, ok := errors.AsType[*messaging.GuardError](err); ok {
		_, why, _ := strings.Cut(refused.Err.Error(), ": ") // after the name of the guard
		return &rows.Problem{Line: row.Line, Text: "is refused: " + why}
	}
	return err
}

// Import adds the rows of a file to an outbox, without the bad ones, and counts those that it has added and those that were there,
// or repeated. It can be repeated: a row that is there is not added again. report is called every now and then with the number
// of rows that were read.
func (f *File) Import(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], report func(read int)) (added, present int, err error) {
	all, err := o.EnqueueAll(ctx, func(yield func(outbox.Item, error) bool) {
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
	return all.Added, all.Present, err
}

// reportEvery is the number of rows between two reports.
const reportEvery = 1000
