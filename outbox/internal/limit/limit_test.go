package limit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAClaimTakesTheRoomThatBecomesFreeSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom(16)
		start := time.Now()
		assert.Equal(t, 16, room.Acquire(t.Context(), 16), "room that is free is not waited for")
		taken := make(chan int)
		acquire := func(ctx context.Context) { taken <- room.Acquire(ctx, 16) }
		go acquire(t.Context())
		for range 4 {
			synctest.Wait()
			room.Release(1)
		}
		assert.Equal(t, 4, <-taken)
		assert.Zero(t, time.Since(start), "a quarter is enough")

		go acquire(t.Context())
		synctest.Wait()
		room.Release(3)
		assert.Equal(t, 3, <-taken)
		assert.Equal(t, gatherTime, time.Since(start), "the wait is short")

		ctx, cancel := context.WithCancel(t.Context())
		go acquire(ctx)
		synctest.Wait()
		cancel()
		assert.Zero(t, <-taken, "the context ends the wait")
	})
}

func TestAClaimOfFewDoesNotWaitForMoreRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewRoom(16)
		assert.Equal(t, 14, room.Acquire(t.Context(), 14))
		start := time.Now()
		assert.Equal(t, 2, room.Acquire(t.Context(), 2))
		assert.Zero(t, time.Since(start))
	})
}
