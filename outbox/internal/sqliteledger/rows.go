package sqliteledger

import (
	"cmp"
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

const (
	entryColumns = `id, key, operation, state, attempts, delivery, error, created_at, not_before, settled_at, not_after, lease_until, urgent`
	// claimedColumns need the current time as the parameter ?1.
	claimedColumns = `id, key, operation, body, sealed, attempts, denials, created_at, not_before, error, not_after, not_after - ?1, urgent,
		denials > 0 AND EXISTS (SELECT 1 FROM outbox_entry other WHERE other.state = 2 AND other.operation = outbox_entry.operation
			AND other.settled_at > outbox_entry.denied_at)`
)

// scanFunc is the Scan method of a row.
type scanFunc func(into ...any) error

func scanEntry(scan scanFunc) (ledger.Entry, error) { return scanEntryAnd(scan) }

// scanEntryAnd scans the columns of the entry, and the columns after them into more.
func scanEntryAnd(scan scanFunc, more ...any) (e ledger.Entry, err error) {
	var enqueued, notBefore int64
	var settled, notAfter, lease sql.NullInt64
	into := []any{&e.ID, &e.Key, &e.Operation, &e.State, &e.Attempts, &e.Delivery, &e.Error, &enqueued, &notBefore, &settled,
		&notAfter, &lease, &e.Urgent}
	err = scan(append(into, more...)...)
	now := now()
	e.EnqueuedAt, e.NotBefore = time.UnixMilli(enqueued), time.UnixMilli(cmp.Or(notBefore, enqueued))
	e.SettledAt, e.NotAfter, e.LeaseUntil = timeOf(settled), timeOf(notAfter), timeOf(lease)
	e.DueIn, e.LeaseLeft = ledger.Milliseconds(max(notBefore-now, 0)), ledger.Milliseconds(max(lease.Int64-now, 0))
	e.Late = notAfter.Valid && notAfter.Int64 <= now
	return e, err
}

// timeOf returns the zero time for NULL.
func timeOf(milliseconds sql.NullInt64) time.Time {
	if !milliseconds.Valid {
		return time.Time{}
	}
	return time.UnixMilli(milliseconds.Int64)
}

func scanInserted(scan scanFunc) (i ledger.Inserted, err error) {
	i.Entry, err = scanEntryAnd(scan, &i.Digest)
	return i, err
}

func scanClaimed(scan scanFunc) (c ledger.Claimed, err error) {
	var enqueued, notBefore int64
	var notAfter, left sql.NullInt64
	err = scan(&c.ID, &c.Key, &c.Operation, &c.Body, &c.Sealed, &c.Attempts, &c.Denials, &enqueued, &notBefore, &c.Error,
		&notAfter, &left, &c.Urgent, &c.AcceptedSince)
	c.EnqueuedAt, c.NotBefore, c.NotAfter = time.UnixMilli(enqueued), time.UnixMilli(cmp.Or(notBefore, enqueued)), timeOf(notAfter)
	c.Left, c.Position = ledger.Milliseconds(left.Int64), ledger.Position{Time: notBefore, ID: c.ID}
	return c, err
}

// query reads rows outside any transaction.
func query[T any](ctx context.Context, l *Ledger, scan func(scanFunc) (T, error), statement string, args ...any) (found []T, err error) {
	err = l.withConn(ctx, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(ctx, statement, args...)
		found, err = collect(rows, err, scan)
		return err
	})
	return found, err
}

func collect[T any](rows *sql.Rows, err error, scan func(scanFunc) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var found []T
	for rows.Next() {
		value, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		found = append(found, value)
	}
	return found, rows.Err()
}

// keyIn returns the condition that the key is one of keys. The keys are its parameters.
func keyIn(keys []string) string { return `key IN (` + placeholders(len(keys)) + `)` }

func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

func anySlice[T any](values []T) []any {
	converted := make([]any, len(values))
	for i, value := range values {
		converted[i] = value
	}
	return converted
}
