package outbox_test

import (
	"context"
	"net/http"
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
	entry, err := o.Get(t.Context(), key)
	require.NoError(t, err)
	applies, _, err := db.ledger.Settle(t.Context(), []ledger.Outcome{{ID: entry.ID, Token: token, State: state, Delivery: delivery}})
	require.NoError(t, err)
	return applies[0] == ledger.Applied
}

// crash makes entries unclear as a process does that crashes while it sends them.
func (db *database) crash(t testing.TB, keys ...string) ledger.Token {
	token := db.claim(t, keys...)
	db.endLeases(t)
	swept, err := db.ledger.Sweep(t.Context(), 1000)
	require.NoError(t, err)
	require.Equal(t, len(keys), swept)
	return token
}

func TestEntriesOfACrashedProcessBecomeUnclearAndAreNotSent(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		o := db.new(t, service.client(t), outbox.Fast())
		enqueue(t, o, "crashed", "alive", "free")
		db.claim(t, "crashed")
		db.endLeases(t)
		db.claim(t, "alive")
		run(t, o)
		eventually(t, func() bool {
			return stateOf(t, o, "free") == outbox.Accepted && stateOf(t, o, "crashed") == outbox.Unclear
		})
		assert.Equal(t, outbox.Sending, stateOf(t, o, "alive"))
		assert.Equal(t, []string{"crashed"}, listed(t, o, outbox.Filter{State: outbox.Unclear}))
		entry, err := o.Get(t.Context(), "crashed")
		require.NoError(t, err)
		assert.Equal(t, "the process that sent it did not report the outcome in time", entry.Error)
		assert.Equal(t, messaging.DeliveryUnknown, entry.Delivery)
		assert.Equal(t, 1, service.requests())
	})
}

func TestTheSweepObservesTheSendTimeoutOfTheClaimer(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		began, end := make(chan struct{}), make(chan struct{})
		service.always(response{status: 200, body: accept.body, before: func(*http.Request) {
			close(began)
			<-end
		}})
		patient := db.new(t, service.client(t), outbox.Fast(), outbox.WithLease(time.Minute, time.Minute))
		hasty := db.new(t, service.client(t), outbox.Fast(), outbox.WithLease(time.Millisecond, time.Millisecond))
		enqueue(t, patient, "order")
		stop := run(t, patient)
		<-began
		for range 3 { // each sweeps
			_, err := hasty.Deliver(t.Context(), "order")
			require.NoError(t, err)
			time.Sleep(60 * time.Millisecond)
		}
		assert.Equal(t, outbox.Sending, stateOf(t, hasty, "order"))
		close(end)
		stop()
		assert.Equal(t, outbox.Accepted, stateOf(t, hasty, "order"))
	})
}

// openPostgres opens a database that has no tables yet. The caller closes the pool, before
// its synctest bubble ends.
func openPostgres(t *testing.T, ctx context.Context, url string) (*pgxpool.Pool, *postgres.Store) {
	t.Helper()
	pool, err := pgxpool.New(ctx, url)
	require.NoError(t, err)
	require.NoError(t, postgres.Migrate(ctx, pool))
	store, err := postgres.New(ctx, pool)
	require.NoError(t, err)
	return pool, store
}

func TestTheSweepUsesTheClockOfTheDatabase(t *testing.T) {
	url := pgtest.URL(t)
	synctest.Test(t, func(t *testing.T) { // where the clock of the program is in the year 2000
		ctx := context.Background()
		pool, store := openPostgres(t, ctx, url)
		defer pool.Close()
		l := store.Ledger()
		_, err := l.Insert(ctx, []ledger.NewEntry{{Key: "over", Operation: "trigger event"}, {Key: "held", Operation: "trigger event"}})
		require.NoError(t, err)
		for key, lease := range map[string]time.Duration{"over": time.Millisecond, "held": time.Minute} {
			claimed, err := l.Claim(ctx, ledger.Claim{Token: ledger.Token{1}, Lease: lease, Limit: 1,
				Look: triggers, Keys: []string{key}, MaxBytes: 1 << 20})
			require.NoError(t, err)
			require.Len(t, claimed, 1, "an entry is due by the clock of the database")
		}
		_, err = pool.Exec(ctx, `SELECT pg_sleep(0.01)`)
		require.NoError(t, err)
		swept, err := l.Sweep(ctx, 10)
		require.NoError(t, err)
		assert.Equal(t, 1, swept)
		found, err := l.List(ctx, ledger.Filter{State: ledger.Unclear}, 0, 10)
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.Equal(t, "over", found[0].Key)
	})
}

func TestALateOutcomeReplacesUnclear(t *testing.T) {
	for _, late := range []struct {
		name     string
		state    ledger.State
		delivery messaging.Delivery
		want     outbox.State
	}{
		{"accepted", ledger.Accepted, messaging.DeliveryAccepted, outbox.Accepted},
		{"rejected", ledger.Rejected, messaging.DeliveryRejected, outbox.Rejected},
		{"not sent", ledger.Pending, messaging.DeliveryNotSent, outbox.Pending},
		{"unknown", ledger.Unclear, messaging.DeliveryUnknown, outbox.Unclear},
	} {
		t.Run(late.name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, db *database) {
				o := db.new(t, newService().client(t), outbox.Fast())
				enqueue(t, o, "order")
				token := db.crash(t, "order")
				assert.False(t, db.settle(t, o, ledger.Token{2}, "order", late.state, late.delivery), "not with another token")
				assert.Equal(t, outbox.Unclear, stateOf(t, o, "order"))
				assert.True(t, db.settle(t, o, token, "order", late.state, late.delivery))
				assert.True(t, db.settle(t, o, token, "order", late.state, late.delivery), "again, because the response was lost")
				assert.Equal(t, late.want, stateOf(t, o, "order"))
			})
		})
	}
}

func TestALateOutcomePreventsTheSecondSendAfterResend(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		o := db.new(t, service.client(t), outbox.Fast())
		enqueue(t, o, "accepted", "rejected", "not sent", "unknown", "claimed again")
		token := db.crash(t, "accepted", "rejected", "not sent", "unknown", "claimed again")
		db.endLeases(t)
		n, err := o.Resend(t.Context(), "accepted", "rejected", "not sent", "unknown", "claimed again")
		require.NoError(t, err)
		assert.Equal(t, 5, changed(n))
		other := ledger.Token{7}
		_, err = db.ledger.Claim(t.Context(), ledger.Claim{Token: other, Lease: time.Minute, Limit: 1, Look: triggers,
			Keys: []string{"claimed again"}, MaxBytes: 1 << 20})
		require.NoError(t, err)

		assert.True(t, db.settle(t, o, token, "accepted", ledger.Accepted, messaging.DeliveryAccepted))
		assert.True(t, db.settle(t, o, token, "rejected", ledger.Rejected, messaging.DeliveryRejected))
		db.settle(t, o, token, "not sent", ledger.Pending, messaging.DeliveryNotSent)
		assert.False(t, db.settle(t, o, token, "unknown", ledger.Unclear, messaging.DeliveryUnknown))
		assert.False(t, db.settle(t, o, token, "claimed again", ledger.Accepted, messaging.DeliveryAccepted),
			"the token belongs to the new claim")

		delivered, err := o.Deliver(t.Context(), "accepted", "rejected", "not sent", "unknown", "claimed again")
		require.NoError(t, err)
		assert.Equal(t, outbox.Delivered{Accepted: 3, Rejected: 1, Busy: []string{"claimed again"},
			More: true, RetryAfter: 500 * time.Millisecond}, delivered)
		assert.Zero(t, service.carriedOut("accepted"))
		assert.Zero(t, service.carriedOut("rejected"))
		assert.Equal(t, 1, service.carriedOut("not sent"))
		assert.Equal(t, 1, service.carriedOut("unknown"))
	})
}

func TestAnEntryThatWasUnclearStaysSoUntilItIsSettled(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "resent", "new")
		db.crash(t, "resent")
		db.endLeases(t)
		n, err := o.Resend(t.Context(), "resent")
		require.NoError(t, err)
		require.Equal(t, 1, changed(n))
		token := db.claim(t, "resent", "new")
		for key, delivery := range map[string]messaging.Delivery{
			"resent": messaging.DeliveryUnknown, // the first send may have been carried out
			"new":    messaging.DeliveryNotSent,
		} {
			assert.True(t, db.settle(t, o, token, key, ledger.Pending, messaging.DeliveryNotSent))
			entry, err := o.Get(t.Context(), key)
			require.NoError(t, err)
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
		n, err := o.Resend(t.Context(), "swept", "reported", "quarantined", "unknown")
		require.NoError(t, err)
		for i, why := range []outbox.Why{outbox.WhyMayBeAlive, "", outbox.WhyMayBeAlive, outbox.WhyUnknown} {
			assert.Equal(t, why, n[i].Why, n[i].Key)
			assert.Equal(t, why == outbox.WhyMayBeAlive, n[i].RetryAt.After(time.Now()), n[i].Key)
		}
		assert.Equal(t, outbox.Pending, stateOf(t, o, "reported"))
		db.endLeases(t)
		n, err = o.Resend(t.Context(), "swept", "reported", "quarantined")
		require.NoError(t, err)
		assert.Equal(t, 2, changed(n), "a lease later")
	})
}

func TestAnAcceptanceIsRecordedAfterDismissAndNotAfterQuarantine(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		o := db.new(t, service.client(t), outbox.Fast())
		enqueue(t, o, "dismissed", "quarantined", "never claimed")
		token := db.crash(t, "dismissed")
		decisions, err := o.Dismiss(t.Context(), "dismissed", "unknown")
		require.NoError(t, err)
		assert.Equal(t, []outbox.Decision{
			{Key: "dismissed", Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryUnknown},
			{Key: "unknown", Why: outbox.WhyUnknown}}, decisions)
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
		delivered, err := o.Deliver(t.Context(), "dismissed", "quarantined", "never claimed")
		require.NoError(t, err)
		assert.Equal(t, outbox.Delivered{Accepted: 1, Unclear: 2}, delivered)
		assert.Zero(t, service.requests())
	})
}

func TestOnSettledIsCalledOncePerTransition(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		service.set(func(key string) response {
			switch key {
			case "rejected":
				return reject
			case "lost":
				return lose
			}
			return accept
		})
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
		eventually(t, func() bool { return stateOf(t, o, "crashed") == outbox.Unclear })
		db.endLeases(t)
		n, err := o.Resend(t.Context(), "lost", "crashed")
		require.NoError(t, err)
		require.Equal(t, 2, changed(n))
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
	service := newService()
	o, f := openFaulty(t, service.client(t), outbox.WithLease(time.Second, time.Minute))
	var once sync.Once
	f.set(faults{afterClaim: func(claimed []ledger.Claimed) ([]ledger.Claimed, error) {
		once.Do(func() { time.Sleep(1100 * time.Millisecond) })
		return claimed, nil
	}})
	enqueue(t, o, "order")
	delivered, err := o.Deliver(t.Context(), "order")
	require.NoError(t, err)
	assert.Equal(t, []string{"order"}, delivered.Later)
	assert.Zero(t, service.requests())
	entry, err := o.Get(t.Context(), "order")
	require.NoError(t, err)
	assert.Equal(t, "not begun: the process was paused", entry.Error)
	patient := newBox(t, f, service.client(t), []outbox.Option{outbox.Fast()})
	delivered, err = patient.Deliver(t.Context(), "order")
	require.NoError(t, err)
	assert.Equal(t, 1, delivered.Accepted)
}
