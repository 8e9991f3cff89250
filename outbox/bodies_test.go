package outbox_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlite"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// weighed is a store that knows the sizes of what passes through it.
type weighed[Tx any] struct {
	ledger.TxLedger[Tx]

	mu      sync.Mutex
	batches []weight // that were inserted
	claims  []weight
	looks   []ledger.Look
}

type weight struct{ entries, bytes int }

func (w *weighed[Tx]) Ledger() ledger.TxLedger[Tx] { return w }

func (w *weighed[Tx]) inserting(entries []ledger.NewEntry) {
	size := 0
	for _, e := range entries {
		size += len(e.Body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append(w.batches, weight{len(entries), size})
}

func (w *weighed[Tx]) Insert(ctx context.Context, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	w.inserting(entries)
	return w.TxLedger.Insert(ctx, entries)
}

func (w *weighed[Tx]) InsertTx(ctx context.Context, tx Tx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	w.inserting(entries)
	return w.TxLedger.InsertTx(ctx, tx, entries)
}

func (w *weighed[Tx]) Due(ctx context.Context, looks []ledger.Look) ([]ledger.Due, error) {
	w.mu.Lock()
	w.looks = append(w.looks, looks...)
	w.mu.Unlock()
	return w.TxLedger.Due(ctx, looks)
}

// looksAt returns the positions from which a class was looked at.
func (w *weighed[Tx]) looksAt(class ledger.Class) (positions []ledger.Position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, look := range w.looks {
		if look.Class == class {
			positions = append(positions, look.After)
		}
	}
	return positions
}

func (w *weighed[Tx]) Claim(ctx context.Context, claim ledger.Claim) ([]ledger.Claimed, error) {
	claimed, err := w.TxLedger.Claim(ctx, claim)
	size := 0
	for _, e := range claimed {
		size += len(e.Body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims = append(w.claims, weight{len(claimed), size})
	return claimed, err
}

// claimed is the sum of the claims since the first n.
func (w *weighed[Tx]) claimed(n int) (sum weight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, claim := range w.claims[n:] {
		sum.entries += claim.entries
		sum.bytes += claim.bytes
	}
	return sum
}

const (
	largeBody = 800_000
	mib       = 1 << 20
)

// largeItems are requests of 800 KB.
func largeItems(t testing.TB, keys []string) func(yield func(outbox.Item, error) bool) {
	text := strings.Repeat("x", largeBody)
	return func(yield func(outbox.Item, error) bool) {
		for _, key := range keys {
			p, err := messaging.EventTriggerParams{EventID: "event", Email: "ada@example.com",
				Values: map[string]any{"key": key, "text": text}}.Prepare()
			if !assert.NoError(t, err) || !yield(outbox.Item{Key: key, Prepared: p}, nil) {
				return
			}
		}
	}
}

func TestLargeBodiesAreAddedAndClaimedInParts(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		store, err := sqlitefile.Open(t.Context(), filepath.Join(t.TempDir(), "outbox.db"))
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		testLargeBodies(t, &weighed[outbox.SQLTx]{TxLedger: store.Ledger()})
	})
	t.Run("Postgres", func(t *testing.T) {
		pool := pgtest.Pool(t)
		require.NoError(t, postgres.Migrate(t.Context(), pool))
		store, err := postgres.New(t.Context(), pool)
		require.NoError(t, err)
		testLargeBodies(t, &weighed[pgx.Tx]{TxLedger: store.Ledger()})
	})
}

func testLargeBodies[Tx any](t *testing.T, store *weighed[Tx]) {
	service := newService()
	o := newBox(t, store, service.client(t), []outbox.Option{outbox.Fast(), outbox.WithSendTimeout(5 * time.Minute)})
	keys := keysOf(88) // 70 MB
	_, _, err := o.EnqueueAll(t.Context(), largeItems(t, keys))
	require.NoError(t, err)
	for _, batch := range store.batches {
		assert.LessOrEqual(t, batch.bytes, 4*mib)
	}
	assert.Len(t, store.batches, 18, "five bodies fit into 4 MiB")
	warmUp(t, o) // now, because what was learned is forgotten after a minute
	release, before := make(chan struct{}), len(store.claims)
	service.always(response{status: 200, body: accept.body, before: func(*http.Request) { <-release }})
	stop := run(t, o)
	eventually(t, func() bool { return store.claimed(before).bytes > 60*mib })
	assert.Never(t, func() bool { return store.claimed(before).bytes > 64*mib }, 300*time.Millisecond, 10*time.Millisecond,
		"nothing of it was sent yet")
	close(release)
	eventually(t, func() bool {
		counts, err := o.Counts(t.Context())
		require.NoError(t, err)
		return counts.Accepted == warmUps+len(keys)
	})
	stop()
	for _, claim := range store.claims {
		assert.LessOrEqual(t, claim.bytes, 8*mib)
	}
	for _, key := range keys {
		assert.Equal(t, 1, service.carriedOut(key))
	}
}

func TestLargeBodiesOfATransactionAreAddedInParts(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		db := openDB(t, "sqlite", filepath.Join(t.TempDir(), "program.db"))
		db.SetMaxOpenConns(1)
		store, err := sqlite.New(t.Context(), db)
		require.NoError(t, err)
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		testLargeTransaction(t, &weighed[outbox.SQLTx]{TxLedger: store.Ledger()}, outbox.SQLTx(tx))
		require.NoError(t, tx.Rollback())
	})
	t.Run("Postgres", func(t *testing.T) {
		pool := pgtest.Pool(t)
		require.NoError(t, postgres.Migrate(t.Context(), pool))
		store, err := postgres.New(t.Context(), pool)
		require.NoError(t, err)
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		testLargeTransaction(t, &weighed[pgx.Tx]{TxLedger: store.Ledger()}, tx)
		require.NoError(t, tx.Rollback(t.Context()))
	})
}

func testLargeTransaction[Tx any](t *testing.T, store *weighed[Tx], tx Tx) {
	keys := keysOf(12)
	slices.Reverse(keys)
	var all []outbox.Item
	for item := range largeItems(t, keys) {
		all = append(all, item)
	}
	entries, err := newBox(t, store, newService().client(t), nil).EnqueueAllTx(t.Context(), tx, all...)
	require.NoError(t, err)
	require.Len(t, entries, len(keys))
	for i, e := range entries {
		assert.Equal(t, keys[i], e.Key)
	}
	assert.Len(t, store.batches, 3, "five bodies fit into 4 MiB")
	for _, batch := range store.batches {
		assert.LessOrEqual(t, batch.bytes, 4*mib)
	}
}

func TestEnqueueAllEndsABatchAtAThousandEntries(t *testing.T) {
	store, err := sqlitefile.Open(t.Context(), filepath.Join(t.TempDir(), "outbox.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	w := &weighed[outbox.SQLTx]{TxLedger: store.Ledger()}
	_, _, err = newBox(t, w, newService().client(t), nil).EnqueueAll(t.Context(), items(t, keysOf(2500)))
	require.NoError(t, err)
	var sizes []int
	for _, batch := range w.batches {
		sizes = append(sizes, batch.entries)
	}
	assert.Equal(t, []int{1000, 1000, 500}, sizes)
}

// unrecorded is a store that keeps outcomes waiting.
type unrecorded[Tx any] struct {
	ledger.TxLedger[Tx]

	mu      sync.Mutex
	waiting map[int64]bool // by the entry; nil if outcomes are recorded
	enough  int
	arrived chan struct{} // closed when that many wait
}

func (u *unrecorded[Tx]) Ledger() ledger.TxLedger[Tx] { return u }

// keepWaiting makes outcomes wait. The channel is closed when n of them do.
func (u *unrecorded[Tx]) keepWaiting(n int) (arrived <-chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting, u.enough, u.arrived = make(map[int64]bool), n, make(chan struct{})
	return u.arrived
}

func (u *unrecorded[Tx]) record() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = nil
}

func (u *unrecorded[Tx]) Settle(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.Settled, time.Time, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.waiting == nil {
		return u.TxLedger.Settle(ctx, outcomes)
	}
	locked := make([]ledger.Settled, len(outcomes))
	for i, o := range outcomes {
		locked[i] = ledger.Locked
		if !u.waiting[o.ID] {
			if u.waiting[o.ID] = true; len(u.waiting) == u.enough {
				close(u.arrived)
			}
		}
	}
	return locked, time.Time{}, nil
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
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "outbox.db")
		testBodiesHeld(t, func() (ledger.TxLedger[outbox.SQLTx], func()) {
			store, err := sqlitefile.Open(t.Context(), path)
			require.NoError(t, err)
			return store.Ledger(), func() { require.NoError(t, store.Close()) }
		})
	})
	t.Run("Postgres", func(t *testing.T) {
		url := pgtest.URL(t)
		testBodiesHeld(t, func() (ledger.TxLedger[pgx.Tx], func()) {
			pool, err := pgxpool.New(t.Context(), url)
			require.NoError(t, err)
			require.NoError(t, postgres.Migrate(t.Context(), pool))
			store, err := postgres.New(t.Context(), pool)
			require.NoError(t, err)
			return store.Ledger(), pool.Close
		})
	})
}

// testBodiesHeld adds entries with connections that are then closed, because a connection
// can keep the last statement.
func testBodiesHeld[Tx any](t *testing.T, open func() (l ledger.TxLedger[Tx], closeAll func())) {
	const n = 10 // which one claim takes
	service := &holding{begun: make(chan struct{}), end: make(chan struct{})}
	client, err := messaging.NewClient("https://service.test", "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: service}))
	require.NoError(t, err)
	l, closeAll := open()
	_, _, err = newBox(t, &unrecorded[Tx]{TxLedger: l}, client, nil).EnqueueAll(t.Context(), largeItems(t, keysOf(n)))
	require.NoError(t, err)
	closeAll()
	l, closeAll = open()
	defer closeAll()
	store := &unrecorded[Tx]{TxLedger: l}
	o := newBox(t, store, client, []outbox.Option{outbox.Fast(), outbox.WithSendTimeout(5 * time.Minute)})
	warmUp(t, o)
	before := inUse()
	bodies := func() float64 { return float64(inUse()-before) / largeBody }
	service.on.Store(true)
	ended := store.keepWaiting(n - 1)
	stop := run(t, o)
	for range n {
		<-service.begun
	}
	assert.InDelta(t, n, bodies(), n/2, "each body is held once")
	for range n - 1 {
		service.end <- struct{}{}
	}
	<-ended
	assert.InDelta(t, 1, bodies(), n/2, "a body is let go when its own request has ended, before the outcome is recorded")
	store.record()
	service.end <- struct{}{}
	eventually(t, func() bool {
		counts, err := o.Counts(t.Context())
		require.NoError(t, err)
		return counts.Accepted == warmUps+n
	})
	stop()
}
