package outbox

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// slowLedger deletes batches of old entries, and then waits for a lock.
type slowLedger struct {
	ledger.TxLedger[SQLTx]
	batches int
}

func (*slowLedger) Tidy(context.Context) error { return nil }

func (l *slowLedger) Purge(ctx context.Context, _ time.Duration, limit int) (int, error) {
	if l.batches--; l.batches >= 0 {
		return limit, nil
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestAPurgeWhoseTimeIsOverGoesOnSoonUnlessItDeletedNothing(t *testing.T) {
	for batches, isDone := range map[int]bool{3: false, 0: true} {
		synctest.Test(t, func(t *testing.T) {
			o := &Outbox[SQLTx]{config: config{keepSettled: time.Hour}, ledger: &slowLedger{batches: batches},
				alarms: newAlarms(slog.New(slog.DiscardHandler))}
			assert.Equal(t, isDone, o.purge(t.Context(), purgeTime), "%d batches", batches)
		})
	}
}
