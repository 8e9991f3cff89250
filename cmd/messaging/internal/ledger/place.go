package ledger

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// Place is where an outbox is. It tells a file or a database from a copy, which would be sent a
// second time. For a database, File is the number that the server gave it when it was created.
type Place struct{ Host, Path, File string }

// String names the place for people.
func (p Place) String() string { return p.Path + " on " + p.Host }

// databasePlace returns where a database is. Its server may move to another machine.
func databasePlace(ctx context.Context, db *sql.DB) (p Place, err error) {
	var name, schema string
	err = db.QueryRowContext(ctx, `SELECT datname, current_schema(), oid::text FROM pg_database WHERE datname = current_database()`).
		Scan(&name, &schema, &p.File)
	p.Host, p.Path = "Postgres", "schema "+schema+" of database "+name
	return p, err
}

// place returns where the file is now.
func (a Address) place() (Place, error) {
	host, err := os.Hostname()
	if err != nil {
		return Place{}, exit.With(exit.Unexpected, "%s: the name of this machine: %w", a.path, err)
	}
	p := Place{Host: host, Path: a.Absolute()}
	if info, err := os.Stat(a.path); err == nil {
		p.File = fileNumber(info)
	}
	return p, nil
}

// Absolute is the path of the file, without symbolic links as far as it exists. For a
// database it is the title.
func (a Address) Absolute() string {
	if a.path == "" {
		return a.Title()
	}
	path, err := filepath.Abs(a.path)
	if err != nil {
		return a.path
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}
