package outbox

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// doubts are the claims of which nobody knows whether they were committed, or will be when
// a standby or a disk responds. No entry of them was sent or will be.
type doubts struct {
	mu    sync.Mutex
	until map[ledger.Token]time.Time // until when a claim is looked for
}

// doubt looks for the entries of a claim for ten leases, and makes them pending again. No
// call waits for that.
func (o *Outbox[Tx]) doubt(token ledger.Token) {
	d := &o.doubts
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.until) == 0 {
		d.until = make(map[ledger.Token]time.Time)
		go o.resolveDoubts()
	}
	d.until[token] = time.Now().Add(10 * o.lease())
}

// resolveDoubts looks for the claims until none are left.
func (o *Outbox[Tx]) resolveDoubts() {
	d := &o.doubts
	for {
		d.mu.Lock()
		claims := maps.Clone(d.until)
		d.mu.Unlock()
		for token, until := range claims {
			n, err := withTimeout(context.Background(), func(ctx context.Context) (int, error) { return o.ledger.Unclaim(ctx, token) })
			if n == 0 && !errors.Is(err, ledger.ErrClosed) && time.Now().Before(until) {
				delete(claims, token)
			}
		}
		d.mu.Lock()
		maps.DeleteFunc(d.until, func(token ledger.Token, _ time.Time) bool { _, ended := claims[token]; return ended })
		left := len(d.until)
		d.mu.Unlock()
		o.wake()
		if left == 0 {
			return
		}
		time.Sleep(o.timing.unclaimEvery)
	}
}
