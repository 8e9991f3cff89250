package postgres

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// newEntry is the JSON form of a ledger.NewEntry, without its body.
type newEntry struct {
	Ordinal    int         `json:"n"`
	Key        string      `json:"key"`
	Operation  string      `json:"operation"`
	Digest     string      `json:"digest"`
	Sealed     bool        `json:"sealed"`
	Priority   ledger.Lane `json:"priority"`
	Repeatable bool        `json:"repeatable"`
	NotBefore  *int64      `json:"not_before"`
	NotAfter   *int64      `json:"not_after"`
}

// milliseconds returns nil for the zero time.
func milliseconds(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMilli()
	return &n
}

// asInput returns the entries as an array of JSON, with the bodies as base64. The bodies can
// be large, so they are written where they belong, and nowhere before.
func asInput(entries []ledger.NewEntry) string {
	const rest = 400 // of an entry, roughly
	size := 2
	for _, e := range entries {
		size += len(e.Key) + base64.StdEncoding.EncodedLen(len(e.Body)) + rest
	}
	var input strings.Builder
	input.Grow(size)
	input.WriteByte('[')
	for i, e := range entries {
		if i > 0 {
			input.WriteByte(',')
		}
		input.WriteString(strings.TrimSuffix(asJSON(newEntry{i, e.Key, e.Operation, hex.EncodeToString(e.Digest), e.Sealed, e.Priority,
			e.Repeatable, milliseconds(e.NotBefore), milliseconds(e.NotAfter)}), "}\n"))
		input.WriteString(`,"body":"`)
		body := base64.NewEncoder(base64.StdEncoding, &input)
		_, _ = body.Write(e.Body) // a strings.Builder returns no error
		_ = body.Close()
		input.WriteString(`"}`)
	}
	input.WriteByte(']')
	return input.String()
}

// Insert implements ledger.Ledger. The entries cannot be sorted, because ids follow their
// order, so two calls with the same keys can deadlock; the one that fails is tried again.
func (l *base) Insert(ctx context.Context, entries []ledger.NewEntry) (inserted []ledger.Inserted, err error) {
	err = l.own(ctx, func(q querier) (err error) {
		inserted, err = l.insert(ctx, q, entries, true)
		return err
	})
	return inserted, err
}

const (
	// times are the expressions for created_at, not_before, due_since and not_after of an
	// entry, from the times given to Enqueue.
	times = `statement_timestamp(), CASE WHEN %[1]s > statement_timestamp() THEN %[1]s ELSE 'epoch' END,
		greatest(%[1]s, statement_timestamp()), %[2]s`
	// insertColumns has the lane of an entry that was never denied, its priority. Postgres would
	// parse a generated column at each INSERT.
	insertColumns = `INSERT INTO {entry} (key, operation, digest, body, sealed, priority, lane, repeatable,
		created_at, not_before, due_since, not_after) `
	unlessPresent = ` ON CONFLICT (key) DO NOTHING RETURNING id, `
)

// insertOne is for the usual case, one entry in a transaction of pgx, whose connection is known
// to belong to the database. Its plan has no table but that of the entries.
var insertOne = insertColumns + `VALUES ($1, $2, $3, $4, $5, $6, $6, $7, ` +
	fmt.Sprintf(times, "$8::timestamptz", "$9::timestamptz") + `)` + unlessPresent + `created_at`

// insertOne adds an entry. It returns the zero value if its key exists.
func (l *pgxLedger) insertOne(ctx context.Context, tx pgx.Tx, e ledger.NewEntry) (inserted ledger.Inserted, err error) {
	if l.closed.Load() {
		return inserted, ledger.ErrClosed
	}
	args := []any{e.Key, e.Operation, e.Digest, e.Body, e.Sealed, e.Priority, e.Repeatable, whole(e.NotBefore), whole(e.NotAfter)}
	err = pgxQuerier{tx}.query(ctx, l.one, args, func(row ledger.Scan) error {
		var id int64
		var at time.Time
		err := row(&id, &at)
		inserted = e.Inserted(id, at)
		return err
	})
	return inserted, err
}

// whole returns a time in whole milliseconds, and nil for the zero time.
func whole(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = time.UnixMilli(t.UnixMilli())
	return &t
}

// insert adds the entries whose keys do not exist yet, in one statement. own is true if
// the statement is a separate transaction, so that its settings are not the caller's.
//
// The condition on the key of the database keeps it from adding entries to another
// database with the same tables.
func (l *base) insert(ctx context.Context, q querier, entries []ledger.NewEntry, own bool) ([]ledger.Inserted, error) {
	index := make(map[string]int, len(entries))
	for i, e := range entries {
		if _, twice := index[e.Key]; !twice {
			index[e.Key] = i
		}
	}
	condition := `true`
	if own {
		condition = `{durable}`
	}
	inserted := make([]ledger.Inserted, len(entries))
	const millisecond = ` * interval '1 millisecond' + 'epoch'::timestamptz`
	err := l.run(ctx, q, insertColumns+`SELECT key, operation, decode(digest, 'hex'), decode(body, 'base64'), sealed, priority, priority,
			repeatable, `+fmt.Sprintf(times, `(not_before`+millisecond+`)`, `not_after`+millisecond)+`
		FROM json_to_recordset($2::text::json) AS i(n integer, key text, operation text, digest text, body text, sealed boolean,
			priority smallint, repeatable boolean, not_before bigint, not_after bigint)
		WHERE EXISTS (SELECT 1 FROM {meta} WHERE digest_key = $1::bytea) AND `+condition+`
		ORDER BY n`+unlessPresent+`key, `+micros(`created_at`), []any{l.key, asInput(entries)}, func(row ledger.Scan) error {
		var id int64
		var key string
		var at *int64
		err := row(&id, &key, &at)
		if i, ok := index[key]; ok && err == nil {
			inserted[i] = entries[i].Inserted(id, unit.Time(at))
		}
		return err
	})
	if err != nil {
		return nil, otherDatabase(err)
	}
	return inserted, l.addPresent(ctx, q, entries, inserted)
}

// otherDatabase recognizes the error of a database without the tables.
func otherDatabase(err error) error {
	if hasCode(err, "42P01") {
		return ledger.ErrOtherDatabase
	}
	return err
}

// addPresent fills in the entries that existed already.
func (l *base) addPresent(ctx context.Context, q querier, entries []ledger.NewEntry, inserted []ledger.Inserted) error {
	missing, err := ledger.AddPresent(entries, inserted, func(keys []string) ([]ledger.Entry, error) {
		return rowsIn(ctx, l, q, unit.Entry, `SELECT `+entryColumns+` FROM {entry}
			WHERE key = ANY(ARRAY(SELECT json_array_elements_text($1::text::json))) AND EXISTS (SELECT 1 FROM {meta} WHERE digest_key = $2::bytea)`,
			asJSON(keys), l.key)
	})
	if err != nil || missing == "" {
		return err
	}
	return l.whyMissing(ctx, q, missing)
}

// whyMissing returns why an entry was neither added nor found.
func (l *base) whyMissing(ctx context.Context, q querier, key string) error {
	same, err := l.isSame(ctx, q)
	switch {
	case err != nil:
		return err
	case !same:
		return ledger.ErrOtherDatabase
	}
	return fmt.Errorf("entry %q: %w", key, errGone)
}

// isSame reports whether a transaction belongs to the database of the ledger.
func (l *base) isSame(ctx context.Context, q querier) (same bool, err error) {
	err = l.run(ctx, q, `SELECT count(*) > 0 FROM {meta} WHERE digest_key = $1::bytea`, []any{l.key}, func(row ledger.Scan) error {
		return row(&same)
	})
	return same, err
}

var errGone = errors.New("another transaction has added or deleted it at the same time")
