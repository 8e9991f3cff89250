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
		after[2].NotBefore = before[2].NotBefore // the sweep has made it wait
		assert.Equal(t, before, after)
		assert.Equal(t, outbox.Delivered{Accepted: 2}, deliver(t, o, "claimed", "swept"))
	})
}

func TestALockedEntryStopsNoOthers(t *testing.T) {
	for name, locked := range map[string]outbox.Priority{"a high one": outbox.High, "an old one": outbox.Low} {
		t.Run(name, func(t *testing.T) {
			db := openPgx(t)
			_, o := db.start(t)
			for _, key := range append([]string{"locked"}, keysOf(60)...) {
				priority := -locked
				if key == "locked" {
					priority = locked
				}
				add(t, o, outbox.Item{Key: key, Priority: priority})
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

func TestDeniedEntriesGetAnEighthOfTheClaims(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithInFlight(1))
		good := 0
		service.set(func(key string) response {
			if strings.HasPrefix(key, "denied") {
				return missing
			}
			good++
			return accept
		})
		for i := range 16 {
			enqueue(t, o, fmt.Sprint("denied ", i))
		}
		deliverDue(t, o, 16)
		require.Equal(t, 16, service.requests())
		time.Sleep(200 * time.Millisecond) // all are due again
		enqueue(t, o, keysOf(32)...)
		deliverDue(t, o, 32)
		assert.Equal(t, 48, service.requests())
		assert.InDelta(t, 28, good, 1, "7 of 8")
	})
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
		assert.Equal(t, map[string]string{triggerEvent: "open sealed request"}, countsOf(t, o).Breakers)
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
					assert.Greater(t, entry.NotBefore.Sub(entry.EnqueuedAt), 15*time.Second, "the breaker does not shorten its wait")
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
	stop := run(t, o)
	eventually(t, func() bool {
		looks := w.looksAt(triggers.Class)
		further := slices.IndexFunc(looks, ledger.Position{}.Before)
		return further >= 0 && slices.Contains(looks[further:], ledger.Position{})
	})
	stop()
}
