package outbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// errPanic is the error of a function of the program that panicked.
var errPanic = errors.New("panic")

// protected calls a function of the program. A panic in it becomes an error, so that it
// concerns one entry alone, and is logged with its stack.
func (c *config) protected(name string, call func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.logger.Error("outbox: panic in "+name, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			err = fmt.Errorf("%w in %s", errPanic, name)
		}
	}()
	return call()
}

const (
	// claimTimeout limits a claim, so that time is left for the send.
	claimTimeout = 10 * time.Second
	// stopPatience is how long after the stop a statement is interrupted.
	stopPatience = time.Second
)

// noAnswer is an error after claimTimeout. The deadline of which its cause tells was set here.
type noAnswer struct{ error }

func (noAnswer) Error() string {
	return fmt.Sprintf("the database did not answer within %g s", claimTimeout.Seconds())
}

func (n noAnswer) Unwrap() error { return n.error }

// withTimeout calls do with a context that ends after a time, and soon after ctx ends.
func withTimeout[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-limited.Done():
		case <-time.After(stopPatience):
			cancel()
		}
	})()
	result, err := do(limited)
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		err = noAnswer{err}
	}
	return result, err
}
