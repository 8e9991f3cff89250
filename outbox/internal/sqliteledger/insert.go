package sqliteledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

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
		SELECT ?1, ?2, ?3, ?4, ?5, ` + nowSQL + `, max(?6, ` + nowSQL + `) WHERE true
		ON CONFLICT (key) DO NOTHING RETURNING ` + entryColumns + `, digest`
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
	inserted := make([]ledger.Inserted, len(entries))
	for i, e := range entries {
		var notBefore int64
		if !e.NotBefore.IsZero() {
			notBefore = e.NotBefore.UnixMilli()
		}
		row := statement.QueryRowContext(ctx, e.Key, e.Digest, e.Operation, e.Body, e.Sealed, notBefore)
		inserted[i], err = scanInserted(row.Scan)
		if errors.Is(err, sql.ErrNoRows) {
			inserted[i], err = scanInserted(conn.QueryRowContext(ctx, presentSQL, e.Key).Scan)
			inserted[i].Present = true
		}
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", e.Key, err)
		}
	}
	return inserted, nil
}

// checkDatabase compares the random key, since a transaction can be one of any database.
func (l *Ledger) checkDatabase(ctx context.Context, conn connection) error {
	var key []byte
	err := conn.QueryRowContext(ctx, `SELECT digest_key FROM outbox_meta`).Scan(&key)
	switch {
	case err != nil && strings.Contains(err.Error(), "no such table"), err == nil && !bytes.Equal(key, l.key):
		return ledger.ErrOtherDatabase
	}
	return err
}
