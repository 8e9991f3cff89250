package outbox_test

import (
	"context"
	"strings"
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

// The outcomes that a process records.
var (
	wasAccepted = ledger.Outcome{State: ledger.Accepted, Delivery: messaging.DeliveryAccepted}
	wasRejected = ledger.Outcome{State: ledger.Rejected, Delivery: messaging.DeliveryRejected}
	wasNotSent  = ledger.Outcome{State: ledger.Pending, Delivery: messaging.DeliveryNotSent}
	wasUnknown  = ledger.Outcome{State: ledger.Unclear, Delivery: messaging.DeliveryUnknown}
)

// settle records an outcome as the process that has the token does.
func (db *database) settle(t testing.TB, o box, token ledger.Token, key string, outcome ledger.Outcome) (applied bool) {
	outcome.ID, outcome.Token, outcome.Doubts = entryOf(t, o, key).ID, token, db.doubts[key]
	applies, _, err := db.ledger.Settle(t.Context(), []ledger.Outcome{outcome})
	require.NoError(t, err)
	return applies[0] == ledger.Applied
}

// repeat is how the tests sweep repeatable entries.
var repeat = ledger.Repeat{Doubts: 5, First: time.Hour, Longest: 2 * time.Hour}

// crash makes entries unclear as a process does that crashes while it sends them.
func (db *database) crash(t testing.TB, keys ...string) ledger.Token {
	token := db.claim(t, keys...)
	db.endLeases(t)
	swept := db.sweep(t)
	require.Equal(t, len(keys), swept.Unclear+swept.Pending)
	return token
}

func (db *database) sweep(t testing.TB) ledger.Swept {
	swept, err := db.ledger.Sweep(t.Context(), 1000, repeat)
	require.NoError(t, err)
	return swept
}

func TestEntriesOfACrashedProcessBecomeUnclearAndAreNotSent(t *testing.T) {
	for name, work := range map[string]func(*testing.T, box){
		"Run":        func(t *testing.T, o box) { run(t, o) },
		"Deliver":    func(t *testing.T, o box) { deliver(t, o, "free") },
		"DeliverDue": func(t *testing.T, o box) { deliverDue(t, o, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, db *database) {
				service, o := db.start(t)
				enqueue(t, o, "crashed", "alive", "free")
				db.claim(t, "crashed")
				db.endLeases(t)
				db.claim(t, "alive")
				work(t, o)
				eventuallyIs(t, o, "free", outbox.Accepted)
				eventuallyIs(t, o, "crashed", outbox.Unclear)
				assert.Equal(t, outbox.Sending, stateOf(t, o, "alive"))
				entry := entryOf(t, o, "crashed")
				assert.Equal(t, "the process that sent it did not report the outcome in time", entry.Error)
				assert.Equal(t, messaging.DeliveryUnknown, entry.Delivery)
				assert.Equal(t, 1, service.requests())
			})
		})
	}
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

// A process is paused, or its response to a commit is lost, and it records an outcome late, and again.
func TestALateOutcomeIsRecordedUnlessTheEntryMayHaveBeenSentAgain(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		stays := func(string) {}
		resent := func(key string) { require.Equal(t, 1, changed(resend(t, o, key))) }
		claimedAgain := func(key string) {
			resent(key)
			require.Len(t, db.tryClaim(t, ledger.Claim{Token: ledger.Token{7}, Limit: 1, Look: triggers, Keys: []string{key}}), 1)
		}
		dismissed := func(key string) {
			assert.Equal(t, []outbox.Decision{
				{Key: key, Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryUnknown},
				{Key: "no such key", Reason: outbox.ReasonUnknown},
			}, dismiss(t, o, key, "no such key"))
		}
		over := func(key string) {
			resent(key)
			db.shift(t, -2*time.Hour, "not_after")
			_, err := db.ledger.Expire(t.Context(), 10)
			require.NoError(t, err)
			require.Equal(t, outbox.Rejected, stateOf(t, o, key))
		}
		for _, test := range []struct {
			name     string
			happens  func(key string) // after the sweep
			late     ledger.Outcome
			applied  bool
			state    outbox.State
			delivery messaging.Delivery
		}{
			{"unclear, accepted", stays, wasAccepted, true, outbox.Accepted, messaging.DeliveryAccepted},
			{"unclear, rejected", stays, wasRejected, true, outbox.Rejected, messaging.DeliveryRejected},
			{"unclear, not sent", stays, wasNotSent, true, outbox.Pending, messaging.DeliveryNotSent},
			{"unclear, unknown", stays, wasUnknown, true, outbox.Unclear, messaging.DeliveryUnknown},
			{"resent, accepted", resent, wasAccepted, true, outbox.Accepted, messaging.DeliveryAccepted},
			{"resent, rejected", resent, wasRejected, true, outbox.Rejected, messaging.DeliveryRejected},
			{"resent, not sent", resent, wasNotSent, true, outbox.Pending, messaging.DeliveryUnknown},
			{"resent, unknown", resent, wasUnknown, false, outbox.Pending, messaging.DeliveryUnknown},
			{"its time is over, accepted", over, wasAccepted, true, outbox.Accepted, messaging.DeliveryAccepted},
			{"dismissed, accepted", dismissed, wasAccepted, true, outbox.Accepted, messaging.DeliveryAccepted},
			{"dismissed, rejected", dismissed, wasRejected, false, outbox.Dismissed, messaging.DeliveryUnknown},
			{"repeatable, accepted", stays, wasAccepted, true, outbox.Accepted, messaging.DeliveryAccepted},
			{"repeatable, rejected", stays, wasRejected, true, outbox.Rejected, messaging.DeliveryRejected},
			{"claimed again, accepted", claimedAgain, wasAccepted, false, outbox.Sending, messaging.DeliveryUnknown},
		} {
			key := test.name
			add(t, o, outbox.Item{Key: key, NotAfter: time.Now().Add(time.Hour), Repeatable: strings.HasPrefix(key, "repeatable")})
			token := db.crash(t, key)
			db.endLeases(t)
			test.happens(key)
			assert.False(t, db.settle(t, o, ledger.Token{2}, key, test.late), "%s, with another token", key)
			for range 2 { // again, because the response to the commit was lost
				assert.Equal(t, test.applied, db.settle(t, o, token, key, test.late), key)
			}
			entry := entryOf(t, o, key)
			assert.Equal(t, test.state, entry.State, key)
			assert.Equal(t, test.delivery, entry.Delivery, key)
			deliver(t, o, key)
			assert.Equal(t, test.state == outbox.Pending, service.carriedOut(key) == 1, "%s: only what is pending is sent", key)
		}
	})
}

func TestSettleRecordsAnOutcomeForItsTokenOnceAndUndoesNoResend(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		enqueue(t, o, "order", "two tokens")
		token := db.claim(t, "order", "two tokens")
		assert.True(t, db.settle(t, o, token, "order", wasRejected))
		require.Equal(t, 1, changed(resend(t, o, "order")))
		assert.False(t, db.settle(t, o, token, "order", wasRejected))
		assert.Equal(t, outbox.Pending, stateOf(t, o, "order"))

		id := entryOf(t, o, "two tokens").ID
		applied, _, err := db.ledger.Settle(t.Context(), []ledger.Outcome{
			{ID: id, Token: token, State: ledger.Accepted}, {ID: id, Token: ledger.Token{9}, State: ledger.Rejected}})
		require.NoError(t, err)
		assert.Equal(t, []ledger.Settled{ledger.Applied, ledger.Ignored}, applied)
	})
}

func TestResendSkipsAnEntryWhoseProcessMayBeAlive(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		enqueue(t, o, "swept", "reported", "quarantined")
		token := db.crash(t, "swept", "reported")
		db.settle(t, o, token, "reported", wasUnknown)
		db.claim(t, "quarantined")
		assert.Equal(t, 1, quarantine(t, o))
		n := resend(t, o, "swept", "reported", "quarantined", "unknown")
		for i, why := range []outbox.Reason{outbox.ReasonMayBeAlive, "", outbox.ReasonMayBeAlive, outbox.ReasonUnknown} {
			assert.Equal(t, why, n[i].Reason, n[i].Key)
			assert.Equal(t, why == outbox.ReasonMayBeAlive, n[i].RetryAt.After(time.Now()), n[i].Key)
		}
		assert.Equal(t, outbox.Pending, stateOf(t, o, "reported"))
		db.endLeases(t)
		assert.Equal(t, 2, changed(resend(t, o, "swept", "reported", "quarantined")), "a lease later")
	})
}

func TestNoOutcomeIsRecordedAfterQuarantine(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		enqueue(t, o, "claimed", "never claimed")
		token := db.claim(t, "claimed")
		assert.Equal(t, 2, quarantine(t, o))
		assert.False(t, db.settle(t, o, token, "claimed", wasAccepted))
		assert.Equal(t, []string{"claimed", "never claimed"}, listed(t, o, outbox.Filter{State: outbox.Unclear}))
		assert.Equal(t, outbox.Delivered{Unclear: 2}, deliver(t, o, "claimed", "never claimed"))
		assert.Zero(t, service.requests())
	})
}

func TestOnSettledIsCalledOncePerTransition(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		service.respondTo(map[string]response{"rejected": reject, "lost": lose})
		settled := new(settlements)
		o := db.new(t, service.client(t), outbox.Fast(), outbox.WithOnSettled(func(ctx context.Context, e outbox.Entry) {
			if found, err := db.ledger.Find(ctx, []string{e.Key}); assert.NoError(t, err) { // with no connection held
				assert.Equal(t, e.ID, found[0].ID)
				assert.WithinDuration(t, found[0].SettledAt, e.SettledAt, time.Second)
			}
			settled.add(ctx, e)
		}))
		enqueue(t, o, "accepted", "rejected", "lost", "crashed")
		db.claim(t, "crashed")
		db.endLeases(t)
		run(t, o)
		eventually(t, func() bool { return settled.count() == 3 })
		eventuallyIs(t, o, "crashed", outbox.Unclear)
		db.endLeases(t)
		require.Equal(t, 2, changed(resend(t, o, "lost", "crashed")))
		eventually(t, func() bool { return settled.count() == 5 })
		time.Sleep(150 * time.Millisecond) // in which nothing may happen
		states := make(map[string][]outbox.State)
		for _, e := range settled.take() {
			states[e.Key] = append(states[e.Key], e.State)
		}
		assert.Equal(t, map[string][]outbox.State{
			"accepted": {outbox.Accepted}, "rejected": {outbox.Rejected}, "lost": {outbox.Unclear, outbox.Unclear},
			"crashed": {outbox.Accepted}, // by this process
		}, states)
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
