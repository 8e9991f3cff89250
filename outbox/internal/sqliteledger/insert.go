package sqliteledger

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Insert implements ledger.Ledger.
func (l *Ledger) Insert(ctx context.Context, entries []ledger.NewEntry) (inserted []ledger.Inserted, err error) {
	err = l.update(ctx, func(ctx context.Context, conn *writer) (err error) {
		inserted, err = insert(ctx, conn, entries)
		return err
	})
	return inserted, err
}

// InsertTx implements ledger.TxLedger.
func (l *Ledger) InsertTx(ctx context.Context, tx ledger.SQLTx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	if err := l.check(tx); err != nil {
		return nil, err
	}
	if err := l.checkDatabase(ctx, tx); err != nil {
		return nil, err
	}
	if len(entries) == 1 {
		return insert(ctx, tx, entries)
	}
	var inserted []ledger.Inserted
	err := allOrNothing(ctx, tx, func() (err error) {
		inserted, err = insert(ctx, tx, entries)
		return err
	})
	return inserted, err
}

// allOrNothing takes back what fn has changed in tx if fn fails, since tx can still be
// committed.
func allOrNothing(ctx context.Context, tx ledger.SQLTx, fn func() error) error {
	const release = `RELEASE outbox_insert`
	if _, err := tx.ExecContext(ctx, `SAVEPOINT outbox_insert`); err != nil {
		return err
	}
	err := fn()
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		_, err = tx.ExecContext(ctx, release)
		return err
	}
	_, rollbackErr := tx.ExecContext(ctx, `ROLLBACK TO outbox_insert`)
	_, releaseErr := tx.ExecContext(ctx, release)
	return errors.Join(err, rollbackErr, releaseErr)
}

// RemoveTx implements ledger.TxLedger.
func (l *Ledger) RemoveTx(ctx context.Context, tx ledger.SQLTx, ids []int64) error {
	l.erased.Store(true)
	return erasing(ctx, tx, func() error {
		_, err := tx.ExecContext(ctx, `DELETE FROM outbox_entry WHERE id IN (SELECT value FROM json_each(?))`, asJSON(ids))
		return err
	})
}

// check fails if the caller's transaction cannot be used.
func (l *Ledger) check(tx ledger.SQLTx) error {
	if l.closed.Load() {
		return ledger.ErrClosed
	}
	if err := l.file.check(); err != nil {
		return err
	}
	return ledger.CheckTransaction(tx)
}

// insertRows is how many rows one statement inserts.
const insertRows = 100

func insert(ctx context.Context, conn ledger.SQLTx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	inserted := make([]ledger.Inserted, 0, len(entries))
	for batch := range slices.Chunk(entries, insertRows) {
		in, err := insertBatch(ctx, conn, batch)
		if err != nil {
			return nil, err
		}
		inserted = append(inserted, in...)
	}
	return inserted, nil
}

// insertBatch adds the entries whose keys do not exist yet, in one statement.
func insertBatch(ctx context.Context, conn ledger.SQLTx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	now := now()
	args := make([]any, 0, 11*len(entries))
	for _, e := range entries {
		notBefore := int64(0) // which comes before any time, by any clock
		if !e.NotBefore.IsZero() && e.NotBefore.UnixMilli() > now {
			notBefore = e.NotBefore.UnixMilli()
		}
		args = append(args, e.Key, e.Digest, e.Operation, e.Body, e.Sealed, now, notBefore, max(now, notBefore),
			milliseconds(e.NotAfter), e.Priority, e.Repeatable)
	}
	rows, err := conn.QueryContext(ctx, `INSERT INTO outbox_entry
		(key, digest, operation, body, sealed, created_at, not_before, due_since, not_after, priority, repeatable) VALUES `+
		strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?), ", len(entries)), ", ")+
		` ON CONFLICT (key) DO NOTHING RETURNING id, key`, args...)
	type added struct {
		id  int64
		key string
	}
	ids, err := collect(rows, err, func(scan ledger.Scan) (a added, err error) { return a, scan(&a.id, &a.key) })
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]int64, len(ids))
	for _, a := range ids {
		byKey[a.key] = a.id
	}
	inserted := make([]ledger.Inserted, len(entries))
	for i, e := range entries {
		if id, ok := byKey[e.Key]; ok {
			delete(byKey, e.Key) // the same key again is present
			inserted[i] = e.Inserted(id, time.UnixMilli(now))
		}
	}
	_, err = ledger.AddPresent(entries, inserted, func(keys []string) ([]ledger.Entry, error) {
		rows, err := conn.QueryContext(ctx, `SELECT `+entryColumns+` FROM outbox_entry WHERE `+inKeys, asJSON(keys))
		return collect(rows, err, unit.Entry)
	})
	return inserted, err
}

// milliseconds returns nil for the zero time.
func milliseconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// checkDatabase compares the random key of the database, because a transaction can belong
// to another one.
func (l *Ledger) checkDatabase(ctx context.Context, conn ledger.SQLTx) error {
	rows, err := conn.QueryContext(ctx, `SELECT digest_key FROM outbox_meta`)
	keys, err := collect(rows, err, func(scan ledger.Scan) (key []byte, err error) { return key, scan(&key) })
	switch {
	case err != nil && strings.Contains(err.Error(), "no such table"),
		err == nil && (len(keys) != 1 || !bytes.Equal(keys[0], l.key)):
		return ledger.ErrOtherDatabase
	}
	return err
}
