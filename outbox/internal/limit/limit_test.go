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

func TestOneBodyOfAnySizeIsReadIfNoOtherIsHeld(t *testing.T) {
	l := New(1)
	taken, alone, err := l.Bodies(t.Context())
	assert.NoError(t, err)
	assert.True(t, alone)
	l.EndBodies(taken - Weigh(1))
	taken, alone, err = l.Bodies(t.Context())
	assert.NoError(t, err)
	assert.False(t, alone)
	l.EndBodies(taken + Weigh(1))
	_, alone, _ = l.Bodies(t.Context())
	assert.True(t, alone)
	assert.Equal(t, int64(maxBodies), Weigh(maxBodies+1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = l.Bodies(ctx)
	assert.ErrorIs(t, err, context.Canceled)
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
