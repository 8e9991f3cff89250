package postgres

import (
	"cmp"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// These columns have times as microseconds, because the form of a timestamp depends on
// the driver and on settings of the session.
var (
	entryColumns = `id, key, operation, state, attempts, delivery, error, ` + micros(`created_at`) + `, ` + micros(`not_before`) + `, ` +
		micros(`settled_at`) + `, ` + micros(`not_after`) + `, ` + micros(`lease_until`) + `, urgent, ` + nowColumn
	claimedColumns = `id, key, operation, body, sealed, attempts, denials, ` + micros(`created_at`) + `, ` + micros(`not_before`) +
		`, error, ` + micros(`not_after`) + `, ` + micros(`not_after - statement_timestamp()`) + `, urgent,
		denials > 0 AND EXISTS (SELECT 1 FROM {entry} other WHERE other.state = 2 AND other.operation = e.operation
			AND other.settled_at > e.denied_at)`
	nowColumn = micros(`statement_timestamp()`)
)

// micros converts a time or an interval to microseconds.
func micros(expression string) string {
	return `(extract(epoch FROM ` + expression + `) * 1000000)::bigint`
}

// timeOf returns the zero time for NULL.
func timeOf(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return time.UnixMicro(*micros)
}

func scanEntry(row scanFunc) (ledger.Entry, error) { return scanEntryAnd(row) }

// scanEntryAnd scans the columns of the entry, and the columns after them into more.
func scanEntryAnd(row scanFunc, more ...any) (e ledger.Entry, err error) {
	var enqueued, notBefore, now int64
	var settled, notAfter, lease *int64
	into := []any{&e.ID, &e.Key, &e.Operation, &e.State, &e.Attempts, &e.Delivery, &e.Error, &enqueued, &notBefore, &settled,
		&notAfter, &lease, &e.Urgent, &now}
	err = row(append(into, more...)...)
	e.EnqueuedAt, e.NotBefore = time.UnixMicro(enqueued), time.UnixMicro(cmp.Or(notBefore, enqueued))
	e.SettledAt, e.NotAfter, e.LeaseUntil = timeOf(settled), timeOf(notAfter), timeOf(lease)
	e.DueIn = ledger.Milliseconds(max(notBefore-now, 0) / 1000)
	if lease != nil {
		e.LeaseLeft = ledger.Milliseconds(max(*lease-now, 0) / 1000)
	}
	e.Late = notAfter != nil && *notAfter <= now
	return e, err
}

func scanClaimed(row scanFunc) (c ledger.Claimed, err error) {
	var enqueued, notBefore int64
	var notAfter, left *int64
	err = row(&c.ID, &c.Key, &c.Operation, &c.Body, &c.Sealed, &c.Attempts, &c.Denials, &enqueued, &notBefore, &c.Error, &notAfter,
		&left, &c.Urgent, &c.AcceptedSince)
	c.EnqueuedAt, c.NotBefore, c.NotAfter = time.UnixMicro(enqueued), time.UnixMicro(cmp.Or(notBefore, enqueued)), timeOf(notAfter)
	c.Position = ledger.Position{Time: notBefore, ID: c.ID}
	if left != nil {
		c.Left = ledger.Milliseconds(*left / 1000)
	}
	return c, err
}
