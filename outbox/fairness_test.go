package outbox_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

func TestACallWaitsForNoClaimThatMayHaveBeenCommitted(t *testing.T) {
	for name, failure := range map[string]error{"rolled back by the server": &pgconn.PgError{Code: "57014"}, "unknown": errBroken} {
		t.Run(name, func(t *testing.T) {
			o, f := openFaulty(t, newService().client(t))
			enqueue(t, o, "order")
			f.set(faults{afterClaim: func([]ledger.Claimed) ([]ledger.Claimed, error) { return nil, failure }})
			began := time.Now()
			_, err := o.Deliver(t.Context(), "order")
			require.ErrorIs(t, err, failure)
			_, err = o.DeliverDue(t.Context(), 1)
			if err != nil {
				require.ErrorIs(t, err, failure)
			}
			assert.Less(t, time.Since(began), 30*time.Second, "not ten leases")
		})
	}
}

func TestAnUnclaimedEntryIsWhatItWasBeforeTheClaim(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "claimed", "swept")
		before, err := o.Get(t.Context(), "claimed")
		require.NoError(t, err)
		token := db.crash(t, "claimed", "swept")
		n, err := db.ledger.Unclaim(t.Context(), token)
		require.NoError(t, err)
		assert.Equal(t, 2, n)
		after, err := o.Get(t.Context(), "claimed")
		require.NoError(t, err)
		assert.Equal(t, before, after)
	})
}

func TestALockedEntryStopsNoOthers(t *testing.T) {
	for name, urgent := range map[string]bool{"an urgent one": true, "an old one": false} {
		t.Run(name, func(t *testing.T) {
			db := openPgx(t)
			o := db.new(t, newService().client(t), outbox.Fast())
			add := func(urgent bool, keys ...string) {
				for _, key := range keys {
					_, err := o.Enqueue(t.Context(), outbox.Item{Key: key, Prepared: request(t, key), Urgent: urgent})
					require.NoError(t, err)
				}
			}
			add(urgent, "locked")
			add(!urgent, keysOf(60)...)
			require.ErrorIs(t, db.within(t, o, func(tx inTx) error {
				_, err := tx.dismiss("locked")
				require.NoError(t, err)
				run(t, o)
				eventually(t, func() bool {
					counts, err := o.Counts(t.Context())
					require.NoError(t, err)
					return counts.Accepted == 60
				})
				return errBroken
			}), errBroken)
			eventually(t, func() bool { return stateOf(t, o, "locked") == outbox.Accepted })
		})
	}
}

func TestDeniedEntriesGetAnEighthOfTheClaims(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service := newService()
		good := 0
		service.set(func(key string) response {
			if strings.HasPrefix(key, "denied") {
				return missing
			}
			good++
			return accept
		})
		o := db.new(t, service.client(t), outbox.Fast(), outbox.WithInFlight(1))
		for i := range 16 {
			enqueue(t, o, fmt.Sprint("denied ", i))
		}
		_, err := o.DeliverDue(t.Context(), 16)
		require.NoError(t, err)
		require.Equal(t, 16, service.requests())
		time.Sleep(500 * time.Millisecond) // all are due again
		enqueue(t, o, keysOf(32)...)
		_, err = o.DeliverDue(t.Context(), 32)
		require.NoError(t, err)
		assert.Equal(t, 48, service.requests())
		assert.InDelta(t, 28, good, 1, "7 of 8")
	})
}

func TestASealerThatIsDownMakesNoStorm(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		failing := false
		o := db.new(t, newService().client(t), outbox.Fast(), outbox.WithSealer(reversed{&failing}))
		_, _, err := o.EnqueueAll(t.Context(), items(t, keysOf(200)))
		require.NoError(t, err)
		failing = true
		stop := run(t, o)
		time.Sleep(500 * time.Millisecond) // with a probe at most every 20 ms
		counts, err := o.Counts(t.Context())
		require.NoError(t, err)
		assert.Equal(t, map[string]string{triggerEvent: "open sealed request"}, counts.Breakers)
		stop()
		found, err := db.ledger.Find(t.Context(), keysOf(200))
		require.NoError(t, err)
		claims := 0
		for _, e := range found {
			claims += e.Attempts
		}
		assert.LessOrEqual(t, claims, 50)
	})
}

func TestAPanicOfAGuardConcernsItsEntryAlone(t *testing.T) {
	service, logs := newService(), new(logs)
	client := service.client(t, messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error {
		if keyOf(p) == "panics" {
			panic("guard")
		}
		return nil
	}))
	o := openFile(t).new(t, client, outbox.Fast(), outbox.WithLogger(logs.logger()),
		outbox.WithOnSettled(func(context.Context, outbox.Entry) { panic("settled") }))
	enqueue(t, o, "before", "panics")
	stop := run(t, o)
	eventually(t, func() bool {
		return stateOf(t, o, "panics") == outbox.Unclear && stateOf(t, o, "before") == outbox.Accepted
	})
	enqueue(t, o, "after")
	eventually(t, func() bool { return stateOf(t, o, "after") == outbox.Accepted })
	stop()
	assert.True(t, logs.has("panic in the client") && logs.has("panic in WithOnSettled") && logs.has("goroutine"))
}

func TestALateAcceptanceIsRecordedAfterNotAfter(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		_, err := o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: request(t, "order"), NotAfter: time.Now().Add(time.Second)})
		require.NoError(t, err)
		token := db.crash(t, "order")
		db.endLeases(t)
		_, err = o.Resend(t.Context(), "order")
		require.NoError(t, err)
		require.Equal(t, outbox.Pending, stateOf(t, o, "order"))
		time.Sleep(time.Second)
		_, err = db.ledger.Expire(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, outbox.Rejected, stateOf(t, o, "order"))
		assert.True(t, db.settle(t, o, token, "order", ledger.Accepted, messaging.DeliveryAccepted))
		assert.Equal(t, outbox.Accepted, stateOf(t, o, "order"))
	})
}

func TestAClockThatIsSetBackDelaysNothingThatWaitsForNoTime(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		o := db.new(t, service.client(t), outbox.Fast())
		enqueue(t, o, "order")
		if db.isSQLite { // as if the clock had been an hour ahead
			db.exec(t, `UPDATE outbox_entry SET created_at = created_at + 3600000, due_since = due_since + 3600000`)
		} else {
			db.exec(t, `UPDATE outbox_entry SET created_at = created_at + interval '1 hour', due_since = due_since + interval '1 hour'`)
		}
		delivered, err := o.DeliverDue(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, 1, delivered.Accepted)
	})
}

func TestAClaimAndALookBeginAfterAPosition(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "a", "b")
		after := triggers
		for _, key := range []string{"a", "b"} {
			due, err := db.ledger.Due(t.Context(), []ledger.Look{after})
			require.NoError(t, err)
			assert.Len(t, due, 1)
			claimed, err := db.ledger.Claim(t.Context(), ledger.Claim{Token: ledger.Token{1}, Lease: time.Minute, Limit: 1, Look: after,
				MaxBytes: 1 << 20})
			require.NoError(t, err)
			require.Len(t, claimed, 1)
			assert.Equal(t, key, claimed[0].Key)
			after.After = claimed[0].Position
			n, err := db.ledger.Unclaim(t.Context(), ledger.Token{1})
			require.NoError(t, err)
			assert.Equal(t, 1, n)
		}
		due, err := db.ledger.Due(t.Context(), []ledger.Look{after})
		require.NoError(t, err)
		assert.Empty(t, due, "both are before it")
	})
}

func TestRunLooksFromItsLastClaimAndEachSecondFromTheStart(t *testing.T) {
	store, err := sqlitefile.Open(t.Context(), filepath.Join(t.TempDir(), "outbox.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	w := &weighed[outbox.SQLTx]{TxLedger: store.Ledger()}
	o := newBox(t, w, newService().client(t), []outbox.Option{outbox.Fast()})
	enqueue(t, o, "order")
	stop := run(t, o)
	eventually(t, func() bool {
		looks := w.looksAt(triggers.Class)
		further := slices.IndexFunc(looks, ledger.Position{}.Before)
		return further >= 0 && slices.Contains(looks[further:], ledger.Position{})
	})
	stop()
}

// endless is a ledger whose purge never comes to an end.
type endless struct {
	ledger.TxLedger[outbox.SQLTx]
	purges atomic.Int32
}

func (e *endless) Ledger() ledger.TxLedger[outbox.SQLTx] { return e }

func (e *endless) Purge(_ context.Context, _ time.Duration, limit int) (int, error) {
	e.purges.Add(1)
	time.Sleep(time.Millisecond)
	return limit, nil
}

func TestAPurgeDelaysNothing(t *testing.T) {
	store, err := sqlitefile.Open(t.Context(), filepath.Join(t.TempDir(), "outbox.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	e := &endless{TxLedger: store.Ledger()}
	o := newBox(t, e, newService().client(t), []outbox.Option{outbox.Fast()})
	enqueue(t, o, "a", "b")
	_, err = o.Deliver(t.Context(), "a")
	require.NoError(t, err)
	_, err = o.DeliverDue(t.Context(), 1)
	require.NoError(t, err)
	assert.Zero(t, e.purges.Load(), "only Run purges")
	require.NoError(t, o.PauseAll(t.Context()))
	stop := run(t, o)
	eventually(t, func() bool { return e.purges.Load() > 0 })
	_, err = o.Enqueue(t.Context(), outbox.Item{Key: "over", Prepared: request(t, "over"), NotAfter: time.Now().Add(time.Millisecond)})
	require.NoError(t, err)
	eventually(t, func() bool { return stateOf(t, o, "over") == outbox.Rejected })
	stop()
}
