package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/breaker"
)

// Option configures an [Outbox].
type Option func(*config) error

// Sealer encrypts the bodies of requests in the database. It must be safe for concurrent
// use.
type Sealer interface {
	// Seal returns the encrypted form of the body of the entry with this key. Authenticate the
	// key of the entry too, for example as the associated data of an AEAD. Otherwise, a sealed
	// body that is copied into another row is sent twice.
	Seal(ctx context.Context, entryKey string, body []byte) ([]byte, error)
	// Open returns the body that Seal encrypted for the entry with this key. While Open fails,
	// entries stay pending.
	Open(ctx context.Context, entryKey string, sealed []byte) ([]byte, error)
}

// WithInFlight sets how many requests are sent at the same time, 64 by default and at
// most 10,000. A crash of the process leaves at most twice as many entries unclear: those
// that are being sent, those whose outcomes are being recorded, and those that are claimed
// ahead. So set it to the rate that you need, times the duration of a request.
func WithInFlight(n int) Option {
	return func(c *config) error {
		if n < 1 || n > 10_000 {
			return errors.New("WithInFlight: n must be 1 to 10000")
		}
		c.inFlight = n
		return nil
	}
}

// WithSendTimeout limits the time from the claim of an entry to the end of its request,
// 25 s by default and at least 1 s. After a crash, the entries that the process was
// sending become unclear when that time and 15 s have passed, so a shorter limit reports
// them sooner.
func WithSendTimeout(limit time.Duration) Option {
	return func(c *config) error {
		if limit < time.Second {
			return errors.New("WithSendTimeout: limit must be at least 1s")
		}
		c.sendTimeout = limit
		return nil
	}
}

// WithKeepSettled sets how long accepted and dismissed entries are kept, 7 days by
// default. An entry prevents a second send with its key for as long as it is kept. If
// keep is 0 or negative, these entries are never deleted. Rejected and unclear entries
// are always kept. Run, DeliverDue and Deliver delete old entries, once a minute, so the
// shortest time of all processes on the database counts.
func WithKeepSettled(keep time.Duration) Option {
	return func(c *config) error {
		c.keepSettled = keep
		return nil
	}
}

// WithRateLimiter makes the outbox wait for limiter before it claims an entry. The limiter of
// the client, [messaging.WithRateLimiter], comes after the claim, when part of the send
// timeout has already passed.
func WithRateLimiter(limiter messaging.Limiter) Option {
	return func(c *config) error {
		if limiter == nil {
			return errors.New("WithRateLimiter: limiter must not be nil")
		}
		c.rate = limiter
		return nil
	}
}

// WithSealer encrypts the bodies in the database with sealer. A digest of each body stays
// beside it, with which somebody who has the database can test a guess of the body.
func WithSealer(sealer Sealer) Option {
	return func(c *config) error {
		if sealer == nil {
			return errors.New("WithSealer: sealer must not be nil")
		}
		c.sealer = sealer
		return nil
	}
}

// WithLogger logs what an operator needs to know: that a breaker opens or closes, that the
// database fails, that another process left entries behind. Log records contain keys and
// error texts of the database. They contain no requests and no responses.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		if logger == nil {
			return errors.New("WithLogger: logger must not be nil")
		}
		c.logger = logger
		return nil
	}
}

// WithOnSettled calls settled when this Outbox has recorded that an entry is accepted,
// rejected or unclear. It is not called for entries of a crashed process, or if this process
// ends first. [Outbox.List] and [Outbox.Counts] show those.
//
// settled must be safe for concurrent use. An entry counts as claimed until settled has
// returned, so settled should be quick, and it must not call Deliver.
func WithOnSettled(settled func(ctx context.Context, entry Entry)) Option {
	return func(c *config) error {
		if settled == nil {
			return errors.New("WithOnSettled: settled must not be nil")
		}
		c.onSettled = settled
		return nil
	}
}

// config is the configuration of an Outbox.
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

// configure applies the options to the defaults. Its error lists the given problems and
// every bad option.
func configure(problems []string, opts []Option) (config, error) {
	c := defaultConfig()
	for i, opt := range opts {
		if opt == nil {
			problems = append(problems, fmt.Sprintf("option %d must not be nil", i+1))
			continue
		}
		if err := opt(&c); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) > 0 {
		return config{}, errors.New("outbox: new: " + strings.Join(problems, "; "))
	}
	return c, nil
}

// lease is how long a process may hold an entry that it has claimed. After that, any
// process may declare the entry unclear.
func (c *config) lease() time.Duration { return c.sendTimeout + c.timing.leaseMargin }

// timing holds the durations that are not configurable, for tests to shorten.
type timing struct {
	leaseMargin   time.Duration // from the end of a send to the end of its lease
	sweepEvery    time.Duration
	purgeEvery    time.Duration
	poll          time.Duration // between two looks for new entries
	stopGrace     time.Duration // to record outcomes after the stop
	unclaimEvery  time.Duration // between two attempts to undo a failed claim
	firstWait     time.Duration // after the first attempt that failed
	longestWait   time.Duration
	deniedWait    time.Duration // after the first denial, doubling
	unopenedProbe time.Duration // between two probes while requests cannot be opened
	duePatience   time.Duration // in which DeliverDue waits for what is due within unopenedProbe
	breaker       breaker.Timing
}

func defaultConfig() config {
	return config{
		inFlight:    64,
		sendTimeout: 25 * time.Second,
		keepSettled: 7 * 24 * time.Hour,
		logger:      slog.New(slog.DiscardHandler),
		timing: timing{
			leaseMargin:   15 * time.Second,
			sweepEvery:    5 * time.Second,
			purgeEvery:    time.Minute,
			poll:          50 * time.Millisecond,
			stopGrace:     10 * time.Second,
			firstWait:     500 * time.Millisecond,
			longestWait:   time.Minute,
			deniedWait:    20 * time.Second,
			unopenedProbe: 100 * time.Millisecond,
			duePatience:   5 * time.Second,
			unclaimEvery:  time.Second,
			breaker: breaker.Timing{First: 500 * time.Millisecond, Longest: 15 * time.Second,
				LongestAsked: 5 * time.Minute, Recent: time.Minute},
		},
	}
}
