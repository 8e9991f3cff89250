// Package sqliteledger is the ledger in a SQLite database, with any driver.
package sqliteledger

import (
	"context"
	"database/sql"
	"encoding/json"
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
	kept       chan *writer // holds the writer that nobody uses; nil for a caller's database
	due        *sql.Stmt    // of dueSQL
	file       file
	owned      []io.Closer
	key        []byte
	closed     atomic.Bool
	erased     atomic.Bool // a body was erased since the last Tidy
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

// NewOwned returns the ledger in a separate database. The connections of write must have
// the settings that a transaction depends on. Close closes both pools.
func NewOwned(ctx context.Context, write, read *sql.DB) (*Ledger, error) {
	l := &Ledger{write: write, read: read, configured: true, kept: make(chan *writer, 1), owned: []io.Closer{read, write}}
	l.kept <- new(writer)
	err := l.checkSettings(ctx)
	if err == nil {
		err = l.open(ctx)
	}
	if err != nil {
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

// Announce implements ledger.Ledger. SQLite has no announcements.
func (l *Ledger) Announce(context.Context) error { return nil }

// Listen implements ledger.Ledger.
func (l *Ledger) Listen(context.Context, func()) {}

// nowSQL is the clock of the database in milliseconds. It is rounded because julianday
// returns a floating-point number.
const nowSQL = `CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)`

// now reads the same clock, because SQLite uses the clock of the machine. It is read
// after the transaction has taken the write lock.
func now() int64 { return time.Now().UnixMilli() }

// paused is the condition that an operation is paused.
const paused = `EXISTS (SELECT 1 FROM outbox_pause WHERE operation IN ('', %s))`

// operationsIn returns a table "op" of the operations with entries in a state. It reads
// one row of the state's index for each.
func operationsIn(state ledger.State) string {
	smallest := fmt.Sprintf(`SELECT min(operation) FROM outbox_entry WHERE state = %d`, state)
	return `WITH RECURSIVE op(name) AS (` + smallest + ` UNION ALL
		SELECT (` + smallest + ` AND operation > name) FROM op WHERE name IS NOT NULL) `
}

// dueSQL reads the first pending entry of each class.
var dueSQL = operationsIn(ledger.Pending) + `SELECT name, urgent, due - ` + nowSQL + `, ` + fmt.Sprintf(paused, "name") + ` FROM (
			SELECT name, class.urgent, (SELECT min(not_before) FROM outbox_entry
				WHERE state = 0 AND operation = name AND urgent = class.urgent) AS due
			FROM op, (SELECT 0 AS urgent UNION ALL SELECT 1) AS class WHERE name IS NOT NULL)
		WHERE due IS NOT NULL ORDER BY name, urgent`

// Due implements ledger.Ledger.
func (l *Ledger) Due(ctx context.Context) (due []ledger.Due, err error) {
	err = l.whileUsable(ctx, func() error {
		rows, err := l.due.QueryContext(ctx)
		due, err = collect(rows, err, func(scan scanFunc) (d ledger.Due, err error) {
			var wait int64
			err = scan(&d.Operation, &d.Urgent, &wait, &d.Paused)
			d.Wait = ledger.DueIn(wait)
			return d, err
		})
		return err
	})
	return due, err
}

// Claim implements ledger.Ledger. A pause is a limit of 0, because a condition would be
// looked at for each entry that is due.
func (l *Ledger) Claim(ctx context.Context, claim ledger.Claim) (claimed []ledger.Claimed, err error) {
	chosen, order := `urgent = ?8`, `not_before, id`
	if claim.Keys != nil {
		chosen = `key IN (SELECT value FROM json_each(?8))`
	}
	if claim.Newest {
		order = `not_before DESC, id DESC`
	}
	statement := `UPDATE outbox_entry SET state = 1, attempts = attempts + 1, token = ?2, owner = ?3, claimed_at = ?1, lease_until = ?1 + ?4
		WHERE id IN (SELECT id FROM (
			SELECT id, sum(size) OVER (ORDER BY ` + order + `) AS total, row_number() OVER (ORDER BY ` + order + `) AS n FROM (
				SELECT id, not_before, COALESCE(length(body), 0) AS size FROM outbox_entry WHERE state = 0 AND operation = ?5 AND ` + chosen + `
				AND not_before <= ?1 AND (not_after IS NULL OR not_after > ?1)
				ORDER BY ` + order + ` LIMIT ?6 * NOT ` + fmt.Sprintf(paused, "?5") + `))
			WHERE total <= ?7 OR ?9 AND n = 1)
		RETURNING ` + claimedColumns
	err = l.update(ctx, func(ctx context.Context, conn *writer) error {
		args := []any{now(), claim.Token[:], claim.Owner, claim.Lease.Milliseconds(), claim.Operation, claim.Limit, claim.MaxBytes, claim.Urgent,
			claim.OneAnyway}
		if claim.Keys != nil {
			args[7] = asJSON(claim.Keys)
		}
		rows, err := conn.QueryContext(ctx, statement, args...)
		claimed, err = collect(rows, err, scanClaimed)
		return err
	}, statement)
	return claimed, err
}

// Unclaim implements ledger.Ledger. The sweep may have found the entries first.
func (l *Ledger) Unclaim(ctx context.Context, token ledger.Token) (int, error) {
	return l.change(ctx, `UPDATE outbox_entry SET state = 0, token = NULL, lease_until = NULL, settled_at = NULL, error = ''
		WHERE state IN (1, 4) AND token = ?`, token[:])
}

// settleSQL keeps a delivery that is unknown while the entry is pending, because the
// entry was unclear before it was resent.
const settleSQL = `UPDATE outbox_entry SET state = ?1, error = ?3,
	delivery = CASE WHEN ?1 = 0 AND delivery = 0 AND state = 1 THEN 0 ELSE ?2 END,
	body = CASE WHEN ?1 = 2 THEN NULL ELSE body END,
	not_before = CASE WHEN ?1 = 0 THEN ?4 + ?5 ELSE not_before END,
	settled_at = CASE WHEN ?1 = 0 THEN NULL ELSE ?4 END,
	refusals = ?6, denied_at = CASE WHEN ?9 THEN ?4 ELSE denied_at END, attempts = attempts - ?10, lease_until = NULL
	WHERE id = ?7 AND token = ?8 AND (state IN (1, 4) OR state = 0 AND ?1 IN (2, 3) OR state = 5 AND ?1 = 2)`

// Settle implements ledger.Ledger.
func (l *Ledger) Settle(ctx context.Context, outcomes []ledger.Outcome) (settled []ledger.Settled, at time.Time, err error) {
	err = l.update(ctx, func(ctx context.Context, conn *writer) error {
		now := now()
		l.erased.Store(true)
		settled, at = make([]ledger.Settled, len(outcomes)), time.UnixMilli(now)
		for i, s := range outcomes {
			result, err := conn.ExecContext(ctx, settleSQL, s.State, s.Delivery, s.Error, now, s.Wait.Milliseconds(), s.Denials, s.ID, s.Token[:],
				s.Denied, s.Returned)
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
func (l *Ledger) Sweep(ctx context.Context, limit int) ([]ledger.Swept, error) {
	expired := `state = 1 AND lease_until < ` + nowSQL
	if none, err := l.none(ctx, expired); none || err != nil { // without the write lock
		return nil, err
	}
	var swept []ledger.Swept
	err := l.update(ctx, func(ctx context.Context, conn *writer) error {
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
		expired, err = collect(rows, err, scanEntry)
		return err
	})
	return expired, err
}

// StillSwept implements ledger.Ledger.
func (l *Ledger) StillSwept(ctx context.Context, ids []int64) ([]ledger.Entry, error) {
	return query(ctx, l, scanEntry, `SELECT `+entryColumns+` FROM outbox_entry
		WHERE id IN (`+placeholders(len(ids))+`) AND state = 4 AND lease_until IS NOT NULL ORDER BY id`, anySlice(ids)...)
}

// Purge implements ledger.Ledger.
func (l *Ledger) Purge(ctx context.Context, keep time.Duration, limit int) (n int, err error) {
	before := fmt.Sprintf(`settled_at < %s - %d`, nowSQL, keep.Milliseconds())
	for _, old := range []string{
		operationsIn(ledger.Accepted) + `SELECT id FROM op CROSS JOIN outbox_entry WHERE state = 2 AND operation = name AND ` + before,
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
// it is truncated.
func (l *Ledger) Tidy(ctx context.Context) error {
	if !l.erased.Swap(false) {
		return nil
	}
	return l.withWriter(ctx, func(w *writer) error {
		var busy, pages, moved int
		err := w.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
		if err != nil || busy != 0 { // a reader still needs the log
			l.erased.Store(true)
		}
		return err
	})
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
func (l *Ledger) List(ctx context.Context, f ledger.Filter, after int64, limit int) ([]ledger.Entry, error) {
	chosen, args := []string{`id > ?`}, []any{after}
	and := func(condition string, value any) {
		chosen, args = append(chosen, condition), append(args, value)
	}
	if f.State >= 0 { // a condition without a parameter can use its partial index
		chosen = append(chosen, fmt.Sprintf(`state = %d`, f.State))
	}
	if f.Operation != "" {
		and(`operation = ?`, f.Operation)
	}
	if !f.EnqueuedAfter.IsZero() {
		and(`created_at > ?`, f.EnqueuedAfter.UnixMilli())
	}
	if !f.EnqueuedBefore.IsZero() {
		and(`created_at < ?`, f.EnqueuedBefore.UnixMilli())
	}
	if f.ErrorContains != "" {
		and(`instr(error, ?) > 0`, f.ErrorContains)
	}
	if f.UpTo > 0 {
		and(`id <= ?`, f.UpTo)
	}
	return query(ctx, l, scanEntry, `SELECT `+entryColumns+` FROM outbox_entry WHERE `+strings.Join(chosen, ` AND `)+` ORDER BY id LIMIT ?`,
		append(args, limit)...)
}

// LastID implements ledger.Ledger.
func (l *Ledger) LastID(ctx context.Context) (id int64, err error) {
	err = l.withConn(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, `SELECT COALESCE(max(id), 0) FROM outbox_entry`).Scan(&id)
	})
	return id, err
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
	columns = append(columns, `COALESCE(`+nowSQL+` - (SELECT min(min(due_since, not_before)) FROM outbox_entry WHERE state = 0), 0)`)
	into = append(into, &age)
	err = l.withConn(ctx, func(conn *sql.Conn) error {
		err := conn.QueryRowContext(ctx, `SELECT `+strings.Join(columns, `, `)).Scan(into...)
		if err != nil {
			return err
		}
		rows, err := conn.QueryContext(ctx, `SELECT operation FROM outbox_pause ORDER BY operation`)
		counts.Paused, err = collect(rows, err, func(scan scanFunc) (name string, err error) { return name, scan(&name) })
		return err
	})
	for _, n := range counts.ByState {
		all -= n
	}
	counts.ByState[ledger.Accepted] = all
	counts.OldestDue = time.Duration(max(age, 0)) * time.Millisecond
	return counts, err
}

// Pause implements ledger.Ledger.
func (l *Ledger) Pause(ctx context.Context, operations []string) error {
	_, err := l.change(ctx, `INSERT OR IGNORE INTO outbox_pause (operation) SELECT value FROM json_each(?)`, asJSON(operations))
	return err
}

// Resume implements ledger.Ledger.
func (l *Ledger) Resume(ctx context.Context, operations []string) error {
	_, err := l.change(ctx, `DELETE FROM outbox_pause WHERE operation IN (SELECT value FROM json_each(?1)) OR json_array_length(?1) = 0`,
		asJSON(operations))
	return err
}

// resendSQL marks the delivery of an entry that was unclear as unknown, and that of a
// rejected one as not sent.
const resendSQL = `UPDATE outbox_entry SET state = 0, not_before = ?1, due_since = ?1, settled_at = NULL, lease_until = NULL, refusals = 0,
	delivery = CASE WHEN state = 4 THEN 0 ELSE 1 END, token = CASE WHEN state = 4 THEN token END
	WHERE state IN (3, 4) AND (lease_until IS NULL OR lease_until <= ?1) AND (not_after IS NULL OR not_after > ?1)`

// Resend implements ledger.Ledger.
func (l *Ledger) Resend(ctx context.Context, keys []string) ([]ledger.Decision, error) {
	return l.decide(ctx, resendSQL, keys)
}

const dismissSQL = `UPDATE outbox_entry SET state = 5, body = NULL, error = '', lease_until = NULL, settled_at = ?1
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
	return l.decideIn(ctx, tx, dismissSQL, keys)
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
	changed, err := collect(rows, err, scanEntry)
	if err != nil {
		return nil, err
	}
	rows, err = conn.QueryContext(ctx, `SELECT `+entryColumns+` FROM outbox_entry WHERE key IN (SELECT value FROM json_each(?))`, names)
	found, err := collect(rows, err, scanEntry)
	if err != nil {
		return nil, err
	}
	return ledger.Decisions(keys, changed, found, time.UnixMilli(now)), nil
}

// asJSON writes a list of keys or names, which are valid UTF-8.
func asJSON(values []string) string {
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
		WHERE state IN (0, 1)`, ledger.QuarantinedError)
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
