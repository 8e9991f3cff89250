package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/messaging-go/messaging"
)

// Option configures an [Outbox].
type Option func(*config) error

// EnqueueOption changes one entry.
type EnqueueOption func(*Item)

// Sealer encrypts the bodies of requests in the database. It must be safe for concurrent
// use.
type Sealer interface {
	// Seal returns the encrypted form of a body.
	Seal(ctx context.Context, body []byte) ([]byte, error)
	// Open returns what was given to Seal. While it fails, entries stay pending.
	Open(ctx context.Context, sealed []byte) ([]byte, error)
}

// InFlight sets how many requests are sent at once, 64 by default. It is also the
// largest number of entries that a crash of the process can leave unclear.
func InFlight(n int) Option {
	return func(c *config) error {
		if n < 1 || n > maxInFlight {
			return fmt.Errorf("InFlight must be 1 to %d", maxInFlight)
		}
		c.inFlight = n
		return nil
	}
}

const maxInFlight = 10_000

// SendTimeout limits the time from the claim of an entry to the end of its request, 25 s
// by default and at least 1 s. A shorter one shows earlier what a crash left unclear:
// after the timeout and 15 s.
func SendTimeout(limit time.Duration) Option {
	return func(c *config) error {
		if limit < time.Second {
			return errors.New("SendTimeout must be at least 1 s")
		}
		c.sendTimeout = limit
		return nil
	}
}

// KeepSettled sets how long accepted and dismissed entries are kept, 7 days by default.
// An entry prevents a second send with its key for as long as it is kept. 0 or less keeps
// them without end. Rejected and unclear entries are always kept.
func KeepSettled(keep time.Duration) Option {
	return func(c *config) error {
		c.keepSettled = keep
		return nil
	}
}

// Rate asks limiter before each claim of an entry. A limiter of the client,
// [messaging.WithRateLimiter], is asked only after the claim, when the time of the send
// is running already.
func Rate(limiter messaging.Limiter) Option {
	return func(c *config) error {
		if limiter == nil {
			return errors.New("Rate must not be nil")
		}
		c.rate = limiter
		return nil
	}
}

// Seal encrypts the bodies in the database with sealer.
func Seal(sealer Sealer) Option {
	return func(c *config) error {
		if sealer == nil {
			return errors.New("Seal must not be nil")
		}
		c.sealer = sealer
		return nil
	}
}

// WithLogger logs what a person has to know: the gate closes or opens, the database
// fails, entries were left by another process. Records hold keys and error texts of
// the database, no request and nothing that the service said.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		if logger == nil {
			return errors.New("WithLogger must not be nil")
		}
		c.logger = logger
		return nil
	}
}

// OnSettled is called when Run or Deliver has recorded that an entry is accepted,
// rejected or unclear. For an entry that another process left unclear, it is called only
// when that process can't report an outcome any more. It is called once for each
// transition, but not for one whose process ends before, so it is no replacement for
// List.
//
// It must be safe for concurrent use. The next request is sent only when it returns, so
// it must not call Deliver.
func OnSettled(settled func(ctx context.Context, entry Entry)) Option {
	return func(c *config) error {
		if settled == nil {
			return errors.New("OnSettled must not be nil")
		}
		c.onSettled = settled
		return nil
	}
}

// NotBefore keeps an entry pending until t. A time in the past is now.
func NotBefore(t time.Time) EnqueueOption { return func(i *Item) { i.NotBefore = t } }

// config is what options set.
type config struct {
	inFlight    int
	sendTimeout time.Duration
	keepSettled time.Duration
	rate        messaging.Limiter
	sealer      Sealer
	logger      *slog.Logger
	onSettled   func(context.Context, Entry)
	timing      timing
}

// lease is how long an entry that was claimed is left to its process.
func (c *config) lease() time.Duration { return c.sendTimeout + c.timing.leaseMargin }

// timing holds the durations that are not configurable, for tests to shorten.
type timing struct {
	leaseMargin  time.Duration // from the end of a send to the end of its lease
	sweepEvery   time.Duration
	purgeEvery   time.Duration
	poll         time.Duration // of a database that can't tell about new entries
	listening    time.Duration // of one that can
	stopGrace    time.Duration // for settlements after the stop
	unclaimEvery time.Duration // between two looks for a claim that failed
	firstWait    time.Duration // after the first attempt that failed
	longestWait  time.Duration
	refusedWait  time.Duration // after the first 403 or 404, doubling
	gate         gateTiming
}

func defaultConfig() config {
	return config{
		inFlight:    64,
		sendTimeout: 25 * time.Second,
		keepSettled: 7 * 24 * time.Hour,
		logger:      slog.New(slog.DiscardHandler),
		timing: timing{
			leaseMargin:  15 * time.Second,
			sweepEvery:   5 * time.Second,
			purgeEvery:   time.Minute,
			poll:         50 * time.Millisecond,
			listening:    time.Second,
			stopGrace:    10 * time.Second,
			firstWait:    500 * time.Millisecond,
			longestWait:  time.Minute,
			refusedWait:  20 * time.Second,
			unclaimEvery: time.Second,
			gate: gateTiming{first: 500 * time.Millisecond, longest: 15 * time.Second,
				longestAsked: 5 * time.Minute, recent: 5 * time.Second},
		},
	}
}
