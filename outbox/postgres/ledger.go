package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// base implements [ledger.Ledger], with any driver. Arrays are passed as
// JSON, which every driver supports.
//
// Statements that change several rows lock them in the order of their ids, so they never
// deadlock with each other. They find rows by "id = ANY" and write "state + 0" for a
// state that they do not search for, because a planner without statistics would prefer
// the partial index of that state.
type base struct {
	pool   pool
	schema string // quoted
	names  *strings.Replacer
	key    []byte
	closed atomic.Bool
	// isolated is true if transactions of the ledger have to ask for READ COMMITTED.
	isolated atomic.Bool
}

// durable is a condition that is always true. It makes the commit of the statement's
// transaction wait until it survives a crash, regardless of the settings of the session.
const durable = `(SELECT set_config('synchronous_commit',
	CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)) <> ''`

func (l *base) open(ctx context.Context) error {
	if err := l.findSchema(ctx, l.pool); err != nil {
		return err
	}
	version, err := l.version(ctx, l.pool)
	switch {
	case err != nil:
		return err
	case version == 0:
		return errors.New("the tables are missing: call postgres.Migrate(ctx, db)")
	case version < len(steps):
		return errors.New("the tables are those of an earlier version: call postgres.Migrate(ctx, db)")
	}
	return l.pool.query(ctx, `SELECT current_setting('default_transaction_isolation') <> 'read committed'`, nil, func(row ledger.Scan) error {
		var isolated bool
		err := row(&isolated)
		l.isolated.Store(isolated)
		return err
	})
}

// namesIn returns what replaces {entry}, {meta} and {pause} by the tables, and {durable} by
// the condition durable.
func namesIn(schema string) *strings.Replacer {
	return strings.NewReplacer("{entry}", schema+".outbox_entry", "{meta}", schema+".outbox_meta", "{pause}", schema+".outbox_pause",
		"{durable}", durable)
}

// run runs a statement with the placeholders of namesIn.
func (l *base) run(ctx context.Context, q querier, statement string, args []any, scan func(ledger.Scan) error) error {
	if l.closed.Load() {
		return ledger.ErrClosed
	}
	return q.query(ctx, l.names.Replace(statement), args, scan)
}

// ownTries is how often a transaction of the ledger is tried.
const ownTries = 10

// own calls do in a transaction of the ledger, and again if the server ends it because of
// a deadlock or a serialization failure. A serialization failure does not occur in READ
// COMMITTED, which is asked for from the first one on: that takes two more round trips.
func (l *base) own(ctx context.Context, do func(querier) error) error {
	for try := 1; ; try++ {
		var err error
		if l.isolated.Load() {
			err = l.pool.readCommitted(ctx, do)
		} else {
			err = do(l.pool)
		}
		switch {
		case err == nil || try == ownTries:
			return err
		case hasCode(err, "40001"):
			l.isolated.Store(true)
		case !hasCode(err, "40P01"):
			return err
		}
	}
}

// hasCode reports whether the server returned an error with an SQLSTATE. The errors of most
// drivers have it; of the others, only the text has it.
func hasCode(err error, code string) bool {
	var server interface{ SQLState() string } // of pgx and of lib/pq
	if errors.As(err, &server) {
		return server.SQLState() == code
	}
	return strings.Contains(err.Error(), "SQLSTATE "+code)
}

// rowsOf runs a statement in a transaction of the ledger and collects its rows.
func rowsOf[T any](ctx context.Context, l *base, scan func(ledger.Scan) (T, error), statement string, args ...any) (found []T, err error) {
	err = l.own(ctx, func(q querier) (err error) {
		found, err = rowsIn(ctx, l, q, scan, statement, args...)
		return err
	})
	return found, err
}

// rowsIn is rowsOf with a querier.
func rowsIn[T any](ctx context.Context, l *base, q querier, scan func(ledger.Scan) (T, error), statement string, args ...any) ([]T, error) {
	var found []T
	err := l.run(ctx, q, statement, args, func(row ledger.Scan) error {
		value, err := scan(row)
		found = append(found, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// DigestKey implements ledger.Ledger.
func (l *base) DigestKey() []byte { return l.key }

// notPaused is the condition that an operation is not paused.
const notPaused = `NOT EXISTS (SELECT 1 FROM {pause} WHERE operation = `

// look is the JSON form of a ledger.Look.
type look struct {
	Ordinal   int         `json:"n"`
	Operation string      `json:"operation"`
	Lane      ledger.Lane `json:"lane"`
	Timed     bool        `json:"timed"`
	Time      int64       `json:"time"`
	ID        int64       `json:"id"`
}

func lookOf(ordinal int, l ledger.Look) look {
	from := l.From()
	return look{ordinal, l.Operation, l.Lane, l.Timed, from.Time, from.ID}
}

// afterPosition is the condition that an entry comes after a position.
const afterPosition = `(not_before, id) > ('epoch'::timestamptz + %s * interval '1 microsecond', %s)`

// Due implements ledger.Ledger.
func (l *base) Due(ctx context.Context, looks []ledger.Look) ([]ledger.Due, error) {
	wire := make([]look, len(looks))
	for i, look := range looks {
		wire[i] = lookOf(i, look)
	}
	return rowsOf(ctx, l, func(row ledger.Scan) (d ledger.Due, err error) {
		var n int
		var wait int64
		err = row(&n, &d.Head.Time, &d.Head.ID, &d.Size, &wait, &d.Paused)
		d.Class, d.Wait = looks[n].Class, unit.Duration(wait)
		return d, err
	}, `SELECT n, `+micros(`first.not_before`)+`, first.id, first.size, `+micros(`first.not_before - statement_timestamp()`)+`,
			NOT `+notPaused+`look.operation)
		FROM json_to_recordset($1::text::json) AS look(n integer, operation text, lane smallint, timed boolean, time bigint, id bigint)
		CROSS JOIN LATERAL (SELECT not_before, id, `+size+` AS size FROM {entry} WHERE state = 0 AND operation = look.operation
			AND lane = look.lane AND `+fmt.Sprintf(afterPosition, "look.time", "look.id")+`
			AND not_before <= CASE WHEN look.timed THEN 'infinity'::timestamptz ELSE 'epoch' END
			AND (not_after IS NULL OR not_after > statement_timestamp())
			ORDER BY not_before, id LIMIT 1) AS first`, asJSON(wire))
}

// Claim implements ledger.Ledger.
func (l *base) Claim(ctx context.Context, claim ledger.Claim) ([]ledger.Claimed, error) {
	args := []any{claim.Token[:], claim.Lease.Milliseconds(), claim.Limit, claim.Operation, claim.MaxBytes, claim.OneAnyway}
	var chosen string
	if claim.Keys == nil {
		from := lookOf(0, claim.Look)
		args = append(args, from.Lane, from.Timed, from.Time, from.ID)
		chosen = `state = 0 AND lane = $7::smallint AND ` + fmt.Sprintf(afterPosition, "$9::bigint", "$10::bigint") +
			` AND not_before <= CASE WHEN $8::boolean THEN statement_timestamp() ELSE 'epoch' END`
	} else {
		args = append(args, asJSON(claim.Keys))
		chosen = `state + 0 = 0 AND key = ANY(ARRAY(SELECT json_array_elements_text($7::text::json)))
			AND not_before <= statement_timestamp()`
	}
	return rowsOf(ctx, l, unit.Claimed, `
		WITH due AS MATERIALIZED (
			SELECT id, not_before, `+size+` AS size FROM {entry} WHERE `+chosen+` AND operation = $4::text
			AND (not_after IS NULL OR not_after > statement_timestamp())
			AND {durable} AND `+notPaused+`$4::text)
			ORDER BY not_before, id LIMIT $3::bigint FOR UPDATE SKIP LOCKED
		), fitting AS (
			SELECT id FROM (SELECT id, sum(size) OVER w AS total, row_number() OVER w AS n FROM due WINDOW w AS (ORDER BY not_before, id)) AS sized
			WHERE total <= $5::bigint OR $6::boolean AND n = 1
		)
		UPDATE {entry} e SET state = 1, attempts = attempts + 1, token = $1::bytea,
			claimed_at = clock_timestamp(), lease_until = clock_timestamp() + $2::bigint * interval '1 millisecond'
		WHERE id = ANY(ARRAY(SELECT id FROM fitting))
		RETURNING `+claimedColumns, args...)
}

// Unclaim implements ledger.Ledger. The sweep may have found the entries first, and then Resend.
func (l *base) Unclaim(ctx context.Context, token ledger.Token) (int, error) {
	return l.change(ctx, `WITH chosen AS MATERIALIZED (
			SELECT id FROM {entry} WHERE id = ANY(ARRAY(SELECT id FROM {entry} WHERE state = 1 AND token = $1::bytea
				UNION ALL SELECT id FROM {entry} WHERE state = 4 AND token = $1::bytea
				UNION ALL SELECT id FROM {entry} WHERE state = 0 AND doubts > 0 AND token = $1::bytea)) ORDER BY id FOR UPDATE
		), changed AS (
			UPDATE {entry} SET state = 0, attempts = attempts - 1, token = NULL, lease_until = NULL, settled_at = NULL,
				doubts = doubts - (state = 0)::integer, error = CASE WHEN state = 1 THEN error ELSE '' END
			WHERE id = ANY(ARRAY(SELECT id FROM chosen)) AND state + 0 IN (0, 1, 4) AND token = $1::bytea RETURNING 1)`, token[:])
}

// outcome is the JSON form of a ledger.Outcome.
type outcome struct {
	Ordinal  int          `json:"n"`
	ID       int64        `json:"id"`
	Token    string       `json:"token"`
	State    ledger.State `json:"state"`
	Delivery uint8        `json:"delivery"`
	Error    string       `json:"error"`
	Wait     int64        `json:"wait"`
	Denials  int          `json:"denials"`
	Denied   bool         `json:"denied"`
	Doubts   int          `json:"doubts"`
	Returned bool         `json:"returned"`
}

const outcomesSQL = `s AS MATERIALIZED (
	SELECT n, id, decode(token, 'hex') AS token, state, delivery, error, wait, denials, denied, doubts, returned
	FROM json_to_recordset($1::text::json)
	AS s(n integer, id bigint, token text, state smallint, delivery smallint, error text, wait bigint, denials integer, denied boolean,
		doubts integer, returned boolean))`

// settleSQL brings back the doubts as of the claim, since nobody has claimed the entry after
// it. An entry can be rejected by its NotAfter before it turns out that an earlier send was
// accepted.
var settleSQL = `WITH ` + outcomesSQL + `, locked AS MATERIALIZED (
			SELECT e.id FROM {entry} e WHERE e.id = ANY(ARRAY(SELECT id FROM s)) ORDER BY e.id FOR UPDATE SKIP LOCKED
		), changed AS (
			UPDATE {entry} e SET state = s.state, error = s.error, delivery = s.delivery, doubts = s.doubts,
				body = CASE WHEN s.state = 2 THEN NULL ELSE e.body END,
				not_before = CASE WHEN s.state = 0 THEN clock_timestamp() + s.wait * interval '1 millisecond' ELSE e.not_before END,
				settled_at = CASE WHEN s.state <> 0 THEN statement_timestamp() END,
				denials = s.denials, lane = CASE WHEN s.denials > 0 THEN 2 ELSE e.priority END,
				denied_at = CASE WHEN s.denied THEN statement_timestamp() ELSE e.denied_at END,
				attempts = e.attempts - s.returned::integer, lease_until = NULL
			FROM s WHERE e.id = s.id AND e.id = ANY(ARRAY(SELECT id FROM locked)) AND e.token = s.token
				AND (e.state + 0 IN (1, 4) OR e.state + 0 = 0 AND s.state IN (2, 3) OR e.state + 0 IN (3, 5) AND s.state = 2)
			RETURNING s.n
		)
		SELECT n, CASE WHEN n IN (SELECT n FROM changed) THEN 1
			WHEN id NOT IN (SELECT id FROM locked) THEN 2 ELSE 0 END, ` + nowColumn + ` FROM s`

// settledSQL finds outcomes that are recorded already, or not there.
var settledSQL = `WITH ` + outcomesSQL + `
		SELECT s.n, CASE WHEN e.token = s.token AND e.state + 0 = s.state THEN 1 WHEN e.token = s.token THEN 2 ELSE 0 END, ` + nowColumn + `
		FROM s LEFT JOIN {entry} e ON e.id = s.id AND e.id = ANY(ARRAY(SELECT id FROM s))`

// Settle implements ledger.Ledger.
func (l *base) Settle(ctx context.Context, outcomes []ledger.Outcome) (settled []ledger.Settled, at time.Time, err error) {
	wire := make([]outcome, len(outcomes))
	for i, s := range outcomes {
		wire[i] = outcome{i, s.ID, hex.EncodeToString(s.Token[:]), s.State, uint8(s.Delivery), s.Error, s.Wait.Milliseconds(), s.Denials,
			s.Denied, s.Doubts, s.Returned}
	}
	settled = make([]ledger.Settled, len(outcomes))
	err = l.own(ctx, func(q querier) error {
		clear(settled)
		args := []any{asJSON(wire)}
		err := l.run(ctx, q, settleSQL, args, func(row ledger.Scan) error {
			var n int
			var what ledger.Settled
			var now *int64
			err := row(&n, &what, &now)
			settled[n], at = what, unit.Time(now)
			return err
		})
		if err != nil || !slices.ContainsFunc(settled, func(s ledger.Settled) bool { return s != ledger.Applied }) {
			return err
		}
		return l.run(ctx, q, settledSQL, args, func(row ledger.Scan) error {
			var n int
			var now ledger.Settled
			var at *int64
			err := row(&n, &now, &at)
			switch {
			case settled[n] == ledger.Applied || err != nil:
			case settled[n] == ledger.Locked && now != ledger.Ignored, now == ledger.Applied:
				settled[n] = now
			default:
				settled[n] = ledger.Ignored
			}
			return err
		})
	})
	return settled, at, err
}

// Sweep implements ledger.Ledger.
func (l *base) Sweep(ctx context.Context, limit int, repeat ledger.Repeat) (swept ledger.Swept, err error) {
	err = l.own(ctx, func(q querier) error {
		return l.run(ctx, q, `WITH expired AS MATERIALIZED (
			SELECT id, repeatable AND doubts < $3::integer - 1 AS again FROM {entry}
			WHERE state = 1 AND lease_until < statement_timestamp() ORDER BY id LIMIT $1::bigint FOR UPDATE SKIP LOCKED
		), unclear AS (
			UPDATE {entry} SET state = 4, settled_at = clock_timestamp(), error = $2::text,
				lease_until = clock_timestamp() + (lease_until - claimed_at)
			WHERE id = ANY(ARRAY(SELECT id FROM expired WHERE NOT again)) RETURNING 1
		), pending AS (
			UPDATE {entry} SET state = 0, error = $2::text, doubts = doubts + 1, lease_until = NULL,
				not_before = clock_timestamp() + least($4::bigint << least(attempts - 1, 20), $5::bigint) * interval '1 millisecond'
			WHERE id = ANY(ARRAY(SELECT id FROM expired WHERE again)) RETURNING 1
		)
		SELECT (SELECT count(*) FROM unclear), (SELECT count(*) FROM pending)`,
			[]any{limit, ledger.SweptError, repeat.Doubts, repeat.First.Milliseconds(), repeat.Longest.Milliseconds()},
			func(row ledger.Scan) error { return row(&swept.Unclear, &swept.Pending) })
	})
	return swept, err
}

// Expire implements ledger.Ledger.
func (l *base) Expire(ctx context.Context, limit int) ([]ledger.Entry, error) {
	return rowsOf(ctx, l, unit.Entry, `WITH over AS MATERIALIZED (
			SELECT id FROM {entry} WHERE state = 0 AND not_after <= statement_timestamp() ORDER BY not_after LIMIT $1::bigint FOR UPDATE SKIP LOCKED
		)
		UPDATE {entry} SET state = 3, settled_at = statement_timestamp(), error = $2::text
		WHERE id = ANY(ARRAY(SELECT id FROM over)) RETURNING `+entryColumns, limit, ledger.ExpiredError)
}

// acceptedOperations is a table "op" of the operations of which entries were accepted. It
// reads one row of their index for each.
const acceptedOperations = `WITH RECURSIVE op(name) AS ((SELECT operation FROM {entry} WHERE state = 2 ORDER BY operation LIMIT 1) UNION ALL
	SELECT (SELECT operation FROM {entry} WHERE state = 2 AND operation > name ORDER BY operation LIMIT 1) FROM op WHERE name IS NOT NULL)`

// Purge implements ledger.Ledger.
func (l *base) Purge(ctx context.Context, keep time.Duration, limit int) (n int, err error) {
	const before = `settled_at < statement_timestamp() - $1::bigint * interval '1 millisecond'`
	for _, old := range []string{
		acceptedOperations + `, old AS MATERIALIZED (SELECT e.id FROM op CROSS JOIN LATERAL (
			SELECT id FROM {entry} WHERE state = 2 AND operation = name AND ` + before + ` LIMIT $2::bigint) AS e LIMIT $2::bigint)`,
		`WITH old AS MATERIALIZED (SELECT id FROM {entry} WHERE state = 5 AND ` + before + ` LIMIT $2::bigint)`,
	} {
		deleted, err := l.change(ctx, old+`, locked AS MATERIALIZED (
				SELECT id FROM {entry} WHERE id = ANY(ARRAY(SELECT id FROM old)) AND state + 0 IN (2, 5) FOR UPDATE SKIP LOCKED
			), changed AS (DELETE FROM {entry} WHERE id = ANY(ARRAY(SELECT id FROM locked)) RETURNING 1)`, keep.Milliseconds(), limit)
		n += deleted
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Tidy implements ledger.Ledger. It does nothing: autovacuum removes old row versions.
func (l *base) Tidy(context.Context) error { return nil }

// Find implements ledger.Ledger.
func (l *base) Find(ctx context.Context, keys []string) ([]ledger.Entry, error) {
	return rowsOf(ctx, l, unit.Entry, `SELECT `+entryColumns+` FROM {entry}
		WHERE key = ANY(ARRAY(SELECT json_array_elements_text($1::text::json)))`, asJSON(keys))
}

// Request implements ledger.Ledger.
func (l *base) Request(ctx context.Context, key string) (ledger.Request, error) {
	found, err := rowsOf(ctx, l, func(row ledger.Scan) (r ledger.Request, err error) {
		return r, row(&r.State, &r.Operation, &r.Body, &r.Sealed)
	}, `SELECT state, operation, body, sealed FROM {entry} WHERE key = $1::text`, key)
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
	AfterID:        `id > $%d::bigint`,
	Operation:      `operation = $%d::text`,
	EnqueuedAfter:  `created_at > 'epoch'::timestamptz + $%d::bigint * interval '1 microsecond'`,
	EnqueuedBefore: `created_at < 'epoch'::timestamptz + $%d::bigint * interval '1 microsecond'`,
	ErrorContains:  `strpos(error COLLATE "C", $%d::text) > 0`,
}

// List implements ledger.Ledger.
func (l *base) List(ctx context.Context, f ledger.Filter, after int64, limit int) ([]ledger.Entry, error) {
	where, args := filterSQL.Where(f, after)
	return rowsOf(ctx, l, unit.Entry, fmt.Sprintf(`SELECT %s FROM {entry} WHERE %s ORDER BY id LIMIT %d`, entryColumns, where, limit), args...)
}

// Counts implements ledger.Ledger.
func (l *base) Counts(ctx context.Context) (counts ledger.Counts, err error) {
	var columns []string
	var into []any
	for state := range counts.ByState { // a condition without a parameter can use its partial index
		columns = append(columns, fmt.Sprintf(`(SELECT count(*) FROM {entry} WHERE state = %d)`, state))
		into = append(into, &counts.ByState[state])
	}
	var age int64
	columns = append(columns, `COALESCE(extract(epoch FROM statement_timestamp() -
		(SELECT min(due_since) FROM {entry} WHERE state = 0)) * 1000, 0)::bigint`)
	into = append(into, &age)
	err = l.own(ctx, func(q querier) error {
		return l.run(ctx, q, `SELECT `+strings.Join(columns, `, `), nil, func(row ledger.Scan) error { return row(into...) })
	})
	if err != nil {
		return counts, err
	}
	counts.OldestDue = time.Duration(max(age, 0)) * time.Millisecond
	counts.Paused, err = l.Paused(ctx)
	return counts, err
}

// Paused implements ledger.Ledger.
func (l *base) Paused(ctx context.Context) ([]string, error) {
	return rowsOf(ctx, l, func(row ledger.Scan) (name string, err error) { return name, row(&name) },
		`SELECT operation FROM {pause} ORDER BY operation`)
}

// Pause implements ledger.Ledger.
func (l *base) Pause(ctx context.Context, operations []string) error {
	_, err := l.change(ctx, `WITH changed AS (INSERT INTO {pause} (operation) SELECT json_array_elements_text($1::text::json)
		WHERE {durable} ON CONFLICT DO NOTHING RETURNING 1)`, asJSON(operations))
	return err
}

// Resume implements ledger.Ledger.
func (l *base) Resume(ctx context.Context, operations []string) error {
	_, err := l.change(ctx, `WITH changed AS (DELETE FROM {pause} WHERE operation = ANY(ARRAY(SELECT json_array_elements_text($1::text::json)))
		AND {durable} RETURNING 1)`, asJSON(operations))
	return err
}

// decision is how entries are changed that somebody has decided about.
type decision struct{ changeable, set string }

var (
	// resending keeps the token of an entry that was unclear, so that its outcome still counts
	// if it comes late.
	resending = decision{`state + 0 IN (3, 4) AND (lease_until IS NULL OR lease_until <= statement_timestamp())
			AND (not_after IS NULL OR not_after > statement_timestamp())`,
		`state = 0, not_before = 'epoch', due_since = statement_timestamp(), settled_at = NULL, lease_until = NULL,
			denials = 0, lane = priority, delivery = 1, ` + doubt + `, token = CASE WHEN state = 4 THEN token END`}
	dismissal = decision{`state + 0 IN (0, 3, 4)`,
		`state = 5, body = NULL, error = '', lease_until = NULL, settled_at = statement_timestamp(), ` + doubt}
)

// doubt counts an entry that somebody takes out of unclear.
const doubt = `doubts = doubts + (state = 4)::integer`

// Resend implements ledger.Ledger.
func (l *base) Resend(ctx context.Context, keys []string) ([]ledger.Decision, error) {
	return l.decideOwn(ctx, resending, keys)
}

// Dismiss implements ledger.Ledger.
func (l *base) Dismiss(ctx context.Context, keys []string) ([]ledger.Decision, error) {
	return l.decideOwn(ctx, dismissal, keys)
}

func (l *base) decideOwn(ctx context.Context, d decision, keys []string) (decisions []ledger.Decision, err error) {
	err = l.own(ctx, func(q querier) (err error) {
		decisions, err = l.decide(ctx, q, d, keys, `{durable}`)
		return err
	})
	return decisions, err
}

// decide changes entries, if a condition is true.
func (l *base) decide(ctx context.Context, q querier, d decision, keys []string, condition string) ([]ledger.Decision, error) {
	names := asJSON(keys)
	const ofKeys = `key = ANY(ARRAY(SELECT json_array_elements_text($1::text::json)))
		AND EXISTS (SELECT 1 FROM {meta} WHERE digest_key = $2::bytea)`
	changed, err := rowsIn(ctx, l, q, unit.Entry, `WITH chosen AS MATERIALIZED (
			SELECT id FROM {entry} WHERE `+ofKeys+` AND `+d.changeable+` AND `+condition+` ORDER BY id FOR UPDATE
		)
		UPDATE {entry} SET `+d.set+` WHERE id = ANY(ARRAY(SELECT id FROM chosen)) AND `+d.changeable+` RETURNING `+entryColumns, names, l.key)
	if err != nil {
		return nil, otherDatabase(err)
	}
	found, err := rowsIn(ctx, l, q, unit.Entry, `SELECT `+entryColumns+` FROM {entry} WHERE `+ofKeys, names, l.key)
	if err != nil {
		return nil, err
	}
	return ledger.Decisions(keys, changed, found), nil
}

// Quarantine implements ledger.Ledger.
func (l *base) Quarantine(ctx context.Context) (int, error) {
	return l.change(ctx, `WITH chosen AS MATERIALIZED (SELECT id FROM {entry} WHERE state IN (0, 1, 3) AND {durable} ORDER BY id FOR UPDATE),
		changed AS (
		UPDATE {entry} SET state = 4, token = NULL, delivery = 0, settled_at = statement_timestamp(), error = $1::text,
			lease_until = CASE WHEN state = 1 THEN statement_timestamp() + (lease_until - claimed_at) END
		WHERE id = ANY(ARRAY(SELECT id FROM chosen)) RETURNING 1)`, ledger.QuarantinedError)
}

// change runs a statement that ends with a table "changed" and returns the size of the
// table.
func (l *base) change(ctx context.Context, statement string, args ...any) (n int, err error) {
	err = l.own(ctx, func(q querier) error {
		return l.run(ctx, q, statement+` SELECT count(*) FROM changed`, args, func(row ledger.Scan) error { return row(&n) })
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// asJSON writes a value of a type that encoding/json always accepts. Bodies can be large,
// so it makes one copy less than json.Marshal.
func asJSON(value any) string {
	var text strings.Builder
	if err := json.NewEncoder(&text).Encode(value); err != nil {
		panic(err)
	}
	return text.String()
}
