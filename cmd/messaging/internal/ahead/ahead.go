// Package ahead produces a sequence in the background, so that its next elements are ready
// while one is in use.
package ahead

import (
	"context"
	"iter"
)

// Of ranges over the elements of a sequence. Up to n elements wait to be used, besides the
// one that is being produced. When the range ends early, the context of the sequence ends,
// and Of waits until the sequence has ended.
func Of[V any](ctx context.Context, n int, sequence func(context.Context) iter.Seq2[V, error]) iter.Seq2[V, error] {
	type element struct {
		value V
		err   error
	}
	return func(yield func(V, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		elements := make(chan element, n)
		go func() {
			defer close(elements)
			for value, err := range sequence(ctx) {
				elements <- element{value, err}
			}
		}()
		defer func() {
			cancel()
			for range elements { // until the sequence has ended
			}
		}()
		for next := range elements {
			if !yield(next.value, next.err) {
				return
			}
		}
	}
}
