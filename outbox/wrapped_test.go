package outbox_test

import (
	"context"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// faulty is a store whose database fails as the test asks.
type faulty struct {
	ledger.TxLedger[ledger.SQLTx]

	late   sync.WaitGroup
	mu     sync.Mutex
	faults faults
}

// faults are how a database fails.
type faults struct {
	broken       error // of every call
	afterClaim   func([]ledger.Claimed) ([]ledger.Claimed, error)
	lateClaim    time.Duration // a claim fails, and is committed that much later
	beforeSettle func() error
	recording    func([]ledger.Outcome) error // an error is returned, and nothing is recorded
	afterSettle  func() error
}

func (f *faulty) Ledger() ledger.TxLedger[ledger.SQLTx] { return f }

func (f *faulty) set(faults faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = faults
}

func (f *faulty) get() faults {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults
}

func (f *faulty) Claim(ctx context.Context, claim ledger.Claim) ([]ledger.Claimed, error) {
	now := f.get()
	if now.broken != nil {
		return nil, now.broken
	}
	if now.lateClaim > 0 {
		f.late.Go(func() {
			time.Sleep(now.lateClaim)
			_, _ = f.TxLedger.Claim(context.WithoutCancel(ctx), claim)
		})
		return nil, errBroken
	}
	claimed, err := f.TxLedger.Claim(ctx, claim)
	if err == nil && len(claimed) > 0 && now.afterClaim != nil {
		return now.afterClaim(claimed)
	}
	return claimed, err
}

func (f *faulty) Due(ctx context.Context, looks []ledger.Look) ([]ledger.Due, error) {
	if now := f.get(); now.broken != nil {
		return nil, now.broken
	}
	return f.TxLedger.Due(ctx, looks)
}

func (f *faulty) Settle(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.Settled, time.Time, error) {
	now := f.get()
	if now.broken != nil {
		return nil, time.Time{}, now.broken
	}
	if now.beforeSettle != nil {
		if err := now.beforeSettle(); err != nil {
			return nil, time.Time{}, err
		}
	}
	if now.recording != nil {
		if err := now.recording(outcomes); err != nil {
			return nil, time.Time{}, err
		}
	}
	applied, at, err := f.TxLedger.Settle(ctx, outcomes)
	if err == nil && now.afterSettle != nil {
		err = now.afterSettle()
	}
	return applied, at, err
}
