package sqliteledger

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// file is the file of a database. It is empty for a database in memory.
type file struct {
	path string
	info os.FileInfo
}

func fileOf(ctx context.Context, conn *sql.Conn) (f file, err error) {
	var path string
	err = conn.QueryRowContext(ctx, `SELECT COALESCE(file, '') FROM pragma_database_list WHERE name = 'main'`).Scan(&path)
	if err != nil || path == "" {
		return file{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return file{path: path}, nil // an address of the driver's own file system
	}
	return file{path, info}, nil
}

var errFileGone = errors.New("the file of the database was removed or replaced while it was open")

// check fails if the path no longer leads to the open file. SQLite would go on to write
// to a file that nobody finds.
func (f file) check() error {
	if f.info == nil {
		return nil
	}
	info, err := os.Stat(f.path)
	if err != nil || !os.SameFile(info, f.info) {
		return errFileGone
	}
	return nil
}
