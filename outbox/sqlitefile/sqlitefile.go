// Package sqlitefile keeps an outbox in a separate SQLite file. It is not part of package
// sqlite because it links a driver, modernc.org/sqlite, which needs no C compiler.
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

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/sqliteledger"
)

// readers is the number of connections for reading.
const readers = 4

// pageCache is the memory for pages of the connection that writes. A batch of new entries
// changes about a thousand pages of the index of keys, which are in no order; if they do not
// fit, SQLite writes them several times.
const pageCache = "_pragma=cache_size(-8000)" // in KiB

// logPages is how many pages the write-ahead log has before SQLite copies them into the
// database. With the default of 1000, it would copy most pages of each batch twice.
const logPages = "_pragma=wal_autocheckpoint(2000)"

// Store is the store of an outbox in a separate SQLite file. It is safe for concurrent use.
// The file must not be on a network file system, where SQLite's locks do not work.
type Store struct{ ledger *sqliteledger.Ledger }

// Close closes the file.
func (s *Store) Close() error { return s.ledger.Close() }

// Ledger returns what package outbox opens.
func (s *Store) Ledger() ledger.Handle[ledger.SQLTx] { return ledger.NewHandle(s.ledger) }

// Open opens the outbox in a file. A missing file is created with mode 0600; an existing
// file keeps its mode. SQLite creates the files beside it with the same mode. Any number
// of processes on one machine can open the file.
func Open(ctx context.Context, path string) (*Store, error) {
	switch path {
	case "":
		return nil, errors.New("outbox: open: path must not be empty")
	case ":memory:":
		return nil, errors.New("outbox: open: path must name a file, not \":memory:\"")
	}
	s, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("outbox: open %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string) (*Store, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	write, err := sql.Open("sqlite", source(path, "_txlock=immediate", "_pragma=journal_mode(WAL)", "_pragma=busy_timeout(100)",
		pageCache, logPages))
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
	return &Store{l}, nil
}

// create creates a missing file, because SQLite would use the mode of the umask. SQLite
// gives its other files the mode of this one.
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

// pathless removes the path from an error that the caller adds the path to.
func pathless(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// source returns the data source name of a file.
func source(path string, parameters ...string) string {
	name := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	for i, parameter := range parameters {
		name += string("?&"[min(i, 1)]) + parameter
	}
	return name
}
