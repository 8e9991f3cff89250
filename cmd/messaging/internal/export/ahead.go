package export

import (
	"context"
	"iter"

	"github.com/messaging-go/messaging"
)

// pages are the pages of a list. An error is the last element.
type pages[T any] = iter.Seq2[*messaging.Page[T], error]

// ahead ranges over the same pages. While one is written, the next two are fetched.
func ahead[T any](ctx context.Context, all func(context.Context) pages[T]) pages[T] {
	type element struct {
		page *messaging.Page[T]
		err  error
	}
	return func(yield func(*messaging.Page[T], error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		fetched := make(chan element, 1)
		go func() {
			defer close(fetched)
			for page, err := range all(ctx) {
				fetched <- element{page, err}
			}
		}()
		defer func() {
			cancel()
			for range fetched { // until the fetching has ended
			}
		}()
		for next := range fetched {
			if !yield(next.page, next.err) {
				return
			}
		}
	}
}
