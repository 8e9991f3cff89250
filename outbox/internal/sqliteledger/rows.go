package sqliteledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

const (
	entryColumns = `id, key, operation, digest, state, attempts, doubts, delivery, error, created_at, not_before, settled_at, not_after,
		lease_until, priority, repeatable, ` + size + `, ` + nowSQL
	claimedColumns = entryColumns + `, body, sealed, denials,
		denials > 0 AND EXISTS (SELECT 1 FROM outbox_entry other WHERE other.state = 2 AND other.operation = outbox_entry.operation
			AND other.settled_at > outbox_entry.denied_at)`
)

// size is that of the body.
const size = `COALESCE(length(body), 0)`

// unit is that of the times in the tables.
const unit = ledger.Unit(time.Millisecond)

// query reads rows outside any transaction.
func query[T any](ctx context.Context, l *Ledger, scan func(ledger.Scan) (T, error), statement string, args ...any) (found []T, err error) {
	err = l.withConn(ctx, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(ctx, statement, args...)
		found, err = collect(rows, err, scan)
		return err
	})
	return found, err
}

func collect[T any](rows *sql.Rows, err error, scan func(ledger.Scan) (T, error)) ([]T, error) {
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

// inKeys is the condition that the key is one of a list of JSON, the first parameter.
const inKeys = `key IN (SELECT value FROM json_each(?1))`
