// Package sqliteledger is the ledger in a SQLite database, with any driver.
package sqliteledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Ledger implements [ledger.TxLedger].
type Ledger struct {
	write, read *sql.DB
	// configured is true if every connection of write has the settings that a transaction
	// depends on.
	configured bool
	owned      []io.Closer
	key        []byte
	closed     atomic.Bool
	erased     atomic.Bool // a body was erased since the last Tidy
}

var _ ledger.TxLedger[*sql.Tx] = (*Ledger)(nil)

// New returns the ledger in a caller's database, and creates the tables if they are
// missing.
func New(ctx context.Context, db *sql.DB) (*Ledger, error) {
	l := &Ledger{write: db, read: db}
	if err := l.migrate(ctx); err != nil {
		return nil, err
	}
	return l, l.checkMemory(ctx)
}

// NewOwned returns the ledger in a separate database. The connections of write must have
// the settings that a transaction depends on. Close closes both pools.
func NewOwned(ctx context.Context, write, read *sql.DB) (*Ledger, error) {
	l := &Ledger{write: write, read: read, configured: true, owned: []io.Closer{read, write}}
	if err := l.checkSettings(ctx); err != nil {
		return nil, err
	}
	return l, l.migrate(ctx)
}

// Close makes every further call fail.
func (l *Ledger) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	var problems []error
	for _, db := range l.owned {
		problems = append(problems, db.Close())
	}
	return errors.Join(problems...)
}

// DigestKey implements ledger.Ledger.
func (l *Ledger) DigestKey() []byte { return l.key }

// Listen implements ledger.Ledger. SQLite does not announce new entries.
func (l *Ledger) Listen(context.Context, func()) bool { return false }

// nowSQL is the clock of the database in milliseconds. It is rounded because julianday
// returns a floating-point number.
const nowSQL = `CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)`

// now reads the same clock, because SQLite uses the clock of the machine. It is read
// after the transaction has taken the write lock.
func now() int64 { return time.Now().UnixMilli() }

// Claim implements ledger.Ledger.
func (l *Ledger) Claim(ctx context.Context, claim ledger.Claim) (claimed []ledger.Claimed, err error) {
	err = l.update(ctx, func(ctx context.Context, conn *sql.Conn) error {
		now := now()
		chosen, args := `state = 0 AND not_before <= ?`, []any{claim.Token[:], claim.Owner, now, now + claim.Lease.Milliseconds(), now}
		if claim.Keys != nil {
			chosen += ` AND ` + keyIn(claim.Keys)
			args = append(args, anySlice(claim.Keys)...)
		}
		rows, err := conn.QueryContext(ctx, `UPDATE outbox_entry SET state = 1, delivery = 0, error = '', attempts = attempts + 1,
			token = ?, owner = ?, claimed_at = ?, lease_until = ?
			WHERE id IN (SELECT id FROM outbox_entry WHERE `+chosen+` ORDER BY not_before, id LIMIT ?)
			RETURNING `+claimedColumns, append(args, claim.Limit)...)
		claimed, err = collect(rows, err, scanClaimed)
		return err
	})
	return claimed, err
}

// Unclaim implements ledger.Ledger.
func (l *Ledger) Unclaim(ctx context.Context, token ledger.Token) (int, error) {
	return l.change(ctx, `UPDATE outbox_entry SET state = 0, delivery = 1, token = NULL, lease_until = NULL
		WHERE state = 1 AND token = ?`, token[:])
}

const settleSQL = `UPDATE outbox_entry SET state = ?1, delivery = ?2, error = ?3,
	body = CASE WHEN ?1 = 2 THEN NULL ELSE body END,
	not_before = CASE WHEN ?1 = 0 THEN ?4 + ?5 ELSE not_before END,
	settled_at = CASE WHEN ?1 = 0 THEN NULL ELSE ?4 END,
	refusals = refusals + ?6, lease_until = NULL
	WHERE id = ?7 AND token = ?8 AND (state IN (1, 4) OR state = 0 AND ?1 IN (2, 3))`

// Settle implements ledger.Ledger.
func (l *Ledger) Settle(ctx context.Context, outcomes []ledger.Outcome) (applied []bool, at time.Time, err error) {
	err = l.update(ctx, func(ctx context.Context, conn *sql.Conn) error {
		now := now()
		statement, err := conn.PrepareContext(ctx, settleSQL)
		if err != nil {
			return err
		}
		defer func() { _ = statement.Close() }()
		l.erased.Store(true)
		applied, at = make([]bool, len(outcomes)), time.UnixMilli(now)
		for i, s := range outcomes {
			result, err := statement.ExecContext(ctx, s.State, s.Delivery, s.Error, now, s.Wait.Milliseconds(), s.Denied, s.ID, s.Token[:])
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n > 0 {
				applied[i] = true
				continue
			}
			err = conn.QueryRowContext(ctx, `SELECT count(*) > 0 FROM outbox_entry WHERE id = ? AND token = ? AND state = ?`,
				s.ID, s.Token[:], s.State).Scan(&applied[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
	return applied, at, err
}

// Sweep implements ledger.Ledger.
func (l *Ledger) Sweep(ctx context.Context, limit int) ([]ledger.Swept, error) {
	expired := `state = 1 AND lease_until < ` + nowSQL
	if none, err := l.none(ctx, expired); none || err != nil { // without the write lock
		return nil, err
	}
	var swept []ledger.Swept
	err := l.update(ctx, func(ctx context.Context, conn *sql.Conn) error {
		now := now()
		rows, err := conn.QueryContext(ctx, `UPDATE outbox_entry SET state = 4, delivery = 0, settled_at = ?1, error = ?2,
			lease_until = ?1 + lease_until - claimed_at
			WHERE id IN (SELECT id FROM outbox_entry WHERE state = 1 AND lease_until < ?1 ORDER BY id LIMIT ?3)
			RETURNING id, lease_until - ?1`, now, ledger.SweptError, limit)
		swept, err = collect(rows, err, func(scan scanFunc) (s ledger.Swept, err error) {
			var guard int64
			err = scan(&s.ID, &guard)
			s.Guard = time.Duration(guard) * time.Millisecond
			return s, err
		})
		return err
	})
	return swept, err
}

// StillSwept implements ledger.Ledger.
func (l *Ledger) StillSwept(ctx context.Context, ids []int64) ([]ledger.Entry, error) {
	return query(ctx, l, scanEntry, `SELECT `+entryColumns+` FROM outbox_entry
		WHERE id IN (`+placeholders(len(ids))+`) AND state = 4 AND lease_until IS NOT NULL ORDER BY id`, anySlice(ids)...)
}

// Purge implements ledger.Ledger.
func (l *Ledger) Purge(ctx context.Context, keep time.Duration, limit int) (n int, err error) {
	for _, state := range []ledger.State{ledger.Accepted, ledger.Dismissed} {
		old := fmt.Sprintf(`state = %d AND settled_at < %s - %d`, state, nowSQL, keep.Milliseconds())
		if none, err := l.none(ctx, old); none || err != nil {
			if err != nil {
				return n, err
			}
			continue
		}
		deleted, err := l.change(ctx, `DELETE FROM outbox_entry WHERE id IN (SELECT id FROM outbox_entry WHERE `+old+` LIMIT ?)`, limit)
		n += deleted
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Tidy implements ledger.Ledger. The write-ahead log contains old versions of pages, so
// it is truncated.
func (l *Ledger) Tidy(ctx context.Context) error {
	if !l.erased.Swap(false) {
		return nil
	}
	return l.withConn(ctx, l.write, func(conn *sql.Conn) error {
		var busy, pages, moved int
		err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
		if err != nil || busy != 0 { // a reader still needs the log
			l.erased.Store(true)
		}
		return err
	})
}

// none reports whether no entry matches.
func (l *Ledger) none(ctx context.Context, condition string) (none bool, err error) {
	err = l.withConn(ctx, l.read, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM outbox_entry WHERE `+condition+`)`).Scan(&none)
	})
	return none, err
}

// Find implements ledger.Ledger.
func (l *Ledger) Find(ctx context.Context, keys []string) ([]ledger.Entry, error) {
	return query(ctx, l, scanEntry, `SELECT `+entryColumns+` FROM outbox_entry WHERE `+keyIn(keys), anySlice(keys)...)
}

// Request implements ledger.Ledger.
func (l *Ledger) Request(ctx context.Context, key string) (ledger.Request, error) {
	found, err := query(ctx, l, func(scan scanFunc) (r ledger.Request, err error) {
		return r, scan(&r.State, &r.Operation, &r.Body, &r.Sealed)
	}, `SELECT state, operation, body, sealed FROM outbox_entry WHERE key = ?`, key)
	if err != nil || len(found) == 0 {
		return ledger.Request{}, cmpError(err, ledger.ErrNoEntry)
	}
	return found[0], nil
}

func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// List implements ledger.Ledger.
func (l *Ledger) List(ctx context.Context, state ledger.State, after int64, limit int) ([]ledger.Entry, error) {
	chosen := `id > ?`
	if state >= 0 {
		chosen += fmt.Sprintf(` AND state = %d`, state)
	}
	return query(ctx, l, scanEntry, `SELECT `+entryColumns+` FROM outbox_entry WHERE `+chosen+` ORDER BY id LIMIT ?`, after, limit)
}

// Counts implements ledger.Ledger.
func (l *Ledger) Counts(ctx context.Context) (counts ledger.Counts, err error) {
	var columns []string
	var into []any
	for state := range counts.ByState { // a condition without a parameter can use its partial index
		columns = append(columns, fmt.Sprintf(`(SELECT count(*) FROM outbox_entry WHERE state = %d)`, state))
		into = append(into, &counts.ByState[state])
	}
	var age int64
	columns = append(columns, `COALESCE((SELECT `+nowSQL+` - min(created_at) FROM outbox_entry
		WHERE state = 0 AND not_before <= `+nowSQL+`), 0)`)
	into = append(into, &age)
	err = l.withConn(ctx, l.read, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, `SELECT `+strings.Join(columns, `, `)).Scan(into...)
	})
	counts.OldestDue = time.Duration(max(age, 0)) * time.Millisecond
	return counts, err
}

// NextDue implements ledger.Ledger.
func (l *Ledger) NextDue(ctx context.Context) (time.Duration, bool, error) {
	var wait sql.NullInt64
	err := l.withConn(ctx, l.read, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, `SELECT min(not_before) - `+nowSQL+` FROM outbox_entry WHERE state = 0`).Scan(&wait)
	})
	return ledger.DueIn(wait.Int64), wait.Valid, err
}

// Resend implements ledger.Ledger.
func (l *Ledger) Resend(ctx context.Context, keys []string) (int, error) {
	return l.change(ctx, `UPDATE outbox_entry SET state = 0, not_before = `+nowSQL+`, settled_at = NULL, lease_until = NULL, refusals = 0,
		token = CASE WHEN state = 4 THEN token END
		WHERE state IN (3, 4) AND (lease_until IS NULL OR lease_until <= `+nowSQL+`) AND `+keyIn(keys), anySlice(keys)...)
}

// Dismiss implements ledger.Ledger.
func (l *Ledger) Dismiss(ctx context.Context, keys []string) (int, error) {
	defer l.erased.Store(true)
	return l.change(ctx, `UPDATE outbox_entry SET state = 5, token = NULL, body = NULL, error = '', lease_until = NULL, settled_at = `+nowSQL+`
		WHERE state IN (3, 4) AND `+keyIn(keys), anySlice(keys)...)
}

// Quarantine implements ledger.Ledger.
func (l *Ledger) Quarantine(ctx context.Context) (int, error) {
	return l.change(ctx, `UPDATE outbox_entry SET token = NULL, delivery = 0, settled_at = `+nowSQL+`, error = ?,
		lease_until = CASE WHEN state = 1 THEN `+nowSQL+` + lease_until - claimed_at END, state = 4
		WHERE state IN (0, 1)`, ledger.QuarantinedError)
}

// change runs one statement in a transaction, and returns how many entries it changed.
func (l *Ledger) change(ctx context.Context, statement string, args ...any) (int, error) {
	var changed int64
	err := l.update(ctx, func(ctx context.Context, conn *sql.Conn) error {
		result, err := conn.ExecContext(ctx, statement, args...)
		if err == nil {
			changed, err = result.RowsAffected()
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(changed), nil
}
