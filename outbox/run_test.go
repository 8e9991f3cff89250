package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/postgres"
)

func TestRunRecordsWhatBecameOfEachEntry(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service := newService()
		var first sync.Map
		service.set(func(key string) response {
			switch key {
			case "rejected":
				return reject
			case "lost":
				return lose
			case "failed":
				return fail
			case "no connection at first":
				if _, again := first.LoadOrStore(key, true); !again {
					return disconnect
				}
			}
			return accept
		})
		client := service.client(t, messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error {
			_, again := first.LoadOrStore("guard of "+keyOf(p), true)
			switch {
			case keyOf(p) == "guarded after a 429":
				return fmt.Errorf("cannot look it up: %w", &messaging.APIError{StatusCode: http.StatusTooManyRequests, RetryAfter: time.Hour})
			case keyOf(p) == "guarded too late":
				return fmt.Errorf("cannot look it up: %w", messaging.ErrNotAfter)
			case keyOf(p) == "guarded":
				return errors.New("not in this environment")
			case keyOf(p) == "guard is down at first" && !again:
				return &messaging.GuardError{Err: errors.New("its database is down"), Step: messaging.NextRetry}
			}
			return nil
		}))
		o := db.new(t, client, outbox.Fast())
		enqueue(t, o, "accepted", "rejected", "lost", "failed", "no connection at first", "guarded",
			"guard is down at first", "guarded after a 429", "guarded too late")
		run(t, o)
		eventually(t, func() bool {
			counts := countsOf(t, o)
			return counts.Pending+counts.Sending == 0 && len(counts.Breakers) == 0
		})
		for _, want := range []struct {
			key      string
			state    outbox.State
			delivery messaging.Delivery
			attempts int
			text     string
			count    int
		}{
			{"accepted", outbox.Accepted, messaging.DeliveryAccepted, 1, "", 1},
			{"rejected", outbox.Rejected, messaging.DeliveryRejected, 1, "422", 0},
			{"lost", outbox.Unclear, messaging.DeliveryUnknown, 1, "may have been", 1},
			{"failed", outbox.Unclear, messaging.DeliveryUnknown, 1, "503", 0},
			{"no connection at first", outbox.Accepted, messaging.DeliveryAccepted, 2, "", 1},
			{"guarded after a 429", outbox.Rejected, messaging.DeliveryNotSent, 1, "cannot look it up", 0},
			{"guarded too late", outbox.Rejected, messaging.DeliveryNotSent, 1, "cannot look it up", 0},
			{"guard is down at first", outbox.Accepted, messaging.DeliveryAccepted, 2, "", 1},
			{"guarded", outbox.Rejected, messaging.DeliveryNotSent, 1, "not in this environment", 0},
		} {
			entry := entryOf(t, o, want.key)
			assert.Equal(t, want.state, entry.State, want.key)
			assert.Equal(t, want.delivery, entry.Delivery, want.key)
			assert.Equal(t, want.attempts, entry.Attempts, want.key)
			assert.Contains(t, entry.Error, want.text, want.key)
			assert.Equal(t, want.count, service.carriedOut(want.key), want.key)
			assert.False(t, entry.SettledAt.Before(entry.EnqueuedAt.Truncate(time.Millisecond)), want.key)
		}
	})
}

// limiter is a Limiter.
type limiter func(context.Context) error

func (l limiter) Wait(ctx context.Context) error { return l(ctx) }

func TestALimiterThatFailsPermitsNothingAndIsNotADatabaseThatFails(t *testing.T) {
	var asked atomic.Int32
	logs, once := new(logs), limiter(func(context.Context) error {
		if asked.Add(1) > 1 {
			return errBroken
		}
		return nil
	})
	service, o := openFile(t).start(t, outbox.WithLogger(logs.logger()), outbox.WithRateLimiter(once))
	enqueue(t, o, "a", "b")
	delivered, err := o.Deliver(t.Context(), "a", "b")
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, 1, delivered.Accepted, "what it knows comes with the error")
	assert.Equal(t, []string{"b"}, delivered.Later)
	for range 10 {
		_, err := o.Deliver(t.Context(), "a", "b")
		require.ErrorIs(t, err, errBroken)
		_, err = o.DeliverDue(t.Context(), 3)
		require.EqualError(t, err, "outbox: deliver: limiter: broken")
	}
	before := asked.Load()
	stop, ended := begin(o)
	eventually(t, func() bool { return asked.Load() > before+4 })
	assert.True(t, logs.has("cannot ask the limiter; retrying"))
	stop()
	require.EqualError(t, <-ended, "outbox: run: the limiter failed until the end: limiter: broken")
	assert.False(t, logs.has("look for entries") || logs.has("again"), "nothing else failed")
	assert.Equal(t, 1, service.requests(), "a permit that was not given is none")
}

func TestADatabaseThatIsLockedDidNotAnswer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox.db")
	db := openFileAt(t, path)
	_, o := db.start(t)
	enqueue(t, o, "order")
	lock, err := openDB(t, "sqlite", path+"?_txlock=immediate").BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.Rollback()) }()
	_, err = o.DeliverDue(t.Context(), 1)
	require.EqualError(t, err, "outbox: deliver: the database did not answer within 10 s")
}

func TestRunSendsNotBefore(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		due := time.Now().Add(300 * time.Millisecond)
		entry := add(t, o, outbox.Item{Key: "later", NotBefore: due})
		assert.WithinDuration(t, due, entry.DueAt, time.Millisecond)
		add(t, o, outbox.Item{Key: "much later", NotBefore: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)})
		add(t, o, outbox.Item{Key: "long ago", NotBefore: time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC)})
		run(t, o)
		eventuallyIs(t, o, "later", outbox.Accepted)
		assert.False(t, entryOf(t, o, "later").SettledAt.Before(due.Truncate(time.Millisecond)))
		eventuallyIs(t, o, "long ago", outbox.Accepted)
		assert.Equal(t, outbox.Pending, stateOf(t, o, "much later"))
		timed := ledger.Class{Operation: triggerEvent, Lane: ledger.Normal, Timed: true}
		classes, err := db.ledger.Due(t.Context(), []ledger.Look{triggers, {Class: timed}})
		require.NoError(t, err)
		require.Len(t, classes, 1)
		assert.Equal(t, timed, classes[0].Class)
		assert.Greater(t, classes[0].Wait, 100*365*24*time.Hour, "a time that does not fit into a Duration")
	})
}

func TestRunWakesUpForAnEntryOfAnotherProcess(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		run(t, db.new(t, service.client(t))) // with the waits of production
		o := db.new(t, service.client(t))
		for _, key := range keysOf(3) {
			require.NoError(t, db.within(t, o, func(tx inTx) error {
				_, err := tx.enqueue(key, request(t, key))
				return err
			}))
			eventuallyIs(t, o, key, outbox.Accepted)
		}
	})
}

func TestRunClaimsAtMostTwiceAsManyAsItSendsUntilOutcomesAreRecorded(t *testing.T) {
	service, o, w := openWatched(t, outbox.WithInFlight(2))
	enqueue(t, o, keysOf(10)...)
	failed := make(chan struct{})
	var once sync.Once
	w.set(faults{beforeSettle: func([]ledger.Outcome) error {
		once.Do(func() { close(failed) })
		return errBroken
	}})
	run(t, o)
	<-failed
	eventually(t, func() bool { return service.requests() >= 4 })
	time.Sleep(100 * time.Millisecond) // in which nothing may happen
	assert.Equal(t, 4, service.requests(), "twice as many as there are slots")
	counts := countsOf(t, o)
	assert.Equal(t, outbox.Counts{Pending: 6, Sending: 4, OldestPending: counts.OldestPending}, counts)
	w.set(faults{})
	eventuallyAccepted(t, o, 10)
}

func TestRunSendsOnceWhenTheResponseToACommitIsLost(t *testing.T) {
	var claims, settles, settled atomic.Int32
	service, o, w := openWatched(t, outbox.WithInFlight(3),
		outbox.WithOnSettled(func(context.Context, outbox.Entry) { settled.Add(1) }))
	w.set(faults{
		afterClaim: func(claimed []ledger.Claimed) ([]ledger.Claimed, error) {
			if claims.Add(1)%2 == 1 {
				return nil, errBroken
			}
			return claimed, nil
		},
		afterSettle: func() error {
			if settles.Add(1)%2 == 1 {
				return errBroken
			}
			return nil
		},
	})
	enqueue(t, o, keysOf(10)...)
	stop := run(t, o)
	eventuallyAccepted(t, o, 10)
	stop()
	service.carriedOutOnce(t, keysOf(10)...)
	assert.Equal(t, int32(10), settled.Load(), "an outcome that is recorded twice is reported once")
}

func TestRunGoesOnWhenTheDatabaseIsBack(t *testing.T) {
	logs := new(logs)
	service, o, w := openWatched(t, outbox.WithLogger(logs.logger()))
	enqueue(t, o, "order")
	w.set(faults{broken: errBroken})
	_, err := o.DeliverDue(t.Context(), 10)
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, "outbox: deliver: ")
	stop := run(t, o)
	eventually(t, func() bool { return logs.has("outbox: cannot look for entries; retrying") })
	assert.Zero(t, service.requests())
	w.set(faults{})
	eventuallyIs(t, o, "order", outbox.Accepted)
	assert.Equal(t, 1, service.carriedOut("order"))
	for _, now := range []faults{{broken: errBroken}, {}} { // an answer that nothing is due is enough for Run to end without an error
		w.set(now)
		seen := len(w.looksAt(triggers.Class))
		eventually(t, func() bool { return len(w.looksAt(triggers.Class)) > seen+4 })
	}
	stop()
}

func TestRunEndsWhenTheStoreIsClosed(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "outbox.db"))
	o := newBox(t, store, newService().client(t))
	require.NoError(t, store.Close())
	require.NoError(t, store.Close(), "again")
	require.EqualError(t, o.Run(t.Context()), "outbox: run: the store is closed")
	_, err := o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: request(t, "order")})
	require.ErrorContains(t, err, "the store is closed")
	_, err = o.Counts(t.Context())
	require.ErrorContains(t, err, "the store is closed")
}

func TestRunWaitsForRequestsInFlightWhenItStops(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithInFlight(2))
		began, end := make(chan struct{}), make(chan struct{})
		warmUp(t, o)
		service.always(acceptAfter(func() {
			began <- struct{}{}
			<-end
		}))
		enqueue(t, o, keysOf(5)...)
		stop, ended := begin(o)
		<-began
		<-began
		stop()
		close(end)
		require.NoError(t, <-ended)
		counts := countsOf(t, o)
		assert.Equal(t, []int{3, 0, 2, 0}, []int{counts.Pending, counts.Sending, counts.Accepted - warmUps, counts.Unclear})
	})
}

func TestRunReportsOutcomesThatItCouldNotRecord(t *testing.T) {
	service, o, w := openWatched(t, outbox.WithInFlight(3))
	enqueue(t, o, keysOf(5)...)
	w.set(faults{beforeSettle: func([]ledger.Outcome) error { return errBroken }})
	stop, ended := begin(o)
	eventually(t, func() bool { return service.requests() == 5 })
	stop()
	require.EqualError(t, <-ended, "outbox: the outcomes of entries (5) could not be recorded, so they become unclear: broken")
}

func TestRunPurgesAcceptedAndDismissedEntriesAlone(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithKeepSettled(0))
		service.respondTo(map[string]response{"unclear": lose, "rejected": reject, "dismissed": reject, "more": reject})
		enqueue(t, o, "accepted", "unclear", "rejected", "dismissed")
		deliver(t, o, "accepted", "unclear", "rejected", "dismissed")
		dismiss(t, o, "dismissed")
		stop := run(t, db.new(t, service.client(t), outbox.Fast(), outbox.WithKeepSettled(time.Hour)))
		enqueue(t, o, "more")
		eventuallyIs(t, o, "more", outbox.Rejected)
		stop()
		assert.Len(t, listed(t, o, outbox.Filter{}), 5)

		run(t, db.new(t, service.client(t), outbox.Fast(), outbox.WithKeepSettled(time.Millisecond)))
		eventually(t, func() bool { return len(listed(t, o, outbox.Filter{})) == 3 })
		assert.Equal(t, []string{"unclear", "rejected", "more"}, listed(t, o, outbox.Filter{}))
	})
}

func TestRunAsksTheLimiterBeforeEachClaim(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		permits := make(chan struct{}, 10)
		service, o := db.start(t, outbox.WithRateLimiter(limiter(func(ctx context.Context) error {
			select {
			case <-permits:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})))
		service.always(acceptAfter(func() { time.Sleep(20 * time.Millisecond) }))
		enqueue(t, o, keysOf(5)...)
		stop := run(t, o)
		for range 3 {
			permits <- struct{}{}
		}
		eventuallyAccepted(t, o, 3)
		counts := countsOf(t, o)
		assert.Equal(t, []int{2, 0}, []int{counts.Pending, counts.Sending}, "nothing is claimed without the limiter")
		stop()
		assert.Equal(t, 3, service.requests())
	})
}

func TestNothingIsSentOrLostWhileTheDiskIsFull(t *testing.T) {
	service, logs := newService(), new(logs)
	db, store := openProgram(t)
	o := newBox(t, store, service.client(t), outbox.Fast(), outbox.WithLogger(logs.logger()))
	var pages int
	require.NoError(t, db.QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&pages))
	limit := func(pages int) { execSQL(db)(t, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)) }
	limit(pages + 20)
	var added []string
	var err error
	for _, key := range keysOf(10_000) {
		if _, err = o.Enqueue(t.Context(), outbox.Item{Key: key, Prepared: request(t, key)}); err != nil {
			break
		}
		added = append(added, key)
	}
	require.ErrorContains(t, err, "database or disk is full")
	require.NotEmpty(t, added)
	assert.Equal(t, added, listed(t, o, outbox.Filter{}))
	stop := run(t, o)
	eventually(t, func() bool { // some room is left in pages, so that a few may be claimed
		counts := countsOf(t, o)
		return counts.Accepted == len(added) || logs.has("retrying")
	})
	limit(pages + 10_000)
	eventuallyAccepted(t, o, len(added))
	stop()
	service.carriedOutOnce(t, added...)
	assert.Equal(t, len(added), service.requests())
}

func TestRunReturnsTheErrorOfADatabaseThatIsReadOnly(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		db, store := openProgram(t)
		enqueue(t, newBox(t, store, newService().client(t)), "order")
		execSQL(db)(t, `PRAGMA query_only = ON`)
		testReadOnly(t, ledger.Open(store.Ledger()))
	})
	t.Run("Postgres", func(t *testing.T) {
		db := openPgx(t)
		enqueue(t, db.new(t, newService().client(t)), "order")
		store, err := postgres.New(t.Context(), openPool(t, db.name+"&default_transaction_read_only=on"))
		require.NoError(t, err)
		testReadOnly(t, ledger.Open(store.Ledger()))
	})
}

func testReadOnly[Tx any](t *testing.T, l ledger.TxLedger[Tx]) {
	service, w := newService(), &watched{base: l}
	o := newBox(t, watchedStore[Tx]{w, l}, service.client(t), outbox.Fast())
	stop, ended := begin(o)
	looks := func() int { return len(w.looksAt(triggers.Class)) } // a claim follows each
	eventually(t, func() bool { return looks() > 1 })
	goroutines := runtime.NumGoroutine()
	eventually(t, func() bool { return looks() > 5 })                            // each waits longer
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+3 }) // they do not pile up
	stop()
	err := <-ended
	require.ErrorContains(t, err, "outbox: run: the database failed until the end: ")
	assert.Regexp(t, "read-?only", err)
	assert.Zero(t, service.requests())
}

func TestEachEntryIsSentOnceHoweverManyRunAndDeliver(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithInFlight(3))
		other := db.new(t, service.client(t), outbox.Fast())
		keys := keysOf(50)
		enqueue(t, o, keys...)
		var group sync.WaitGroup
		for _, o := range []box{o, o, other, other} {
			group.Go(func() {
				_, err := o.Deliver(t.Context(), slices.Concat(keys, keys)...)
				assert.NoError(t, err)
			})
		}
		run(t, o)
		run(t, other)
		group.Wait()
		eventuallyAccepted(t, o, len(keys))
		assert.Equal(t, outbox.Delivered{Accepted: len(keys)}, deliver(t, o, keys...))
		service.carriedOutOnce(t, keys...)
	})
}

func TestDeliverSaysWhatBecameOfEachKey(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.respondTo(map[string]response{"rejected": reject, "lost": lose, "no connection": disconnect})
		enqueue(t, o, "accepted", "rejected", "lost", "claimed", "no connection")
		add(t, o, outbox.Item{Key: "future", NotBefore: time.Now().Add(time.Hour)})
		db.claim(t, "claimed")
		delivered := deliver(t, o, "accepted", "rejected", "lost", "claimed", "future", "unknown")
		assert.Equal(t, outbox.Delivered{Accepted: 1, Rejected: 1, Unclear: 1, Busy: []string{"claimed"}, Later: []string{"future"},
			Absent: []string{"unknown"}, More: true, RetryAfter: 500 * time.Millisecond}, delivered)
		delivered = deliver(t, o, "future")
		assert.InDelta(t, time.Hour, delivered.RetryAfter, float64(10*time.Minute))
		fresh := db.new(t, service.client(t), outbox.Fast())
		delivered = deliver(t, fresh, "no connection")
		assert.Equal(t, []string{"no connection"}, delivered.Later)
		assert.Less(t, delivered.RetryAfter, time.Minute)
	})
}

func TestDeliverIgnoresTheContextOnceAnEntryIsClaimed(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		ctx, cancel := context.WithCancel(t.Context())
		service, o := db.start(t, outbox.WithInFlight(1), outbox.WithSealer(reversed{func() error { cancel(); return nil }}))
		enqueue(t, o, "a", "b")
		delivered, err := o.Deliver(ctx, "a", "b")
		require.NoError(t, err)
		require.Len(t, delivered.Later, 1)
		later := delivered.Later[0] // a database claims them in any order
		assert.Equal(t, outbox.Delivered{Accepted: 1, Later: []string{later}, More: true}, delivered)
		_, err = o.Deliver(ctx, later)
		require.EqualError(t, err, "outbox: deliver: context canceled")
		assert.Equal(t, 1, service.requests())
	})
}

func TestListLeavesTheDatabaseFreeWhileTheLoopWorks(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.always(reject)
		keys := keysOf(6)
		enqueue(t, o, keys...)
		deliver(t, o, keys...)
		for entry, err := range o.List(t.Context(), outbox.Filter{State: outbox.Rejected}) {
			require.NoError(t, err)
			assert.Equal(t, 1, changed(resend(t, o, entry.Key)))
		}
		assert.Equal(t, keys, listed(t, o, outbox.Filter{State: outbox.Pending}))
		assert.Empty(t, listed(t, o, outbox.Filter{State: outbox.Rejected}))

		assert.Equal(t, keys[2:4], listed(t, o, outbox.Filter{AfterID: entryOf(t, o, keys[1]).ID, Limit: 2}))
		for _, invalid := range []outbox.Filter{{State: "other"}, {Limit: -1}, {AfterID: -1}} {
			for _, err := range o.List(t.Context(), invalid) {
				require.ErrorContains(t, err, "outbox: list entries: ")
			}
		}
	})
}

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
	run(t, o)
	eventually(t, func() bool { return purges.Load() > 0 })
	add(t, o, outbox.Item{Key: "over", NotAfter: time.Now().Add(time.Millisecond)})
	eventuallyIs(t, o, "over", outbox.Rejected)
}
