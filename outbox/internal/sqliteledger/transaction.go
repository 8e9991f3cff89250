package sqliteledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// busyTimeout is how long a transaction waits for the write lock of another.
const busyTimeout = 30 * time.Second

// update runs fn in a transaction that holds the write lock from its start and is durable
// when update returns nil. It uses one connection, whose settings it restores. The
// statements are prepared before the lock is held.
func (l *Ledger) update(ctx context.Context, fn func(context.Context, *writer) error, statements ...string) error {
	return l.withWriter(ctx, func(w *writer) error {
		if l.kept == nil {
			restore, err := configure(ctx, w.Conn)
			if err != nil {
				return ledger.Undone(err)
			}
			defer restore()
		}
		if err := w.prepare(ctx, statements); err != nil {
			return ledger.Undone(err)
		}
		if err := begin(ctx, w.Conn); err != nil {
			return ledger.Undone(err)
		}
		err := ledger.Undone(fn(ctx, w))
		if err == nil {
			err = whileBusy(ctx, func() error { // a reader stops it in another journal mode than WAL
				_, err := w.Conn.ExecContext(ctx, "COMMIT")
				return err
			})
		}
		if err != nil {
			rollback(ctx, w.Conn)
		}
		return err
	})
}

// withConn calls fn with a connection for reading.
func (l *Ledger) withConn(ctx context.Context, fn func(*sql.Conn) error) error {
	return l.whileUsable(ctx, func() error {
		conn, err := l.read.Conn(ctx) // which runs the settings of a data source name
		if err != nil {
			return err
		}
		err = fn(conn)
		_ = conn.Close() // returns it to the pool; the error of fn matters more
		return err
	})
}

// withWriter calls fn with a connection for writing.
func (l *Ledger) withWriter(ctx context.Context, fn func(*writer) error) error {
	return l.whileUsable(ctx, func() error {
		w, err := l.takeWriter(ctx)
		if err == nil {
			err = fn(w)
		}
		l.putWriter(w, err)
		return err
	})
}

// whileUsable calls fn, and again if that fails because of a lock: with a shared cache,
// the lock of a table stops any statement, and SQLite does not wait for it.
func (l *Ledger) whileUsable(ctx context.Context, fn func() error) error {
	if l.closed.Load() {
		return ledger.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.file.check(); err != nil {
		return err
	}
	return whileBusy(ctx, fn)
}

// begin waits for the write lock.
func begin(ctx context.Context, conn *sql.Conn) error {
	return whileBusy(ctx, func() error {
		_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		return err
	})
}

// whileBusy retries fn while another connection holds a lock.
func whileBusy(ctx context.Context, fn func() error) error {
	for start := time.Now(); ; {
		err := fn()
		if err == nil || !isBusy(err) || time.Since(start) > busyTimeout {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// isBusy reports whether another connection holds a lock: of the database, or of a table
// if the connections share a cache. Drivers have different error types for it, but the
// same texts.
func isBusy(err error) bool {
	text := err.Error()
	return strings.Contains(text, "database is locked") || strings.Contains(text, "table is locked")
}

// rollback ends the transaction, unless a failed COMMIT has already ended it. If the
// rollback fails, it closes the connection.
func rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), busyTimeout)
	defer cancel()
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		discard(conn)
	}
}

// discard closes the connection instead of returning it to the pool.
func discard(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }

// setting is a PRAGMA that a transaction of the ledger depends on.
type setting struct {
	name   string
	wanted int
	enough func(value int) bool
}

var settings = []setting{
	// FULL makes a commit survive a power failure. With less, a claim could be lost
	// after the request was sent.
	{"synchronous", 2, func(value int) bool { return value >= 2 }},
	secureDelete,
	// A context cannot interrupt SQLite's own waiting, so that is kept short.
	{"busy_timeout", 100, func(value int) bool { return value > 0 && value <= 100 }},
}

// secureDelete overwrites erased bodies, because they contain personal data.
var secureDelete = setting{"secure_delete", 1, func(value int) bool { return value == 1 }}

// set returns the PRAGMA that sets a value. secure_delete reports FAST as 2, but reads any
// number except 0 as ON.
func (s setting) set(value int) string {
	text := strconv.Itoa(value)
	if s.name == secureDelete.name && value == 2 {
		text = "FAST"
	}
	return "PRAGMA " + s.name + " = " + text
}

// configure changes the settings of a connection, and returns a function that restores them.
func configure(ctx context.Context, conn *sql.Conn) (restore func(), err error) {
	var before []string
	restore = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), busyTimeout)
		defer cancel()
		for _, statement := range before {
			if err := pragma(ctx, conn, statement); err != nil {
				discard(conn)
				return
			}
		}
	}
	for _, s := range settings {
		var value int
		if err := conn.QueryRowContext(ctx, "PRAGMA "+s.name).Scan(&value); err != nil {
			restore()
			return nil, err
		}
		if s.enough(value) {
			continue
		}
		before = append(before, s.set(value))
		if err := pragma(ctx, conn, s.set(s.wanted)); err != nil {
			restore()
			return nil, err
		}
	}
	return restore, nil
}

// erasing calls fn, which erases bodies in a transaction of the program, with its setting
// secure_delete changed for that time.
func erasing(ctx context.Context, tx ledger.SQLTx, fn func() error) error {
	rows, err := tx.QueryContext(ctx, "PRAGMA secure_delete")
	values, err := collect(rows, err, func(scan ledger.Scan) (value int, err error) { return value, scan(&value) })
	if err != nil {
		return err
	}
	if len(values) == 0 || secureDelete.enough(values[0]) {
		return fn()
	}
	if err := pragma(ctx, tx, secureDelete.set(secureDelete.wanted)); err != nil {
		return err
	}
	err = fn()
	return errors.Join(err, pragma(context.WithoutCancel(ctx), tx, secureDelete.set(values[0])))
}

// pragma runs a PRAGMA, some of which return a row.
func pragma(ctx context.Context, conn ledger.SQLTx, statement string) error {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	_ = rows.Close()
	return rows.Err()
}
