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
		"Run": func(t *testing.T, o box) { run(t, o) },
		"Deliver": func(t *testing.T, o box) {
			assert.Equal(t, outbox.Delivered{Accepted: 1, Unclear: 1}, deliver(t, o, "free", "crashed"))
		},
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

func TestAClaimIsCommittedBeforeTheSendAndTheSweepObservesItsSendTimeout(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		began, end := make(chan outbox.State), make(chan struct{})
		patient := db.new(t, service.client(t), outbox.Fast(), outbox.WithLease(time.Minute, time.Minute))
		hasty := db.new(t, service.client(t), outbox.Fast(), outbox.WithLease(time.Millisecond, time.Millisecond))
		service.always(acceptAfter(func() {
			began <- stateOf(t, hasty, "order")
			<-end
		}))
		enqueue(t, patient, "order")
		stop := run(t, patient)
		assert.Equal(t, outbox.Sending, <-began, "as another process sees it")
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
			add(t, o, item)
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

		assert.InDelta(t, time.Hour, deliver(t, o, "reminder").RetryAfter, float64(time.Minute))
		assert.InDelta(t, time.Hour, deliverDue(t, o, 1).RetryAfter, float64(time.Minute))
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
				{Key: "no such key", Reason: outbox.ReasonAbsent},
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
		for i, why := range []outbox.Reason{outbox.ReasonMayBeAlive, "", outbox.ReasonMayBeAlive, outbox.ReasonAbsent} {
			assert.Equal(t, why, n[i].Reason, n[i].Key)
			assert.Equal(t, why == outbox.ReasonMayBeAlive, n[i].RetryAt.After(time.Now()), n[i].Key)
		}
		assert.Equal(t, outbox.Pending, stateOf(t, o, "reported"))
		db.endLeases(t)
		assert.Equal(t, 2, changed(resend(t, o, "swept", "reported", "quarantined")), "a lease later")
	})
}

func TestAfterQuarantineNothingIsSentAndNoOutcomeIsRecorded(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.respondTo(map[string]response{"rejected": reject, "repeated": lose})
		for _, key := range []string{"claimed", "pending", "rejected", "repeated", "dismissed", "accepted"} {
			add(t, o, outbox.Item{Key: key, Repeatable: key != "pending"})
		}
		token := db.claim(t, "claimed")
		deliver(t, o, "accepted", "rejected")
		deliver(t, o, "repeated")
		dismiss(t, o, "dismissed")
		assert.Equal(t, 4, quarantine(t, o))
		assert.False(t, db.settle(t, o, token, "claimed", wasAccepted))
		unclear := []string{"claimed", "pending", "rejected", "repeated"}
		assert.Equal(t, unclear, listed(t, o, outbox.Filter{State: outbox.Unclear}),
			"a rejected one may have been resent and carried out after the backup")
		assert.Equal(t, outbox.Delivered{Unclear: 4}, deliver(t, o, unclear...))
		assert.Equal(t, 3, service.requests(), "those before the quarantine")
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

// settlements collects what OnSettled gets.
type settlements struct {
	mu      sync.Mutex
	entries []outbox.Entry
}

func (s *settlements) add(_ context.Context, e outbox.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
}

func (s *settlements) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// take returns what has come since the last call.
func (s *settlements) take() []outbox.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.entries
	s.entries = nil
	return taken
}

func TestWhatWasEverUnclearIsNeverCalledKnownAgain(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		settled := new(settlements)
		service, o := db.start(t, outbox.WithOnSettled(settled.add))
		enqueue(t, o, "order")
		unknown := func(state outbox.State) {
			t.Helper()
			entry := entryOf(t, o, "order")
			assert.Equal(t, state, entry.State)
			assert.Equal(t, messaging.DeliveryUnknown, entry.Delivery, "the first send may have been carried out")
			for _, e := range settled.take() {
				assert.Equal(t, entry.State, e.State)
				assert.Equal(t, entry.Delivery, e.Delivery)
			}
		}
		send := func(response response, state outbox.State) {
			t.Helper()
			service.always(response)
			before := entryOf(t, o, "order").Attempts
			eventually(t, func() bool { // when a probe may be sent
				deliver(t, o, "order")
				return entryOf(t, o, "order").Attempts > before
			})
			unknown(state)
		}
		decide := func(decisions []outbox.Decision, state outbox.State) {
			t.Helper()
			assert.Equal(t, []outbox.Decision{{Key: "order", Changed: true, State: state, Delivery: messaging.DeliveryUnknown}}, decisions)
			unknown(state)
		}
		send(lose, outbox.Unclear)
		decide(resend(t, o, "order"), outbox.Pending)
		send(reject, outbox.Rejected)
		decide(resend(t, o, "order"), outbox.Pending)
		send(unauthorize, outbox.Pending)
		send(reject, outbox.Rejected)
		decide(dismiss(t, o, "order"), outbox.Dismissed)
		assert.Equal(t, 1, service.carriedOut("order"))
	})
}

func TestARepeatableEntryIsSentUntilItIsAccepted(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		settled := new(settlements)
		service, o := db.start(t, outbox.WithOnSettled(settled.add))
		service.always(lose)
		assert.True(t, add(t, o, outbox.Item{Key: "order", Repeatable: true}).Repeatable)
		again := add(t, o, outbox.Item{Key: "order"})
		assert.True(t, again.Present && again.Repeatable, "the first one stays, and it is the same request")
		delivered := deliver(t, o, "order")
		assert.Equal(t, outbox.Delivered{Later: []string{"order"}, More: true, RetryAfter: delivered.RetryAfter}, delivered)
		entry := entryOf(t, o, "order")
		assert.Equal(t, []any{outbox.Pending, messaging.DeliveryUnknown}, []any{entry.State, entry.Delivery})
		assert.Empty(t, settled.take())
		service.always(accept)
		run(t, o)
		eventuallyIs(t, o, "order", outbox.Accepted)
		eventually(t, func() bool {
			entries := settled.take()
			return len(entries) == 1 && entries[0].Delivery == messaging.DeliveryAccepted
		})
		assert.Equal(t, 2, service.carriedOut("order"), "at least once")
	})
}

func TestARepeatableEntryBecomesUnclearAfterFiveUnknownOutcomes(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		service.always(lose)
		attempt := 1 // the crash
		client := service.client(t, messaging.WithGuard(func(context.Context, *messaging.Prepared) error {
			if attempt++; attempt == 3 {
				panic("the outcome of a panic is unknown")
			}
			return nil
		}))
		o := db.new(t, client, outbox.Fast())
		add(t, o, outbox.Item{Key: "order", Repeatable: true})
		attempts := func() int { return entryOf(t, o, "order").Attempts }
		for _, end := range []func(){
			func() { // its process dies
				db.claim(t, "order")
				db.endLeases(t)
				assert.Equal(t, ledger.Swept{Pending: 1}, db.sweep(t))
				entry := entryOf(t, o, "order")
				assert.Equal(t, "the process that sent it did not report the outcome in time", entry.Error)
				assert.WithinDuration(t, time.Now().Add(time.Hour), entry.DueAt, 30*time.Minute)
			},
			func() {}, func() {}, func() {},
		} {
			end()
			before := attempts()
			db.shift(t, -3*time.Hour, "not_before")
			eventually(t, func() bool {
				deliver(t, o, "order")
				return attempts() > before
			})
		}
		entry := entryOf(t, o, "order")
		assert.Equal(t, []any{outbox.Unclear, 5}, []any{entry.State, entry.Attempts})
		db.endLeases(t)
		resend(t, o, "order")
		eventually(t, func() bool {
			deliver(t, o, "order")
			return attempts() == 6
		})
		assert.Equal(t, outbox.Unclear, stateOf(t, o, "order"), "like any other, once somebody has to decide")
	})
}

func TestARepeatableEntryEndsAtItsNotAfter(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		settled := new(settlements)
		service, o := db.start(t, outbox.WithWaits(time.Hour, time.Hour), outbox.WithOnSettled(settled.add))
		service.always(lose)
		add(t, o, outbox.Item{Key: "password", Repeatable: true, NotAfter: time.Now().Add(time.Hour)})
		deliver(t, o, "password")
		db.shift(t, -2*time.Hour, "not_after")
		assert.Equal(t, outbox.Delivered{Rejected: 1}, deliver(t, o, "password"))
		for _, entry := range append(settled.take(), entryOf(t, o, "password")) {
			assert.Equal(t, outbox.Rejected, entry.State)
			assert.Equal(t, messaging.DeliveryUnknown, entry.Delivery)
		}
	})
}

// Otherwise one recipient whose outcome is always unknown would become every probe.
func TestABreakerDoesNotShortenTheWaitOfARepeatableEntry(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithWaits(time.Hour, time.Hour))
		service.respondTo(map[string]response{"poison": lose})
		add(t, o, outbox.Item{Key: "poison", Repeatable: true})
		deliver(t, o, "poison")
		require.Len(t, countsOf(t, o).Breakers, 1, "the breaker is open")
		assert.Greater(t, time.Until(entryOf(t, o, "poison").DueAt), 20*time.Minute)
		enqueue(t, o, "good")
		run(t, o)
		eventuallyIs(t, o, "good", outbox.Accepted)
	})
}
