package ahead

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
)

func TestElementsArePreparedWhileOneIsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		produced := 0
		for range Of(t.Context(), 3, func(context.Context) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for yield(produced, nil) && produced < 9 {
					produced++
				}
			}
		}) {
			synctest.Wait()
			assert.Equal(t, 4, produced, "one is in use, three wait, and one is being produced")
			break
		}
	})
}

func TestElementsAndErrorsComeInOrderAndTheSequenceHasEndedWhenTheRangeHas(t *testing.T) {
	failed := errors.New("failed")
	ended := false
	var found []any
	for value, err := range Of(t.Context(), 1, func(ctx context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			defer func() { ended = true }()
			_ = yield(1, nil) && yield(2, failed)
			for ctx.Err() == nil && yield(0, nil) {
			}
		}
	}) {
		if found = append(found, value, err); err != nil {
			break
		}
	}
	assert.Equal(t, []any{1, nil, 2, failed}, found)
	assert.True(t, ended)
}
