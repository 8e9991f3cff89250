// Package ledger opens the outbox of a command: a SQLite file or a Postgres database.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// Variable holds the address of an outbox in Postgres. There is no flag for it, since it can
// hold a password, which ps would show.
const Variable = "MESSAGING_OUTBOX_DATABASE"

// Ledger is an open outbox.
type Ledger struct {
	Store interface {
		outbox.Store[outbox.SQLTx]
		io.Closer
	}
	Title string // see Address

	isFile bool
	db     *sql.DB
}

// Address is where an outbox is.
type Address struct{ path, database string }

// Find returns the address of the outbox in the SQLite file at path or, if path is "", in
// the Postgres database that the environment names.
func Find(path string) (Address, error) {
	database := os.Getenv(Variable)
	switch {
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

// Absolute is the path of the file from the root. For a database it is the title.
func (a Address) Absolute() string {
	path, err := filepath.Abs(a.path)
	if a.path == "" || err != nil {
		return a.Title()
	}
	return path
}

// Exists reports whether there is an outbox. What an outbox cannot be created in is an error: a folder that is missing,
// or the file of another program.
func (a Address) Exists(ctx context.Context) (bool, error) {
	if a.path != "" {
		if folder, err := os.Stat(filepath.Dir(a.path)); err != nil || !folder.IsDir() {
			return false, exit.With(exit.Usage, "--ledger %s: the folder %s does not exist", a.path, filepath.Dir(a.path))
		}
		if info, err := os.Stat(a.path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
			return false, nil
		}
	}
	l, err := a.connect()
	if err != nil {
		return false, err
	}
	defer l.db.Close()
	exists, err := l.hasTable(ctx, "outbox_entry")
	if !l.isFile {
		return exists, a.unreachable(err)
	}
	tables := 0
	if err == nil {
		err = l.db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&tables)
	}
	switch {
	case err != nil:
		return false, exit.With(exit.Usage, "cannot read %s as an outbox: %w", a.path, err)
	case tables > 0 && !exists: // a process that was killed can leave a database without tables
		return false, exit.With(exit.Usage, "%s is a database, but not an outbox", a.path)
	}
	return exists, nil
}

// hasTable reports whether the database has a table.
func (l *Ledger) hasTable(ctx context.Context, name string) (exists bool, err error) {
	query := `SELECT to_regclass('` + name + `') IS NOT NULL`
	if l.isFile {
		query = `SELECT count(*) > 0 FROM sqlite_master WHERE name = '` + name + `'`
	}
	err = l.db.QueryRowContext(ctx, query).Scan(&exists)
	return exists, err
}

// Open opens an outbox. If there is none, it creates one, or returns an error.
func (a Address) Open(ctx context.Context, create bool) (*Ledger, error) {
	exists, err := a.Exists(ctx)
	if err == nil && !exists && !create {
		err = exit.With(exit.Usage, "there is no outbox in %s; messaging outbox import creates one", a.Title())
	}
	if err != nil {
		return nil, err
	}
	l, err := a.connect()
	if err != nil {
		return nil, err
	}
	if l.isFile {
		l.Store, err = sqlitefile.Open(ctx, a.path) // which creates it
	} else if !exists {
		err = postgres.Migrate(ctx, l.db)
	}
	if err == nil && !l.isFile {
		l.Store, err = postgres.NewSQL(ctx, l.db)
	}
	if err != nil {
		return nil, errors.Join(a.unreachable(err), l.db.Close())
	}
	return l, nil
}

// connect returns a ledger without a store. Its database connects later.
func (a Address) connect() (*Ledger, error) {
	if a.path != "" {
		db, err := sql.Open("sqlite",
			"file:"+(&url.URL{Path: filepath.ToSlash(a.path)}).EscapedPath()+"?_txlock=immediate&_pragma=busy_timeout(10000)")
		return &Ledger{Title: a.Title(), isFile: true, db: db}, err
	}
	config, err := pgx.ParseConfig(a.database)
	if err != nil { // which quotes the address
		return nil, exit.With(exit.Usage, "%s is not the address of a Postgres database, such as "+
			"postgres://operator@db.example.com:5432/messaging", Variable)
	}
	return &Ledger{Title: a.Title(), db: stdlib.OpenDB(*config)}, nil
}

func (a Address) unreachable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return exit.With(exit.NotDone, "%s: %w", a.Title(), err)
}

// Close closes the outbox.
func (l *Ledger) Close() error { return errors.Join(l.Store.Close(), l.db.Close()) }

// Source is what the first import writes into an outbox: the service of its entries, and where their keys come from.
type Source struct {
	// Service is the host of the service and, for a sandbox, its start.
	Service string
	// Kind is how careful a command has to be with the service.
	Kind string
	// KeyColumn is the column of the keys, or "" if a key is the hash of its request.
	KeyColumn string
}

const sourceTable = "messaging_command_source"

// Source returns what the first import has written. ok is false for an outbox that no import has filled: it belongs to
// another program.
func (l *Ledger) Source(ctx context.Context) (s Source, ok bool, err error) {
	exists, err := l.hasTable(ctx, sourceTable)
	if err == nil && exists {
		err = l.db.QueryRowContext(ctx, `SELECT service, kind, key_column FROM `+sourceTable).Scan(&s.Service, &s.Kind, &s.KeyColumn)
		ok = err == nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, false, fmt.Errorf("outbox: the service of its entries: %w", err)
	}
	return s, ok, nil
}

// Claim writes the source of an outbox that has none. Another import may have been faster.
func (l *Ledger) Claim(ctx context.Context, s Source) error {
	values := "?, ?, ?"
	if !l.isFile {
		values = "$1, $2, $3"
	}
	_, err := l.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+sourceTable+
		` (id INTEGER PRIMARY KEY, service TEXT NOT NULL, kind TEXT NOT NULL, key_column TEXT NOT NULL)`)
	if err == nil {
		_, err = l.db.ExecContext(ctx, `INSERT INTO `+sourceTable+` (id, service, kind, key_column) VALUES (1, `+values+
			`) ON CONFLICT DO NOTHING`, s.Service, s.Kind, s.KeyColumn)
	}
	if err != nil {
		return fmt.Errorf("outbox: write the service of its entries: %w", err)
	}
	return nil
}
