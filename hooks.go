package messaging

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/messaging-go/messaging/internal/exchange"
	"github.com/messaging-go/messaging/internal/service"
)

// Hooks observe calls, for tracing and metrics; see [WithHooks]. They are told what
// [WithLogger] logs and nothing else: no body, query, header, error text, recipient or
// cursor. A nil function is skipped.
//
// Of the context that CallStart and AttemptStart return, only the values are used, by
// the functions that follow and by everything else that is called for the call or the
// attempt: limiter, key source, guards, log handler and transport. Its deadline and its
// end are ignored, and nil changes nothing.
//
// For each CallStart there is one CallDone, and for each AttemptStart one AttemptDone,
// also if the transport or another function of yours panics. A hook must not panic.
//
// A page of a range is a call of its own. From the second page on, its hooks run in
// another goroutine, so hooks must be safe for concurrent use even in a program of one
// goroutine.
type Hooks struct {
	// CallStart is called first, before the arguments are checked. ctx is never nil.
	CallStart func(ctx context.Context, call CallInfo) context.Context
	// CallDone is called when the outcome is known, for calls that were refused
	// before anything was sent too.
	CallDone func(ctx context.Context, call CallInfo, result CallResult)
	// AttemptStart is called before a request is sent, and after the rate limiter and
	// the key source. attempt counts from 1. setHeader sets a header of this attempt. It
	// takes what [WithHeader] takes and ignores anything else. It must not be kept.
	AttemptStart func(ctx context.Context, call CallInfo, attempt int, setHeader func(key, value string)) context.Context
	// AttemptDone is called when the response has been read and classified.
	AttemptDone func(ctx context.Context, call CallInfo, result AttemptResult)
}

// CallInfo describes a call to [Hooks]. All of it is constant for an operation and a
// client, as long as [Request.Op] is.
type CallInfo struct {
	// Op is the name of the operation, such as "list customers".
	Op string
	// Method is the HTTP method; "" for a [Request] with an invalid one.
	Method string
	// Path is the template of the path, below the base URL; "" for [Client.Do].
	Path string
	// Scheme, Host and Port are those of the base URL.
	Scheme, Host string
	Port         int
	// Send is true for every method but GET and HEAD.
	Send bool
}

// CallResult is the outcome of a call.
type CallResult struct {
	// Attempts is the number of attempts that were made.
	Attempts int
	Delivery Delivery
	// ErrorType is why the call failed: the status as text if it is not 2xx, or one
	// of validation, guard, key_source, limiter, attempt_timeout, deadline, dns,
	// connect, tls, connection_lost, not_json, decode, too_large, refused, bad_cursor
	// and _OTHER. It is "" for a success, a lookup that finds nothing included, and if
	// the caller cancelled the call, which may have been carried out anyway.
	ErrorType string
	// Duration is the time that the call took, waits included.
	Duration time.Duration
}

// AttemptResult is the outcome of one attempt.
type AttemptResult struct {
	// Attempt is the number of the attempt, from 1 on.
	Attempt int
	// StatusCode is 0 if there was no response.
	StatusCode int
	Delivery   Delivery
	// ErrorType is one of those of [CallResult].
	ErrorType string
	Duration  time.Duration
	// Wait is the time until the next attempt, 0 if there is none.
	Wait time.Duration
}

func (h Hooks) none() bool {
	return h.CallStart == nil && h.CallDone == nil && h.AttemptStart == nil && h.AttemptDone == nil
}

// endpoint is what hooks are told of the base URL.
type endpoint struct {
	scheme, host string
	port         int
}

// newEndpoint returns the zero endpoint for a URL that is not valid.
func newEndpoint(baseURL string) endpoint {
	u, err := url.Parse(baseURL)
	if err != nil {
		return endpoint{}
	}
	port, err := strconv.Atoi(u.Port())
	switch {
	case err == nil:
	case u.Scheme == "http":
		port = 80
	default:
		port = 443
	}
	return endpoint{scheme: u.Scheme, host: u.Hostname(), port: port}
}

// observer calls the hooks for one call. It implements [exchange.Observer].
type observer struct {
	hooks []Hooks
	call  CallInfo
	// caller is the caller's context, values that of the call, and attemptValues that of
	// the current attempt.
	caller                valuesContext
	values, attemptValues *valuesContext
}

func newObserver(hooks []Hooks, at endpoint, op *service.Operation) *observer {
	info := CallInfo{Op: op.Name, Method: op.Method, Path: op.Path,
		Scheme: at.scheme, Host: at.host, Port: at.port, Send: !op.IsRead()}
	if op.Custom {
		info.Path = ""
	}
	if !exchange.IsMethod(info.Method) {
		info.Method = ""
	}
	return &observer{hooks: hooks, call: info}
}

// callStart calls the CallStart hooks, and returns the caller's context with the values
// that they have added.
func (o *observer) callStart(ctx context.Context) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	o.caller = valuesContext{Context: ctx}
	o.values = &o.caller
	for _, hooks := range o.hooks {
		if hooks.CallStart != nil {
			o.values = o.values.with(hooks.CallStart(o.values, o.call))
		}
	}
	return o.values
}

// AttemptStart calls the AttemptStart hooks, which may add to the header, and returns
// the context of the attempt.
func (o *observer) AttemptStart(attempt int, header http.Header) context.Context {
	o.attemptValues = o.values
	setHeader := func(key, value string) {
		key = textproto.CanonicalMIMEHeaderKey(key)
		if exchange.HeaderProblem(key, value) == "" {
			header.Set(key, value)
		}
	}
	for _, hooks := range o.hooks {
		if hooks.AttemptStart != nil {
			o.attemptValues = o.attemptValues.with(hooks.AttemptStart(o.attemptValues, o.call, attempt, setHeader))
		}
	}
	return o.attemptValues
}

// AttemptDone calls the AttemptDone hooks, the last first.
func (o *observer) AttemptDone(done exchange.Attempt) {
	result := AttemptResult{Attempt: done.Number, StatusCode: done.StatusCode, Delivery: Delivery(done.Delivery),
		ErrorType: done.Reason, Duration: done.Duration, Wait: done.Wait}
	for _, hooks := range slices.Backward(o.hooks) {
		if hooks.AttemptDone != nil {
			hooks.AttemptDone(o.attemptValues, o.call, result)
		}
	}
}

// callDone calls the CallDone hooks, the last first.
func (o *observer) callDone(result CallResult) {
	for _, hooks := range slices.Backward(o.hooks) {
		if hooks.CallDone != nil {
			hooks.CallDone(o.values, o.call, result)
		}
	}
}

// valuesContext is the caller's context, with the values of one that a hook returned.
type valuesContext struct {
	context.Context                 // the caller's
	returned        context.Context // nil for the caller's own
	// before is the context that the hook was given, if what it returned is not derived
	// from it.
	before *valuesContext
}

// nearestKey is the key under which a valuesContext finds itself.
type nearestKey struct{}

// with returns c with the values of a context that a hook returned for c. What a hook
// returned is searched once, and so is the caller's context, however many hooks there
// are.
func (c *valuesContext) with(returned context.Context) *valuesContext {
	if returned == nil {
		return c
	}
	if same, ok := returned.(*valuesContext); ok && same == c {
		return c
	}
	next := &valuesContext{Context: c.Context, returned: returned}
	if nearest, _ := returned.Value(nearestKey{}).(*valuesContext); nearest != c {
		next.before = c
	}
	return next
}

// Value returns the value of the context that a hook returned, or else the caller's.
func (c *valuesContext) Value(key any) any {
	switch {
	case key == (nearestKey{}):
		return c
	case c.returned == nil: // no hook has returned any yet
		return c.Context.Value(key)
	}
	value := c.returned.Value(key)
	if value == nil && c.before != nil {
		return c.before.Value(key)
	}
	// Package context keeps what can be cancelled among the values. It has to be the
	// caller's, or context.Cause would find the hook's, or none behind a
	// context.WithoutCancel.
	if _, isContext := value.(context.Context); value == nil || isContext {
		if own := c.Context.Value(key); own != nil {
			return own
		}
	}
	return value
}
