package postgres

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// newEntry is the JSON form of a ledger.NewEntry, without its body.
type newEntry struct {
	Ordinal   int    `json:"n"`
	Key       string `json:"key"`
	Operation string `json:"operation"`
	Digest    string `json:"digest"`
	Sealed    bool   `json:"sealed"`
	Urgent    bool   `json:"urgent"`
	NotBefore int64  `json:"not_before"`
	NotAfter  *int64 `json:"not_after"`
}

func newEntryOf(ordinal int, e ledger.NewEntry) newEntry {
	n := newEntry{ordinal, e.Key, e.Operation, hex.EncodeToString(e.Digest), e.Sealed, e.Urgent, 0, nil}
	if !e.NotBefore.IsZero() {
		n.NotBefore = e.NotBefore.UnixMilli()
	}
	if !e.NotAfter.IsZero() {
		after := e.NotAfter.UnixMilli()
		n.NotAfter = &after
	}
	return n
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
		input.WriteString(strings.TrimSuffix(asJSON(newEntryOf(i, e)), "}\n"))
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

// These are tables of new entries. That of one, the usual case in a transaction, takes half
// the time.
const (
	inputColumns = `(n, key, operation, digest, body, sealed, urgent, not_before, not_after)`
	inputOfOne   = `(VALUES (0, $2::text, $3::text, $4::bytea, $5::bytea, $6::boolean, $7::boolean, $8::bigint, $9::bigint))
		AS i` + inputColumns
	inputOfMany = `(SELECT n, key, operation, decode(digest, 'hex'), decode(body, 'base64'), sealed, urgent, not_before, not_after
		FROM json_to_recordset($2::text::json) AS i(n integer, key text, operation text, digest text, body text, sealed boolean,
			urgent boolean, not_before bigint, not_after bigint)) AS i` + inputColumns
)

// inputOf returns one of these tables and its arguments. $1 is for the key of the database.
func (l *base) inputOf(entries []ledger.NewEntry) (table string, args []any) {
	if len(entries) != 1 {
		return inputOfMany, []any{l.key, asInput(entries)}
	}
	e, n := entries[0], newEntryOf(0, entries[0])
	return inputOfOne, []any{l.key, e.Key, e.Operation, e.Digest, e.Body, e.Sealed, e.Urgent, n.NotBefore, n.NotAfter}
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
	done := make([]bool, len(entries))
	input, args := l.inputOf(entries)
	err := l.run(ctx, q, `INSERT INTO {entry} (key, operation, digest, body, sealed, urgent, created_at, not_before, due_since, not_after)
		SELECT key, operation, digest, body, sealed, urgent, statement_timestamp(), due, due,
			'epoch'::timestamptz + not_after * interval '1 millisecond'
		FROM (SELECT *, greatest(statement_timestamp(), 'epoch'::timestamptz + not_before * interval '1 millisecond') AS due
			FROM `+input+`) AS input
		WHERE EXISTS (SELECT 1 FROM {meta} WHERE digest_key = $1::bytea) AND `+condition+`
		ORDER BY n ON CONFLICT (key) DO NOTHING
		RETURNING id, key, `+micros(`created_at`)+`, `+micros(`not_before`), args, func(row scanFunc) error {
		var id int64
		var key string
		var at, due *int64
		err := row(&id, &key, &at, &due)
		if i, ok := index[key]; ok && err == nil {
			inserted[i], done[i] = entries[i].Inserted(id, timeOf(at), timeOf(due)), true
		}
		return err
	})
	if err != nil {
		return nil, otherDatabase(err)
	}
	return inserted, l.findPresent(ctx, q, entries, inserted, done)
}

// otherDatabase recognizes the error of a database without the tables.
func otherDatabase(err error) error {
	if strings.Contains(err.Error(), "42P01") || strings.Contains(err.Error(), "outbox_meta\" does not exist") ||
		strings.Contains(err.Error(), "outbox_entry\" does not exist") {
		return ledger.ErrOtherDatabase
	}
	return err
}

// remove deletes entries that the same transaction has added.
func (l *base) remove(ctx context.Context, q querier, ids []int64) error {
	return l.run(ctx, q, `DELETE FROM {entry} WHERE id = ANY(ARRAY(SELECT json_array_elements_text($1::text::json)::bigint))`,
		[]any{asJSON(ids)}, nil)
}

// findPresent fills in the entries that existed already.
func (l *base) findPresent(ctx context.Context, q querier, entries []ledger.NewEntry, inserted []ledger.Inserted, done []bool) error {
	var missing []string
	for i, e := range entries {
		if !done[i] {
			missing = append(missing, e.Key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	present := make(map[string]ledger.Inserted, len(missing))
	err := l.run(ctx, q, `SELECT `+entryColumns+`, digest FROM {entry}
		WHERE key = ANY(ARRAY(SELECT json_array_elements_text($1::text::json))) AND EXISTS (SELECT 1 FROM {meta} WHERE digest_key = $2::bytea)`,
		[]any{asJSON(missing), l.key}, func(row scanFunc) (err error) {
			in := ledger.Inserted{Present: true}
			in.Entry, err = scanEntryAnd(row, &in.Digest)
			present[in.Key] = in
			return err
		})
	if err != nil {
		return err
	}
	for i, e := range entries {
		if done[i] {
			continue
		}
		in, ok := present[e.Key]
		if !ok {
			return l.whyMissing(ctx, q, e.Key)
		}
		inserted[i] = in
	}
	return nil
}

// whyMissing returns why an entry was neither added nor found.
func (l *base) whyMissing(ctx context.Context, q querier, key string) error {
	same := false
	err := l.run(ctx, q, `SELECT count(*) > 0 FROM {meta} WHERE digest_key = $1::bytea`, []any{l.key}, func(row scanFunc) error {
		return row(&same)
	})
	switch {
	case err != nil:
		return err
	case !same:
		return ledger.ErrOtherDatabase
	}
	return fmt.Errorf("entry %q: %w", key, errGone)
}

var errGone = errors.New("another transaction has added or deleted it at the same time")
