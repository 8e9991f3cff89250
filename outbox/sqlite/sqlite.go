// Package sqlite keeps an outbox in a SQLite database of the program, beside its own
// tables, so that an entry is added in the same transaction as the change that it
// belongs to. Package sqlitefile keeps one in a file of its own.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/sqliteledger"
)

// Store is an outbox in a SQLite database. It is safe for concurrent use, and any number
// of processes on one machine can use the same database. A file on a network file system
// can't be used: SQLite's locks do not work there.
type Store struct{ ledger *sqliteledger.Ledger }

// New returns the store in db, opened with any SQLite driver whose SQLite is at least
// 3.35, and creates the tables outbox_entry and outbox_meta if they are missing.
//
// The store uses one connection of db at a time, and none between its calls. While it
// writes, that connection has synchronous=FULL and secure_delete=ON; both are restored.
// The other settings are the program's. With journal_mode=WAL, readers and a writer do not
// wait for each other. The program's own transactions need a busy_timeout, and should begin
// with BEGIN IMMEDIATE (_txlock=immediate for modernc.org/sqlite): otherwise they fail with
// "database is locked" while another connection writes. A database in memory needs
// db.SetMaxOpenConns(1) or a shared cache; New refuses one for each connection.
//
// With a pool of one connection, a call other than EnqueueTx waits for as long as a
// transaction of the program is open. In the goroutine of that transaction it would wait
// without end.
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

// FromLedger is for package sqlitefile.
func FromLedger(l *sqliteledger.Ledger) *Store { return &Store{l} }

// Close ends the use of the store. The db given to [New] stays open; the file of package
// sqlitefile is closed.
func (s *Store) Close() error { return s.ledger.Close() }

// Ledger is for package outbox.
func (s *Store) Ledger() ledger.TxLedger[*sql.Tx] { return s.ledger }
