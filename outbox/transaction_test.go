package outbox_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

func itemsOf(t testing.TB, keys ...string) (all []outbox.Item) {
	for _, key := range keys {
		all = append(all, outbox.Item{Key: key, Prepared: request(t, key)})
	}
	return all
}

func TestWhatIsEnqueuedFollowsItsTransactionAllOrNone(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		enqueue(t, o, "m")
		for _, end := range []error{errBroken, nil} {
			require.ErrorIs(t, db.within(t, o, func(tx inTx) error {
				entry, err := tx.enqueue("one", request(t, "one"))
				require.NoError(t, err)
				assert.False(t, entry.Present)
				_, err = tx.enqueue("m", request(t, "another"))
				require.ErrorIs(t, err, outbox.ErrKeyConflict)
				again, err := tx.enqueue("one", request(t, "one"))
				require.NoError(t, err, "the transaction can be used after the conflict")
				assert.True(t, again.Present)

				entries, err := tx.enqueueAll(itemsOf(t, "z", "m", "a", "z")...)
				require.NoError(t, err)
				var keys []string
				var present []bool
				for _, e := range entries {
					keys, present = append(keys, e.Key), append(present, e.Present)
				}
				assert.Equal(t, []string{"z", "m", "a", "z"}, keys)
				assert.Equal(t, []bool{false, true, false, true}, present)

				conflicting := itemsOf(t, "b", "m", "c", "a")
				conflicting[1].Prepared = request(t, "another")
				entries, err = tx.enqueueAll(conflicting...)
				require.ErrorIs(t, err, outbox.ErrKeyConflict)
				require.ErrorContains(t, err, `"m"`)
				assert.Empty(t, entries)
				_, err = tx.enqueueAll(itemsOf(t, "d")...)
				require.NoError(t, err, "the transaction is usable")
				return end
			}), end)
			if end != nil {
				assert.Equal(t, []string{"m"}, listed(t, o, outbox.Filter{}))
			}
		}
		run(t, o)
		eventuallyAccepted(t, o, 5)
		assert.ElementsMatch(t, []string{"m", "one", "a", "z", "d"}, listed(t, o, outbox.Filter{}))
		service.carriedOutOnce(t, "m", "one", "a", "z", "d")
	})
}

// failingTx is a transaction that fails at one of its INSERT statements.
type failingTx struct {
	*sql.Tx
	inserts int // that succeed
	fail    func() error
}

func (f *failingTx) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	if strings.HasPrefix(statement, "INSERT") {
		if f.inserts--; f.inserts < 0 {
			if err := f.fail(); err != nil {
				return nil, err
			}
		}
	}
	return f.Tx.QueryContext(ctx, statement, args...)
}

func TestEnqueueAllTxThatFailsOnSQLiteAddsNoneAndTheRestIsCommitted(t *testing.T) {
	for name, inserts := range map[string]int{"at the first statement": 0, "at the second statement": 1, "in the second batch": 11} {
		t.Run(name, func(t *testing.T) {
			program, store := openProgram(t)
			o := newBox(t, store, newService().client(t))
			for _, canceled := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tx, err := program.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				_, err = tx.ExecContext(t.Context(), `CREATE TABLE IF NOT EXISTS orders (id INTEGER)`)
				require.NoError(t, err)
				_, err = o.EnqueueAllTx(ctx, &failingTx{tx, inserts, func() error {
					if canceled {
						cancel()
						return nil
					}
					return errBroken
				}}, itemsOf(t, keysOf(1250)...)...)
				require.Error(t, err)
				_, err = o.EnqueueTx(t.Context(), tx, outbox.Item{Key: "another", Prepared: request(t, "another")})
				require.NoError(t, err)
				require.NoError(t, tx.Commit())
				assert.Equal(t, []string{"another"}, listed(t, o, outbox.Filter{}))
			}
		})
	}
}

func TestTheSameKeysInOppositeOrderDoNotDeadlock(t *testing.T) {
	for name, enqueue := range map[string]func(*testing.T, *database, box, []outbox.Item) error{
		"EnqueueAllTx": func(t *testing.T, db *database, o box, items []outbox.Item) error {
			return db.within(t, o, func(tx inTx) error {
				_, err := tx.enqueueAll(items...)
				return err
			})
		},
		"EnqueueAll": func(t *testing.T, _ *database, o box, items []outbox.Item) error {
			_, err := o.EnqueueAll(t.Context(), each(items))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := openPgx(t)
			o := db.new(t, newService().client(t))
			forward := itemsOf(t, keysOf(3000)...) // more than one statement adds
			backward := slices.Clone(forward)
			slices.Reverse(backward)
			var group sync.WaitGroup
			for _, items := range [][]outbox.Item{forward, backward, forward, backward} {
				group.Go(func() { assert.NoError(t, enqueue(t, db, o, items)) })
			}
			group.Wait()
			assert.Len(t, listed(t, o, outbox.Filter{}), len(forward))
		})
	}
}

func TestDismissTxWithdrawsAnEntryInTheTransactionThatCancels(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		enqueue(t, o, "kept", "withdrawn", "doubtful", "claimed")
		db.crash(t, "doubtful")
		db.endLeases(t)
		require.Equal(t, 1, changed(resend(t, o, "doubtful")))
		db.claim(t, "claimed")
		require.ErrorIs(t, db.within(t, o, func(tx inTx) error {
			_, err := tx.dismiss("kept")
			require.NoError(t, err)
			return errBroken
		}), errBroken)
		assert.Equal(t, outbox.Pending, stateOf(t, o, "kept"))
		require.NoError(t, db.within(t, o, func(tx inTx) error {
			decisions, err := tx.dismiss("withdrawn", "unknown", "doubtful", "claimed", "withdrawn")
			for i := range decisions {
				decisions[i].RetryAt = time.Time{}
			}
			assert.Equal(t, []outbox.Decision{
				{Key: "withdrawn", Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryNotSent},
				{Key: "unknown", Reason: outbox.ReasonUnknown},
				{Key: "doubtful", Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryUnknown},
				{Key: "claimed", State: outbox.Sending, Delivery: messaging.DeliveryUnknown, Reason: outbox.ReasonSending},
				{Key: "withdrawn", Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryNotSent},
			}, decisions)
			return err
		}))
		assert.Equal(t, outbox.Delivered{Accepted: 1}, deliver(t, o, "kept", "withdrawn", "doubtful"))
		assert.Equal(t, 1, service.requests())
	})
}

func TestAnOpenTransactionDelaysOnlyTheOutcomesOfItsOwnEntries(t *testing.T) {
	db := openPgx(t)
	_, o := db.start(t)
	enqueue(t, o, "locked", "free")
	token := db.crash(t, "locked", "free")
	outcomes := []ledger.Outcome{{ID: entryOf(t, o, "locked").ID, Token: token, State: ledger.Accepted},
		{ID: entryOf(t, o, "free").ID, Token: token, State: ledger.Accepted}}
	db.whileLocked(t, o, "locked", func() {
		settled, _, err := db.ledger.Settle(t.Context(), outcomes)
		require.NoError(t, err)
		assert.Equal(t, []ledger.Settled{ledger.Locked, ledger.Applied}, settled)
	})
	settled, _, err := db.ledger.Settle(t.Context(), outcomes)
	require.NoError(t, err)
	assert.Equal(t, []ledger.Settled{ledger.Applied, ledger.Applied}, settled)
}

func TestWhatIsNoTransactionIsRejected(t *testing.T) {
	db := openDB(t, "sqlite", filepath.Join(t.TempDir(), "program.db"))
	o := newBox(t, mustStore(t, db), newService().client(t))
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = o.EnqueueTx(t.Context(), nil, outbox.Item{Key: "order", Prepared: request(t, "order")})
	require.EqualError(t, err, `outbox: enqueue entry "order": tx must not be nil`)
	for _, tx := range []outbox.SQLTx{db, conn, (*sql.Tx)(nil)} {
		_, err := o.EnqueueTx(t.Context(), tx, outbox.Item{Key: "order", Prepared: request(t, "order")})
		require.ErrorIs(t, err, outbox.ErrNoTransaction)
		_, err = o.EnqueueAllTx(t.Context(), tx, itemsOf(t, "order")...)
		require.ErrorIs(t, err, outbox.ErrNoTransaction)
		_, err = o.DismissTx(t.Context(), tx, "order")
		require.ErrorIs(t, err, outbox.ErrNoTransaction)
	}
	assert.Empty(t, listed(t, o, outbox.Filter{}))
}

func TestResendAllAndDismissAllGoThroughWhatTheFilterSelects(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.always(reject)
		keys := append(keysOf(520), "unclear")
		enqueue(t, o, keys...)
		deliver(t, o, keys[:520]...)
		db.crash(t, "unclear")
		for _, invalid := range []outbox.Filter{{}, {State: outbox.Accepted}, {State: outbox.Pending}, {State: "other"}} {
			_, err := o.ResendAll(t.Context(), invalid)
			require.Error(t, err)
		}
		decided, err := o.ResendAll(t.Context(), outbox.Filter{State: outbox.Unclear})
		require.NoError(t, err)
		assert.Equal(t, outbox.Decided{Skipped: 1, RetryAt: decided.RetryAt}, decided)
		assert.True(t, decided.RetryAt.After(time.Now()))
		past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		for _, none := range []outbox.Filter{
			{State: outbox.Rejected, Operation: "create event"},
			{State: outbox.Rejected, EnqueuedAfter: future},
			{State: outbox.Rejected, EnqueuedBefore: past},
			{State: outbox.Rejected, ErrorContains: "INVALID"},
		} {
			decided, err := o.ResendAll(t.Context(), none)
			require.NoError(t, err)
			assert.Zero(t, decided)
		}
		decided, err = o.ResendAll(t.Context(), outbox.Filter{State: outbox.Rejected, Operation: triggerEvent, EnqueuedAfter: past,
			EnqueuedBefore: future, ErrorContains: "invalid"})
		require.NoError(t, err)
		assert.Equal(t, outbox.Decided{Changed: 520}, decided)
		decided, err = o.DismissAll(t.Context(), outbox.Filter{State: outbox.Pending})
		require.NoError(t, err)
		assert.Equal(t, outbox.Decided{Changed: 520}, decided)
	})
}
