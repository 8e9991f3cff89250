package bulk

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ahead"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/hashes"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/outbox"
)

// File is a file of rows to import. It is read twice: for the plan, and to import it.
type File struct {
	Format rows.Format
	Open   func() (io.ReadCloser, error)
	Mapper *Mapper
	// Guard refuses a row, as the client would refuse to send it. It can be nil.
	Guard func(context.Context, *messaging.Prepared) error
	// Lookup finds out what the outbox has already. It is nil for a new outbox.
	Lookup Lookup
}

// Plan is what an import would do.
type Plan struct {
	// Rows are those to import. Duplicates have the key and the content of an earlier row.
	Rows, Duplicates int
	// Present and Conflicting are the rows whose key the outbox has: with the same request,
	// and with another one. Conflicts holds the first of these.
	Present, Conflicting int
	Conflicts            []Conflict
	// First is the first row that can be used, or nil.
	First *messaging.Prepared
	// Bad counts the rows that cannot be used, and Problems holds the first of them.
	Bad      int
	Problems []error
	// Doubts are rows that look like a mistake.
	Doubts Doubts
	// Fresh are the rows that the outbox does not have.
	Fresh *alike.Set
	// Digest is that of every key and request, in order.
	Digest [sha256.Size]byte

	requests *hashes.Map[request] // by the hash of the key
}

// shown is how many problems a plan holds.
const shown = 10

// line is an item with the number of its line.
type line struct {
	item     outbox.Item
	customer messaging.CustomerParams
	tokens   alike.Tokens
	values   map[string]any
	joined   string // see joinedRows
	number   int
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
		content, err := f.Open()
		if err != nil {
			yield(line{}, err)
			return
		}
		defer content.Close()
		reader, err := rows.NewReader(f.Format, content)
		if err == nil && reader.Columns != nil {
			err = f.Mapper.CheckColumns(reader.Columns)
		}
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
				err = f.Mapper.fill(&next, row)
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

// refusal returns the problem with a row that does not have exactly one recipient, or that
// the guard refuses.
func (f *File) refusal(ctx context.Context, row rows.Row, item outbox.Item) error {
	err := oneRecipient(ctx, item.Prepared)
	if err == nil && f.Guard != nil {
		err = f.Guard(ctx, item.Prepared)
	}
	if err != nil {
		text := err.Error()
		if _, why, named := strings.Cut(text, ": "); named { // after the name of the guard
			text = why
		}
		return &rows.Problem{Line: row.Line, Text: "is refused: " + text}
	}
	return nil
}

// oneRecipient refuses a row with a value that may stand for several recipients.
var oneRecipient = messaging.MaxRecipients(1)

// request tells the requests with one key apart.
type request [8]byte

// sum returns the hashes of the key and of the request, and adds them to all.
func (l line) sum(all hash.Hash) (hashes.Hash, request) {
	key, body := sha256.Sum256([]byte(l.item.Key)), sha256.Sum256(l.item.Prepared.Body())
	_, _ = all.Write(key[:]) // a hash returns no error
	_, _ = all.Write(body[:])
	return hashes.Hash(key[:]), request(body[:])
}

// Plan reads the file. The error is about the file as a whole; see Plan.Problems for rows.
func (f *File) Plan(ctx context.Context) (Plan, error) {
	plan := Plan{requests: new(hashes.Map[request]), Fresh: new(alike.Set)}
	all := sha256.New()
	var unknown []line // not looked up yet
	for line, err := range f.lines(ctx) {
		if problem, ok := errors.AsType[*rows.Problem](err); ok {
			if plan.Bad++; len(plan.Problems) < shown {
				plan.Problems = append(plan.Problems, problem)
			}
			continue
		}
		if err != nil {
			return plan, err
		}
		key, now := line.sum(all)
		switch earlier, added := plan.requests.Add(key, now); {
		case added:
			if plan.Rows++; plan.First == nil {
				plan.First = line.item.Prepared
			}
			plan.Doubts.look(line, f.Mapper.event)
			unknown = append(unknown, line)
		case earlier != now:
			return plan, f.twice(ctx, line)
		default:
			plan.Duplicates++
		}
		if unknown, err = f.look(ctx, &plan, unknown, lookupBatch); err != nil {
			return plan, err
		}
	}
	if _, err := f.look(ctx, &plan, unknown, 1); err != nil {
		return plan, err
	}
	if plan.Rows == 0 && plan.Bad == 0 {
		return plan, errors.New("the file has no rows")
	}
	all.Sum(plan.Digest[:0])
	plan.Fresh.Sort()
	return plan, plan.Doubts.compare(ctx, f, plan.Fresh.Unclear())
}

// look looks the lines up, if there are as many as that. It returns those that are left.
func (f *File) look(ctx context.Context, plan *Plan, lines []line, many int) ([]line, error) {
	if len(lines) < many {
		return lines, nil
	}
	err := plan.look(ctx, f.Lookup, lines)
	clear(lines)
	return lines[:0], err
}

// twice returns the error for a key that an earlier line has with another request.
func (f *File) twice(ctx context.Context, second line) error {
	for first, err := range f.lines(ctx) {
		if err == nil && first.item.Key == second.item.Key {
			return fmt.Errorf("line %d: the key %q has another request in line %d; each key names one request", second.number,
				second.item.Key, first.number)
		}
	}
	return ErrChanged
}

// check returns an error for a row that is not in the plan, and adds its hashes to all.
func (p Plan) check(l line, all hash.Hash) error {
	key, now := l.sum(all)
	if planned, ok := p.requests.Get(key); !ok || planned != now {
		return ErrChanged
	}
	return nil
}

// Imported counts what an import did. Present are the rows that were there before, and
// duplicates. AtLeast reports whether more rows may have been added, since the outbox did not say in time.
type Imported struct {
	Added, Present int
	AtLeast        bool
}

// Enqueuer is the part of an outbox that an import needs.
type Enqueuer interface {
	EnqueueAll(ctx context.Context, items iter.Seq2[outbox.Item, error]) (added, present int, err error)
}

// ErrChanged reports a file that is not the one of the plan.
var ErrChanged = errors.New("the file changed after the plan was made; only rows of the plan were imported, and nothing was sent")

// Import adds the rows of a plan to an outbox, without the bad ones, and no other row. It can
// be repeated: a row that is there is not added again. report is called every now and then with the number
// of rows that were read. What is being stored at the end of ctx is still counted.
func (f *File) Import(ctx context.Context, o Enqueuer, plan Plan, report func(done int)) (Imported, error) {
	all := sha256.New()
	items := func(yield func(outbox.Item, error) bool) {
		done := 0
		for line, err := range f.lines(ctx) {
			if _, bad := errors.AsType[*rows.Problem](err); bad {
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
	return Imported{added, present, storing.Err() != nil}, err
}

// storeGrace is how long the outbox may take after the end of an import for the rows that it is storing.
const storeGrace = 5 * time.Second

// reportEvery is the number of rows between two reports.
const reportEvery = 1000
