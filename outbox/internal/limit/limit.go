// Package limit has the limits of a process that sends entries: how many are claimed, how
// large their bodies are, and how many are sent at the same time.
package limit

import (
	"context"

	"golang.org/x/sync/semaphore"
)

const (
	// MaxBodies limits the size of the bodies that a process holds. A larger one is held alone.
	MaxBodies = 64 << 20
	// ClaimBodies limits the size of the bodies of one claim.
	ClaimBodies = 8 << 20
	// gatherPart is the part of the claims that a large claim waits for, because a claim
	// costs much the same for one entry as for many.
	gatherPart = 4
)

// Limit holds what is left of each limit.
type Limit struct {
	claims int
	room   *semaphore.Weighted // for entries that are claimed and not recorded
	bodies *semaphore.Weighted
	slots  chan struct{} // holds a value for each request that can be sent
	first  chan struct{} // passes a slot to an entry that comes first
}

// New returns the limits of a process that sends inFlight requests at a time. It claims twice
// as many entries, so that the next ones are there when a request ends.
func New(inFlight int) *Limit {
	l := &Limit{claims: 2 * inFlight, room: semaphore.NewWeighted(2 * int64(inFlight)), bodies: semaphore.NewWeighted(MaxBodies),
		slots: make(chan struct{}, inFlight), first: make(chan struct{})}
	for range inFlight {
		l.slots <- struct{}{}
	}
	return l
}

// Claims takes room for up to n entries, and returns for how many. If there is less, it waits
// for n or for a quarter of all room. It returns 0 if ctx ends first.
func (l *Limit) Claims(ctx context.Context, n int) int {
	if ctx.Err() == nil && l.room.TryAcquire(int64(n)) {
		return n
	}
	n = min(n, max(l.claims/gatherPart, 1))
	if l.room.Acquire(ctx, int64(n)) != nil {
		return 0
	}
	return n
}

// EndClaims makes room for n entries.
func (l *Limit) EndClaims(n int) { l.room.Release(int64(n)) }

// Bodies takes room for the bodies of a claim whose first one has a size, and for more of them
// if there is room now. It waits until there is room for the first one, and returns how much
// it has taken, or 0 if ctx ends first. Nobody overtakes one that waits.
func (l *Limit) Bodies(ctx context.Context, size int64) (taken int64) {
	least := min(max(size, 1), MaxBodies)
	for taken = ClaimBodies; taken > least; taken /= 2 {
		if l.bodies.TryAcquire(taken) {
			return taken
		}
	}
	if l.bodies.Acquire(ctx, least) != nil {
		return 0
	}
	return least
}

// Weigh returns what a body of a size counts for.
func Weigh(size int) int64 { return min(int64(size), MaxBodies) }

// EndBodies gives back what was taken.
func (l *Limit) EndBodies(taken int64) { l.bodies.Release(taken) }

// Slot waits until a request can be sent. Those of high priority come first. It returns false
// if end or recall is closed first.
func (l *Limit) Slot(high bool, end, recall <-chan struct{}) bool {
	var first chan struct{}
	if high {
		first = l.first
	}
	select {
	case <-end:
		return false
	case <-recall:
		return false
	default:
	}
	select {
	case <-first:
	case <-l.slots:
	case <-end:
		return false
	case <-recall:
		return false
	}
	return true
}

// EndSlot gives a slot back.
func (l *Limit) EndSlot() {
	select {
	case l.first <- struct{}{}:
	default:
		l.slots <- struct{}{}
	}
}
