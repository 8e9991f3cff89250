package outbox_test

import (
	"bytes"
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox"
)

func TestProgramsWithoutRunDeleteOldEntries(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		process := func() box { // as cron or a job engine starts it
			return db.new(t, service.client(t), outbox.WithKeepSettled(time.Minute))
		}
		enqueue(t, process(), "accepted", "delivered", "dismissed", "rejected")
		service.respondTo(map[string]response{"rejected": reject})
		dismiss(t, process(), "dismissed")
		deliver(t, process(), "rejected", "delivered")
		assert.Equal(t, 1, deliverDue(t, process(), 10).Accepted)
		require.Len(t, listAll(t, process()), 4, "they are kept for a minute")
		db.shift(t, -time.Hour, "settled_at")
		deliver(t, process(), "no such key")
		assert.Equal(t, []string{"rejected"}, listed(t, process(), outbox.Filter{}))
		enqueue(t, process(), keysOf(500)...) // more than one statement deletes
		for range 10 {
			deliverDue(t, process(), 500)
		}
		db.shift(t, -time.Hour, "settled_at")
		deliverDue(t, process(), 1)
		assert.Equal(t, []string{"rejected"}, listed(t, process(), outbox.Filter{}))
	})
}

func TestATransactionOfTheProgramErasesBodiesForGood(t *testing.T) {
	for _, setting := range []string{"0", "FAST"} {
		t.Run("secure_delete="+setting, func(t *testing.T) {
			path := t.TempDir() + "/program.db"
			program := openDB(t, "sqlite", path+"?_pragma=secure_delete("+setting+")")
			program.SetMaxOpenConns(1)
			secureDelete := func() (value int) {
				require.NoError(t, program.QueryRowContext(t.Context(), `PRAGMA secure_delete`).Scan(&value))
				return value
			}
			o := newBox(t, mustStore(t, program), newService().client(t))
			before := secureDelete()
			enqueue(t, o, "taken")
			add(t, o, sized(t, "dismissed", 20_000))
			require.NoError(t, transactSQL(program)(t, func(tx outbox.SQLTx) error {
				conflict := outbox.Item{Key: "taken", Prepared: request(t, "another")}
				_, err := o.EnqueueAllTx(t.Context(), tx, outbox.Item{Key: "order", Prepared: request(t, "taken back")}, conflict)
				require.ErrorIs(t, err, outbox.ErrKeyConflict)
				_, err = o.DismissTx(t.Context(), tx, "dismissed")
				return err
			}))
			file, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.True(t, bytes.Contains(file, request(t, "taken").Body()))
			assert.False(t, bytes.Contains(file, request(t, "taken back").Body()))
			assert.False(t, bytes.Contains(file, bytes.Repeat([]byte("x"), 1000)), "of the one that was dismissed")
			assert.Equal(t, before, secureDelete())
		})
	}
}

func TestAPurgeOfDeliverIsShortAndRare(t *testing.T) {
	db := openFile(t)
	w, logs := db.watch(), new(logs)
	o := db.new(t, newService().client(t), outbox.WithLogger(logs.logger())) // with the waits of production
	var limits []time.Duration
	w.set(faults{purge: func(ctx context.Context, _ int) (int, error) {
		end, ok := ctx.Deadline()
		require.True(t, ok)
		limits = append(limits, time.Until(end))
		return 0, errBroken
	}})
	enqueue(t, o, "a", "b", "c")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := o.DeliverDue(ctx, 1)
	require.NoError(t, err)
	assert.Empty(t, limits, "nothing begins after the context has ended")
	deliver(t, o, "a")
	deliverDue(t, o, 1)
	deliver(t, o, "c")
	require.Len(t, limits, 1, "once a minute")
	assert.LessOrEqual(t, limits[0], 100*time.Millisecond)
	assert.True(t, logs.has("cannot delete old entries; retrying"), "the error is in the log alone")
	deliverDue(t, db.new(t, newService().client(t)), 1)
	require.Len(t, limits, 2)
	assert.LessOrEqual(t, limits[1], time.Second)
	assert.Greater(t, limits[1], 100*time.Millisecond)
	assert.Equal(t, 3, countsOf(t, o).Accepted)
}

func TestAPurgeWaitsForNoLockForLong(t *testing.T) {
	path := t.TempDir() + "/program.db"
	program := openDB(t, "sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(60000)")
	o := newBox(t, mustStore(t, program), newService().client(t), outbox.WithKeepSettled(time.Nanosecond))
	enqueue(t, o, "order")
	dismiss(t, o, "order")
	lock, err := openDB(t, "sqlite", path+"?_txlock=immediate").BeginTx(t.Context(), nil)
	require.NoError(t, err)
	began := time.Now()
	deliver(t, o, "no such key")
	assert.Less(t, time.Since(began), 10*time.Second, "not the minute of the program's busy_timeout")
	require.NoError(t, lock.Rollback())
}

func TestAPurgeThatNeverEndsDelaysNothing(t *testing.T) {
	_, o, w := openWatched(t)
	var purges atomic.Int32
	w.set(faults{purge: func(ctx context.Context, limit int) (int, error) {
		purges.Add(1)
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Millisecond):
			return limit, nil
		}
	}})
	require.NoError(t, o.PauseAll(t.Context()))
	stop := run(t, o)
	eventually(t, func() bool { return purges.Load() > 0 })
	add(t, o, outbox.Item{Key: "over", NotAfter: time.Now().Add(time.Millisecond)})
	eventuallyIs(t, o, "over", outbox.Rejected)
	stop()
}
