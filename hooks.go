package messaging

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"time"
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

// observer calls the hooks for one call.
type observer struct {
	hooks []Hooks
	call  CallInfo
	// attemptValues is the context of the current attempt.
	attemptValues context.Context
	attemptOpen   bool
}

// withValues is a context with the values of another one as well.
type withValues struct {
	context.Context
	values context.Context
}

func (c withValues) Value(key any) any {
	value := c.values.Value(key)
	// Package context keeps what can be cancelled among the values. It has to be the
	// caller's, or context.Cause would find the hook's. context.WithoutCancel hides it
	// too, and allocates with each look-up.
	if _, isContext := value.(context.Context); value == nil || isContext {
		if own := c.Context.Value(key); own != nil {
			return own
		}
	}
	return value
}

// observe calls the CallStart hooks.
func (x *exchange) observe() {
	info := CallInfo{Op: x.call.name, Method: x.call.method, Path: x.call.path,
		Scheme: x.core.endpoint.scheme, Host: x.core.endpoint.host, Port: x.core.endpoint.port, Send: !x.call.isRead()}
	if x.call.custom {
		info.Path = ""
	}
	if !isMethod(info.Method) {
		info.Method = ""
	}
	x.observer = &observer{hooks: x.core.hooks, call: info}
	if x.values == nil {
		x.values = context.Background()
	}
	for _, hooks := range x.core.hooks {
		if hooks.CallStart != nil {
			x.values = x.valuesOf(hooks.CallStart(x.values, info))
		}
	}
}

// valuesOf returns the context so far with the values of one that a hook returned.
func (x *exchange) valuesOf(returned context.Context) context.Context {
	if returned == nil {
		return x.attemptValues()
	}
	return withValues{x.attemptValues(), returned}
}

// attemptValues is the context that functions of the caller's are given during an
// attempt.
func (x *exchange) attemptValues() context.Context {
	if x.observer != nil && x.observer.attemptValues != nil {
		return x.observer.attemptValues
	}
	return x.values
}

// observeAttempt calls the AttemptStart hooks, which may add to the header, and
// returns the context of the attempt.
func (x *exchange) observeAttempt(header http.Header) context.Context {
	o := x.observer
	o.attemptValues, o.attemptOpen = x.values, true
	setHeader := func(key, value string) {
		key = textproto.CanonicalMIMEHeaderKey(key)
		if headerProblem(key, value) == "" {
			header.Set(key, value)
		}
	}
	for _, hooks := range o.hooks {
		if hooks.AttemptStart != nil {
			o.attemptValues = x.valuesOf(hooks.AttemptStart(o.attemptValues, o.call, x.attempts, setHeader))
		}
	}
	return o.attemptValues
}

// observeAttemptDone calls the AttemptDone hooks for an attempt that is classified.
func (x *exchange) observeAttemptDone(resp *http.Response, duration time.Duration) {
	result := AttemptResult{Attempt: x.attempts, Delivery: x.result.delivery, ErrorType: x.result.reason, Duration: duration}
	if resp != nil {
		result.StatusCode = resp.StatusCode
	}
	if x.waiting {
		result.Wait = x.retry.RetryWaitMin
	}
	x.endObservedAttempt(result)
}

func (x *exchange) endObservedAttempt(result AttemptResult) {
	o := x.observer
	if !o.attemptOpen { // a refusal before the attempt began
		return
	}
	o.attemptOpen = false
	for _, hooks := range slices.Backward(o.hooks) {
		if hooks.AttemptDone != nil {
			hooks.AttemptDone(o.attemptValues, o.call, result)
		}
	}
	o.attemptValues = nil
}

// observeEnd calls the CallDone hooks, and the AttemptDone hooks if the transport has
// panicked.
func (x *exchange) observeEnd() {
	result := CallResult{Attempts: x.attempts, Delivery: DeliveryOf(x.err), ErrorType: x.errorType(), Duration: time.Since(x.start)}
	if !x.returned {
		result.Delivery = x.delivery
		if x.attempt != nil {
			result.Delivery = x.delivery.after(DeliveryUnknown)
			x.endObservedAttempt(AttemptResult{Attempt: x.attempts, Delivery: DeliveryUnknown, ErrorType: reasonOther,
				Duration: x.attempt.duration()})
		}
	}
	for _, hooks := range slices.Backward(x.observer.hooks) {
		if hooks.CallDone != nil {
			hooks.CallDone(x.values, x.observer.call, result)
		}
	}
}
