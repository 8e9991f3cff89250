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

// observe ends the current attempt, if there is one, and passes it to the observer.
func (x *Exchange) observe(done Attempt) {
	a := x.attempt
	if x.attempt = nil; a == nil || x.Observer == nil {
		return
	}
	done.Number, done.Duration = x.attempts, a.duration()
	x.Observer.AttemptDone(done)
}

// log logs the current attempt. Its attributes are a fixed list without personal data.
func (x *Exchange) log(resp *http.Response) {
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
		slog.String("delivery", x.outcome.Delivery.String()),
	}
	if !x.Operation.Custom {
		attributes = append(attributes, slog.String("path", x.Operation.Path))
	}
	if resp != nil {
		attributes = append(attributes, slog.Int("status", resp.StatusCode))
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
