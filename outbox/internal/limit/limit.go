// Package limit has the limits of a process that sends entries: how many are claimed, how
// many are sent at the same time, and how large their bodies are.
package limit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Room limits how many entries are claimed and not recorded.
type Room struct {
	turn chan struct{} // is held by the goroutine that acquires

	mu        sync.Mutex
	all, free int
	wanted    int           // how much the goroutine that acquires waits for
	enough    chan struct{} // holds a value if that much became free
}

const (
	// gatherTime is how long a claim waits for more room, and gatherPart is for which part
	// of all room. A claim costs much the same for one entry as for many.
	gatherTime = 10 * time.Millisecond
	gatherPart = 4
)

// NewRoom returns room for n entries.
func NewRoom(n int) *Room {
	return &Room{turn: make(chan struct{}, 1), all: n, free: n, enough: make(chan struct{}, 1)}
}

// Acquire waits until there is room and takes up to n. While most of the room is taken, it
// waits a little for more, so that one claim takes what becomes free soon. Goroutines take
// turns.
func (r *Room) Acquire(ctx context.Context, n int) int {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return 0
	}
	if r.await(ctx.Done(), 1); ctx.Err() == nil {
		gathering, cancel := context.WithTimeout(ctx, gatherTime)
		r.await(gathering.Done(), min(n, r.all/gatherPart))
		cancel()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := min(n, r.free)
	r.free -= taken
	return taken
}

// await waits until that much room is free, or until end.
func (r *Room) await(end <-chan struct{}, wanted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.free < wanted {
		r.wanted = wanted
		r.mu.Unlock()
		select {
		case <-r.enough:
			r.mu.Lock()
		case <-end:
			r.mu.Lock()
			return
		}
	}
}

// Release makes room for n entries.
func (r *Room) Release(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free += n; r.free < r.wanted {
		return
	}
	select {
	case r.enough <- struct{}{}:
	default:
	}
}

// Slots limits how many requests are sent at the same time. Urgent entries come first.
type Slots struct {
	mu             sync.Mutex
	free           int
	urgent, others []chan struct{}
}

// NewSlots returns n slots.
func NewSlots(n int) *Slots { return &Slots{free: n} }

// Acquire waits for a slot. It returns false if end or recall is closed first.
func (s *Slots) Acquire(urgent bool, end, recall <-chan struct{}) bool {
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
		s.Release()
	}
	return false
}

// Release gives a slot back.
func (s *Slots) Release() {
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

// Bodies limits the size of the bodies that are held.
type Bodies struct {
	mu      sync.Mutex
	held    int64
	changed chan struct{} // closed when held becomes smaller
}

// NewBodies returns a limit of which nothing is held.
func NewBodies() *Bodies { return &Bodies{changed: make(chan struct{})} }

// Reserve waits until bodies can be read, and returns how much. alone is true if no other
// body is held, so that one of any size can be read.
func (b *Bodies) Reserve(ctx context.Context) (size int64, alone bool, err error) {
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

// Release changes what is held by -size.
func (b *Bodies) Release(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= size
	close(b.changed)
	b.changed = make(chan struct{})
}
