package postgres

import (
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

const (
	entryColumns   = `id, key, operation, state, attempts, delivery, error, created_at, not_before, settled_at`
	claimedColumns = `id, key, operation, body, sealed, attempts, refusals, created_at, not_before`
)

func scanEntry(row scanFunc) (ledger.Entry, error) { return scanEntryAnd(row) }

// scanEntryAnd scans the columns of the entry, and the columns after them into more.
func scanEntryAnd(row scanFunc, more ...any) (e ledger.Entry, err error) {
	var settled *time.Time
	into := []any{&e.ID, &e.Key, &e.Operation, &e.State, &e.Attempts, &e.Delivery, &e.Error, &e.EnqueuedAt, &e.NotBefore, &settled}
	err = row(append(into, more...)...)
	if settled != nil {
		e.SettledAt = *settled
	}
	return e, err
}

func scanClaimed(row scanFunc) (c ledger.Claimed, err error) {
	return c, row(&c.ID, &c.Key, &c.Operation, &c.Body, &c.Sealed, &c.Attempts, &c.Denials, &c.EnqueuedAt, &c.NotBefore)
}
