package outbox_test

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// base is a ledger under a name that leaves Ledger to a method.
type base = ledger.Ledger

// watchedStore is a store with a watched ledger. What is in a transaction of the caller
// goes to tx.
type watchedStore[Tx any] struct {
	*watched
	tx ledger.TxLedger[Tx]
}

func (s watchedStore[Tx]) Ledger() ledger.Handle[Tx] { return ledger.NewHandle[Tx](s) }

func (s watchedStore[Tx]) InsertTx(ctx context.Context, tx Tx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	s.inserting(entries)
	return s.tx.InsertTx(ctx, tx, entries)
}

func (s watchedStore[Tx]) RemoveTx(ctx context.Context, tx Tx, ids []int64) error {
	return s.tx.RemoveTx(ctx, tx, ids)
}

func (s watchedStore[Tx]) DismissTx(ctx context.Context, tx Tx, keys []string) ([]ledger.Decision, error) {
	return s.tx.DismissTx(ctx, tx, keys)
}

// watched is a ledger that knows what passes through it, and whose database fails as the
// test asks.
type watched struct {
	base
	late sync.WaitGroup

	mu      sync.Mutex
	faults  faults
	batches []weight // that were inserted
	claims  []weight
	looks   []ledger.Look
}

// weight is the size of a batch.
type weight struct{ entries, bytes int }

// faults are how a database fails.
type faults struct {
	broken       error // of every call
	afterClaim   func([]ledger.Claimed) ([]ledger.Claimed, error)
	claim        error                        // of a claim, and none is committed
	lateClaim    time.Duration                // a claim fails, and is committed that much later
	beforeSettle func([]ledger.Outcome) error // an error is returned, and nothing is recorded
	locked       func([]ledger.Outcome)       // other transactions have locked all entries
	afterSettle  func() error
	purge        func(context.Context, int) (int, error) // takes the place of a purge
}

func (w *watched) set(faults faults) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = faults
}

func (w *watched) get() faults {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults
}

func (w *watched) inserting(entries []ledger.NewEntry) {
	size := 0
	for _, e := range entries {
		size += len(e.Body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append(w.batches, weight{len(entries), size})
}

// claimed is the sum of the claims since the first n, and their number.
func (w *watched) claimed(n int) (sum weight, claims int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, claim := range w.claims[n:] {
		sum.entries += claim.entries
		sum.bytes += claim.bytes
	}
	return sum, len(w.claims) - n
}

// looksAt returns the positions from which a class was looked at.
func (w *watched) looksAt(class ledger.Class) (positions []ledger.Position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, look := range w.looks {
		if look.Class == class {
			positions = append(positions, look.After)
		}
	}
	return positions
}

func (w *watched) Insert(ctx context.Context, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	w.inserting(entries)
	return w.base.Insert(ctx, entries)
}

func (w *watched) Due(ctx context.Context, looks []ledger.Look) ([]ledger.Due, error) {
	w.mu.Lock()
	w.looks = append(w.looks, looks...)
	w.mu.Unlock()
	if now := w.get(); now.broken != nil {
		return nil, now.broken
	}
	return w.base.Due(ctx, looks)
}

func (w *watched) Claim(ctx context.Context, claim ledger.Claim) ([]ledger.Claimed, error) {
	now := w.get()
	if err := cmp.Or(now.broken, now.claim); err != nil {
		return nil, err
	}
	if now.lateClaim > 0 {
		w.late.Go(func() {
			time.Sleep(now.lateClaim)
			_, _ = w.base.Claim(context.WithoutCancel(ctx), claim)
		})
		return nil, errBroken
	}
	claimed, err := w.base.Claim(ctx, claim)
	size := 0
	for _, e := range claimed {
		size += len(e.Body)
	}
	w.mu.Lock()
	w.claims = append(w.claims, weight{len(claimed), size})
	w.mu.Unlock()
	if len(claimed) > 0 && now.afterClaim != nil {
		return now.afterClaim(claimed)
	}
	return claimed, err
}

func (w *watched) Settle(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.Settled, time.Time, error) {
	now := w.get()
	if now.broken != nil {
		return nil, time.Time{}, now.broken
	}
	if now.locked != nil {
		locked := make([]ledger.Settled, len(outcomes))
		for i := range locked {
			locked[i] = ledger.Locked
		}
		now.locked(outcomes)
		return locked, time.Time{}, nil
	}
	if now.beforeSettle != nil {
		if err := now.beforeSettle(outcomes); err != nil {
			return nil, time.Time{}, err
		}
	}
	applied, at, err := w.base.Settle(ctx, outcomes)
	if err == nil && now.afterSettle != nil {
		err = now.afterSettle()
	}
	return applied, at, err
}

func (w *watched) Purge(ctx context.Context, keep time.Duration, limit int) (int, error) {
	if now := w.get(); now.purge != nil {
		return now.purge(ctx, limit)
	}
	return w.base.Purge(ctx, keep, limit)
}
