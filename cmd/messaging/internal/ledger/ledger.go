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

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

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
	// Title names the ledger for people, without its password.
	Title string

	db     *sql.DB
	format dialect
	close  func() error
}

// Open opens the outbox in the SQLite file at path or, if path is "", in the Postgres
// database that the environment names. It creates what is missing only if create is set.
func Open(ctx context.Context, path string, env folders.LookupEnv, create bool) (*Ledger, error) {
	address, _ := env(Variable)
	switch {
	case path == "" && address == "":
		return nil, exit.With(exit.Usage, "which outbox? Pass --ledger FILE, or set %s to the address of a Postgres database", Variable)
	case path != "" && address != "":
		return nil, exit.With(exit.Usage, "--ledger is given, but %s is set too; run: unset %[1]s", Variable)
	case path != "":
		return openFile(ctx, path, create)
	default:
		return openPostgres(ctx, address, create)
	}
}

func openFile(ctx context.Context, path string, create bool) (*Ledger, error) {
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && !create {
		return nil, exit.With(exit.Usage, "there is no outbox at %s; messaging outbox import creates one", path)
	}
	source := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?_txlock=immediate&_pragma=busy_timeout(10000)"
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	if !missing && info.Size() > 0 {
		err = checkFile(ctx, db, path)
	}
	var store *sqlite.Store
	if err == nil {
		store, err = sqlitefile.Open(ctx, path)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	l := &Ledger{Store: store, Title: path, db: db, format: sqliteDialect}
	l.close = func() error { return errors.Join(db.Close(), store.Close()) }
	return l, nil
}

// checkFile returns an error for a file that holds something else. Without it, an outbox
// would be created in the database of another program.
func checkFile(ctx context.Context, db *sql.DB, path string) error {
	var tables int
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'outbox_entry'`).Scan(&tables)
	switch {
	case err != nil:
		return exit.With(exit.Usage, "cannot read %s as an outbox: %w", path, err)
	case tables == 0:
		return exit.With(exit.Usage, "%s is a database, but not an outbox", path)
	}
	return nil
}

func openPostgres(ctx context.Context, address string, create bool) (*Ledger, error) {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return nil, exit.With(exit.Usage, "%s is not the address of a Postgres database", Variable)
	}
	if create {
		err = postgres.Migrate(ctx, db)
	}
	var store *postgres.SQLStore
	if err == nil {
		store, err = postgres.NewSQL(ctx, db)
	}
	if err != nil {
		return nil, errors.Join(exit.With(exit.NotDone, "the database of %s: %w", Variable, err), db.Close())
	}
	l := &Ledger{Store: store, Title: "the database of " + Variable, db: db, format: postgresDialect}
	l.close = func() error { return errors.Join(store.Close(), db.Close()) }
	return l, nil
}

// Close closes the outbox.
func (l *Ledger) Close() error { return l.close() }

// Service is the service that the entries of a ledger were planned for.
type Service struct{ BaseURL, Kind, Identity string }

// dialect is what differs between the databases.
type dialect struct{ exists, insert string }

const table = "messaging_command_service"

var (
	sqliteDialect = dialect{
		exists: `SELECT count(*) FROM sqlite_master WHERE name = '` + table + `'`,
		insert: `INSERT INTO ` + table + ` (id, base_url, kind, identity) VALUES (1, ?, ?, ?) ON CONFLICT DO NOTHING`,
	}
	postgresDialect = dialect{
		exists: `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = '` + table + `'`,
		insert: `INSERT INTO ` + table + ` (id, base_url, kind, identity) VALUES (1, $1, $2, $3) ON CONFLICT DO NOTHING`,
	}
)

// Service returns the service of the ledger. ok is false if no command has imported anything
// into it: then it belongs to another program.
func (l *Ledger) Service(ctx context.Context) (s Service, ok bool, err error) {
	var tables int
	if err := l.db.QueryRowContext(ctx, l.format.exists).Scan(&tables); err != nil || tables == 0 {
		return Service{}, false, wrap(err)
	}
	err = l.db.QueryRowContext(ctx, `SELECT base_url, kind, identity FROM `+table).Scan(&s.BaseURL, &s.Kind, &s.Identity)
	if errors.Is(err, sql.ErrNoRows) {
		return Service{}, false, nil
	}
	return s, err == nil, wrap(err)
}

// Claim records the service of a ledger that has none.
func (l *Ledger) Claim(ctx context.Context, s Service) error {
	_, err := l.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+table+
		` (id INTEGER PRIMARY KEY, base_url TEXT NOT NULL, kind TEXT NOT NULL, identity TEXT NOT NULL)`)
	if err == nil {
		_, err = l.db.ExecContext(ctx, l.format.insert, s.BaseURL, s.Kind, s.Identity)
	}
	return wrap(err)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("outbox: the service of its entries: %w", err)
}
