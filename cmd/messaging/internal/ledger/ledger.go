// Package ledger opens the outbox of a command: a SQLite file or a Postgres database.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/folders"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlite"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// Variable holds the address of an outbox in Postgres. There is no flag for it, since it can
// hold a password, which ps would show.
const Variable = "MESSAGING_OUTBOX_DATABASE"

// Ledger is an open outbox.
type Ledger struct {
	Store outbox.Store[outbox.SQLTx]
	Title string // see Address
	// Place is where the ledger is now.
	Place Place

	isFile     bool
	db         *sql.DB
	format     dialect
	close      func() error
	generation atomic.Int64 // the last one that this process began
}

// Address is where an outbox is.
type Address struct{ path, database string }

// Find returns the address of the outbox in the SQLite file at path or, if path is "", in
// the Postgres database that the environment names.
func Find(path string, env folders.LookupEnv) (Address, error) {
	database, _ := env(Variable)
	switch {
	case path != "" && strings.TrimSpace(path) == "":
		return Address{}, exit.With(exit.Usage, "--ledger is blank; is a variable not set?")
	case path == ":memory:" || strings.HasPrefix(path, "file:"):
		return Address{}, exit.With(exit.Usage,
			"--ledger %s must be the path of a file: what is only in memory is forgotten, and sent again", path)
	case path == "" && database == "":
		return Address{}, exit.With(exit.Usage, "which outbox? Pass --ledger FILE, or set %s to the address of a Postgres database", Variable)
	case path != "" && database != "":
		return Address{}, exit.With(exit.Usage, "--ledger is given, but %s is set too; run: unset %[1]s", Variable)
	default:
		return Address{path, database}, nil
	}
}

// Title names the outbox for people, without the password of its database.
func (a Address) Title() string {
	if a.path == "" {
		return "the database of " + Variable
	}
	return a.path
}

// Exists reports whether there is an outbox. A file that holds something else is an error:
// an outbox would be created in the database of another program.
func (a Address) Exists(ctx context.Context) (bool, error) {
	db, err := a.connect()
	if err != nil {
		return false, err
	}
	defer db.Close()
	if a.path == "" {
		var exists bool
		err := db.QueryRowContext(ctx, `SELECT to_regclass('outbox_entry') IS NOT NULL`).Scan(&exists)
		return exists, a.unreachable(err)
	}
	info, err := os.Stat(a.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return false, nil
	}
	var tables, entries int
	err = db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name = 'outbox_entry') FROM sqlite_master`).Scan(&tables, &entries)
	switch {
	case err != nil:
		return false, exit.With(exit.Usage, "cannot read %s as an outbox: %w", a.path, err)
	case tables > 0 && entries == 0:
		return false, exit.With(exit.Usage, "%s is a database, but not an outbox", a.path)
	}
	return entries > 0, nil // a process that was killed can leave a database without tables
}

// Open opens an outbox that exists.
func (a Address) Open(ctx context.Context) (*Ledger, error) {
	exists, err := a.Exists(ctx)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, exit.With(exit.Usage, "there is no outbox in %s; messaging outbox import creates one", a.Title())
	}
	return a.open(ctx)
}

// Create opens an outbox, and creates it if there is none.
func (a Address) Create(ctx context.Context) (*Ledger, error) {
	if exists, err := a.Exists(ctx); err != nil || exists || a.path != "" {
		if err != nil {
			return nil, err
		}
		return a.open(ctx)
	}
	db, err := a.connect()
	if err == nil {
		err = errors.Join(a.unreachable(postgres.Migrate(ctx, db)), db.Close())
	}
	if err != nil {
		return nil, err
	}
	return a.open(ctx)
}

func (a Address) open(ctx context.Context) (*Ledger, error) {
	db, err := a.connect()
	if err != nil {
		return nil, err
	}
	l := &Ledger{Title: a.Title(), db: db, format: sqliteDialect}
	var closeStore func() error
	if a.path == "" {
		l.format = postgresDialect
		var store *postgres.SQLStore
		if store, err = postgres.NewSQL(ctx, db); err == nil {
			l.Store, closeStore = store, store.Close
		}
	} else {
		var store *sqlite.Store
		if store, err = sqlitefile.Open(ctx, a.path); err == nil {
			l.Store, closeStore = store, store.Close
		}
	}
	if err != nil {
		return nil, errors.Join(a.unreachable(err), db.Close())
	}
	l.close = func() error { return errors.Join(closeStore(), db.Close()) }
	if a.path == "" {
		l.Place, err = databasePlace(ctx, db)
	} else {
		l.isFile = true
		l.Place, err = a.place() // now that there is a file
	}
	if err != nil {
		return nil, errors.Join(a.unreachable(err), l.close())
	}
	return l, nil
}

// connect opens the database. It connects later.
func (a Address) connect() (*sql.DB, error) {
	if a.path != "" {
		source := "file:" + (&url.URL{Path: filepath.ToSlash(a.path)}).EscapedPath() + "?_txlock=immediate&_pragma=busy_timeout(10000)"
		return sql.Open("sqlite", source)
	}
	config, err := pgx.ParseConfig(a.database)
	if err != nil { // which quotes the address
		return nil, exit.With(exit.Usage, "%s is not the address of a Postgres database, such as "+
			"postgres://operator@db.example.com:5432/messaging", Variable)
	}
	return stdlib.OpenDB(*config), nil
}

func (a Address) unreachable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return exit.With(exit.NotDone, "%s: %w", a.Title(), err)
}

// Trial calls f with a transaction that is rolled back.
func (l *Ledger) Trial(ctx context.Context, f func(tx outbox.SQLTx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("outbox: look for the keys: %w", err)
	}
	return errors.Join(f(tx), tx.Rollback())
}

// ClockAhead returns by how much the clock that gave the entries their times is at least ahead of
// that of this machine, which is negative if it is behind. An outbox in a file has the same clock.
func (l *Ledger) ClockAhead(ctx context.Context) (time.Duration, error) {
	if l.format == sqliteDialect {
		return 0, nil
	}
	var there time.Time
	if err := l.db.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&there); err != nil {
		return 0, fmt.Errorf("outbox: read the clock of the database: %w", err)
	}
	return time.Until(there), nil
}

// Close closes the outbox.
func (l *Ledger) Close() error { return l.close() }
