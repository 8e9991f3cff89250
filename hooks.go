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

// Hooks observe calls, for tracing and metrics; see [WithHooks]. They receive the same
// kind of data that [WithLogger] logs: no body, query, header, error text, recipient or
// cursor. A nil function is not called.
//
// The context that CallStart or AttemptStart returns takes the place of the one that it
// received, with its values and its end: for the hooks that follow, and for everything else
// that runs for the call or the attempt, such as limiter, key source, guards, log handler
// and transport. Returning nil keeps the context.
//
// For each CallStart there is one CallDone, and for each AttemptStart one AttemptDone,
// even if the transport or another function that you supply panics. A hook must not panic.
// Each page of a range is a separate call.
type Hooks struct {
	// CallStart is called first, before the arguments are checked. ctx is never nil.
	CallStart func(ctx context.Context, call CallInfo) context.Context
	// CallDone is called when the outcome is known, even if nothing was sent because the
	// arguments are invalid or a guard refused the send.
	CallDone func(ctx context.Context, call CallInfo, result CallResult)
	// AttemptStart is called before a request is sent, after the rate limiter and the key
	// source.
	AttemptStart func(ctx context.Context, attempt AttemptInfo) context.Context
	// AttemptDone is called when the outcome of the attempt is known.
	AttemptDone func(ctx context.Context, call CallInfo, result AttemptResult)
}

// CallInfo describes a call for [Hooks].
type CallInfo struct {
	Operation string // such as "list customers"
	// Method is the HTTP method, or "" for a [Request] with an invalid method.
	Method string
	// Path is the template of the path below the base URL, or "" for [Client.Do].
	Path string
	// Scheme, Host and Port come from the base URL.
	Scheme, Host string
	Port         int
	// Send is true for every method except GET and HEAD.
	Send bool
}

// AttemptInfo describes an attempt that is about to be made.
type AttemptInfo struct {
	Call CallInfo
	// Attempt is the number of the attempt, starting at 1.
	Attempt int
	// SetHeader sets a header of this attempt. It accepts what [WithHeader] accepts and
	// ignores anything else. It must not be called after AttemptStart has returned.
	SetHeader func(key, value string)
}

// CallResult is the outcome of a call.
type CallResult struct {
	Attempts int
	Delivery Delivery
	// ErrorType is the reason why the call failed: the status as text if it is not 2xx,
	// or one of validation, guard, key_source, limiter, attempt_timeout, deadline, dns,
	// connect, tls, connection_lost, not_json, decode, too_large, refused, bad_cursor,
	// not_after and _OTHER. More can be added. It is "" for a success, even of a lookup that
	// does not find what it was asked for, and if the caller canceled the call, which may have
	// been carried out anyway.
	ErrorType string
	Duration  time.Duration // including waits
}

// AttemptResult is the outcome of one attempt.
type AttemptResult struct {
	Attempt int // like that of an [AttemptInfo]
	// StatusCode is 0 if there was no response.
	StatusCode int
	Delivery   Delivery
	// ErrorType is one of those listed for [CallResult].
	ErrorType string
	Duration  time.Duration
	// Wait is the time until the next attempt. It is 0 if there is none, and also if a 401
	// is retried at once with another key; see [WithKeySource].
	Wait time.Duration
}

func (h Hooks) none() bool {
	return h.CallStart == nil && h.CallDone == nil && h.AttemptStart == nil && h.AttemptDone == nil
}

// callInfoOf returns what hooks receive of a base URL, if it is valid.
func callInfoOf(baseURL string) CallInfo {
	u, err := url.Parse(baseURL)
	if err != nil {
		return CallInfo{}
	}
	port, err := strconv.Atoi(u.Port())
	switch {
	case err == nil:
	case u.Scheme == "http":
		port = 80
	default:
		port = 443
	}
	return CallInfo{Scheme: u.Scheme, Host: u.Hostname(), Port: port}
}

// observer calls the hooks for one call. It implements [exchange.Observer].
type observer struct {
	hooks []Hooks
	call  CallInfo
	// These are the contexts that the hooks returned for the call and the current attempt.
	callContext, attemptContext context.Context
}

// newObserver adds an operation to what hooks receive of the base URL.
func newObserver(hooks []Hooks, info CallInfo, op *service.Operation) *observer {
	info.Operation, info.Send = op.Name, !op.IsRead()
	if !op.Custom {
		info.Path = op.Path
	}
	if exchange.IsMethod(op.Method) {
		info.Method = op.Method
	}
	return &observer{hooks: hooks, call: info}
}

// callStart calls the CallStart hooks, and returns the context of the call.
func (o *observer) callStart(ctx context.Context) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	for _, hooks := range o.hooks {
		if hooks.CallStart != nil {
			if returned := hooks.CallStart(ctx, o.call); returned != nil {
				ctx = returned
			}
		}
	}
	o.callContext = ctx
	return ctx
}

// AttemptStart calls the AttemptStart hooks, which may add to the header, and returns
// the context of the attempt.
func (o *observer) AttemptStart(attempt int, header http.Header) context.Context {
	o.attemptContext = o.callContext
	info := AttemptInfo{Call: o.call, Attempt: attempt, SetHeader: func(key, value string) {
		key = textproto.CanonicalMIMEHeaderKey(key)
		if exchange.HeaderProblem(key, value) == "" {
			header.Set(key, value)
		}
	}}
	for _, hooks := range o.hooks {
		if hooks.AttemptStart != nil {
			if returned := hooks.AttemptStart(o.attemptContext, info); returned != nil {
				o.attemptContext = returned
			}
		}
	}
	return o.attemptContext
}

// AttemptDone calls the AttemptDone hooks, starting with the last one.
func (o *observer) AttemptDone(attempt int, did *exchange.Result, wait time.Duration) {
	result := AttemptResult{Attempt: attempt, StatusCode: did.StatusCode, Delivery: Delivery(did.Delivery),
		ErrorType: did.Reason(), Duration: did.Duration, Wait: wait}
	for _, hooks := range slices.Backward(o.hooks) {
		if hooks.AttemptDone != nil {
			hooks.AttemptDone(o.attemptContext, o.call, result)
		}
	}
}

// callDone calls the CallDone hooks, starting with the last one.
func (o *observer) callDone(result CallResult) {
	for _, hooks := range slices.Backward(o.hooks) {
		if hooks.CallDone != nil {
			hooks.CallDone(o.callContext, o.call, result)
		}
	}
}
