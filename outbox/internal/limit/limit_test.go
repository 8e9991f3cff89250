package limit

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

func TestAClaimWaitsForAQuarterOfTheRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(8)
		assert.Equal(t, 14, l.Claims(t.Context(), 14), "room that is free is not waited for")
		assert.Equal(t, 2, l.Claims(t.Context(), 2))
		taken := make(chan int, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { taken <- l.Claims(ctx, 16) }()
		for range 3 {
			l.EndClaims(1)
			synctest.Wait()
			assert.Empty(t, taken)
		}
		l.EndClaims(1)
		assert.Equal(t, 4, <-taken)
		go func() { taken <- l.Claims(ctx, 16) }()
		synctest.Wait()
		cancel()
		assert.Zero(t, <-taken, "the context ends the wait")
		assert.Zero(t, l.Claims(ctx, 1))
	})
}

func TestABodyWaitsForItsOwnSizeAndIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1)
		assert.EqualValues(t, ClaimBodies, l.Bodies(t.Context(), 1), "room for more than one, if there is some")
		assert.EqualValues(t, 50<<20, l.Bodies(t.Context(), 50<<20))
		assert.EqualValues(t, ClaimBodies/2, l.Bodies(t.Context(), 1), "6 MiB are left")
		taken := make(chan int64)
		wait := func(ctx context.Context, size int64) { taken <- l.Bodies(ctx, size) }
		ctx, cancel := context.WithCancel(t.Context())
		go wait(ctx, 3<<20)
		synctest.Wait()
		go wait(t.Context(), 1)
		synctest.Wait()
		assert.Empty(t, taken, "although there is room for the second one")
		cancel()
		assert.Zero(t, <-taken)
		assert.Positive(t, <-taken)
	})
}

func TestABodyThatIsLargerThanAllRoomIsHeldAlone(t *testing.T) {
	l := New(1)
	taken := l.Bodies(t.Context(), 3*MaxBodies)
	assert.EqualValues(t, MaxBodies, taken)
	assert.Equal(t, taken, Weigh(3*MaxBodies))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Zero(t, l.Bodies(ctx, 1))
	l.EndBodies(taken)
	assert.Positive(t, l.Bodies(t.Context(), 1))
}

func TestASlotGoesToAnEntryOfHighPriorityFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, sent, end := New(1), make(chan bool, 2), make(chan struct{})
		assert.True(t, l.Slot(false, end, nil))
		for _, high := range []bool{false, true} {
			go func() {
				if l.Slot(high, end, nil) {
					sent <- high
				}
			}()
			synctest.Wait()
		}
		l.EndSlot()
		assert.True(t, <-sent, "the one of high priority")
		close(end)
		synctest.Wait()
		assert.False(t, l.Slot(false, end, nil), "the end comes first")
		recall := make(chan struct{})
		close(recall)
		assert.False(t, l.Slot(true, nil, recall))
		assert.Empty(t, sent)
	})
}
