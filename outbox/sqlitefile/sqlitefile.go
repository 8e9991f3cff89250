// Package sqlitefile keeps an outbox in a SQLite file of its own. It is apart from
// package sqlite because it links a driver, modernc.org/sqlite, which needs no C
// compiler.
package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/messaging-go/messaging/outbox/internal/sqliteledger"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

// readers is the number of connections for reading.
const readers = 4

// Open opens the outbox in a file, which is created with mode 0600 if it is missing. A file
// that is there keeps its mode, and SQLite gives it to the files beside it. Any number of
// processes on one machine can open it.
func Open(ctx context.Context, path string) (*sqlite.Store, error) {
	switch path {
	case "":
		return nil, errors.New("outbox: open: path must not be empty")
	case ":memory:":
		return nil, errors.New("outbox: open: path must be that of a file, and not \":memory:\"")
	}
	s, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("outbox: open %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string) (*sqlite.Store, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	write, err := sql.Open("sqlite", source(path, "_txlock=immediate", "_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)",
		"_pragma=secure_delete(ON)", "_pragma=busy_timeout(100)"))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", source(path, "_pragma=busy_timeout(30000)", "_pragma=query_only(ON)"))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	l, err := sqliteledger.NewOwned(ctx, write, read)
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	return sqlite.FromLedger(l), nil
}

// create makes a missing file, since SQLite would give it the mode of the umask. Its
// other files get the mode of this one.
func create(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return pathless(err)
		}
		return file.Close()
	case err != nil:
		return pathless(err)
	case info.IsDir():
		return errors.New("is a directory")
	}
	return nil
}

// pathless removes the path from an error that will name it.
func pathless(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// source is the data source name of a file.
func source(path string, parameters ...string) string {
	name := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	for i, parameter := range parameters {
		name += string("?&"[min(i, 1)]) + parameter
	}
	return name
}
