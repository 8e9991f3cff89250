// Package sqlite keeps an outbox in the SQLite database of your program, beside your own
// tables, so that an entry can be added in the same transaction as the change that causes
// it. Package sqlitefile keeps an outbox in a separate file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/sqliteledger"
)

// Store is the store of an outbox in a SQLite database. It is safe for concurrent use,
// and any number of processes on one machine can use the same database. The file must not
// be on a network file system, where SQLite's locks do not work.
type Store struct{ ledger *sqliteledger.Ledger }

// New returns the store in db. It creates the tables outbox_entry, outbox_meta and
// outbox_pause if they are missing. db can use any driver with SQLite 3.38 or later.
//
// The store uses one connection of db at a time, and none between its calls. It sets
// synchronous=FULL, secure_delete=ON and a short busy_timeout on that connection while it
// writes, and restores them. It leaves the other settings to you. With journal_mode=WAL, readers and a writer
// do not wait for each other. Your own transactions need a busy_timeout and should begin
// with BEGIN IMMEDIATE (_txlock=immediate for modernc.org/sqlite). Otherwise they fail
// with "database is locked" while another connection writes. A database in memory needs
// db.SetMaxOpenConns(1) or a shared cache, because each connection would open its own;
// New returns an error in that case. With a shared cache, SQLite does not wait for the lock
// of a table: the outbox does, and your own statements have to.
//
// If the pool has only one connection, calls other than EnqueueTx, EnqueueAllTx and
// DismissTx wait while one of your transactions is open. In the goroutine of that
// transaction, they deadlock.
func New(ctx context.Context, db *sql.DB) (*Store, error) {
	if db == nil {
		return nil, errors.New("outbox: sqlite: db must not be nil")
	}
	l, err := sqliteledger.New(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("outbox: sqlite: %w", err)
	}
	return &Store{l}, nil
}

// Close closes the store. It leaves the db given to [New] open.
func (s *Store) Close() error { return s.ledger.Close() }

// Ledger returns what package outbox opens.
func (s *Store) Ledger() ledger.Handle[ledger.SQLTx] { return ledger.NewHandle(s.ledger) }
