// Package postgres keeps an outbox in the Postgres database of your program, beside your
// own tables, so that an entry can be added in the same transaction as the change that
// causes it. Call [Migrate] once, then open the store with [New] or [NewSQL].
//
// The tables are in the first schema of the search path. A database can contain several
// outboxes in separate schemas.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Store is the store of an outbox in a Postgres database, for programs that use pgx. It
// is safe for concurrent use, and any number of processes can use the same database.
type Store struct{ ledger *pgxLedger }

// SQLStore is the store of an outbox in a Postgres database, for programs that use
// database/sql or a library on top of it, such as GORM, sqlx or Bun. It is safe for
// concurrent use, and any number of processes can use the same database.
type SQLStore struct{ ledger *txLedger[ledger.SQLTx] }

// New returns the store in the database of pool. If the tables are missing, the error says
// to call [Migrate].
func New(ctx context.Context, pool *pgxpool.Pool) (*Store, error) {
	if pool == nil {
		return nil, errors.New("outbox: postgres: pool must not be nil")
	}
	l := &pgxLedger{txLedger: txLedger[pgx.Tx]{base: base{pool: newPgxPool(pool)},
		of: func(tx pgx.Tx) (querier, error) { return pgxQuerier{tx}, nil }}}
	if err := l.open(ctx); err != nil {
		return nil, fmt.Errorf("outbox: postgres: %w", err)
	}
	l.one, l.checked = l.names.Replace(insertOne), "outbox "+l.schema+string(l.key)
	return &Store{l}, nil
}

// NewSQL returns the store in db, which can use any Postgres driver, such as pgx/stdlib
// or lib/pq. If the tables are missing, the error says to call [Migrate].
func NewSQL(ctx context.Context, db *sql.DB) (*SQLStore, error) {
	if db == nil {
		return nil, errors.New("outbox: postgres: db must not be nil")
	}
	l := &txLedger[ledger.SQLTx]{base: base{pool: newSQLPool(db)},
		of: func(tx ledger.SQLTx) (querier, error) { return sqlQuerier{tx}, ledger.CheckTransaction(tx) }}
	if err := l.open(ctx); err != nil {
		return nil, fmt.Errorf("outbox: postgres: %w", err)
	}
	return &SQLStore{l}, nil
}

// Close closes the store and leaves the pool open.
func (s *Store) Close() error {
	s.ledger.closed.Store(true)
	return nil
}

// Close closes the store and leaves the db open.
func (s *SQLStore) Close() error {
	s.ledger.closed.Store(true)
	return nil
}

// Ledger returns what package outbox opens.
func (s *Store) Ledger() ledger.Handle[pgx.Tx] { return ledger.NewHandle(s.ledger) }

// Ledger returns what package outbox opens.
func (s *SQLStore) Ledger() ledger.Handle[ledger.SQLTx] { return ledger.NewHandle(s.ledger) }

// txLedger implements [ledger.TxLedger] with the transactions of a library.
type txLedger[Tx any] struct {
	base
	of func(Tx) (querier, error)
}

// InsertTx implements ledger.TxLedger.
func (l *txLedger[Tx]) InsertTx(ctx context.Context, tx Tx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	q, err := l.of(tx)
	if err != nil {
		return nil, err
	}
	return l.insert(ctx, q, entries, false)
}

// RemoveTx implements ledger.TxLedger.
func (l *txLedger[Tx]) RemoveTx(ctx context.Context, tx Tx, ids []int64) error {
	q, err := l.of(tx)
	if err != nil {
		return err
	}
	return l.run(ctx, q, `DELETE FROM {entry} WHERE id = ANY(ARRAY(SELECT json_array_elements_text($1::text::json)::bigint))`,
		[]any{asJSON(ids)}, nil)
}

// DismissTx implements ledger.TxLedger.
func (l *txLedger[Tx]) DismissTx(ctx context.Context, tx Tx, keys []string) ([]ledger.Decision, error) {
	q, err := l.of(tx)
	if err != nil {
		return nil, err
	}
	return l.decide(ctx, q, dismissal, keys, `true`)
}

// pgxLedger is a txLedger that inserts one entry with less work.
type pgxLedger struct {
	txLedger[pgx.Tx]
	one     string // the statement insertOne
	checked string // marks a connection that is known to belong to the database
}

// InsertTx implements ledger.TxLedger.
func (l *pgxLedger) InsertTx(ctx context.Context, tx pgx.Tx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	conn := tx.Conn()
	if len(entries) != 1 || conn == nil {
		return l.txLedger.InsertTx(ctx, tx, entries)
	}
	known := conn.PgConn().CustomData()
	if known[l.checked] == nil {
		same, err := l.isSame(ctx, pgxQuerier{tx})
		switch {
		case err != nil:
			return nil, otherDatabase(err)
		case !same:
			return nil, ledger.ErrOtherDatabase
		}
		known[l.checked] = true
	}
	inserted, err := l.insertOne(ctx, tx, entries[0])
	if err != nil {
		return nil, otherDatabase(err)
	}
	all := []ledger.Inserted{inserted}
	return all, l.addPresent(ctx, pgxQuerier{tx}, entries, all)
}
