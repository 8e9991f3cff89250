package outbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

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
				assert.WithinDuration(t, time.Now().Add(time.Hour), entry.NotBefore, 30*time.Minute)
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
		assert.Greater(t, time.Until(entryOf(t, o, "poison").NotBefore), 20*time.Minute)
		enqueue(t, o, "good")
		run(t, o)
		eventuallyIs(t, o, "good", outbox.Accepted)
	})
}

func TestQuarantineAndDismissDoNotKnowRepeatableEntries(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.respondTo(map[string]response{"rejected": reject, "repeated": lose})
		for _, key := range []string{"pending", "rejected", "repeated", "dismissed", "accepted"} {
			add(t, o, outbox.Item{Key: key, Repeatable: true})
		}
		deliver(t, o, "accepted", "rejected")
		deliver(t, o, "repeated")
		assert.Equal(t, 1, changed(dismiss(t, o, "dismissed")))
		assert.Equal(t, 3, quarantine(t, o))
		assert.Equal(t, []string{"pending", "rejected", "repeated"}, listed(t, o, outbox.Filter{State: outbox.Unclear}),
			"a rejected one may have been resent and carried out after the backup")
	})
}
