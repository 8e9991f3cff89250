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

func TestElementsAndErrorsComeInOrder(t *testing.T) {
	failed := errors.New("failed")
	var found []any
	for value, err := range Of(t.Context(), 1, func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			_ = yield(1, nil) && yield(2, nil) && yield(0, failed)
		}
	}) {
		found = append(found, value, err)
	}
	assert.Equal(t, []any{1, nil, 2, nil, 0, failed}, found)
}

func TestTheSequenceHasEndedWhenTheRangeHas(t *testing.T) {
	ended := false
	for range Of(t.Context(), 1, func(ctx context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			defer func() { ended = true }()
			for ctx.Err() == nil && yield(0, nil) {
			}
		}
	}) {
		break
	}
	assert.True(t, ended)
}
