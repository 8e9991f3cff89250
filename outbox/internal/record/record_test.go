package record

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// slow is a ledger whose transactions take a while.
type slow struct {
	ledger.Ledger
	takes   time.Duration
	batches []int
}

func (s *slow) Settle(_ context.Context, outcomes []ledger.Outcome) ([]ledger.Settled, time.Time, error) {
	time.Sleep(s.takes)
	s.batches = append(s.batches, len(outcomes))
	settled := make([]ledger.Settled, len(outcomes))
	for i := range settled {
		settled[i] = ledger.Applied
	}
	return settled, time.Now(), nil
}

func TestOutcomesThatArriveOneAfterTheOtherAreRecordedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{takes: 2500 * time.Microsecond}
		r := New(s, slog.New(slog.DiscardHandler), time.Second)
		var sends sync.WaitGroup
		for range 64 {
			time.Sleep(time.Millisecond)
			sends.Go(func() {
				applied, _, err := r.Record(ledger.Outcome{}, new(Stop))
				assert.True(t, applied)
				assert.NoError(t, err)
			})
		}
		sends.Wait()
		time.Sleep(pause) // until no more outcomes are waited for
		assert.LessOrEqual(t, len(s.batches), 12, "%d", s.batches)
	})
}

func TestAnOutcomeIsRecordedAtOnceWhenNoOthersArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(new(slow), slog.New(slog.DiscardHandler), time.Second)
		start := time.Now()
		for range 3 {
			_, _, err := r.Record(ledger.Outcome{}, new(Stop))
			assert.NoError(t, err)
		}
		assert.Zero(t, time.Since(start))
	})
}

func TestAStopHasHappenedEvenIfTheClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		stop := StopOf(ctx)
		defer stop.End()
		assert.False(t, stop.Happened())
		cancel()
		assert.True(t, stop.Happened())
		assert.Zero(t, stop.Since(time.Time{}), "no time has passed")
		assert.False(t, new(Stop).Happened())
	})
}
