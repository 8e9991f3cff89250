package outbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// doubts are the claims of which nobody knows whether they were committed, or will be when
// a standby or a disk responds. No entry of them was sent or will be.
type doubts struct {
	mu      sync.Mutex
	until   map[ledger.Token]time.Time
	looking bool
}

// doubt looks for the entries of a claim for ten leases, and makes them pending again. No
// call waits for that.
func (o *Outbox[Tx]) doubt(token ledger.Token) {
	d := &o.doubts
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.until == nil {
		d.until = make(map[ledger.Token]time.Time)
	}
	d.until[token] = time.Now().Add(10 * o.lease())
	if !d.looking {
		d.looking = true
		go o.resolveDoubts()
	}
}

// resolveDoubts looks for the claims until none are left.
func (o *Outbox[Tx]) resolveDoubts() {
	for {
		for _, token := range o.doubts.left(time.Now()) {
			n, err := withTimeout(context.Background(), func(ctx context.Context) (int, error) { return o.ledger.Unclaim(ctx, token) })
			if n > 0 || errors.Is(err, ledger.ErrClosed) {
				o.doubts.forget(token)
				o.wake()
			}
		}
		if o.doubts.end() {
			return
		}
		time.Sleep(o.timing.unclaimEvery)
	}
}

// left returns the claims that are still looked for.
func (d *doubts) left(now time.Time) (tokens []ledger.Token) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for token, until := range d.until {
		if now.After(until) {
			delete(d.until, token)
			continue
		}
		tokens = append(tokens, token)
	}
	return tokens
}

func (d *doubts) forget(token ledger.Token) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.until, token)
}

// end reports whether nothing is left to look for.
func (d *doubts) end() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looking = len(d.until) > 0
	return !d.looking
}
