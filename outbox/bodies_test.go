package outbox_test

import (
	"context"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// weighed is a store that knows the sizes of what passes through it.
type weighed[Tx any] struct {
	ledger.TxLedger[Tx]

	mu      sync.Mutex
	batches []weight // that were inserted
	claims  []weight
}

type weight struct{ entries, bytes int }

func (w *weighed[Tx]) Ledger() ledger.TxLedger[Tx] { return w }

func (w *weighed[Tx]) Insert(ctx context.Context, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	size := 0
	for _, e := range entries {
		size += len(e.Body)
	}
	w.mu.Lock()
	w.batches = append(w.batches, weight{len(entries), size})
	w.mu.Unlock()
	return w.TxLedger.Insert(ctx, entries)
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
	warmUp(t, o)
	keys := keysOf(88) // 70 MB
	store.batches = nil
	_, _, err := o.EnqueueAll(t.Context(), largeItems(t, keys))
	require.NoError(t, err)
	for _, batch := range store.batches {
		assert.LessOrEqual(t, batch.bytes, 4*mib)
	}
	assert.Len(t, store.batches, 18, "five bodies fit into 4 MiB")
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

// heap is how much memory is in use.
func heap() int {
	runtime.GC()
	runtime.GC() // for what the first has found
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func TestRunHoldsEachBodyOnceAndUntilItIsSent(t *testing.T) {
	pool := pgtest.Pool(t)
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	store, err := postgres.New(t.Context(), pool)
	require.NoError(t, err)
	release, last := make(chan struct{}), make(chan struct{})
	var held atomic.Int32
	client := newService().client(t, messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error {
		if len(p.Body()) < largeBody {
			return nil
		}
		held.Add(1)
		<-release
		if keyOf(p) == "last" {
			<-last
		}
		return errBroken
	}))
	o := newBox(t, store, client, []outbox.Option{outbox.Fast(), outbox.WithSendTimeout(10 * time.Minute)})
	warmUp(t, o)
	keys := append(keysOf(9), "last") // of one claim
	before := heap()
	_, _, err = o.EnqueueAll(t.Context(), largeItems(t, keys))
	require.NoError(t, err)
	stop := run(t, o)
	eventually(t, func() bool { return int(held.Load()) == len(keys) })
	assert.Less(t, heap()-before, len(keys)*largeBody*3/2, "each body is held once")
	close(release)
	eventually(t, func() bool {
		counts, err := o.Counts(t.Context())
		require.NoError(t, err)
		return counts.Rejected == len(keys)-1
	})
	assert.Less(t, heap()-before, 3*largeBody, "only the last body is still held")
	close(last)
	stop()
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
