package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

var sentinels = map[string]error{
	"ErrAttemptTimeout": messaging.ErrAttemptTimeout, "ErrBadCursor": messaging.ErrBadCursor,
	"ErrCustomerNotFound": messaging.ErrCustomerNotFound, "ErrEventAmbiguous": messaging.ErrEventAmbiguous,
	"ErrEventDiffers": messaging.ErrEventDiffers, "ErrEventNotFound": messaging.ErrEventNotFound,
	"ErrForbidden": messaging.ErrForbidden, "ErrNotAfter": messaging.ErrNotAfter, "ErrNotFound": messaging.ErrNotFound,
	"ErrRateLimited": messaging.ErrRateLimited, "ErrServer": messaging.ErrServer, "ErrTooLarge": messaging.ErrTooLarge,
	"ErrUnauthorized": messaging.ErrUnauthorized, "ErrValidation": messaging.ErrValidation,
}

// ownError is the caller's own error, which it is to find again.
type ownError struct{ detail string }

func (e *ownError) Error() string { return e.detail }

// disguised has a method that finds what errors.As would not find by itself.
type disguised struct{ error }

func (d disguised) As(target any) bool { return errors.As(d.error, target) }

var mine = &ownError{"mine"}

// lie is an error of the caller that holds everything this package returns, as it does if
// the caller looks something up with another client.
func lie(t *testing.T) error {
	t.Helper()
	all := []error{
		&messaging.ValidationError{}, &messaging.GuardError{}, &messaging.APIError{StatusCode: 401}, &messaging.APIError{StatusCode: 422},
		&messaging.TransportError{Err: io.EOF}, &messaging.DecodeError{StatusCode: 299}, &messaging.PageError{Cursor: "lie"},
	}
	for _, sentinel := range sentinels {
		all = append(all, sentinel)
	}
	all = append(all, scripted.FailureOf(t, func(ctx context.Context, c *messaging.Client, _ ...messaging.RequestOption) error {
		_, err := c.Customers.Get(ctx, "c-1")
		return err
	}, scripted.Responds(200, `{"success":true,"data":{"data":[]}}`)))
	all = append(all, disguised{errors.Join(all...)}, mine)
	return fmt.Errorf("looking up: %w", errors.Join(all...))
}

const (
	duringWait        = "the cause of a context, during a wait"
	fromUnmarshalJSON = "the UnmarshalJSON of a value for the response"
)

// liars are calls that fail with the error of a function that the caller supplied.
func liars(lie error) map[string]func(*testing.T) error {
	fails := func(*http.Request) (*http.Response, error) { return nil, lie }
	ending := func(before time.Duration, call scripted.Call, play scripted.Scene, opts ...messaging.Option) func(*testing.T) error {
		return func(t *testing.T) error {
			ctx, cancel := context.WithCancelCause(t.Context())
			if before == 0 {
				cancel(lie)
			}
			time.AfterFunc(before, func() { cancel(lie) })
			client, _ := scripted.NewClient(t, []scripted.Scene{play}, opts...)
			err := call(ctx, client)
			assert.ErrorIs(t, err, context.Canceled)
			return err
		}
	}
	over := func(call scripted.Call, play scripted.Scene, opts ...messaging.Option) func(*testing.T) error {
		return func(t *testing.T) error {
			client, _ := scripted.NewClient(t, []scripted.Scene{play}, append(opts, scripted.TwoAttempts)...)
			return call(t.Context(), client)
		}
	}
	get := func(ctx context.Context, c *messaging.Client, _ ...messaging.RequestOption) error {
		_, err := c.Customers.Get(ctx, "c-1")
		return err
	}
	success := scripted.Responds(200, scripted.Success)
	return map[string]func(*testing.T) error{
		"the cause of a context, before a send":     ending(0, scripted.TriggerEvent, success),
		"the cause of a context, before a lookup":   ending(0, get, success),
		"the cause of a context, during a limiter":  ending(time.Second, get, success, messaging.WithRateLimiter(blockingLimiter{})),
		"the cause of a context, during an attempt": ending(time.Second, scripted.TriggerEvent, scripted.Connects(scripted.Hangs)),
		duringWait: ending(100*time.Millisecond, scripted.TriggerEvent, scripted.NeverConnects(io.EOF)),
		"the cause of a context, reading the response": ending(time.Second, scripted.TriggerEvent, scripted.BeginsToRespond),
		"the error of a context of another package":    overContext(lie),
		"a limiter": over(scripted.TriggerEvent, success,
			messaging.WithRateLimiter(&countingLimiter{failFrom: 1, err: lie})),
		"a limiter, before a lookup":        over(get, success, messaging.WithRateLimiter(&countingLimiter{failFrom: 1, err: lie})),
		"a transport, for a send":           over(scripted.TriggerEvent, fails),
		"a transport, for a read":           over(scripted.ReadCustomers, fails),
		"a transport, for a lookup":         over(get, fails),
		"a transport, reading the response": over(scripted.ReadCustomers, scripted.RespondsFrom(200, errReader{lie})),
		fromUnmarshalJSON:                   intoLiar(lie),
		"a key source": func(t *testing.T) error {
			client, _ := newKeySourceClient(t, &recordingKeySource{err: lie}, success)
			return get(t.Context(), client)
		},
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// endedContext is a context of another package, whose Err can be anything.
type endedContext struct {
	context.Context
	err error
}

func (c endedContext) Done() <-chan struct{} { return closed }
func (c endedContext) Err() error            { return c.err }

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func overContext(lie error) func(*testing.T) error {
	return func(t *testing.T) error {
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
		err := scripted.TriggerEvent(endedContext{t.Context(), lie}, client)
		assert.ErrorIs(t, err, context.Canceled, "it has ended, and not by a deadline")
		return err
	}
}

// liar is a value that cannot be unmarshaled.
type liar struct{}

var unmarshalError error // of a liar

func (*liar) UnmarshalJSON([]byte) error { return unmarshalError }

func intoLiar(lie error) func(*testing.T) error {
	return func(t *testing.T) error {
		unmarshalError = lie
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, `{"success":true,"data":{}}`)})
		_, err := client.Do(t.Context(), messaging.Request{Method: "GET", Path: "/v1/tags", Into: new(liar)})
		return err
	}
}

func TestForeignErrorsMatchNoSentinelOfThisPackage(t *testing.T) {
	for name, fails := range liars(lie(t)) {
		scripted.RunInBubble(t, name, func(t *testing.T) {
			err := fails(t)
			require.Error(t, err)
			for name, sentinel := range sentinels {
				assert.NotErrorIs(t, err, sentinel, name)
			}
			assert.ErrorIs(t, err, mine, "the caller's own errors are found")
			var found *ownError
			require.ErrorAs(t, err, &found)
			assert.Same(t, mine, found)
		})
	}
}

func TestForeignErrorsMatchNoErrorTypeOfThisPackage(t *testing.T) {
	calls := liars(lie(t))
	delete(calls, duringWait) // whose cause is also the error of the attempt before
	for name, fails := range calls {
		scripted.RunInBubble(t, name, func(t *testing.T) {
			err := fails(t)
			cause := errors.Unwrap(err)
			require.Error(t, cause)
			var validation *messaging.ValidationError
			var guard *messaging.GuardError
			var api *messaging.APIError
			var transport *messaging.TransportError
			var decode *messaging.DecodeError
			var page *messaging.PageError
			var delivered interface{ Delivery() messaging.Delivery }
			for _, target := range []any{&validation, &guard, &api, &transport, &decode, &page} {
				assert.False(t, errors.As(cause, target), "%T", target)
			}
			assert.False(t, errors.As(cause, &delivered), "an interface does not find them either")
			var network net.Error
			if errors.As(cause, &network) {
				assert.NotEqual(t, messaging.ErrAttemptTimeout, network)
			}
		})
	}
}

// A type can hide an error of this package from everything but its own As method.
func TestForeignErrorsAreNotFoundByTheirOwnMethods(t *testing.T) {
	inner := disguised{&messaging.APIError{StatusCode: 401}}
	client, _ := scripted.NewClient(t, []scripted.Scene{func(*http.Request) (*http.Response, error) { return nil, inner }})
	err := scripted.TriggerEvent(t.Context(), client, messaging.WithoutRetries())
	var delivered interface{ Delivery() messaging.Delivery }
	assert.False(t, errors.As(errors.Unwrap(err), &delivered))
	assert.Nil(t, delivered)
	var failed *messaging.TransportError
	require.ErrorAs(t, err, &failed)
	assert.NotErrorIs(t, err, messaging.ErrUnauthorized)
}

func TestForeignErrorsListEverySentinel(t *testing.T) {
	names, err := os.ReadFile("../../testdata/api.txt")
	require.NoError(t, err)
	for _, line := range regexp.MustCompile(`(?m)^var (Err\w+)`).FindAllStringSubmatch(string(names), -1) {
		assert.Contains(t, sentinels, line[1])
	}
	for name, sentinel := range sentinels {
		assert.Regexp(t, `^\*?(messaging|exchange|wire)\.`, fmt.Sprintf("%T", sentinel), "%s has no type of this module", name)
	}
}

// A nil pointer in an error is a common mistake. Its methods panic.
func TestForeignErrorsThatAreNilPointersDoNotPanic(t *testing.T) {
	for name, none := range map[string]error{"of the caller": (*ownError)(nil), "of this package": (*messaging.APIError)(nil),
		"of the standard library": (*net.OpError)(nil), "of a URL": (*url.Error)(nil), "of a URL without a cause": &url.Error{},
		"of the standard library without a cause": &net.OpError{}, "that wraps nothing": struct{ error }{}} {
		for wrapping, err := range map[string]error{"alone": none, "joined": errors.Join(none, mine), "wrapped": wrapping{none}} {
			calls := liars(err)
			delete(calls, fromUnmarshalJSON) // since Go 1.27, encoding/json itself calls the methods of the error
			for liar, fails := range calls {
				scripted.RunInBubble(t, name+", "+wrapping+", from "+liar, func(t *testing.T) {
					var failure error
					require.NotPanics(t, func() { failure = fails(t) })
					require.Error(t, failure)
					assert.NotPanics(t, func() { _ = failure.Error() })
					assert.NotErrorIs(t, failure, messaging.ErrUnauthorized)
					assert.NotErrorIs(t, failure, net.ErrClosed)
					assert.False(t, errors.As(failure, new(*http.MaxBytesError)))
				})
			}
		}
	}
}

type wrapping struct{ error }

func (w wrapping) Error() string { return "wrapping" }
func (w wrapping) Unwrap() error { return w.error }
