package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// newEntry is the JSON form of a ledger.NewEntry.
type newEntry struct {
	Ordinal   int    `json:"n"`
	Key       string `json:"key"`
	Operation string `json:"operation"`
	Digest    string `json:"digest"`
	Body      []byte `json:"body"` // as base64
	Sealed    bool   `json:"sealed"`
	NotBefore int64  `json:"not_before"`
}

// Insert implements ledger.Ledger.
func (l *base) Insert(ctx context.Context, entries []ledger.NewEntry) (inserted []ledger.Inserted, err error) {
	for range insertTries {
		inserted, err = l.insert(ctx, l.q, entries, true)
		if err == nil || !isDeadlock(err) {
			break
		}
	}
	return inserted, err
}

// insertTries is how often a batch is tried that deadlocks with another one, which has
// the same keys in another order. The batch cannot be sorted, because ids follow its
// order.
const insertTries = 10

// isDeadlock reports whether the server ended a statement because of a deadlock. Drivers
// have different error types for it, but the same code in their texts.
func isDeadlock(err error) bool {
	return strings.Contains(err.Error(), "40P01") || strings.Contains(err.Error(), "deadlock detected")
}

func (l *base) insertOne(ctx context.Context, q querier, entry ledger.NewEntry) (ledger.Inserted, error) {
	inserted, err := l.insert(ctx, q, []ledger.NewEntry{entry}, false)
	if err != nil {
		return ledger.Inserted{}, err
	}
	return inserted[0], nil
}

// insert adds the entries whose keys do not exist yet, in one statement. own is true if
// the statement is a separate transaction, so that its settings are not the caller's.
//
// The condition on the key of the database keeps it from adding entries to another
// database with the same tables.
func (l *base) insert(ctx context.Context, q querier, entries []ledger.NewEntry, own bool) ([]ledger.Inserted, error) {
	index := make(map[string]int, len(entries))
	wire := make([]newEntry, len(entries))
	for i, e := range entries {
		if _, twice := index[e.Key]; !twice {
			index[e.Key] = i
		}
		wire[i] = newEntry{i, e.Key, e.Operation, hex.EncodeToString(e.Digest), e.Body, e.Sealed, 0}
		if !e.NotBefore.IsZero() {
			wire[i].NotBefore = e.NotBefore.UnixMilli()
		}
	}
	condition := `true`
	if own {
		condition = `{durable}`
	}
	inserted := make([]ledger.Inserted, len(entries))
	done := make([]bool, len(entries))
	err := l.run(ctx, q, `WITH input AS MATERIALIZED (
			SELECT * FROM json_to_recordset($1::text::json)
			AS i(n integer, key text, operation text, digest text, body text, sealed boolean, not_before bigint)
		), added AS (
			INSERT INTO {entry} (key, operation, digest, body, sealed, created_at, not_before)
			SELECT key, operation, decode(digest, 'hex'), decode(body, 'base64'), sealed, statement_timestamp(),
				greatest(statement_timestamp(), 'epoch'::timestamptz + not_before * interval '1 millisecond')
			FROM input WHERE EXISTS (SELECT 1 FROM {meta} WHERE digest_key = $2::bytea) AND `+condition+`
			ORDER BY n ON CONFLICT (key) DO NOTHING RETURNING `+entryColumns+`, digest
		), notified AS MATERIALIZED (
			SELECT pg_notify($3::text, '') WHERE EXISTS (SELECT 1 FROM added)
		)
		SELECT `+entryColumns+`, digest, (SELECT count(*) FROM notified) FROM added`,
		[]any{asJSON(wire), l.key, l.channel}, func(row scanFunc) error {
			var in ledger.Inserted
			var notified int
			var err error
			in.Entry, err = scanEntryAnd(row, &in.Digest, &notified)
			if i, ok := index[in.Key]; ok && err == nil {
				inserted[i], done[i] = in, true
			}
			return err
		})
	if err != nil {
		if strings.Contains(err.Error(), "42P01") || strings.Contains(err.Error(), "outbox_meta\" does not exist") {
			err = ledger.ErrOtherDatabase
		}
		return nil, err
	}
	return inserted, l.findPresent(ctx, q, entries, inserted, done)
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
