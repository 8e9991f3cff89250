package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	// NotBefore is when the request is due. The zero time means immediately.
	NotBefore time.Time
	// NotAfter is the time after which the request is not sent. The zero time means no
	// limit. See the option of the same name.
	NotAfter time.Time
	// Urgent puts the request ahead of others. See the option of the same name.
	Urgent bool
}

// Enqueue adds a request under a key, in its own transaction. Once Enqueue has returned
// without an error, the request survives a crash. After a database error the entry may or
// may not exist, and it is safe to enqueue the request again.
//
// If the key already exists with the same request, Enqueue changes nothing and returns
// the existing entry with Present set, in any state. NotBefore, NotAfter and Urgent are not
// compared. If the key exists with a different request, the error is [ErrKeyConflict].
//
// The guards of the client see the request when it is sent, not when it is enqueued.
func (o *Outbox[Tx]) Enqueue(ctx context.Context, key string, p *messaging.Prepared, opts ...EnqueueOption) (Entry, error) {
	entry, err := o.newEntry(ctx, Item{Key: key, Prepared: p}, opts...)
	if err != nil {
		return Entry{}, keyed("enqueue", key, err)
	}
	inserted, err := o.ledger.Insert(ctx, []ledger.NewEntry{entry})
	if err != nil {
		return Entry{}, keyed("enqueue", key, err)
	}
	o.wake()
	o.announce(ctx)
	return enqueued(entry, inserted[0])
}

// EnqueueTx is Enqueue in your own transaction: the entry is added when the transaction
// commits, and not at all if it is rolled back. The transaction must belong to the
// database of the store. It remains usable after an [ErrKeyConflict].
//
// Call [Outbox.Wake] after the commit if workers in other processes should send the entry
// immediately.
//
// The entry is as durable as the transaction. With synchronous_commit=off on Postgres or
// synchronous=NORMAL on SQLite, a power failure can lose the last transactions, together
// with their entries.
func (o *Outbox[Tx]) EnqueueTx(ctx context.Context, tx Tx, key string, p *messaging.Prepared, opts ...EnqueueOption) (Entry, error) {
	entry, err := o.newEntry(ctx, Item{Key: key, Prepared: p}, opts...)
	if err != nil {
		return Entry{}, keyed("enqueue", key, err)
	}
	if any(tx) == any(*new(Tx)) {
		return Entry{}, keyed("enqueue", key, errNilTx)
	}
	inserted, err := o.ledger.InsertTx(ctx, tx, []ledger.NewEntry{entry})
	if err != nil {
		return Entry{}, keyed("enqueue", key, err)
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
	sorted := make([]ledger.NewEntry, len(items))
	for i, from := range order {
		var err error
		if sorted[i], err = o.newEntry(ctx, items[from]); err != nil {
			return nil, keyed("enqueue", items[from].Key, err)
		}
	}
	inserted, err := o.ledger.InsertTx(ctx, tx, sorted)
	if err != nil {
		return nil, fmt.Errorf("outbox: enqueue %d entries, the first of which is %q: %w", len(items), items[0].Key, err)
	}
	all := make([]Entry, len(items))
	var added []int64
	var conflict error
	for i, in := range inserted {
		entry, err := enqueued(sorted[i], in)
		if err != nil && conflict == nil {
			conflict = err
		} else if err == nil && !in.Present {
			added = append(added, in.ID)
		}
		all[order[i]] = entry
	}
	if conflict == nil {
		return all, nil
	}
	return nil, errors.Join(conflict, o.takeBack(ctx, tx, added))
}

// takeBack deletes entries that the same transaction has added.
func (o *Outbox[Tx]) takeBack(ctx context.Context, tx Tx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := o.ledger.RemoveTx(ctx, tx, ids); err != nil {
		return fmt.Errorf("outbox: take back %d entries; roll the transaction back: %w", len(ids), err)
	}
	return nil
}

const (
	// enqueueBatch is how many entries EnqueueAll adds in one transaction.
	enqueueBatch = 1000
	// enqueueBytes is how large the bodies of these entries may be together.
	enqueueBytes = 4 << 20
)

// EnqueueAll adds the items of a sequence in batches of up to 1000 items and 4 MiB; a
// larger item is a batch by itself. Each batch is a transaction. EnqueueAll returns how many
// entries it added and how many were present. It is safe to call again with the same items:
// those that were added before are present.
//
// It stops at the first error that the sequence yields and at the first invalid item,
// whose key the error contains. The items before it are added and counted, and no further
// items are read. An [ErrKeyConflict] is found only when a batch is added, so the other
// items of that batch are added and counted as well.
func (o *Outbox[Tx]) EnqueueAll(ctx context.Context, seq iter.Seq2[Item, error]) (added, present int, err error) {
	if seq == nil {
		return 0, 0, errors.New("outbox: enqueue: seq must not be nil")
	}
	var batch []ledger.NewEntry
	size := 0
	add := func() error {
		a, p, err := o.addBatch(ctx, batch)
		clear(batch)
		added, present, batch, size = added+a, present+p, batch[:0], 0
		return err
	}
	next, stop := iter.Pull2(seq)
	defer stop()
	for {
		item, err, more := next()
		if !more {
			err = add()
			return added, present, err
		}
		if err != nil {
			err = afterBatch(add(), fmt.Errorf("outbox: enqueue: %w", err))
			return added, present, err
		}
		entry, err := o.newEntry(ctx, item)
		if err != nil {
			err = afterBatch(add(), keyed("enqueue", item.Key, err))
			return added, present, err
		}
		if size+len(entry.Body) > enqueueBytes {
			if err := add(); err != nil {
				return added, present, err
			}
		}
		size += len(entry.Body)
		if batch = append(batch, entry); len(batch) == enqueueBatch {
			if err := add(); err != nil {
				return added, present, err
			}
		}
	}
}

// afterBatch joins the error of adding the last batch, if there is one, with the error
// that ended the sequence.
func afterBatch(adding, ended error) error {
	if adding != nil {
		return errors.Join(adding, ended)
	}
	return ended
}

func (o *Outbox[Tx]) addBatch(ctx context.Context, batch []ledger.NewEntry) (added, present int, err error) {
	if len(batch) == 0 {
		return 0, 0, nil
	}
	inserted, err := o.ledger.Insert(ctx, batch)
	if err != nil {
		return 0, 0, fmt.Errorf("outbox: enqueue %d entries, the first of which is %q: %w", len(batch), batch[0].Key, err)
	}
	o.wake()
	o.announce(ctx)
	var conflict error
	for i, in := range inserted {
		_, err := enqueued(batch[i], in)
		switch {
		case err != nil && conflict == nil:
			conflict = err
		case err != nil:
		case in.Present:
			present++
		default:
			added++
		}
	}
	return added, present, conflict
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

// newEntry checks the arguments of Enqueue and returns the entry to add.
func (o *Outbox[Tx]) newEntry(ctx context.Context, item Item, opts ...EnqueueOption) (ledger.NewEntry, error) {
	for _, opt := range opts {
		if opt == nil {
			return ledger.NewEntry{}, errors.New("opts must not contain a nil option")
		}
		opt(&item)
	}
	if ctx.Err() != nil {
		return ledger.NewEntry{}, context.Cause(ctx)
	}
	if problem := keyProblem(item.Key); problem != "" {
		return ledger.NewEntry{}, errors.New("the key " + problem)
	}
	if problem := item.timeProblem(); problem != "" {
		return ledger.NewEntry{}, errors.New(problem)
	}
	body, err := bodyOf(item.Prepared)
	if err != nil {
		return ledger.NewEntry{}, err
	}
	entry := ledger.NewEntry{Key: item.Key, Operation: item.Prepared.Operation(), Body: body, NotBefore: item.NotBefore,
		NotAfter: item.NotAfter, Urgent: item.Urgent}
	entry.Digest = ledger.Digest(o.ledger.DigestKey(), entry.Operation, entry.Body)
	if o.sealer != nil {
		sealed, err := o.sealer.Seal(ctx, entry.Body)
		if err != nil {
			return ledger.NewEntry{}, fmt.Errorf("seal: %w", err)
		}
		entry.Body, entry.Sealed = sealed, true
	}
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
	errNilPrepared  = errors.New("p must not be nil; use a Prepare method")
	errZeroPrepared = errors.New("p is a zero Prepared; use a Prepare method")
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
	stored, err := messaging.ParsePrepared(p.Operation(), body)
	if err != nil || stored.Method() != p.Method() || stored.Path() != p.Path() {
		return nil, errOfDo
	}
	_, unreadable := p.Recipients()
	_, storedUnreadable := stored.Recipients()
	if unreadable != nil && storedUnreadable == nil {
		return nil, errOfDo
	}
	return body, nil
}

// maxKeyBytes is the length of the longest key.
const maxKeyBytes = 255

// keyProblem describes why a key is invalid. It returns "" for a valid key.
func keyProblem(key string) string {
	switch {
	case key == "":
		return "must not be empty"
	case len(key) > maxKeyBytes:
		return "must have at most 255 bytes"
	case !utf8.ValidString(key):
		return "must be valid UTF-8"
	case strings.ContainsFunc(key, unicode.IsControl):
		return "must not contain control characters"
	}
	return ""
}

// validKeys separates the valid keys from the others. A database might read an invalid
// key as the key of some entry.
func validKeys(keys []string) (valid, invalid []string) {
	for _, key := range keys {
		if keyProblem(key) == "" {
			valid = append(valid, key)
		} else {
			invalid = append(invalid, key)
		}
	}
	return valid, invalid
}

var (
	errNoSealer   = errors.New("the request is sealed; set WithSealer")
	errUnreadable = errors.New("this version of package messaging cannot read the stored request")
)

// unseal returns the request of an entry. Its errors quote nothing of the request.
func (o *Outbox[Tx]) unseal(ctx context.Context, r ledger.Request) (*messaging.Prepared, error) {
	body := r.Body
	if r.Sealed {
		if o.sealer == nil {
			return nil, errNoSealer
		}
		var err error
		if body, err = o.sealer.Open(ctx, body); err != nil {
			return nil, fmt.Errorf("open sealed request: %w", err)
		}
	}
	p, err := messaging.ParsePrepared(r.Operation, body)
	if err != nil { // which quotes nothing of the body
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return p, nil
}
