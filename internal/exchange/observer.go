package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Observer observes the attempts of a call.
type Observer interface {
	// AttemptStart is called before an attempt is made. It can add to the header. It
	// returns the context of the attempt.
	AttemptStart(attempt int, header http.Header) context.Context
	// AttemptDone is called when the attempt is classified, or if the transport panics.
	AttemptDone(Attempt)
}

// Attempt is the outcome of one attempt.
type Attempt struct {
	Number     int // starting at 1
	StatusCode int // 0 if there was no response
	Delivery   Delivery
	Reason     string
	Duration   time.Duration
	Wait       time.Duration // until the next attempt, or 0 if there is none
}

// observe passes the outcome of the current attempt, if there is one, to the observer. The
// attempt is then over.
func (x *Exchange) observe() {
	a := x.attempt
	if x.attempt = nil; a == nil || x.Observer == nil {
		return
	}
	done := Attempt{Number: x.attempts, StatusCode: x.outcome.StatusCode, Delivery: x.outcome.Delivery,
		Reason: x.outcome.Reason, Duration: a.duration()}
	if x.waiting {
		done.Wait = x.retry.RetryWaitMin
	}
	x.Observer.AttemptDone(done)
}

// log logs the current attempt. Its attributes are a fixed list without personal data.
func (x *Exchange) log() {
	if x.Config.Logger == nil {
		return
	}
	level := slog.LevelDebug
	if x.outcome.failed() {
		level = slog.LevelWarn
	}
	attributes := []slog.Attr{
		slog.String("operation", x.Operation.Name),
		slog.String("method", x.Operation.Method),
		slog.Int("attempt", x.attempts),
		slog.Duration("duration", x.attempt.duration()),
		slog.String("delivery", x.outcome.Delivery.Name()),
	}
	if !x.Operation.Custom {
		attributes = append(attributes, slog.String("path", x.Operation.Path))
	}
	if x.outcome.StatusCode != 0 {
		attributes = append(attributes, slog.Int("status", x.outcome.StatusCode))
	}
	if x.outcome.Reason != "" {
		attributes = append(attributes, slog.String("reason", x.outcome.Reason))
	}
	ctx := x.Context
	if x.attempt != nil {
		ctx = x.attempt.base
	}
	x.Config.Logger.LogAttrs(ctx, level, "messaging attempt", attributes...)
}
