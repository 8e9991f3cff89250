package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The generation of a ledger is a number that grows with each command that changes it. The
// state folder has the largest one that was seen. A ledger with a smaller one was restored
// from a backup: it does not know what was sent, dismissed or paused since.

// IsRestored reports whether the ledger is older than it was when a command used it last. It
// is false for the ledger of another program.
func (l *Ledger) IsRestored(ctx context.Context, state string) (bool, error) {
	now, seen, err := l.generations(ctx, state)
	return now < seen, err
}

// IsForeign reports whether commands used the file of the ledger with other state folders alone,
// so that nothing is known here of a backup. A database is shared by machines, which have a
// state folder each.
func (l *Ledger) IsForeign(ctx context.Context, state string) (bool, error) {
	now, seen, err := l.generations(ctx, state)
	return l.isFile && now > 0 && seen == 0, err
}

// generations returns the generation of the ledger, and the largest one that was seen. Both are 0
// for the ledger of another program.
func (l *Ledger) generations(ctx context.Context, state string) (now, seen int64, err error) {
	of, recorded, err := l.Origin(ctx)
	if err != nil || !recorded {
		return 0, 0, err
	}
	seen, err = seenGeneration(state, of.Salt)
	return of.Generation, seen, err
}

// Advance begins a new generation, and remembers it in the state folder. It does nothing to a
// ledger that was restored or is foreign, which stays one until Accept, or to that of another program.
func (l *Ledger) Advance(ctx context.Context, state string) error {
	for _, is := range []func(context.Context, string) (bool, error){l.IsRestored, l.IsForeign} {
		if found, err := is(ctx, state); err != nil || found {
			return err
		}
	}
	return l.Accept(ctx, state)
}

// Accept begins a generation that is larger than all before, also if the ledger was restored.
func (l *Ledger) Accept(ctx context.Context, state string) error {
	of, recorded, err := l.Origin(ctx)
	if err != nil || !recorded {
		return err
	}
	seen, err := seenGeneration(state, of.Salt)
	if err != nil {
		return err
	}
	var now int64
	if err := l.db.QueryRowContext(ctx, l.format.advance, seen).Scan(&now); err != nil {
		return wrap(err)
	}
	l.generation.Store(now)
	return errors.Join(rememberGeneration(state, of.Salt, now), l.leaveLog(ctx))
}

// leaveLog moves the generation from the write-ahead log into the file. A log that a killed process leaves behind is read
// together with a backup that is copied into the place of the file, and the generation in it would hide that.
func (l *Ledger) leaveLog(ctx context.Context) error {
	if !l.isFile {
		return nil
	}
	var busy, pages, moved int // if it is busy, the next generation tries again
	return wrap(l.db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved))
}

// WentBack reports whether the ledger is older than this process has made it: a backup was
// restored.
func (l *Ledger) WentBack(ctx context.Context) (bool, error) {
	begun := l.generation.Load() // before the query: a generation may begin during it
	conn, err := l.rereading(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	var now int64
	err = conn.QueryRowContext(ctx, `SELECT generation FROM `+table).Scan(&now)
	return now < begun, wrap(err)
}

// rereading returns a connection that reads the file again: SQLite does not notice that another program has changed
// it, and would answer from its memory.
func (l *Ledger) rereading(ctx context.Context) (*sql.Conn, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil || !l.isFile {
		return conn, wrap(err)
	}
	if _, err := conn.ExecContext(ctx, `PRAGMA shrink_memory`); err != nil {
		return nil, errors.Join(wrap(err), conn.Close())
	}
	return conn, nil
}

// generationPath returns the path of the file. The salt comes from the database, which may be
// anybody's, so it is no part of a path.
func generationPath(state, salt string) string {
	return filepath.Join(state, "outboxes", fmt.Sprintf("%x", sha256.Sum256([]byte(salt))))
}

// seenGeneration returns the largest generation that was seen, or 0.
func seenGeneration(state, salt string) (int64, error) {
	path := generationPath(state, salt)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	seen, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is broken; move the file away after you have looked at it", path)
	}
	return seen, nil
}

// rememberGeneration replaces the file as a whole. A process that is slower than another may
// write a smaller number, which the next one corrects.
func rememberGeneration(state, salt string, generation int64) error {
	path := generationPath(state, salt)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".*.tmp")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, generation)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
