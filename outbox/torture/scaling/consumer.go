package main

import (
	"context"
	"slices"
	"time"

	"github.com/messaging-go/messaging/outbox"
)

// handle handles a message of an engine, which contains keys. The engine acknowledges the
// message after handle has returned nil, and delivers it again otherwise. later makes the
// engine deliver these keys after a time.
func handle[Tx any](ctx context.Context, o *outbox.Outbox[Tx], keys []string, later func(keys []string, after time.Duration) error) error {
	delivered, err := o.Deliver(ctx, keys...)
	if err != nil {
		return err
	}
	again := slices.Concat(delivered.Later, delivered.Busy)
	if len(again) == 0 {
		return nil
	}
	return later(again, delivered.RetryAfter)
}
