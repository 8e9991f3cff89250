package postgres

import (
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// unit is that of the columns below. They have times as numbers, because the form of a
// timestamp depends on the driver and on settings of the session.
const unit = ledger.Unit(time.Microsecond)

var (
	entryColumns = `id, key, operation, digest, state, attempts, doubts, delivery, error, ` + micros(`created_at`) + `, ` +
		micros(`not_before`) + `, ` + micros(`settled_at`) + `, ` + micros(`not_after`) + `, ` + micros(`lease_until`) +
		`, priority, repeatable, ` + size + `, ` + nowColumn
	claimedColumns = entryColumns + `, body, sealed, denials,
		denials > 0 AND EXISTS (SELECT 1 FROM {entry} other WHERE other.state = 2 AND other.operation = e.operation
			AND other.settled_at > e.denied_at)`
	size      = `COALESCE(octet_length(body), 0)`
	nowColumn = micros(`statement_timestamp()`)
)

// micros converts a time or an interval to microseconds.
func micros(expression string) string {
	return `(extract(epoch FROM ` + expression + `) * 1000000)::bigint`
}
