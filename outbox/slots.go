package outbox

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/messaging-go/messaging"
)

// room limits how many entries are claimed and not recorded.
type room struct {
	free chan struct{}
	turn chan struct{} // is held by the goroutine that acquires
}

func newRoom(n int) room {
	r := room{free: make(chan struct{}, n), turn: make(chan struct{}, 1)}
	r.release(n)
	return r
}

// acquire waits until there is room and takes up to n. Room becomes free for many at
// once, when a transaction has recorded outcomes. For one claim to take all of it, waiting
// goroutines take turns, and yield until the whole batch is free.
func (r room) acquire(ctx context.Context, n int) int {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return 0
	}
	select {
	case <-r.free:
	case <-ctx.Done():
		return 0
	}
	runtime.Gosched()
	for taken := 1; ; taken++ {
		if taken == n {
			return n
		}
		select {
		case <-r.free:
		default:
			return taken
		}
	}
}

func (r room) release(n int) {
	for range n {
		r.free <- struct{}{}
	}
}

// slots limits how many requests are sent at the same time. Urgent entries come first.
type slots struct {
	mu             sync.Mutex
	free           int
	urgent, others []chan struct{}
}

// acquire waits for a slot. It returns false if end or recall is closed first.
func (s *slots) acquire(urgent bool, end, recall <-chan struct{}) bool {
	select {
	case <-end:
		return false
	case <-recall:
		return false
	default:
	}
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	queue := &s.others
	if urgent {
		queue = &s.urgent
	}
	*queue = append(*queue, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		select {
		case <-end:
		default:
			return true
		}
	case <-end:
	case <-recall:
	}
	s.mu.Lock()
	i := slices.Index(*queue, turn)
	if i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // its turn came at the same time
		s.release()
	}
	return false
}

func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, queue := range []*[]chan struct{}{&s.urgent, &s.others} {
		if len(*queue) > 0 {
			close((*queue)[0])
			*queue = (*queue)[1:]
			return
		}
	}
	s.free++
}

const (
	// maxBodies limits the size of the bodies that a process holds.
	maxBodies = 64 << 20
	// claimBodies limits the size of the bodies of one claim.
	claimBodies = 8 << 20
	// leastBodies is how much must be free for a claim, unless no body is held.
	leastBodies = 1 << 20
)

// bodies limits the size of the bodies that are held.
type bodies struct {
	mu      sync.Mutex
	held    int64
	changed chan struct{} // closed when held becomes smaller
}

// reserve waits until bodies can be read, and returns how much. alone is true if no other
// body is held, so that one of any size can be read.
func (b *bodies) reserve(ctx context.Context) (size int64, alone bool, err error) {
	for {
		b.mu.Lock()
		left, changed := maxBodies-b.held, b.changed
		if left >= leastBodies || b.held == 0 {
			size, alone = min(left, claimBodies), b.held == 0
			b.held += size
			b.mu.Unlock()
			return size, alone, nil
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return 0, false, ctx.Err()
		case <-changed:
		}
	}
}

// release changes what is held by -size.
func (b *bodies) release(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= size
	close(b.changed)
	b.changed = make(chan struct{})
}

// permit is the permission of the limiter to claim an entry. It is kept until an entry is
// claimed with it.
type permit struct {
	limiter messaging.Limiter
	mu      sync.Mutex
	kept    bool
}

// most returns how many of n entries one claim may take.
func (p *permit) most(n int) int {
	if p.limiter == nil {
		return n
	}
	return min(n, 1)
}

// acquire waits until the limiter permits a claim.
func (p *permit) acquire(ctx context.Context) error {
	if p.limiter == nil {
		return nil
	}
	p.mu.Lock()
	kept := p.kept
	p.kept = false
	p.mu.Unlock()
	if kept {
		return nil
	}
	return p.limiter.Wait(ctx)
}

// keep keeps a permit that was not used, for the next claim.
func (p *permit) keep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = p.limiter != nil
}
