package outbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Item is an entry to add.
type Item struct {
	// Key names what must not happen twice, such as "order-4711-shipped". It has 1 to 255
	// bytes of UTF-8 without control characters. Keys are compared byte by byte.
	Key string
	// Prepared is the request, from one of the Prepare methods of package messaging.
	Prepared *messaging.Prepared
	// NotBefore is when the request is due. The zero time and a time in the past mean
	// immediately.
	NotBefore time.Time
	// NotAfter is the time after which the request is not sent, for example when it contains
	// a one-time password. The zero time means no limit. A process that has claimed the entry
	// looks at the time again right before the request goes out. A request that has begun by
	// NotAfter can still arrive a little later. If the entry is still pending at NotAfter, Run
	// rejects it within about 5 s, even if it is paused, and Resend does not send it again.
	// NotAfter must be after NotBefore. If it is in the past, the entry is added, and then
	// rejected.
	NotAfter time.Time
	// Priority is the order in which Run and DeliverDue send requests that are due, of any
	// operation. About one request in eight, or fewer if requests are slow, goes to those with a
	// lower priority, so that they never stand still. An entry that the service has denied counts as [Low] until it is resent.
	Priority Priority
	// Repeatable means that a second send of the request is better than none, as after
	// [messaging.WithRepeatableSend]: for a password reset, never for a newsletter. After an
	// unknown outcome, or if its process died, the entry is sent again, at growing intervals, so
	// the request is carried out at least once. After five unknown outcomes, the entry becomes
	// [Unclear] like any other.
	Repeatable bool
}

// Enqueue adds a request under a key, in its own transaction. Once Enqueue has returned
// without an error, the request survives a crash. After a database error the entry may or
// may not exist, and it is safe to enqueue the request again.
//
// If the key already exists with the same request, which is the same operation and the same
// bytes, Enqueue changes nothing and returns the existing entry with Present set, in any state.
// NotBefore, NotAfter, Priority and Repeatable are not compared; the first ones stay. If the key
// exists with a different request, the error is [ErrKeyConflict].
//
// The guards of the client see the request when it is sent, not when it is enqueued.
func (o *Outbox[Tx]) Enqueue(ctx context.Context, item Item) (Entry, error) {
	entry, err := o.newEntry(ctx, item)
	if err != nil {
		return Entry{}, keyed("enqueue", item.Key, err)
	}
	inserted, err := o.ledger.Insert(ctx, []ledger.NewEntry{entry})
	if err != nil {
		return Entry{}, keyed("enqueue", item.Key, err)
	}
	o.wake()
	return enqueued(entry, inserted[0])
}

// EnqueueTx is Enqueue in your own transaction: the entry is added when the transaction
// commits, and not at all if it is rolled back. The transaction must belong to the
// database of the store. It remains usable after an [ErrKeyConflict].
//
// The entry is as durable as the transaction. With synchronous_commit=off on Postgres or
// synchronous=NORMAL on SQLite, a power failure can lose the last transactions, together
// with their entries.
func (o *Outbox[Tx]) EnqueueTx(ctx context.Context, tx Tx, item Item) (Entry, error) {
	entry, err := o.newEntry(ctx, item)
	if err != nil {
		return Entry{}, keyed("enqueue", item.Key, err)
	}
	if any(tx) == any(*new(Tx)) {
		return Entry{}, keyed("enqueue", item.Key, errNilTx)
	}
	inserted, err := o.ledger.InsertTx(ctx, tx, []ledger.NewEntry{entry})
	if err != nil {
		return Entry{}, keyed("enqueue", item.Key, err)
	}
	return enqueued(entry, inserted[0])
}

var errNilTx = errors.New("tx must not be nil")

// EnqueueAllTx is EnqueueTx for several items. It returns their entries in the same order.
// Either all items are added or present, or none is added: the transaction remains usable
// after an [ErrKeyConflict]. Concurrent calls with the same keys do not deadlock.
func (o *Outbox[Tx]) EnqueueAllTx(ctx context.Context, tx Tx, items ...Item) ([]Entry, error) {
	if any(tx) == any(*new(Tx)) {
		return nil, fmt.Errorf("outbox: enqueue: %w", errNilTx)
	}
	if len(items) == 0 {
		return nil, nil
	}
	order := make([]int, len(items))
	for i := range items {
		order[i] = i
	}
	// Rows are locked in the order of the keys.
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(items[a].Key, items[b].Key) })
	inOrder := func(yield func(Item, error) bool) {
		for _, i := range order {
			if !yield(items[i], nil) {
				return
			}
		}
	}
	all := make([]Entry, len(items))
	var added []int64
	for batch, err := range o.batches(ctx, inOrder) {
		var inserted []ledger.Inserted
		if err == nil {
			inserted, err = o.ledger.InsertTx(ctx, tx, batch)
			err = batchError(batch, err)
		}
		for i, in := range inserted {
			entry, conflict := enqueued(batch[i], in)
			if conflict != nil {
				err = cmp.Or(err, conflict)
			} else if !entry.Present {
				added = append(added, entry.ID)
			}
			all[order[i]] = entry
		}
		if err != nil {
			return nil, errors.Join(err, o.takeBack(ctx, tx, added))
		}
		order = order[len(batch):]
	}
	return all, nil
}

// takeBack deletes entries that the same transaction has added, even if ctx has ended.
func (o *Outbox[Tx]) takeBack(ctx context.Context, tx Tx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := o.ledger.RemoveTx(context.WithoutCancel(ctx), tx, ids); err != nil {
		return fmt.Errorf("outbox: take back %d entries; roll the transaction back: %w", len(ids), err)
	}
	return nil
}

const (
	// enqueueBatch is how many entries one statement adds.
	enqueueBatch = 1000
	// enqueueBytes is how large the bodies of these entries may be together.
	enqueueBytes = 4 << 20
)

// batches yields the entries to add in batches for one statement each. With the last batch, it
// yields the error that ended the sequence.
func (o *Outbox[Tx]) batches(ctx context.Context, items iter.Seq2[Item, error]) iter.Seq2[[]ledger.NewEntry, error] {
	return func(yield func([]ledger.NewEntry, error) bool) {
		var batch []ledger.NewEntry
		size := 0
		next := func() bool {
			more := yield(batch, nil)
			clear(batch)
			batch, size = batch[:0], 0
			return more
		}
		for item, err := range items {
			var entry ledger.NewEntry
			if err != nil {
				err = fmt.Errorf("outbox: enqueue: %w", err)
			} else if entry, err = o.newEntry(ctx, item); err != nil {
				err = keyed("enqueue", item.Key, err)
			}
			if err != nil {
				yield(batch, err)
				return
			}
			if len(batch) > 0 && size+len(entry.Body) > enqueueBytes && !next() {
				return
			}
			batch, size = append(batch, entry), size+len(entry.Body)
			if len(batch) == enqueueBatch && !next() {
				return
			}
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}

// batchError adds to an error what could not be added.
func batchError(batch []ledger.NewEntry, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("outbox: enqueue %d entries, the first of which is %q: %w", len(batch), batch[0].Key, err)
}

// Enqueued is what EnqueueAll did.
type Enqueued struct {
	// Added counts the entries that were added, and Present the items whose entries were
	// present.
	Added, Present int
}

// EnqueueAll adds the items of a sequence in batches of up to 1000 items and 4 MiB; a
// larger item is a batch by itself. Each batch is a transaction. EnqueueAll counts what it
// added, even if it returns an error. It is safe to call again with the same items: those that
// were added before are present.
//
// It stops at the first error that the sequence yields and at the first invalid item,
// whose key the error contains. The items before it are added and counted, and no further
// items are read. An [ErrKeyConflict] is found only when a batch is added, so the other
// items of that batch are added and counted as well.
func (o *Outbox[Tx]) EnqueueAll(ctx context.Context, seq iter.Seq2[Item, error]) (all Enqueued, err error) {
	if seq == nil {
		return all, errors.New("outbox: enqueue: seq must not be nil")
	}
	for batch, ended := range o.batches(ctx, seq) {
		if err := errors.Join(o.addBatch(ctx, batch, &all), ended); err != nil {
			return all, err
		}
	}
	return all, nil
}

func (o *Outbox[Tx]) addBatch(ctx context.Context, batch []ledger.NewEntry, all *Enqueued) error {
	if len(batch) == 0 {
		return nil
	}
	inserted, err := o.ledger.Insert(ctx, batch)
	if err != nil {
		return batchError(batch, err)
	}
	o.wake()
	for i, in := range inserted {
		switch _, conflict := enqueued(batch[i], in); {
		case conflict != nil:
			err = cmp.Or(err, conflict)
		case in.Present:
			all.Present++
		default:
			all.Added++
		}
	}
	return err
}

// enqueued returns the entry that was added or found, unless it has a different request.
func enqueued(entry ledger.NewEntry, inserted ledger.Inserted) (Entry, error) {
	if !bytes.Equal(entry.Digest, inserted.Digest) {
		return Entry{}, keyed("enqueue", entry.Key, ErrKeyConflict)
	}
	e := entryOf(inserted.Entry)
	e.Present = inserted.Present
	return e, nil
}

// plainEntry checks an item and returns its entry, with the body in plain text.
func (o *Outbox[Tx]) plainEntry(ctx context.Context, item Item) (ledger.NewEntry, error) {
	if ctx.Err() != nil {
		return ledger.NewEntry{}, context.Cause(ctx)
	}
	if problem := keyProblem(item.Key); problem != "" {
		return ledger.NewEntry{}, errors.New("the key " + problem)
	}
	if problem := item.timeProblem(); problem != "" {
		return ledger.NewEntry{}, errors.New(problem)
	}
	if item.Priority < Low || item.Priority > High {
		return ledger.NewEntry{}, errors.New("Priority must be Low, Normal or High")
	}
	body, err := bodyOf(item.Prepared)
	if err != nil {
		return ledger.NewEntry{}, err
	}
	entry := ledger.NewEntry{Key: item.Key, Operation: item.Prepared.Operation(), Body: body, NotBefore: item.NotBefore,
		NotAfter: item.NotAfter, Priority: item.Priority.lane(), Repeatable: item.Repeatable}
	entry.Digest = ledger.Digest(o.ledger.DigestKey(), entry.Operation, entry.Body)
	return entry, nil
}

// newEntry checks an item and returns the entry to add.
func (o *Outbox[Tx]) newEntry(ctx context.Context, item Item) (ledger.NewEntry, error) {
	entry, err := o.plainEntry(ctx, item)
	if err != nil || o.sealer == nil {
		return entry, err
	}
	body, err := o.sealer.Seal(ctx, entry.Key, entry.Body)
	if err != nil {
		return ledger.NewEntry{}, fmt.Errorf("seal: %w", err)
	}
	entry.Body, entry.Sealed = body, true
	return entry, nil
}

// timeProblem describes why the times of an item are invalid. It returns "" for valid
// ones.
func (i Item) timeProblem() string {
	switch {
	case i.NotBefore.UTC().Year() > 9999:
		return "NotBefore must not be after the year 9999"
	case i.NotAfter.IsZero():
	case i.NotAfter.UTC().Year() > 9999:
		return "NotAfter must not be after the year 9999"
	case !i.NotAfter.After(i.NotBefore):
		return "NotAfter must be after NotBefore"
	}
	return ""
}

var (
	errNilPrepared  = errors.New("Prepared must not be nil; use a Prepare method")
	errZeroPrepared = errors.New("Prepared is zero; use a Prepare method")
	errOfDo         = errors.New("a request of Client.Do cannot be stored; use a Prepare method")
)

// bodyOf returns the body of a request that can be built again from its operation and its
// body. A guard also receives the requests of Client.Do. They can have the name, the
// method and the path of a send, and differ in the query, but package messaging never
// reads their recipients.
func bodyOf(p *messaging.Prepared) ([]byte, error) {
	switch {
	case p == nil:
		return nil, errNilPrepared
	case p.Operation() == "":
		return nil, errZeroPrepared
	}
	body := p.Body()
	if _, err := p.Recipients(); err == nil {
		return body, nil
	}
	stored, err := messaging.ParsePrepared(p.Operation(), body)
	if err != nil || stored.Method() != p.Method() || stored.Path() != p.Path() {
		return nil, errOfDo
	}
	if _, err := stored.Recipients(); err == nil {
		return nil, errOfDo
	}
	return body, nil
}
