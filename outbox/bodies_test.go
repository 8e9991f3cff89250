package outbox_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

const (
	largeBody = 800_000
	mib       = 1 << 20
)

// largeItems are requests of 800 KB.
func largeItems(t testing.TB, keys []string) (all []outbox.Item) {
	for _, key := range keys {
		all = append(all, sized(t, key, largeBody))
	}
	return all
}

func TestLargeBodiesAreAddedAndClaimedInParts(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, w := newService(), db.watch()
		o := db.new(t, service.client(t), outbox.Fast(), outbox.WithSendTimeout(5*time.Minute))
		keys := keysOf(11) // more than a claim takes
		if db.isSQLite {   // the room for bodies does not depend on the database
			o.HoldBodies(48 * mib)
			keys = keysOf(24) // 19 MB, more than is left of 64 MiB
		}
		backward := []string{"f", "e", "d", "c", "b", "a"}
		require.NoError(t, db.within(t, o, func(tx inTx) error {
			entries, err := tx.enqueueAll(largeItems(t, backward)...)
			for i, e := range entries {
				assert.Equal(t, backward[i], e.Key)
			}
			assert.Len(t, entries, len(backward))
			return err
		}))
		assert.Len(t, w.batches, 2, "five bodies fit into 4 MiB")
		_, err := o.EnqueueAll(t.Context(), each(largeItems(t, keys)))
		require.NoError(t, err)
		assert.Len(t, w.batches, 2+(len(keys)+4)/5)
		for _, batch := range w.batches {
			assert.LessOrEqual(t, batch.bytes, 4*mib)
		}
		keys = append(keys, backward...)
		warmUp(t, o) // now, because what was learned is forgotten after a minute
		release, before := make(chan struct{}), len(w.claims)
		claimed := func() int {
			sum, _ := w.claimed(before)
			return sum.bytes
		}
		service.always(acceptAfter(func() { <-release }))
		began := time.Now()
		stop := run(t, o)
		if db.isSQLite {
			eventually(t, func() bool { return claimed() > 12*mib })
			another := max(300*time.Millisecond, time.Since(began)/2) // in which several claims more would be made
			assert.Never(t, func() bool { return claimed() > 16*mib }, another, 10*time.Millisecond, "nothing of it was sent yet")
		}
		close(release)
		eventuallyAccepted(t, o, warmUps+len(keys))
		stop()
		for _, claim := range w.claims {
			assert.LessOrEqual(t, claim.bytes, 8*mib)
		}
		service.carriedOutOnce(t, keys...)
	})
}

// sized is an item with a body of about that size.
func sized(t testing.TB, key string, bytes int) outbox.Item {
	p, err := messaging.EventTriggerParams{EventID: "event", Email: "ada@example.com",
		Values: map[string]any{"key": key, "text": strings.Repeat("x", bytes)}}.Prepare()
	require.NoError(t, err)
	return outbox.Item{Key: key, Prepared: p}
}

func TestAnyNumberOfBodiesOfAnySizeIsSentBesideOthers(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		warmUp(t, o)
		o.HoldBodies(1)    // for good
		keys := keysOf(11) // more than a claim takes
		_, err := o.EnqueueAll(t.Context(), each(largeItems(t, keys)))
		require.NoError(t, err)
		assert.Equal(t, outbox.Delivered{Accepted: len(keys)}, deliver(t, o, keys...))
		for _, key := range []string{"delivered", "due", "run"} { // larger than a claim
			add(t, o, sized(t, key, 9*mib))
		}
		assert.Equal(t, outbox.Delivered{Accepted: 1}, deliver(t, o, "delivered"))
		assert.Equal(t, 1, deliverDue(t, o, 1).Accepted)
		run(t, o)
		eventuallyAccepted(t, o, warmUps+len(keys)+3)
	})
}

func TestOnlyWhatComesFirstPassesABodyThatDoesNotFit(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		_, o := db.start(t)
		warmUp(t, o)
		release := o.HoldBodies(56 * mib)
		add(t, o, sized(t, "large", 9*mib))
		add(t, o, outbox.Item{Key: "behind it", Prepared: email(t, "welcome")})
		run(t, o)
		eventually(t, func() bool { return stateOf(t, o, "behind it") == outbox.Accepted }) // its operation had no turn yet
		add(t, o, outbox.Item{Key: "behind it too", Prepared: email(t, "welcome")})
		for i := range 20 { // more than the share of the others
			key := fmt.Sprint("first ", i)
			add(t, o, outbox.Item{Key: key, Priority: outbox.High})
			eventuallyIs(t, o, key, outbox.Accepted)
		}
		assert.Equal(t, outbox.Pending, stateOf(t, o, "large"))
		assert.Equal(t, outbox.Pending, stateOf(t, o, "behind it too"))
		release()
		eventuallyIs(t, o, "large", outbox.Accepted)
		eventuallyIs(t, o, "behind it too", outbox.Accepted)
	})
}

func TestABodyBehindALockedEntryIsSentWhateverItsSize(t *testing.T) {
	db := openPgx(t)
	_, o := db.start(t)
	enqueue(t, o, "locked")
	add(t, o, sized(t, "large", 9*mib))
	db.whileLocked(t, o, "locked", func() {
		run(t, o)
		eventuallyIs(t, o, "large", outbox.Accepted)
	})
	eventuallyIs(t, o, "locked", outbox.Accepted)
}

func TestEnqueueAllListAndPresentTakeAnyNumberOfEntries(t *testing.T) {
	_, o, w := openWatched(t)
	keys := keysOf(2500)
	enqueue(t, o, keys...)
	assert.Equal(t, keys, listed(t, o, outbox.Filter{}))
	assert.Equal(t, keys[:1700], listed(t, o, outbox.Filter{Limit: 1700}))
	var sizes []int
	for _, batch := range w.batches {
		sizes = append(sizes, batch.entries)
	}
	assert.Equal(t, []int{1000, 1000, 500}, sizes, "a thousand at a time")
	found, err := o.Present(t.Context(), itemsOf(t, append(keys, "absent")...)...)
	require.NoError(t, err)
	assert.Equal(t, append(slices.Repeat([]outbox.Presence{outbox.Present}, 2500), outbox.Absent), found)
}

// holding is a service that keeps requests waiting, before their bodies are read.
type holding struct {
	on         atomic.Bool
	begun, end chan struct{} // for each request
}

func (h *holding) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.on.Load() {
		h.begun <- struct{}{}
		<-h.end
	}
	_, _ = io.Copy(io.Discard, r.Body)
	body := io.NopCloser(strings.NewReader(accept.body))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: body}, nil
}

// inUse returns the size of the memory that is in use.
func inUse() int {
	for range 3 { // two of them empty a sync.Pool
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func TestRunHoldsEachBodyOnce(t *testing.T) {
	for _, kind := range kinds[:2] { // one after the other, because it measures the memory
		t.Run(kind.name, func(t *testing.T) { testBodiesHeld(t, kind.open(t)) })
	}
}

func testBodiesHeld(t *testing.T, db *database) {
	const n = 10 // which one claim takes
	service := &holding{begun: make(chan struct{}), end: make(chan struct{})}
	client, err := messaging.NewClient("https://service.test", "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: service}))
	require.NoError(t, err)
	// A connection can keep its last statement: those of this test within the test are closed.
	t.Run("enqueue", func(t *testing.T) {
		_, err := db.new(t, client).EnqueueAll(t.Context(), each(largeItems(t, keysOf(n))))
		require.NoError(t, err)
	})
	w := db.watch()
	o := db.new(t, client, outbox.Fast(), outbox.WithSendTimeout(5*time.Minute))
	warmUp(t, o)
	before := inUse()
	bodies := func() float64 { return float64(inUse()-before) / largeBody }
	service.on.Store(true)
	var waiting sync.Map // the entries whose outcomes wait
	ended := make(chan struct{}, n)
	w.set(faults{locked: func(outcomes []ledger.Outcome) {
		for _, o := range outcomes {
			if _, again := waiting.LoadOrStore(o.ID, true); !again {
				ended <- struct{}{}
			}
		}
	}})
	run(t, o)
	for range n {
		<-service.begun
	}
	assert.InDelta(t, n, bodies(), n/2, "each body is held once")
	for range n - 1 {
		service.end <- struct{}{}
		<-ended
	}
	assert.InDelta(t, 1, bodies(), n/2, "a body is let go when its own request has ended, before the outcome is recorded")
	w.set(faults{})
	service.end <- struct{}{}
	eventuallyAccepted(t, o, warmUps+n)
}
