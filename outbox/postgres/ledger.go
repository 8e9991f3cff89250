package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// base implements [ledger.Ledger] except Listen, with any driver. Arrays are passed as
// JSON, which every driver supports.
//
// Statements that change several rows lock them in the order of their ids, so they never
// deadlock with each other. They find rows by "id = ANY" and write "state + 0" for a
// state that they do not search for, because a planner without statistics would prefer
// the partial index of that state.
type base struct {
	q       querier
	schema  string // quoted
	channel string
	key     []byte
	closed  atomic.Bool
}

// durable is a condition that is always true. It makes the commit of the statement's
// transaction wait until it survives a crash, regardless of the settings of the session.
const durable = `(SELECT set_config('synchronous_commit',
	CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)) <> ''`

func (l *base) open(ctx context.Context) error {
	if err := l.findSchema(ctx); err != nil {
		return err
	}
	version, err := l.version(ctx)
	if err != nil {
		return err
	}
	return checkVersion(version)
}

// run runs a statement in which {entry} and {meta} stand for the tables and {durable} for
// the condition durable.
func (l *base) run(ctx context.Context, q querier, statement string, args []any, scan func(scanFunc) error) error {
	if l.closed.Load() {
		return ledger.ErrClosed
	}
	statement = strings.NewReplacer("{entry}", l.schema+".outbox_entry", "{meta}", l.schema+".outbox_meta",
		"{durable}", durable).Replace(statement)
	return q.query(ctx, statement, args, scan)
}

// rowsOf runs a statement and collects its rows.
func rowsOf[T any](ctx context.Context, l *base, scan func(scanFunc) (T, error), statement string, args ...any) ([]T, error) {
	var found []T
	err := l.run(ctx, l.q, statement, args, func(row scanFunc) error {
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

// Claim implements ledger.Ledger.
func (l *base) Claim(ctx context.Context, claim ledger.Claim) ([]ledger.Claimed, error) {
	chosen, args := ``, []any{claim.Token[:], claim.Owner, claim.Lease.Milliseconds(), claim.Limit}
	if claim.Keys != nil {
		chosen = ` AND key = ANY(ARRAY(SELECT json_array_elements_text($5::text::json)))`
		args = append(args, asJSON(claim.Keys))
	}
	state := `state`
	if claim.Keys != nil {
		state = `state + 0`
	}
	return rowsOf(ctx, l, scanClaimed, `
		WITH due AS MATERIALIZED (
			SELECT id FROM {entry} WHERE `+state+` = 0 AND not_before <= statement_timestamp() AND {durable}`+chosen+`
			ORDER BY not_before, id LIMIT $4::bigint FOR UPDATE SKIP LOCKED
		)
		UPDATE {entry} SET state = 1, delivery = 0, error = '', attempts = attempts + 1, token = $1::bytea, owner = $2::text,
			claimed_at = clock_timestamp(), lease_until = clock_timestamp() + $3::bigint * interval '1 millisecond'
		WHERE id = ANY(ARRAY(SELECT id FROM due))
		RETURNING `+claimedColumns, args...)
}

// Unclaim implements ledger.Ledger.
func (l *base) Unclaim(ctx context.Context, token ledger.Token) (int, error) {
	return l.change(ctx, `WITH chosen AS MATERIALIZED (
			SELECT id FROM {entry} WHERE state = 1 AND token = $1::bytea ORDER BY id FOR UPDATE
		), changed AS (
			UPDATE {entry} SET state = 0, delivery = 1, token = NULL, lease_until = NULL
			WHERE id = ANY(ARRAY(SELECT id FROM chosen)) AND state + 0 = 1 AND token = $1::bytea RETURNING 1)`, token[:])
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
	Denied   int          `json:"denied"`
}

const outcomesSQL = `s AS MATERIALIZED (
	SELECT n, id, decode(token, 'hex') AS token, state, delivery, error, wait, denied FROM json_to_recordset($1::text::json)
	AS s(n integer, id bigint, token text, state smallint, delivery smallint, error text, wait bigint, denied integer))`

// Settle implements ledger.Ledger.
func (l *base) Settle(ctx context.Context, outcomes []ledger.Outcome) (applied []bool, at time.Time, err error) {
	wire := make([]outcome, len(outcomes))
	for i, s := range outcomes {
		wire[i] = outcome{i, s.ID, hex.EncodeToString(s.Token[:]), s.State, uint8(s.Delivery), s.Error, s.Wait.Milliseconds(), 0}
		if s.Denied {
			wire[i].Denied = 1
		}
	}
	applied = make([]bool, len(outcomes))
	mark := func(row scanFunc) error {
		var n int
		err := row(&n, &at)
		if err == nil {
			applied[n] = true
		}
		return err
	}
	input := asJSON(wire)
	err = l.run(ctx, l.q, `WITH `+outcomesSQL+`, locked AS MATERIALIZED (
			SELECT e.id FROM {entry} e WHERE e.id = ANY(ARRAY(SELECT id FROM s)) ORDER BY e.id FOR UPDATE
		)
		UPDATE {entry} e SET state = s.state, delivery = s.delivery, error = s.error,
			body = CASE WHEN s.state = 2 THEN NULL ELSE e.body END,
			not_before = CASE WHEN s.state = 0 THEN clock_timestamp() + s.wait * interval '1 millisecond' ELSE e.not_before END,
			settled_at = CASE WHEN s.state <> 0 THEN statement_timestamp() END,
			refusals = e.refusals + s.denied, lease_until = NULL
		FROM s WHERE e.id = s.id AND e.id = ANY(ARRAY(SELECT id FROM locked)) AND e.token = s.token
			AND (e.state + 0 IN (1, 4) OR e.state + 0 = 0 AND s.state IN (2, 3))
		RETURNING s.n, statement_timestamp()`, []any{input}, mark)
	if err != nil {
		return nil, at, err
	}
	for _, ok := range applied {
		if !ok { // unless it is recorded already
			err = l.run(ctx, l.q, `WITH `+outcomesSQL+`
				SELECT s.n, statement_timestamp() FROM {entry} e JOIN s ON e.id = s.id AND e.token = s.token AND e.state + 0 = s.state
				WHERE e.id = ANY(ARRAY(SELECT id FROM s))`, []any{input}, mark)
			break
		}
	}
	return applied, at, err
}

// Sweep implements ledger.Ledger.
func (l *base) Sweep(ctx context.Context, limit int) ([]ledger.Swept, error) {
	return rowsOf(ctx, l, func(row scanFunc) (s ledger.Swept, err error) {
		var guard int64
		err = row(&s.ID, &guard)
		s.Guard = time.Duration(guard) * time.Millisecond
		return s, err
	}, `WITH expired AS MATERIALIZED (
			SELECT id FROM {entry} WHERE state = 1 AND lease_until < statement_timestamp() ORDER BY id LIMIT $1::bigint FOR UPDATE SKIP LOCKED
		)
		UPDATE {entry} SET state = 4, delivery = 0, settled_at = clock_timestamp(), error = $2::text,
			lease_until = clock_timestamp() + (lease_until - claimed_at)
		WHERE id = ANY(ARRAY(SELECT id FROM expired))
		RETURNING id, (extract(epoch FROM lease_until - settled_at) * 1000)::bigint`, limit, ledger.SweptError)
}

// StillSwept implements ledger.Ledger.
func (l *base) StillSwept(ctx context.Context, ids []int64) ([]ledger.Entry, error) {
	return rowsOf(ctx, l, scanEntry, `SELECT `+entryColumns+` FROM {entry}
		WHERE id = ANY(ARRAY(SELECT json_array_elements_text($1::text::json)::bigint))
		AND state + 0 = 4 AND lease_until IS NOT NULL ORDER BY id`, asJSON(ids))
}

// Purge implements ledger.Ledger.
func (l *base) Purge(ctx context.Context, keep time.Duration, limit int) (n int, err error) {
	for _, state := range []ledger.State{ledger.Accepted, ledger.Dismissed} {
		deleted, err := l.change(ctx, `WITH old AS MATERIALIZED (
				SELECT id FROM {entry} WHERE state = `+strconv.Itoa(int(state))+`
				AND settled_at < statement_timestamp() - $1::bigint * interval '1 millisecond' LIMIT $2::bigint FOR UPDATE SKIP LOCKED
			), changed AS (DELETE FROM {entry} WHERE id = ANY(ARRAY(SELECT id FROM old)) RETURNING 1)`, keep.Milliseconds(), limit)
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
	return rowsOf(ctx, l, scanEntry, `SELECT `+entryColumns+` FROM {entry}
		WHERE key = ANY(ARRAY(SELECT json_array_elements_text($1::text::json)))`, asJSON(keys))
}

// Request implements ledger.Ledger.
func (l *base) Request(ctx context.Context, key string) (ledger.Request, error) {
	found, err := rowsOf(ctx, l, func(row scanFunc) (r ledger.Request, err error) {
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

// List implements ledger.Ledger.
func (l *base) List(ctx context.Context, state ledger.State, after int64, limit int) ([]ledger.Entry, error) {
	chosen := ``
	if state >= 0 {
		chosen = fmt.Sprintf(` AND state = %d`, state)
	}
	return rowsOf(ctx, l, scanEntry, `SELECT `+entryColumns+` FROM {entry} WHERE id > $1::bigint`+chosen+` ORDER BY id LIMIT $2::bigint`,
		after, limit)
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
	columns = append(columns, `COALESCE((SELECT extract(epoch FROM statement_timestamp() - min(created_at)) * 1000 FROM {entry}
		WHERE state = 0 AND not_before <= statement_timestamp()), 0)::bigint`)
	into = append(into, &age)
	err = l.run(ctx, l.q, `SELECT `+strings.Join(columns, `, `), nil, func(row scanFunc) error { return row(into...) })
	counts.OldestDue = time.Duration(max(age, 0)) * time.Millisecond
	return counts, err
}

// NextDue implements ledger.Ledger.
func (l *base) NextDue(ctx context.Context) (wait time.Duration, pending bool, err error) {
	err = l.run(ctx, l.q, `SELECT ceil(extract(epoch FROM not_before - statement_timestamp()) * 1000)::bigint FROM {entry}
		WHERE state = 0 ORDER BY not_before, id LIMIT 1`, nil, func(row scanFunc) error {
		var milliseconds int64
		err := row(&milliseconds)
		wait, pending = ledger.DueIn(milliseconds), true
		return err
	})
	return wait, pending, err
}

// decidable selects entries by key, in the order in which they are locked.
const decidable = `WITH chosen AS MATERIALIZED (
	SELECT id FROM {entry} WHERE key = ANY(ARRAY(SELECT json_array_elements_text($1::text::json))) ORDER BY id FOR UPDATE
)`

// Resend implements ledger.Ledger.
func (l *base) Resend(ctx context.Context, keys []string) (int, error) {
	return l.change(ctx, decidable+`, changed AS (
		UPDATE {entry} SET state = 0, not_before = statement_timestamp(), settled_at = NULL, lease_until = NULL, refusals = 0,
			token = CASE WHEN state = 4 THEN token END
		WHERE id = ANY(ARRAY(SELECT id FROM chosen)) AND state + 0 IN (3, 4) AND (lease_until IS NULL OR lease_until <= statement_timestamp())
		RETURNING 1)`, asJSON(keys))
}

// Dismiss implements ledger.Ledger.
func (l *base) Dismiss(ctx context.Context, keys []string) (int, error) {
	return l.change(ctx, decidable+`, changed AS (
		UPDATE {entry} SET state = 5, token = NULL, body = NULL, error = '', lease_until = NULL, settled_at = statement_timestamp()
		WHERE id = ANY(ARRAY(SELECT id FROM chosen)) AND state + 0 IN (3, 4) RETURNING 1)`, asJSON(keys))
}

// Quarantine implements ledger.Ledger.
func (l *base) Quarantine(ctx context.Context) (int, error) {
	return l.change(ctx, `WITH chosen AS MATERIALIZED (SELECT id FROM {entry} WHERE state IN (0, 1) AND {durable} ORDER BY id FOR UPDATE),
		changed AS (
		UPDATE {entry} SET state = 4, token = NULL, delivery = 0, settled_at = statement_timestamp(), error = $1::text,
			lease_until = CASE WHEN state = 1 THEN statement_timestamp() + (lease_until - claimed_at) END
		WHERE id = ANY(ARRAY(SELECT id FROM chosen)) RETURNING 1)`, ledger.QuarantinedError)
}

// change runs a statement that ends with a table "changed" and returns the size of the
// table.
func (l *base) change(ctx context.Context, statement string, args ...any) (n int, err error) {
	err = l.run(ctx, l.q, statement+` SELECT count(*) FROM changed`, args, func(row scanFunc) error { return row(&n) })
	if err != nil {
		return 0, err
	}
	return n, nil
}

// asJSON writes a value of a type that encoding/json always accepts.
func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
