package sqliteledger

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// connection is a *sql.Conn or a *sql.Tx.
type connection interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Insert implements ledger.Ledger.
func (l *Ledger) Insert(ctx context.Context, entries []ledger.NewEntry) (inserted []ledger.Inserted, err error) {
	err = l.update(ctx, func(ctx context.Context, conn *sql.Conn) (err error) {
		inserted, err = l.insert(ctx, conn, entries)
		return err
	})
	return inserted, err
}

// InsertTx implements ledger.TxLedger.
func (l *Ledger) InsertTx(ctx context.Context, tx *sql.Tx, entry ledger.NewEntry) (ledger.Inserted, error) {
	if l.closed.Load() {
		return ledger.Inserted{}, ledger.ErrClosed
	}
	inserted, err := l.insert(ctx, tx, []ledger.NewEntry{entry})
	if err != nil {
		return ledger.Inserted{}, err
	}
	return inserted[0], nil
}

const (
	insertSQL = `INSERT INTO outbox_entry (key, digest, operation, body, sealed, created_at, not_before)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`
	presentSQL = `SELECT ` + entryColumns + `, digest FROM outbox_entry WHERE key = ?`
)

func (l *Ledger) insert(ctx context.Context, conn connection, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	if err := l.checkDatabase(ctx, conn); err != nil {
		return nil, err
	}
	statement, err := conn.PrepareContext(ctx, insertSQL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = statement.Close() }()
	now := now()
	inserted := make([]ledger.Inserted, len(entries))
	for i, e := range entries {
		inserted[i], err = insertOne(ctx, conn, statement, e, now)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", e.Key, err)
		}
	}
	return inserted, nil
}

func insertOne(ctx context.Context, conn connection, statement *sql.Stmt, e ledger.NewEntry, now int64) (ledger.Inserted, error) {
	notBefore := now
	if !e.NotBefore.IsZero() {
		notBefore = max(now, e.NotBefore.UnixMilli())
	}
	result, err := statement.ExecContext(ctx, e.Key, e.Digest, e.Operation, e.Body, e.Sealed, now, notBefore)
	if err != nil {
		return ledger.Inserted{}, err
	}
	added, err := result.RowsAffected()
	if err != nil {
		return ledger.Inserted{}, err
	}
	if added == 0 {
		in, err := scanInserted(conn.QueryRowContext(ctx, presentSQL, e.Key).Scan)
		in.Present = true
		return in, err
	}
	id, err := result.LastInsertId()
	return ledger.Inserted{Digest: e.Digest, Entry: ledger.Entry{ID: id, Key: e.Key, Operation: e.Operation, State: ledger.Pending,
		Delivery: messaging.DeliveryNotSent, EnqueuedAt: time.UnixMilli(now), NotBefore: time.UnixMilli(notBefore)}}, err
}

// checkDatabase compares the random key of the database, because a transaction can belong
// to another one.
func (l *Ledger) checkDatabase(ctx context.Context, conn connection) error {
	var key []byte
	err := conn.QueryRowContext(ctx, `SELECT digest_key FROM outbox_meta`).Scan(&key)
	switch {
	case err != nil && strings.Contains(err.Error(), "no such table"), err == nil && !bytes.Equal(key, l.key):
		return ledger.ErrOtherDatabase
	}
	return err
}
