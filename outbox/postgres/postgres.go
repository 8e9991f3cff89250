// Package postgres keeps an outbox in the Postgres database of your program, beside your
// own tables, so that an entry can be added in the same transaction as the change that
// causes it. Call [Migrate] once, then open the store with [New] or [NewSQL].
//
// The tables are in the first schema of the search path. A database can contain several
// outboxes in separate schemas.
package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Tx is the type of the transactions of [SQLStore], the same as outbox.SQLTx: *sql.Tx,
// *sqlx.Tx, and the ConnPool of GORM within a transaction.
type Tx = interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Store is the store of an outbox in a Postgres database, for programs that use pgx. It
// is safe for concurrent use, and any number of processes can use the same database.
type Store struct{ ledger *pgxLedger }

// SQLStore is the store of an outbox in a Postgres database, for programs that use
// database/sql or a library on top of it, such as GORM, sqlx or Bun. It is safe for
// concurrent use, and any number of processes can use the same database.
type SQLStore struct{ ledger *sqlLedger }

// New returns the store in the database of pool. If the tables are missing or are those
// of an earlier version, the error says to call [Migrate].
//
// Run opens one more connection, outside the pool, to wait for notifications: they are
// sent by Enqueue, EnqueueAll and Wake of other processes. Without them, Run looks for
// new entries every 50 ms.
func New(ctx context.Context, pool *pgxpool.Pool) (*Store, error) {
	if pool == nil {
		return nil, errors.New("outbox: postgres: pool must not be nil")
	}
	l := &pgxLedger{base: base{pool: newPgxPool(pool)}, source: pool}
	if err := l.open(ctx); err != nil {
		return nil, fmt.Errorf("outbox: postgres: %w", err)
	}
	return &Store{l}, nil
}

// NewSQL returns the store in db, which can use any Postgres driver. If the tables are
// missing or are those of an earlier version, the error says to call [Migrate]. Run looks
// for new entries every 50 ms.
func NewSQL(ctx context.Context, db *sql.DB) (*SQLStore, error) {
	if db == nil {
		return nil, errors.New("outbox: postgres: db must not be nil")
	}
	l := &sqlLedger{base{pool: newSQLPool(db)}}
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

// Ledger returns the ledger of the store. It is for package outbox.
func (s *Store) Ledger() ledger.TxLedger[pgx.Tx] { return s.ledger }

// Ledger returns the ledger of the store. It is for package outbox.
func (s *SQLStore) Ledger() ledger.TxLedger[Tx] { return s.ledger }

// pgxLedger implements [ledger.TxLedger] with pgx.
type pgxLedger struct {
	base
	source *pgxpool.Pool
}

// InsertTx implements ledger.TxLedger.
func (l *pgxLedger) InsertTx(ctx context.Context, tx pgx.Tx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	return l.insert(ctx, pgxQuerier{tx}, entries, false)
}

// RemoveTx implements ledger.TxLedger.
func (l *pgxLedger) RemoveTx(ctx context.Context, tx pgx.Tx, ids []int64) error {
	return l.remove(ctx, pgxQuerier{tx}, ids)
}

// DismissTx implements ledger.TxLedger.
func (l *pgxLedger) DismissTx(ctx context.Context, tx pgx.Tx, keys []string) ([]ledger.Decision, error) {
	return l.decide(ctx, pgxQuerier{tx}, dismissal, keys)
}

// sqlLedger implements [ledger.TxLedger] with database/sql.
type sqlLedger struct{ base }

// InsertTx implements ledger.TxLedger.
func (l *sqlLedger) InsertTx(ctx context.Context, tx Tx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	if err := ledger.CheckTransaction(tx); err != nil {
		return nil, err
	}
	return l.insert(ctx, sqlQuerier{tx}, entries, false)
}

// RemoveTx implements ledger.TxLedger.
func (l *sqlLedger) RemoveTx(ctx context.Context, tx Tx, ids []int64) error {
	return l.remove(ctx, sqlQuerier{tx}, ids)
}

// DismissTx implements ledger.TxLedger.
func (l *sqlLedger) DismissTx(ctx context.Context, tx Tx, keys []string) ([]ledger.Decision, error) {
	if err := ledger.CheckTransaction(tx); err != nil {
		return nil, err
	}
	return l.decide(ctx, sqlQuerier{tx}, dismissal, keys)
}

// Listen implements ledger.Ledger: database/sql has no way to wait for notifications.
func (l *sqlLedger) Listen(context.Context, func()) {}

// listenAgain is how long to wait after the connection that listens was lost.
const listenAgain = time.Second

// Listen implements ledger.Ledger. It uses a separate connection, so a pool of one
// connection is enough.
func (l *pgxLedger) Listen(ctx context.Context, wake func()) {
	for ctx.Err() == nil {
		l.listenOnce(ctx, wake)
		wake() // entries may have been added in the meantime
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// listenOnce listens until the connection is lost or ctx is done.
func (l *pgxLedger) listenOnce(ctx context.Context, wake func()) {
	config := l.source.Config()
	if config.BeforeConnect != nil && config.BeforeConnect(ctx, config.ConnConfig) != nil {
		return
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{l.channel}.Sanitize()); err != nil {
		return
	}
	wake()
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return
		}
		wake()
	}
}

// maxChannelBytes is the length of the longest channel name.
const maxChannelBytes = 63

// channelOf returns the notification channel of a schema.
func channelOf(schema string) string {
	channel := "outbox_" + schema
	if len(channel) <= maxChannelBytes {
		return channel
	}
	sum := sha256.Sum256([]byte(schema))
	return "outbox_" + hex.EncodeToString(sum[:16])
}
