package outbox_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
)

// settle records an outcome as the process that has the token does.
func (db *database) settle(t testing.TB, o box, token ledger.Token, key string, state ledger.State,
	delivery messaging.Delivery) (applied bool) {
	entry := entryOf(t, o, key)
	applies, _, err := db.ledger.Settle(t.Context(), []ledger.Outcome{{ID: entry.ID, Token: token, State: state, Delivery: delivery,
		Doubts: db.doubts[key]}})
	require.NoError(t, err)
	return applies[0] == ledger.Applied
}

// repeat is how the tests sweep repeatable entries.
var repeat = ledger.Repeat{Doubts: 5, First: time.Hour, Longest: 2 * time.Hour}

// crash makes entries unclear as a process does that crashes while it sends them.
func (db *database) crash(t testing.TB, keys ...string) ledger.Token {
	token := db.claim(t, keys...)
	db.endLeases(t)
	swept, err := db.ledger.Sweep(t.Context(), 1000, repeat)
	require.NoError(t, err)
	require.Equal(t, len(keys), swept.Unclear+swept.Pending)
	return token
}

func TestEntriesOfACrashedProcessBecomeUnclearAndAreNotSent(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service := newService()
		o := db.new(t, service.client(t), outbox.Fast())
		enqueue(t, o, "crashed", "alive", "free")
		db.claim(t, "crashed")
		db.endLeases(t)
		db.claim(t, "alive")
		run(t, o)
		eventuallyIs(t, o, "free", outbox.Accepted)
		eventuallyIs(t, o, "crashed", outbox.Unclear)
		assert.Equal(t, outbox.Sending, stateOf(t, o, "alive"))
		assert.Equal(t, []string{"crashed"}, listed(t, o, outbox.Filter{State: outbox.Unclear}))
		entry := entryOf(t, o, "crashed")
		assert.Equal(t, "the process that sent it did not report the outcome in time", entry.Error)
		assert.Equal(t, messaging.DeliveryUnknown, entry.Delivery)
		assert.Equal(t, 1, service.requests())
	})
}

func TestTheSweepObservesTheSendTimeoutOfTheClaimer(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service := newService()
		began, end := make(chan struct{}), make(chan struct{})
		service.always(acceptAfter(func() {
			close(began)
			<-end
		}))
		patient := db.new(t, service.client(t), outbox.Fast(), outbox.WithLease(time.Minute, time.Minute))
		hasty := db.new(t, service.client(t), outbox.Fast(), outbox.WithLease(time.Millisecond, time.Millisecond))
		enqueue(t, patient, "order")
		stop := run(t, patient)
		<-began
		for range 3 { // each sweeps
			deliver(t, hasty, "order")
			time.Sleep(60 * time.Millisecond)
		}
		assert.Equal(t, outbox.Sending, stateOf(t, hasty, "order"))
		close(end)
		stop()
		assert.Equal(t, outbox.Accepted, stateOf(t, hasty, "order"))
	})
}

func TestTheClockIsThatOfTheDatabase(t *testing.T) {
	url := pgtest.URL(t)
	synctest.Test(t, func(t *testing.T) { // where the clock of the program is in the year 2000
		ctx := context.Background()
		pool, err := pgxpool.New(ctx, url)
		require.NoError(t, err)
		defer pool.Close() // before the bubble ends
		require.NoError(t, postgres.Migrate(ctx, pool))
		store, err := postgres.New(ctx, pool)
		require.NoError(t, err)
		o, l := newBox(t, store, newService().client(t)), ledger.Open(store.Ledger())
		var inAnHour time.Time
		require.NoError(t, pool.QueryRow(ctx, `SELECT now() + interval '1 hour'`).Scan(&inAnHour))
		for _, item := range []outbox.Item{{Key: "over"}, {Key: "held"}, {Key: "reminder", NotBefore: inAnHour}} {
			item.Prepared = request(t, item.Key)
			_, err := o.Enqueue(ctx, item)
			require.NoError(t, err)
		}
		for key, lease := range map[string]time.Duration{"over": time.Millisecond, "held": time.Minute} {
			claimed, err := l.Claim(ctx, ledger.Claim{Token: ledger.Token{1}, Lease: lease, Limit: 1,
				Look: triggers, Keys: []string{key}, MaxBytes: 1 << 20})
			require.NoError(t, err)
			require.Len(t, claimed, 1, "an entry is due by the clock of the database")
		}
		_, err = pool.Exec(ctx, `SELECT pg_sleep(0.01)`)
		require.NoError(t, err)
		swept, err := l.Sweep(ctx, 10, repeat)
		require.NoError(t, err)
		assert.Equal(t, ledger.Swept{Unclear: 1}, swept)
		found, err := l.List(ctx, ledger.Filter{State: ledger.Unclear}, 0, 10)
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.Equal(t, "over", found[0].Key)

		delivered, err := o.Deliver(ctx, "reminder")
		require.NoError(t, err)
		assert.InDelta(t, time.Hour, delivered.RetryAfter, float64(time.Minute))
		delivered, err = o.DeliverDue(ctx, 1)
		require.NoError(t, err)
		assert.InDelta(t, time.Hour, delivered.RetryAfter, float64(time.Minute))
	})
}

func TestALateOutcomeReplacesUnclear(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		keys := []string{"accepted", "rejected", "not sent", "unknown"}
		enqueue(t, o, keys...)
		token := db.crash(t, keys...)
		for i, late := range []struct {
			state    ledger.State
			delivery messaging.Delivery
			want     outbox.State
		}{
			{ledger.Accepted, messaging.DeliveryAccepted, outbox.Accepted},
			{ledger.Rejected, messaging.DeliveryRejected, outbox.Rejected},
			{ledger.Pending, messaging.DeliveryNotSent, outbox.Pending},
			{ledger.Unclear, messaging.DeliveryUnknown, outbox.Unclear},
		} {
			key := keys[i]
			assert.False(t, db.settle(t, o, ledger.Token{2}, key, late.state, late.delivery), "not with another token")
			assert.Equal(t, outbox.Unclear, stateOf(t, o, key))
			assert.True(t, db.settle(t, o, token, key, late.state, late.delivery), key)
			assert.True(t, db.settle(t, o, token, key, late.state, late.delivery), "again, because the response was lost")
			assert.Equal(t, late.want, stateOf(t, o, key))
		}
	})
}

// A process is paused, or its response to a commit is lost, and it records an outcome again.
func TestSettleRecordsAnOutcomeForItsTokenOnceAndUndoesNoResend(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "order", "two tokens")
		token := db.claim(t, "order", "two tokens")
		assert.True(t, db.settle(t, o, token, "order", ledger.Rejected, 0))
		require.Equal(t, 1, changed(resend(t, o, "order")))
		assert.False(t, db.settle(t, o, token, "order", ledger.Rejected, 0))
		assert.Equal(t, outbox.Pending, stateOf(t, o, "order"))

		id := entryOf(t, o, "two tokens").ID
		applied, _, err := db.ledger.Settle(t.Context(), []ledger.Outcome{
			{ID: id, Token: token, State: ledger.Accepted}, {ID: id, Token: ledger.Token{9}, State: ledger.Rejected}})
		require.NoError(t, err)
		assert.Equal(t, []ledger.Settled{ledger.Applied, ledger.Ignored}, applied)
	})
}

func TestALateOutcomePreventsTheSecondSendAfterResend(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service := newService()
		o := db.new(t, service.client(t), outbox.Fast())
		keys := []string{"accepted", "rejected", "not sent", "unknown", "claimed again"}
		enqueue(t, o, keys...)
		token := db.crash(t, keys...)
		db.endLeases(t)
		assert.Equal(t, 5, changed(resend(t, o, keys...)))
		_, err := db.ledger.Claim(t.Context(), ledger.Claim{Token: ledger.Token{7}, Lease: time.Minute, Limit: 1, Look: triggers,
			Keys: []string{"claimed again"}, MaxBytes: 1 << 20})
		require.NoError(t, err)

		assert.True(t, db.settle(t, o, token, "accepted", ledger.Accepted, messaging.DeliveryAccepted))
		assert.True(t, db.settle(t, o, token, "rejected", ledger.Rejected, messaging.DeliveryRejected))
		db.settle(t, o, token, "not sent", ledger.Pending, messaging.DeliveryNotSent)
		assert.False(t, db.settle(t, o, token, "unknown", ledger.Unclear, messaging.DeliveryUnknown))
		assert.False(t, db.settle(t, o, token, "claimed again", ledger.Accepted, messaging.DeliveryAccepted),
			"the token belongs to the new claim")

		assert.Equal(t, outbox.Delivered{Accepted: 3, Rejected: 1, Busy: []string{"claimed again"},
			More: true, RetryAfter: 500 * time.Millisecond}, deliver(t, o, keys...))
		for i, count := range []int{0, 0, 1, 1, 0} {
			assert.Equal(t, count, service.carriedOut(keys[i]), keys[i])
		}
	})
}

func TestAnEntryThatWasUnclearStaysSoUntilItIsSettled(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "resent", "new")
		db.crash(t, "resent")
		db.endLeases(t)
		require.Equal(t, 1, changed(resend(t, o, "resent")))
		token := db.claim(t, "resent", "new")
		for key, delivery := range map[string]messaging.Delivery{
			"resent": messaging.DeliveryUnknown, // the first send may have been carried out
			"new":    messaging.DeliveryNotSent,
		} {
			assert.True(t, db.settle(t, o, token, key, ledger.Pending, messaging.DeliveryNotSent))
			entry := entryOf(t, o, key)
			assert.Equal(t, outbox.Pending, entry.State)
			assert.Equal(t, delivery, entry.Delivery, key)
		}
	})
}

func TestResendSkipsAnEntryWhoseProcessMayBeAlive(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "swept", "reported", "quarantined")
		token := db.crash(t, "swept", "reported")
		db.settle(t, o, token, "reported", ledger.Unclear, messaging.DeliveryUnknown)
		db.claim(t, "quarantined")
		quarantined, err := o.Quarantine(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, quarantined)
		n := resend(t, o, "swept", "reported", "quarantined", "unknown")
		for i, why := range []outbox.Reason{outbox.ReasonMayBeAlive, "", outbox.ReasonMayBeAlive, outbox.ReasonAbsent} {
			assert.Equal(t, why, n[i].Reason, n[i].Key)
			assert.Equal(t, why == outbox.ReasonMayBeAlive, n[i].RetryAt.After(time.Now()), n[i].Key)
		}
		assert.Equal(t, outbox.Pending, stateOf(t, o, "reported"))
		db.endLeases(t)
		assert.Equal(t, 2, changed(resend(t, o, "swept", "reported", "quarantined")), "a lease later")
	})
}

func TestAnAcceptanceIsRecordedAfterDismissAndNotAfterQuarantine(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service := newService()
		o := db.new(t, service.client(t), outbox.Fast())
		enqueue(t, o, "dismissed", "quarantined", "never claimed")
		token := db.crash(t, "dismissed")
		decisions := dismiss(t, o, "dismissed", "unknown")
		assert.Equal(t, []outbox.Decision{
			{Key: "dismissed", Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryUnknown},
			{Key: "unknown", Reason: outbox.ReasonAbsent}}, decisions)
		other := db.claim(t, "quarantined")
		n, err := o.Quarantine(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, n)
		assert.False(t, db.settle(t, o, token, "dismissed", ledger.Rejected, messaging.DeliveryRejected))
		assert.Equal(t, outbox.Dismissed, stateOf(t, o, "dismissed"))
		assert.True(t, db.settle(t, o, token, "dismissed", ledger.Accepted, messaging.DeliveryAccepted))
		assert.Equal(t, outbox.Accepted, stateOf(t, o, "dismissed"))
		assert.False(t, db.settle(t, o, other, "quarantined", ledger.Accepted, messaging.DeliveryAccepted))
		assert.Equal(t, []string{"quarantined", "never claimed"}, listed(t, o, outbox.Filter{State: outbox.Unclear}))
		assert.Equal(t, outbox.Delivered{Accepted: 1, Unclear: 2}, deliver(t, o, "dismissed", "quarantined", "never claimed"))
		assert.Zero(t, service.requests())
	})
}

func TestOnSettledIsCalledOncePerTransition(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		service.respondTo(map[string]response{"rejected": reject, "lost": lose})
		var mu sync.Mutex
		settled := make(map[string][]outbox.State)
		called := func(key string) []outbox.State {
			mu.Lock()
			defer mu.Unlock()
			return settled[key]
		}
		o := db.new(t, service.client(t), outbox.Fast(), outbox.WithOnSettled(func(ctx context.Context, e outbox.Entry) {
			if found, err := db.ledger.Find(ctx, []string{e.Key}); assert.NoError(t, err) { // with no connection held
				assert.Equal(t, e.ID, found[0].ID)
				assert.WithinDuration(t, found[0].SettledAt, e.SettledAt, time.Second)
			}
			mu.Lock()
			defer mu.Unlock()
			settled[e.Key] = append(settled[e.Key], e.State)
		}))
		enqueue(t, o, "accepted", "rejected", "lost", "crashed")
		db.claim(t, "crashed")
		db.endLeases(t)
		run(t, o)
		eventually(t, func() bool {
			return len(called("accepted")) > 0 && len(called("rejected")) > 0 && len(called("lost")) > 0
		})
		eventuallyIs(t, o, "crashed", outbox.Unclear)
		db.endLeases(t)
		require.Equal(t, 2, changed(resend(t, o, "lost", "crashed")))
		eventually(t, func() bool { return len(called("lost")) == 2 && len(called("crashed")) == 1 })
		time.Sleep(150 * time.Millisecond) // in which nothing may happen
		for key, want := range map[string][]outbox.State{
			"accepted": {outbox.Accepted}, "rejected": {outbox.Rejected}, "lost": {outbox.Unclear, outbox.Unclear},
			"crashed": {outbox.Accepted}, // by this process
		} {
			assert.Equal(t, want, called(key), key)
		}
	})
}

func TestAnEntryIsNotSentByAProcessThatWasPaused(t *testing.T) {
	service, db := newService(), openFile(t)
	w := db.watch()
	o := db.new(t, service.client(t), outbox.Fast(), outbox.WithLease(time.Second, time.Minute))
	var once sync.Once
	w.set(faults{afterClaim: func(claimed []ledger.Claimed) ([]ledger.Claimed, error) {
		once.Do(func() { time.Sleep(1100 * time.Millisecond) })
		return claimed, nil
	}})
	enqueue(t, o, "order")
	assert.Equal(t, []string{"order"}, deliver(t, o, "order").Later)
	assert.Zero(t, service.requests())
	assert.Equal(t, "not begun: the process was paused", entryOf(t, o, "order").Error)
	patient := db.new(t, service.client(t), outbox.Fast())
	assert.Equal(t, 1, deliver(t, patient, "order").Accepted)
}
