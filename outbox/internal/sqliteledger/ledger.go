// Package sqliteledger is the ledger in a SQLite database, with any driver.
package sqliteledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Ledger implements [ledger.TxLedger].
type Ledger struct {
	write, read *sql.DB
	kept        chan *writer // holds the writer that nobody uses; nil for a caller's database
	due         *sql.Stmt    // of dueSQL
	file        file
	owned       []io.Closer
	key         []byte
	closed      atomic.Bool
	erased      atomic.Bool // a body was erased since the last Tidy
}

var _ ledger.TxLedger[ledger.SQLTx] = (*Ledger)(nil)

// New returns the ledger in a caller's database, and creates the tables if they are
// missing.
func New(ctx context.Context, db *sql.DB) (*Ledger, error) {
	l := &Ledger{write: db, read: db}
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	return l, l.checkMemory(ctx)
}

// NewOwned returns the ledger in a separate database. Close closes both pools.
func NewOwned(ctx context.Context, write, read *sql.DB) (*Ledger, error) {
	l := &Ledger{write: write, read: read, kept: make(chan *writer, 1), owned: []io.Closer{read, write}}
	l.kept <- new(writer)
	if err := l.open(ctx); err != nil {
		(<-l.kept).close()
		return nil, err
	}
	return l, nil
}

func (l *Ledger) open(ctx context.Context) error {
	if err := l.migrate(ctx); err != nil {
		return err
	}
	err := l.withWriter(ctx, func(w *writer) (err error) {
		l.file, err = fileOf(ctx, w.Conn)
		return err
	})
	if err == nil {
		l.due, err = l.read.PrepareContext(ctx, dueSQL)
	}
	return err
}

// Close makes every further call fail.
func (l *Ledger) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	if l.kept != nil {
		l.putWriter(<-l.kept, ledger.ErrClosed)
	}
	problems := []error{l.due.Close()}
	for _, db := range l.owned {
		problems = append(problems, db.Close())
	}
	return errors.Join(problems...)
}

// DigestKey implements ledger.Ledger.
func (l *Ledger) DigestKey() []byte { return l.key }

// nowSQL is the clock of the database in milliseconds. It is rounded because julianday
// returns a floating-point number.
const nowSQL = `CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)`

// now reads the same clock, because SQLite uses the clock of the machine. It is read
// after the transaction has taken the write lock.
func now() int64 { return time.Now().UnixMilli() }

// notOver is the condition that NotAfter has not passed.
const notOver = `(not_after IS NULL OR not_after > ` + nowSQL + `)`

// dueSQL reads the first entry of each class. A look is [operation, lane, latest time, time,
// id].
const dueSQL = `SELECT n, not_before, id, ` + size + `, not_before - ` + nowSQL + `,
	EXISTS (SELECT 1 FROM outbox_pause WHERE outbox_pause.operation = outbox_entry.operation) FROM (
	SELECT look.key AS n, (SELECT id FROM outbox_entry WHERE state = 0 AND operation = look.value->>0
		AND lane = look.value->>1 AND not_before <= look.value->>2 AND (not_before, id) > (look.value->>3, look.value->>4) AND ` + notOver + `
		ORDER BY not_before, id LIMIT 1) AS head
	FROM json_each(?) AS look)
	CROSS JOIN outbox_entry ON id = head`

// Due implements ledger.Ledger.
func (l *Ledger) Due(ctx context.Context, looks []ledger.Look) (due []ledger.Due, err error) {
	arrays := make([][5]any, len(looks))
	for i, look := range looks {
		after, latest := rangeOf(look, math.MaxInt64)
		arrays[i] = [5]any{look.Operation, look.Lane, latest, after.Time, after.ID}
	}
	err = l.whileUsable(ctx, func() error {
		rows, err := l.due.QueryContext(ctx, asJSON(arrays))
		due, err = collect(rows, err, func(scan ledger.Scan) (d ledger.Due, err error) {
			var n int
			var wait int64
			err = scan(&n, &d.Head.Time, &d.Head.ID, &d.Size, &wait, &d.Paused)
			d.Class, d.Wait = looks[n].Class, unit.Duration(wait)
			return d, err
		})
		return err
	})
	return due, err
}

// rangeOf returns the part of the index that a look is at.
func rangeOf(look ledger.Look, latest int64) (after ledger.Position, to int64) {
	if !look.Timed {
		latest = 0
	}
	return look.From(), latest
}

// Claim implements ledger.Ledger. A pause is a limit of 0, because a condition would be
// looked at for each entry that is due.
func (l *Ledger) Claim(ctx context.Context, claim ledger.Claim) (claimed []ledger.Claimed, err error) {
	chosen := `lane = ?8 AND (not_before, id) > (?10, ?11) AND not_before <= ?12`
	if claim.Keys != nil {
		chosen = `key IN (SELECT value FROM json_each(?8)) AND not_before <= ?1`
	}
	const order = `(ORDER BY not_before, id)`
	statement := `UPDATE outbox_entry SET state = 1, attempts = attempts + 1, token = ?2, claimed_at = ?1, lease_until = ?1 + ?3
		WHERE id IN (SELECT id FROM (
			SELECT id, sum(size) OVER ` + order + ` AS total, row_number() OVER ` + order + ` AS n FROM (
				SELECT id, not_before, ` + size + ` AS size FROM outbox_entry WHERE state = 0 AND operation = ?4 AND ` + chosen + `
				AND (not_after IS NULL OR not_after > ?1)
				ORDER BY not_before, id LIMIT ?5 * NOT EXISTS (SELECT 1 FROM outbox_pause WHERE operation = ?4)))
			WHERE total <= ?6 OR ?7 AND n = 1)
		RETURNING ` + claimedColumns
	err = l.update(ctx, func(ctx context.Context, conn *writer) error {
		now := now()
		args := []any{now, claim.Token[:], claim.Lease.Milliseconds(), claim.Operation, claim.Limit, claim.MaxBytes, claim.OneAnyway}
		if claim.Keys != nil {
			args = append(args, asJSON(claim.Keys))
		} else {
			after, latest := rangeOf(claim.Look, now)
			args = append(args, claim.Lane, nil, after.Time, after.ID, latest)
		}
		rows, err := conn.QueryContext(ctx, statement, args...)
		claimed, err = collect(rows, err, unit.Claimed)
		return err
	}, statement)
	return claimed, err
}

// Unclaim implements ledger.Ledger. The sweep may have found the entries first, and then Resend.
func (l *Ledger) Unclaim(ctx context.Context, token ledger.Token) (int, error) {
	return l.change(ctx, `UPDATE outbox_entry SET state = 0, attempts = attempts - 1, token = NULL, lease_until = NULL, settled_at = NULL,
		doubts = doubts - (state = 0), error = CASE WHEN state = 1 THEN error ELSE '' END
		WHERE id IN (SELECT id FROM outbox_entry WHERE state = 1 AND token = ?1
			UNION ALL SELECT id FROM outbox_entry WHERE state = 4 AND token = ?1
			UNION ALL SELECT id FROM outbox_entry WHERE state = 0 AND doubts > 0 AND token = ?1)`, token[:])
}

// settleSQL brings back the doubts as of the claim, since nobody has claimed the entry after
// it. An entry can be rejected by its NotAfter before it turns out that an earlier send was
// accepted.
const settleSQL = `UPDATE outbox_entry SET state = ?1, error = ?3, delivery = ?2, doubts = ?11,
	body = CASE WHEN ?1 = 2 THEN NULL ELSE body END,
	not_before = CASE WHEN ?1 = 0 THEN ?4 + ?5 ELSE not_before END,
	settled_at = CASE WHEN ?1 = 0 THEN NULL ELSE ?4 END,
	denials = ?6, denied_at = CASE WHEN ?9 THEN ?4 ELSE denied_at END, attempts = attempts - ?10, lease_until = NULL
	WHERE id = ?7 AND token = ?8 AND (state IN (1, 4) OR state = 0 AND ?1 IN (2, 3) OR state IN (3, 5) AND ?1 = 2)`

// Settle implements ledger.Ledger.
func (l *Ledger) Settle(ctx context.Context, outcomes []ledger.Outcome) (settled []ledger.Settled, at time.Time, err error) {
	err = l.update(ctx, func(ctx context.Context, conn *writer) error {
		now := now()
		l.erased.Store(true)
		settled, at = make([]ledger.Settled, len(outcomes)), time.UnixMilli(now)
		for i, s := range outcomes {
			result, err := conn.ExecContext(ctx, settleSQL, s.State, s.Delivery, s.Error, now, s.Wait.Milliseconds(), s.Denials, s.ID, s.Token[:],
				s.Denied, s.Returned, s.Doubts)
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n > 0 {
				settled[i] = ledger.Applied
				continue
			}
			err = conn.QueryRowContext(ctx, `SELECT count(*) FROM outbox_entry WHERE id = ? AND token = ? AND state = ?`,
				s.ID, s.Token[:], s.State).Scan(&settled[i])
			if err != nil {
				return err
			}
		}
		return nil
	}, settleSQL)
	return settled, at, err
}

// Sweep implements ledger.Ledger.
func (l *Ledger) Sweep(ctx context.Context, limit int, repeat ledger.Repeat) (swept ledger.Swept, err error) {
	const over = `state = 1 AND lease_until < ` + nowSQL
	if none, err := l.none(ctx, over); none || err != nil { // without the write lock
		return swept, err
	}
	const again = `repeatable AND doubts < ?3 - 1`
	err = l.update(ctx, func(ctx context.Context, conn *writer) error {
		rows, err := conn.QueryContext(ctx, `UPDATE outbox_entry SET error = ?2,
			state = CASE WHEN `+again+` THEN 0 ELSE 4 END,
			doubts = doubts + (`+again+`),
			not_before = CASE WHEN `+again+` THEN `+nowSQL+` + min(?4 << min(attempts - 1, 20), ?5) ELSE not_before END,
			settled_at = CASE WHEN `+again+` THEN NULL ELSE `+nowSQL+` END,
			lease_until = CASE WHEN `+again+` THEN NULL ELSE `+nowSQL+` + lease_until - claimed_at END
			WHERE id IN (SELECT id FROM outbox_entry WHERE `+over+` ORDER BY id LIMIT ?1) RETURNING state`,
			limit, ledger.SweptError, repeat.Doubts, repeat.First.Milliseconds(), repeat.Longest.Milliseconds())
		states, err := collect(rows, err, func(scan ledger.Scan) (s ledger.State, err error) { return s, scan(&s) })
		for _, s := range states {
			if s == ledger.Pending {
				swept.Pending++
			} else {
				swept.Unclear++
			}
		}
		return err
	})
	return swept, err
}

// Expire implements ledger.Ledger.
func (l *Ledger) Expire(ctx context.Context, limit int) ([]ledger.Entry, error) {
	over := `state = 0 AND not_after <= ` + nowSQL
	if none, err := l.none(ctx, over); none || err != nil {
		return nil, err
	}
	var expired []ledger.Entry
	err := l.update(ctx, func(ctx context.Context, conn *writer) error {
		rows, err := conn.QueryContext(ctx, `UPDATE outbox_entry SET state = 3, settled_at = `+nowSQL+`, error = ?
			WHERE id IN (SELECT id FROM outbox_entry WHERE `+over+` ORDER BY not_after LIMIT ?)
			RETURNING `+entryColumns, ledger.ExpiredError, limit)
		expired, err = collect(rows, err, unit.Entry)
		return err
	})
	return expired, err
}

// acceptedOperations is a table "op" of the operations of which entries were accepted. It
// reads one row of their index for each.
const acceptedOperations = `WITH RECURSIVE op(name) AS (SELECT min(operation) FROM outbox_entry WHERE state = 2 UNION ALL
	SELECT (SELECT min(operation) FROM outbox_entry WHERE state = 2 AND operation > name) FROM op WHERE name IS NOT NULL) `

// Purge implements ledger.Ledger.
func (l *Ledger) Purge(ctx context.Context, keep time.Duration, limit int) (n int, err error) {
	before := fmt.Sprintf(`settled_at < %s - %d`, nowSQL, keep.Milliseconds())
	for _, old := range []string{
		acceptedOperations + `SELECT id FROM op CROSS JOIN outbox_entry WHERE state = 2 AND operation = name AND ` + before,
		`SELECT id FROM outbox_entry WHERE state = 5 AND ` + before,
	} {
		var none bool
		err := l.withConn(ctx, func(conn *sql.Conn) error { // without the write lock
			return conn.QueryRowContext(ctx, `SELECT NOT EXISTS (`+old+`)`).Scan(&none)
		})
		if err != nil {
			return n, err
		}
		if none {
			continue
		}
		deleted, err := l.change(ctx, `DELETE FROM outbox_entry WHERE id IN (`+old+` LIMIT ?)`, limit)
		n += deleted
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Tidy implements ledger.Ledger. The write-ahead log contains old versions of pages, so
// it is truncated, if no reader needs it: SQLite would hold the write lock while it waits.
func (l *Ledger) Tidy(ctx context.Context) error {
	if !l.erased.Swap(false) {
		return nil
	}
	err := l.withWriter(ctx, func(w *writer) error {
		var timeout int
		if err := w.QueryRowContext(ctx, `PRAGMA busy_timeout`).Scan(&timeout); err != nil {
			return err
		}
		if err := pragma(ctx, w.Conn, `PRAGMA busy_timeout = 0`); err != nil {
			return err
		}
		var busy, pages, moved int
		err := w.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
		if busy != 0 {
			l.erased.Store(true)
		}
		return errors.Join(err, pragma(context.WithoutCancel(ctx), w.Conn, fmt.Sprintf(`PRAGMA busy_timeout = %d`, timeout)))
	})
	if err != nil {
		l.erased.Store(true)
	}
	return err
}

// none reports whether no entry matches.
func (l *Ledger) none(ctx context.Context, condition string) (none bool, err error) {
	err = l.withConn(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM outbox_entry WHERE `+condition+`)`).Scan(&none)
	})
	return none, err
}

// Find implements ledger.Ledger.
func (l *Ledger) Find(ctx context.Context, keys []string) ([]ledger.Entry, error) {
	return query(ctx, l, unit.Entry, `SELECT `+entryColumns+` FROM outbox_entry WHERE `+inKeys, asJSON(keys))
}

// Request implements ledger.Ledger.
func (l *Ledger) Request(ctx context.Context, key string) (ledger.Request, error) {
	found, err := query(ctx, l, func(scan ledger.Scan) (r ledger.Request, err error) {
		return r, scan(&r.State, &r.Operation, &r.Body, &r.Sealed)
	}, `SELECT state, operation, body, sealed FROM outbox_entry WHERE key = ?`, key)
	if err == nil && len(found) == 0 {
		err = ledger.ErrNoEntry
	}
	if err != nil {
		return ledger.Request{}, err
	}
	return found[0], nil
}

var filterSQL = ledger.FilterSQL{
	Unit:           unit,
	AfterID:        `id > ?%d`,
	Operation:      `operation = ?%d`,
	EnqueuedAfter:  `created_at > ?%d`,
	EnqueuedBefore: `created_at < ?%d`,
	ErrorContains:  `instr(error, ?%d) > 0`,
}

// List implements ledger.Ledger.
func (l *Ledger) List(ctx context.Context, f ledger.Filter, after int64, limit int) ([]ledger.Entry, error) {
	where, args := filterSQL.Where(f, after)
	return query(ctx, l, unit.Entry,
		fmt.Sprintf(`SELECT %s FROM outbox_entry WHERE %s ORDER BY id LIMIT %d`, entryColumns, where, limit), args...)
}

// Counts implements ledger.Ledger. SQLite counts all rows of a table by pages, much faster
// than some of the rows. So the accepted ones, which can be the most, are all but the
// others.
func (l *Ledger) Counts(ctx context.Context) (counts ledger.Counts, err error) {
	columns := []string{`(SELECT count(*) FROM outbox_entry)`}
	var all int
	into := []any{&all}
	for state := range counts.ByState {
		if state != int(ledger.Accepted) { // a condition without a parameter can use its partial index
			columns = append(columns, fmt.Sprintf(`(SELECT count(*) FROM outbox_entry WHERE state = %d)`, state))
			into = append(into, &counts.ByState[state])
		}
	}
	var age int64
	columns = append(columns, `COALESCE(`+nowSQL+` - (SELECT min(due_since) FROM outbox_entry WHERE state = 0), 0)`)
	into = append(into, &age)
	err = l.withConn(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, `SELECT `+strings.Join(columns, `, `)).Scan(into...)
	})
	if err == nil {
		counts.Paused, err = l.Paused(ctx)
	}
	for _, n := range counts.ByState {
		all -= n
	}
	counts.ByState[ledger.Accepted] = all
	counts.OldestDue = time.Duration(max(age, 0)) * time.Millisecond
	return counts, err
}

// Paused implements ledger.Ledger.
func (l *Ledger) Paused(ctx context.Context) ([]string, error) {
	return query(ctx, l, func(scan ledger.Scan) (name string, err error) { return name, scan(&name) },
		`SELECT operation FROM outbox_pause ORDER BY operation`)
}

// Pause implements ledger.Ledger.
func (l *Ledger) Pause(ctx context.Context, operations []string) error {
	_, err := l.change(ctx, `INSERT OR IGNORE INTO outbox_pause (operation) SELECT value FROM json_each(?)`, asJSON(operations))
	return err
}

// Resume implements ledger.Ledger.
func (l *Ledger) Resume(ctx context.Context, operations []string) error {
	_, err := l.change(ctx, `DELETE FROM outbox_pause WHERE operation IN (SELECT value FROM json_each(?))`, asJSON(operations))
	return err
}

// resendSQL keeps the token of an entry that was unclear, so that its outcome still counts if
// it comes late.
const resendSQL = `UPDATE outbox_entry SET state = 0, not_before = 0, due_since = ?1, settled_at = NULL, lease_until = NULL, denials = 0,
	delivery = 1, doubts = doubts + (state = 4), token = CASE WHEN state = 4 THEN token END
	WHERE state IN (3, 4) AND (lease_until IS NULL OR lease_until <= ?1) AND (not_after IS NULL OR not_after > ?1)`

// Resend implements ledger.Ledger.
func (l *Ledger) Resend(ctx context.Context, keys []string) ([]ledger.Decision, error) {
	return l.decide(ctx, resendSQL, keys)
}

const dismissSQL = `UPDATE outbox_entry SET state = 5, body = NULL, error = '', lease_until = NULL, settled_at = ?1,
	doubts = doubts + (state = 4)
	WHERE state IN (0, 3, 4)`

// Dismiss implements ledger.Ledger.
func (l *Ledger) Dismiss(ctx context.Context, keys []string) ([]ledger.Decision, error) {
	return l.decide(ctx, dismissSQL, keys)
}

// DismissTx implements ledger.TxLedger.
func (l *Ledger) DismissTx(ctx context.Context, tx ledger.SQLTx, keys []string) ([]ledger.Decision, error) {
	if err := l.check(tx); err != nil {
		return nil, err
	}
	if err := l.checkDatabase(ctx, tx); err != nil {
		return nil, err
	}
	var decisions []ledger.Decision
	err := erasing(ctx, tx, func() (err error) {
		decisions, err = l.decideIn(ctx, tx, dismissSQL, keys)
		return err
	})
	return decisions, err
}

func (l *Ledger) decide(ctx context.Context, statement string, keys []string) (decisions []ledger.Decision, err error) {
	err = l.update(ctx, func(ctx context.Context, conn *writer) (err error) {
		decisions, err = l.decideIn(ctx, conn, statement, keys)
		return err
	})
	return decisions, err
}

func (l *Ledger) decideIn(ctx context.Context, conn ledger.SQLTx, statement string, keys []string) ([]ledger.Decision, error) {
	l.erased.Store(true)
	now, names := now(), asJSON(keys)
	const chosen = ` AND key IN (SELECT value FROM json_each(?2))`
	rows, err := conn.QueryContext(ctx, statement+chosen+` RETURNING `+entryColumns, now, names)
	changed, err := collect(rows, err, unit.Entry)
	if err != nil {
		return nil, err
	}
	rows, err = conn.QueryContext(ctx, `SELECT `+entryColumns+` FROM outbox_entry WHERE `+inKeys, names)
	found, err := collect(rows, err, unit.Entry)
	if err != nil {
		return nil, err
	}
	return ledger.Decisions(keys, changed, found), nil
}

// asJSON writes a list of texts, which are valid UTF-8, and numbers.
func asJSON(values any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Quarantine implements ledger.Ledger.
func (l *Ledger) Quarantine(ctx context.Context) (int, error) {
	return l.change(ctx, `UPDATE outbox_entry SET token = NULL, delivery = 0, settled_at = `+nowSQL+`, error = ?,
		lease_until = CASE WHEN state = 1 THEN `+nowSQL+` + lease_until - claimed_at END, state = 4
		WHERE state IN (0, 1, 3)`, ledger.QuarantinedError)
}

// change runs one statement in a transaction, and returns how many entries it changed.
func (l *Ledger) change(ctx context.Context, statement string, args ...any) (int, error) {
	var changed int64
	err := l.update(ctx, func(ctx context.Context, conn *writer) error {
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
