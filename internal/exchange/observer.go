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
	// AttemptDone is called with what an attempt did, and the wait until the next one, or 0
	// if there is none. It is also called if the transport panics.
	AttemptDone(attempt int, did *Result, wait time.Duration)
}

// observe passes what the current attempt did, if there is one, to the observer. The attempt is
// then over.
func (x *Exchange) observe(did *Result, wait time.Duration) {
	isOver := x.attempt != nil
	if x.attempt = nil; isOver && x.Observer != nil {
		x.Observer.AttemptDone(x.outcome.Attempts, did, wait)
	}
}

// log logs what the current attempt did, or why there is none. Its attributes are a fixed list
// without personal data.
func (x *Exchange) log(did *Result) {
	if x.Config.Logger == nil {
		return
	}
	level, reason := slog.LevelDebug, did.Reason()
	if did.failed() && (reason != "" || !x.Operation.IsRead()) { // it is no failure that the caller canceled a read
		level = slog.LevelWarn
	}
	attributes := []slog.Attr{
		slog.String("operation", x.Operation.Name),
		slog.String("method", x.Operation.Method),
		slog.Int("attempt", x.outcome.Attempts),
		slog.Duration("duration", did.Duration),
		slog.String("delivery", did.Delivery.Name()),
	}
	if !x.Operation.Custom {
		attributes = append(attributes, slog.String("path", x.Operation.Path))
	}
	if did.StatusCode != 0 {
		attributes = append(attributes, slog.Int("status", did.StatusCode))
	}
	if reason != "" {
		attributes = append(attributes, slog.String("reason", reason))
	}
	ctx := x.Context
	if x.attempt != nil {
		ctx = x.attempt.base
	}
	x.Config.Logger.LogAttrs(ctx, level, "messaging attempt", attributes...)
}
