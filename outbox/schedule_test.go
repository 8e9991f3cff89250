package outbox_test

import (
	"context"
	"fmt"
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
)

func TestAnEntryIsRejectedWhenItsTimeIsOver(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		settled := new(settlements)
		service, o := db.start(t, outbox.WithOnSettled(settled.add))
		over := time.Now().Add(20 * time.Millisecond)
		for _, key := range []string{"over", "over too"} {
			entry := add(t, o, outbox.Item{Key: key, NotAfter: over})
			assert.WithinDuration(t, over, entry.NotAfter, time.Millisecond)
		}
		add(t, o, outbox.Item{Key: "in time", Priority: outbox.High, NotAfter: time.Now().Add(time.Hour)})
		_, err := o.Enqueue(t.Context(), outbox.Item{Key: "never", Prepared: request(t, "never"), NotBefore: over, NotAfter: over})
		require.ErrorContains(t, err, "NotAfter must be after NotBefore")
		require.NoError(t, o.PauseAll(t.Context()))
		time.Sleep(time.Until(over) + 5*time.Millisecond)
		assert.Equal(t, outbox.Delivered{Rejected: 2}, deliverDue(t, o, 10), "although they are paused")
		add(t, o, outbox.Item{Key: "past", NotAfter: over})
		assert.Equal(t, outbox.Delivered{Rejected: 1}, deliver(t, o, "past"))
		run(t, o)
		add(t, o, outbox.Item{Key: "past too", NotAfter: over})
		eventuallyIs(t, o, "past too", outbox.Rejected)
		require.NoError(t, o.ResumeAll(t.Context()))
		eventuallyIs(t, o, "in time", outbox.Accepted)
		entry := entryOf(t, o, "over")
		assert.Equal(t, "its time is over", entry.Error)
		assert.Equal(t, messaging.DeliveryNotSent, entry.Delivery)
		assert.Equal(t, 1, service.requests())
		assert.Equal(t, outbox.ReasonTooLate, resend(t, o, "over")[0].Reason)
		eventually(t, func() bool { return settled.count() == 5 })
		states := make(map[string]outbox.State)
		for _, e := range settled.take() {
			states[e.Key] = e.State
		}
		assert.Equal(t, map[string]outbox.State{"over": outbox.Rejected, "over too": outbox.Rejected, "past": outbox.Rejected,
			"past too": outbox.Rejected, "in time": outbox.Accepted}, states)
	})
}

func TestWhatIsNotDueAndWhatIsOverIsNeitherSeenNorClaimed(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		add(t, o, outbox.Item{Key: "over", NotAfter: time.Now().Add(time.Hour)})
		add(t, o, outbox.Item{Key: "over and high", NotAfter: time.Now().Add(time.Hour), Priority: outbox.High})
		db.shift(t, -2*time.Hour, "not_after")
		add(t, o, outbox.Item{Key: "later", NotBefore: time.Now().Add(time.Hour)})
		enqueue(t, o, "due")
		due, err := db.ledger.Due(t.Context(), []ledger.Look{{Class: ledger.Class{Operation: triggerEvent, Lane: ledger.High}}, triggers})
		require.NoError(t, err)
		require.Len(t, due, 1)
		assert.Equal(t, triggers.Class, due[0].Class, "what is over holds up no others, although its priority is high")
		for _, keys := range [][]string{{"over", "over and high", "later"}, nil} {
			claimed := db.tryClaim(t, ledger.Claim{Token: ledger.Token{1}, Limit: 10, Look: triggers, Keys: keys})
			require.Len(t, claimed, 1-len(keys)/3)
			assert.True(t, keys != nil || claimed[0].Key == "due")
		}
	})
}

func TestAWorkerLooksAtNotAfterBeforeItSends(t *testing.T) {
	db, service := openFile(t), newService()
	var over time.Time
	o := db.new(t, service.client(t), outbox.Fast(), outbox.WithSealer(reversed{func() error {
		time.Sleep(time.Until(over))
		return nil
	}}))
	for key, delivery := range map[string]messaging.Delivery{
		"new": messaging.DeliveryNotSent, "sent before": messaging.DeliveryUnknown,
	} {
		over = time.Now().Add(500 * time.Millisecond)
		add(t, o, outbox.Item{Key: key, NotAfter: over, Repeatable: true})
		if delivery == messaging.DeliveryUnknown {
			db.crash(t, key)
			db.shift(t, -3*time.Hour, "not_before")
		}
		assert.Equal(t, outbox.Delivered{Rejected: 1}, deliver(t, o, key))
		assert.Equal(t, delivery, entryOf(t, o, key).Delivery, key)
	}
	assert.Zero(t, service.requests())
}

func TestEntriesAreSentByPriorityAndTheOthersAndTheDeniedGetAnEighth(t *testing.T) {
	for name, test := range map[string]struct {
		first, other outbox.Priority
		denied       bool // the others were, once
	}{
		"high before normal":   {outbox.High, outbox.Normal, false},
		"normal before low":    {outbox.Normal, outbox.Low, false},
		"normal before denied": {outbox.Normal, outbox.Normal, true},
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, db *database) {
				service, o := db.start(t, outbox.WithInFlight(1), outbox.WithDeniedWait(time.Hour))
				var order []string
				service.set(func(key string) response {
					order = append(order, key)
					if test.denied && strings.HasPrefix(key, "other") {
						return missing
					}
					return accept
				})
				addMany := func(name string, priority outbox.Priority) {
					for i := range 24 {
						add(t, o, outbox.Item{Key: fmt.Sprint(name, i), Priority: priority})
					}
				}
				addMany("other ", test.other)
				if test.denied {
					deliverDue(t, o, 24)
					require.Len(t, order, 24)
					order = nil
					db.shift(t, -2*time.Hour, "not_before") // all are due again
				}
				addMany("first ", test.first)
				for range 4 {
					deliverDue(t, o, 12)
				}
				require.Len(t, order, 48)
				ahead := 0
				for _, key := range order[:16] {
					if strings.HasPrefix(key, "first") {
						ahead++
					}
				}
				assert.GreaterOrEqual(t, ahead, 14)
				assert.Less(t, ahead, 16)
			})
		})
	}
}

func TestAPausedOperationIsNotSentByAnyProcess(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		run(t, db.new(t, service.client(t), outbox.Fast()))
		require.ErrorContains(t, o.Pause(t.Context(), triggerEvent, "no such operation"), `operation "no such operation": `)
		assert.Empty(t, countsOf(t, o).Paused, "a misspelled operation pauses nothing")
		require.NoError(t, o.Pause(t.Context(), triggerEvent))
		require.ErrorContains(t, o.Pause(t.Context()), "name at least one operation")
		enqueue(t, o, "order")
		assert.Equal(t, outbox.Delivered{Paused: []string{"order"}}, deliver(t, o, "order"))
		assert.Equal(t, outbox.Delivered{}, deliverDue(t, o, 10))
		assert.Equal(t, []string{triggerEvent}, countsOf(t, o).Paused)
		require.NoError(t, o.PauseAll(t.Context()))
		require.NoError(t, o.Resume(t.Context(), "create event"))
		assert.Equal(t, []string{"send email broadcast", "send push broadcast", triggerEvent}, countsOf(t, o).Paused)
		eventually(t, func() bool { return countsOf(t, o).OldestPending > 50*time.Millisecond })
		assert.Zero(t, service.requests(), "paused entries become older, and are not sent")
		require.NoError(t, o.ResumeAll(t.Context()))
		eventuallyIs(t, o, "order", outbox.Accepted)
	})
}

func TestAPauseCallsBackWhatIsClaimedAndNotSent(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, release := newService(), make(chan struct{})
		service.always(acceptAfter(func() { <-release }))
		o := db.new(t, service.client(t), outbox.Fast(), outbox.WithInFlight(1))
		sending := func() int { return countsOf(t, o).Sending }
		enqueue(t, o, "a", "b", "c")
		run(t, o)
		eventually(t, func() bool { return sending() == 2 }) // one of them waits for the other
		require.NoError(t, o.Pause(t.Context(), triggerEvent))
		eventually(t, func() bool { return sending() == 1 })
		close(release)
		eventually(t, func() bool { return sending() == 0 })
		assert.Equal(t, 1, service.requests())
	})
}

func TestDeliverDueSendsWhatIsDueWhoeverEnqueuedOrResentIt(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithBreaker(50*time.Millisecond, time.Hour))
		service.always(reject)
		enqueue(t, o, "resent")
		deliver(t, o, "resent")
		service.always(accept)
		resend(t, o, "resent")
		enqueue(t, o, keysOf(20)...)
		add(t, o, outbox.Item{Key: "future", NotBefore: time.Now().Add(time.Minute)})
		_, err := o.DeliverDue(t.Context(), 0)
		require.ErrorContains(t, err, "limit must be positive")
		assert.Equal(t, outbox.Delivered{Accepted: 15, More: true}, deliverDue(t, o, 15))
		delivered := deliverDue(t, o, 15)
		assert.InDelta(t, time.Minute, delivered.RetryAfter, float64(30*time.Second))
		assert.Equal(t, outbox.Delivered{Accepted: 6, More: true, RetryAfter: delivered.RetryAfter}, delivered)

		slow := acceptAfter(func() { time.Sleep(50 * time.Millisecond) }) // a call could return while a probe is being sent
		service.always(response{status: 401, body: unauthorize.body, before: slow.before})
		enqueue(t, o, "a", "b")
		for range 3 { // a request, and two probes
			delivered = deliverDue(t, o, 10)
			assert.NotEmpty(t, delivered.Later)
			assert.Positive(t, delivered.RetryAfter, "the breaker is open")
			require.Less(t, delivered.RetryAfter, time.Second, "until the next probe")
			time.Sleep(delivered.RetryAfter)
		}
		assert.Zero(t, service.carriedOut("a")+service.carriedOut("b"))
		service.always(slow)
		delivered = deliverDue(t, o, 10)
		assert.InDelta(t, time.Minute, delivered.RetryAfter, float64(30*time.Second))
		assert.Equal(t, outbox.Delivered{Accepted: 2, More: true, RetryAfter: delivered.RetryAfter}, delivered, "a probe, and what follows it")
	})
}

func TestOneWrongOperationDoesNotDelayAnother(t *testing.T) {
	db := openFile(t)
	service, o := db.start(t, outbox.WithBreaker(time.Hour, time.Hour))
	service.respondTo(map[string]response{"": forbid}) // a request without a key
	for i := range 20 {
		add(t, o, outbox.Item{Key: fmt.Sprint("email ", i), Prepared: email(t, "denied")})
	}
	run(t, o)
	eventually(t, func() bool {
		counts := countsOf(t, o)
		return counts.Pending == 20 && service.requests() > 0
	})
	enqueue(t, o, keysOf(100)...)
	eventually(t, func() bool {
		counts := countsOf(t, o)
		return counts.Accepted == 100 && counts.Pending == 20
	})
}

func TestAProbeThatAGuardRejectsIsFollowedByTheNextAtOnce(t *testing.T) {
	db, service := openFile(t), newService()
	service.always(disconnect)
	client := service.client(t, messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error {
		if strings.HasPrefix(keyOf(p), "guarded") {
			return errBroken
		}
		return nil
	}))
	// Twelve waits would take half an hour.
	o := db.new(t, client, outbox.WithBreaker(500*time.Millisecond, time.Hour))
	enqueue(t, o, "guarded 0", "guarded 1", "guarded 2", "guarded 3", "guarded 4", "guarded 5")
	enqueue(t, o, "first")
	deliver(t, o, "first")
	enqueue(t, o, keysOf(20)...)
	enqueue(t, o, "guarded 6", "guarded 7", "guarded 8", "guarded 9", "guarded 10", "guarded 11")
	service.always(accept)
	run(t, o)
	eventuallyAccepted(t, o, 21)
}

func TestRunReturnsInTimeWhateverHangs(t *testing.T) {
	hang := make(chan struct{})
	o := openFile(t).new(t, newService().client(t), outbox.Fast(), outbox.WithSendTimeout(time.Second),
		outbox.WithOnSettled(func(context.Context, outbox.Entry) { <-hang }))
	defer close(hang)
	enqueue(t, o, "order")
	stop, ended := begin(o)
	eventuallyIs(t, o, "order", outbox.Accepted)
	stop()
	require.EqualError(t, <-ended, "outbox: stopped without waiting any longer; "+
		"entries whose outcomes are not recorded become unclear")
}

func TestRunReturnsInTimeWhileTheTableIsLocked(t *testing.T) {
	db := openPgx(t)
	pool := openPool(t, db.name)
	_, o := db.start(t, outbox.WithSendTimeout(time.Second))
	stop, ended := begin(o)
	enqueue(t, o, "order")
	eventuallyIs(t, o, "order", outbox.Accepted)
	lock, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), `LOCK TABLE outbox_entry`)
	require.NoError(t, err)
	eventually(t, func() bool { // Run waits for the table
		var waiting int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks
			WHERE relation = 'outbox_entry'::regclass AND NOT granted`).Scan(&waiting))
		return waiting > 0
	})
	stop()
	<-ended
	require.NoError(t, lock.Rollback(t.Context()))
}

func TestOldestPendingCountsFromWhenAnEntryBecameDue(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		oldest := func() time.Duration { return countsOf(t, o).OldestPending }
		add(t, o, outbox.Item{Key: "later", NotBefore: time.Now().Add(24 * time.Hour)})
		assert.Zero(t, oldest(), "nothing is due")
		enqueue(t, o, "order")
		const age = 90 * time.Minute
		db.shift(t, -age, "due_since", "not_before")
		assert.InDelta(t, age, oldest(), float64(time.Minute))
		service.always(unauthorize) // from now on it is due later, and still as old
		deliver(t, o, "order")
		assert.InDelta(t, age, oldest(), float64(time.Minute))
		service.always(reject)
		eventually(t, func() bool {
			deliver(t, o, "order")
			return stateOf(t, o, "order") == outbox.Rejected
		})
		assert.Zero(t, oldest())
		resend(t, o, "order")
		assert.Less(t, oldest(), time.Minute, "counted from when it was resent")
	})
}

func TestACallWaitsForNoClaimThatMayHaveBeenCommitted(t *testing.T) {
	for name, failure := range map[string]error{"rolled back by the server": &pgconn.PgError{Code: "57014"}, "unknown": errBroken} {
		t.Run(name, func(t *testing.T) {
			_, o, w := openWatched(t)
			enqueue(t, o, "order")
			w.set(faults{claim: failure})
			began := time.Now()
			_, err := o.Deliver(t.Context(), "order")
			require.ErrorIs(t, err, failure)
			_, err = o.DeliverDue(t.Context(), 1)
			require.ErrorIs(t, err, failure)
			assert.Less(t, time.Since(began), 30*time.Second, "not ten leases")
		})
	}
}

func TestUnclaimMakesTheEntriesOfItsTokenWhatTheyWere(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		enqueue(t, o, "claimed", "swept")
		add(t, o, outbox.Item{Key: "repeatable", Repeatable: true})
		before := listAll(t, o)
		token := db.claim(t, "claimed", "swept")
		db.unclaim(t, ledger.Token{9}, 0)
		db.unclaim(t, token, 2)
		assert.Equal(t, before, listAll(t, o))
		token = db.crash(t, "claimed", "swept", "repeatable") // its commit showed up, and its lease ended before it was found
		db.unclaim(t, token, 3)
		after := listAll(t, o)
		after[2].DueAt = before[2].DueAt // the sweep has made it wait
		assert.Equal(t, before, after)
		assert.Equal(t, outbox.Delivered{Accepted: 2}, deliver(t, o, "claimed", "swept"))
	})
}

func TestALockedEntryStopsNoOthers(t *testing.T) {
	for name, locked := range map[string]outbox.Priority{"a high one": outbox.High, "an old one": outbox.Low} {
		t.Run(name, func(t *testing.T) {
			db := openPgx(t)
			_, o := db.start(t)
			add(t, o, outbox.Item{Key: "locked", Priority: locked})
			for _, key := range keysOf(60) {
				add(t, o, outbox.Item{Key: key, Priority: -locked})
			}
			db.whileLocked(t, o, "locked", func() {
				run(t, o)
				eventuallyAccepted(t, o, 60)
				assert.True(t, deliverDue(t, o, 1).More, "it does not wait for the lock")
			})
			eventuallyIs(t, o, "locked", outbox.Accepted)
		})
	}
}

func TestASealerThatIsDownMakesNoStorm(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		var opened atomic.Int32
		down := func() error {
			opened.Add(1)
			return errBroken
		}
		o := db.new(t, newService().client(t), outbox.WithSealer(reversed{down}))
		enqueue(t, o, keysOf(200)...)
		began := time.Now()
		stop := run(t, o)
		time.Sleep(2 * time.Second)
		assert.Equal(t, map[string]outbox.Breaker{triggerEvent: {Reason: "open sealed request"}}, countsOf(t, o).Breakers)
		stop()
		assert.LessOrEqual(t, int(opened.Load()), 10+int(time.Since(began)/(100*time.Millisecond)))
	})
}

// unopened is a Sealer that cannot open the bodies of some entries.
type unopened struct{ reversed }

func (u unopened) Open(ctx context.Context, entryKey string, sealed []byte) ([]byte, error) {
	if strings.HasPrefix(entryKey, "unopened") {
		return nil, errBroken
	}
	return u.reversed.Open(ctx, entryKey, sealed)
}

func TestEntriesThatCannotBeOpenedAreAskedOnceAndStopNoOthers(t *testing.T) {
	for name, work := range map[string]func(*testing.T, box){
		"Run": func(t *testing.T, o box) { run(t, o) },
		"DeliverDue": func(t *testing.T, o box) {
			assert.Equal(t, 30, deliverDue(t, o, 100).Accepted, "in one run of cron")
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, db *database) {
				o := db.new(t, newService().client(t), outbox.WithSealer(unopened{})) // with the waits of production
				bad := keysOf(10)
				for i := range bad {
					bad[i] = "unopened " + bad[i]
				}
				enqueue(t, o, bad...)
				enqueue(t, o, keysOf(30)...)
				began := time.Now()
				work(t, o)
				eventuallyAccepted(t, o, 30)
				most := 1 + int(time.Since(began)/(20*time.Second))
				for _, key := range bad {
					entry := entryOf(t, o, key)
					assert.LessOrEqual(t, entry.Attempts, most, key)
					assert.Greater(t, entry.DueAt.Sub(entry.EnqueuedAt), 15*time.Second, "the breaker does not shorten its wait")
				}
			})
		})
	}
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
	eventuallyIs(t, o, "panics", outbox.Unclear)
	eventuallyIs(t, o, "before", outbox.Accepted)
	enqueue(t, o, "after")
	eventuallyIs(t, o, "after", outbox.Accepted)
	stop()
	assert.True(t, logs.has("panic in the client") && logs.has("panic in WithOnSettled") && logs.has("goroutine"))
}

func TestAClockThatIsSetBackDelaysNothingThatWaitsForNoTime(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		enqueue(t, o, "order")
		db.shift(t, time.Hour, "created_at", "due_since", "not_before") // as if the clock had been an hour ahead
		assert.Equal(t, 1, deliverDue(t, o, 1).Accepted)
	})
}

func TestAClaimAndALookBeginAfterAPosition(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		enqueue(t, o, "a", "b")
		after := triggers
		for _, key := range []string{"a", "b"} {
			due, err := db.ledger.Due(t.Context(), []ledger.Look{after})
			require.NoError(t, err)
			assert.Len(t, due, 1)
			claimed := db.tryClaim(t, ledger.Claim{Token: ledger.Token{1}, Limit: 1, Look: after})
			require.Len(t, claimed, 1)
			assert.Equal(t, key, claimed[0].Key)
			after.After = claimed[0].Position
			db.unclaim(t, ledger.Token{1}, 1)
		}
		due, err := db.ledger.Due(t.Context(), []ledger.Look{after})
		require.NoError(t, err)
		assert.Empty(t, due, "both are before it")
	})
}

func TestRunLooksFromItsLastClaimAndEachSecondFromTheStart(t *testing.T) {
	_, o, w := openWatched(t)
	enqueue(t, o, "order")
	run(t, o)
	eventually(t, func() bool {
		looks := w.looksAt(triggers.Class)
		further := slices.IndexFunc(looks, ledger.Position{}.Before)
		return further >= 0 && slices.Contains(looks[further:], ledger.Position{})
	})
}
