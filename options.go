package messaging

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/exchange"
)

// Option configures a [Client].
type Option interface {
	applyToClient(*config, *arguments.Problems)
}

// RequestOption changes one call.
type RequestOption interface {
	applyToRequest(*requestSettings, *arguments.Problems)
}

// SharedOption can be given to [NewClient], for every call, and to a single call.
type SharedOption interface {
	Option
	RequestOption
}

type clientOption func(*config, *arguments.Problems)

func (o clientOption) applyToClient(c *config, p *arguments.Problems) { o(c, p) }

type requestOption func(*requestSettings, *arguments.Problems)

func (o requestOption) applyToRequest(s *requestSettings, p *arguments.Problems) { o(s, p) }

type sharedOption func(*requestSettings, *arguments.Problems)

func (o sharedOption) applyToClient(c *config, p *arguments.Problems)           { o(&c.perRequest, p) }
func (o sharedOption) applyToRequest(s *requestSettings, p *arguments.Problems) { o(s, p) }

// WithHTTPClient sends requests through a copy of client, with the transport and the
// cookie jar that it has when [NewClient] is called. If client has no transport, the default
// one is used; see [NewTransport] for one to change or wrap. Redirects are not followed,
// regardless of CheckRedirect. A Timeout becomes the limit of one attempt, unless
// [WithAttemptTimeout] sets a shorter one.
//
// About your own transport, or one that you assign to [http.DefaultTransport], this package
// knows only whether it has read the body of a request, and what it reports to
// [net/http/httptrace]. An attempt that fails before the transport reads the body or writes the
// headers is [DeliveryNotSent]; after that, the transport can no longer read the body. Any other
// failure is [DeliveryUnknown], also if the request has no body, or if the transport read the
// body early to sign or log it. The transport must send the body that it is given.
//
// Do not use a client that retries on its own, such as the StandardClient of
// go-retryablehttp. It reads the body once and sends it several times, which this package
// cannot detect.
func WithHTTPClient(client *http.Client) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		if client == nil {
			p.Add("WithHTTPClient", "must be given an HTTP client, not nil")
			return
		}
		c.client = client
	})
}

// WithAttemptTimeout limits the time of one attempt, from asking for a connection to the
// last byte of the response. The default is 30 s. An attempt that takes longer fails with
// [ErrAttemptTimeout]. The limit of a call replaces that of the client, even if it is longer
// than the Timeout of the [http.Client].
func WithAttemptTimeout(limit time.Duration) SharedOption {
	return sharedOption(func(s *requestSettings, p *arguments.Problems) {
		if limit <= 0 {
			p.Add("WithAttemptTimeout", "must be given a positive duration")
		}
		s.attemptTimeout = exchange.AttemptTimeout{Limit: limit, Option: "WithAttemptTimeout"}
	})
}

// RetryPolicy sets how often a call is retried, and how long it waits between attempts. It
// does not set which failures are retried; see the package documentation. A zero field
// means its default.
type RetryPolicy struct {
	// MaxAttempts is the largest number of attempts, including the first one. The
	// default is 3; 1 disables retries.
	MaxAttempts int
	// MinWait and MaxWait bound the random wait between attempts, which grows with each
	// attempt. The defaults are 0.5 s and 8 s. If MinWait is above 8 s, it is also the
	// default of MaxWait.
	MinWait, MaxWait time.Duration
	// MaxRetryAfter is the longest wait that the service may ask for. A call that would
	// have to wait longer returns immediately. The default is 30 s.
	MaxRetryAfter time.Duration
}

func (p RetryPolicy) validate(problems *arguments.Problems) {
	check := func(field string, isNegative bool) {
		if isNegative {
			problems.Add(field, "must not be negative")
		}
	}
	check("MaxAttempts", p.MaxAttempts < 0)
	check("MinWait", p.MinWait < 0)
	check("MaxWait", p.MaxWait < 0)
	check("MaxRetryAfter", p.MaxRetryAfter < 0)
	if p := exchange.RetryPolicy(p).WithDefaults(); p.MaxWait >= 0 && p.MaxWait < p.MinWait {
		problems.Add("MaxWait", fmt.Sprintf("must not be below MinWait, which is %v", p.MinWait))
	}
}

// WithRetryPolicy replaces the default [RetryPolicy]. The policy of a call replaces that of
// the client as a whole: a zero field means the default, not the field of the client.
func WithRetryPolicy(policy RetryPolicy) SharedOption {
	return sharedOption(func(s *requestSettings, p *arguments.Problems) {
		policy.validate(p.In("WithRetryPolicy"))
		s.retry = exchange.RetryPolicy(policy).WithDefaults()
	})
}

// Limiter paces requests. The type *rate.Limiter of golang.org/x/time/rate implements it.
type Limiter interface {
	// Wait blocks until a request may be sent, or ctx is done.
	Wait(ctx context.Context) error
}

// WithRateLimiter waits for limiter before each attempt. If limiter returns an error, the
// call ends.
func WithRateLimiter(limiter Limiter) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		if limiter == nil || arguments.IsNil(limiter) {
			p.Add("WithRateLimiter", "must be given a rate limiter, not nil")
		}
		c.engine.Limiter = limiter
	})
}

// WithLogger logs one record per attempt: at debug level if the attempt succeeded, or was
// a read that your program canceled, as a break from a loop does; otherwise as a warning.
// A record holds the operation, method, path template, status, number of the attempt,
// duration and delivery, and the reason for a failure, which is one of those listed for
// [CallResult]. A record holds nothing else.
func WithLogger(logger *slog.Logger) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		switch {
		case logger == nil:
			p.Add("WithLogger", "must be given a logger, not nil")
		case logger.Handler() == nil:
			p.Add("WithLogger", "must be given a logger from slog.New")
		}
		c.engine.Logger = logger
	})
}

// WithGuard calls guard with every send, including those of [Client.Do], after the send is
// validated and before anything is sent. If guard returns an error, the call ends with a
// [*GuardError]. If the option is repeated, the guards are called in order, until one
// returns an error. Reads are not guarded. [Client.Check] asks the guards without sending.
//
// A refusal is [NextFixRequest], whatever error it wraps. A guard that cannot decide now, for
// example because its database is down, returns a *GuardError with an Err and the Step
// [NextRetry] or [NextFixSetup].
//
// [WithAllowOnly] and [WithMaxRecipients] are the guards of this package. To check
// what they check in your own guard, read [Prepared.Recipients].
func WithGuard(guard Guard) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		if guard == nil {
			p.Add("WithGuard", "must be given a guard, not nil")
		}
		c.guards = append(c.guards, guard)
	})
}

// WithAllowOnly refuses every send that could reach anyone not listed, so that a test system
// cannot email anyone else. Without patterns, only sends that address nobody pass. A pattern
// is
//
//   - "qa@acme.test", an email address,
//   - "@acme.test", the addresses in a domain, but not in its subdomains,
//   - "id:qa-7", the customer with that customer id,
//   - "phone:+15550100", a phone number, or
//   - "device:TOKEN", the device with that token.
//
// ASCII letters in addresses match regardless of case, and everything else must match
// exactly: a domain and its punycode form are different domains. Everything that a send
// names must be listed, even the address of a customer whose id is listed, since the service
// may use each of them to reach or overwrite another customer.
//
// A domain pattern matches an address only if the part before the @ has 1 to 64 characters,
// all of them ASCII letters, digits or one of . _ + ' -, and does not start with "-". List
// any other address itself, such as "a&b@acme.test".
//
// The option refuses sends to segments, sends to all customers, and requests for which
// [Prepared.Recipients] returns an error. A send that addresses nobody, such as the creation
// of an event, passes.
//
// The [*GuardError] names the first field that is not allowed, and never quotes its value.
func WithAllowOnly(patterns ...string) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		for i, pattern := range patterns {
			if !isPattern(pattern) {
				p.In("WithAllowOnly").Index(i).Add("", fmt.Sprintf("must be %s, not %q", patternForms, pattern))
			}
		}
		c.guards = append(c.guards, newAllowList(patterns).guard)
	})
}

// WithMaxRecipients refuses a send to more than n recipients, as [Recipients].Count counts
// them. It also refuses a send if the number of its recipients is unknown: a send to segments,
// a send to all customers, an address that could be read as several, and a request for which
// [Prepared.Recipients] returns an error.
func WithMaxRecipients(n int) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		if n < 1 {
			p.Add("WithMaxRecipients", "must be given a positive number")
		}
		c.guards = append(c.guards, maxRecipients(n))
	})
}

// WithHooks observes calls with hooks. If the option is repeated, all hooks are called:
// the Start functions in order, and the Done functions in reverse order.
func WithHooks(hooks Hooks) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		if hooks.none() {
			p.Add("WithHooks", "must be given hooks with at least one function")
		}
		c.hooks = append(c.hooks, hooks)
	})
}

// WithUserAgent adds product, such as "billing/1.4", to the User-Agent header, before the
// name of this package.
func WithUserAgent(product string) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		if strings.TrimSpace(product) == "" || !exchange.IsPrintable(product) {
			p.Add("WithUserAgent", "must be given printable ASCII that is not blank")
		}
		c.product = strings.TrimSpace(product + " " + c.product)
	})
}

// WithMaxResponseBytes limits the size of a response after decompression. The default is
// 10 MiB. [ErrTooLarge] is returned for a larger response.
func WithMaxResponseBytes(limit int64) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		if limit <= 0 {
			p.Add("WithMaxResponseBytes", "must be given a positive number")
		}
		c.engine.MaxResponseBytes = min(limit, math.MaxInt64-1) // one more byte is read, to detect a larger response
	})
}

// WithInsecureHTTP allows a base URL that is not https. The API key and all personal data
// are then sent unencrypted.
func WithInsecureHTTP() Option {
	return clientOption(func(c *config, _ *arguments.Problems) { c.insecure = true })
}

// WithKeySource calls source for the API key before each attempt, so that a key can be
// rotated. The apiKey argument of [NewClient] must then be "". The call ends if source
// returns an error or a key that cannot be sent. After a 401, source is asked once more, and
// if it returns another key, the call is retried with it at once, within the MaxAttempts of
// the [RetryPolicy]. source receives the context of the call, so the time that it takes does not
// count toward [WithAttemptTimeout]. A source that caches a key needs a mutex.
func WithKeySource(source func(context.Context) (string, error)) Option {
	return clientOption(func(c *config, p *arguments.Problems) {
		if source == nil {
			p.Add("WithKeySource", "must be given a key source, not nil")
		}
		c.engine.Key, c.engine.KeyRotates = source, true
	})
}

// WithHeader sets a header on every request, or on the requests of one call, which takes
// precedence. It cannot set the headers that this package depends on: X-Authorization,
// Proxy-Authorization and Cookie, and those for connections, encoding, host, content length,
// content type and another method. It can set Authorization, which a
// gateway in front of the service may require; the service does not read it.
func WithHeader(key, value string) SharedOption {
	return sharedOption(func(s *requestSettings, p *arguments.Problems) {
		key := textproto.CanonicalMIMEHeaderKey(key)
		if problem := exchange.HeaderProblem(key, value); problem != "" {
			name := ""
			if exchange.IsHeaderName(key) { // anything else may be a value in the wrong place
				name = key
			}
			p.In("WithHeader").Add(name, problem)
			return
		}
		setEarlier := s.setHeaders
		s.setHeaders = func(header http.Header) {
			if setEarlier != nil {
				setEarlier(header)
			}
			header.Set(key, value)
		}
	})
}

// WithoutValidation skips the checks for required and well-formed fields, for an operation
// whose rules have changed. Arguments that the service would misread remain invalid: a
// filter that selects customers you did not name, a timestamp that the service silently
// ignores, the zero time as a schedule, a line break or a NUL in a subject or name, white
// space around the name of an event or the id of a segment, and values that do not match their
// Definition.
func WithoutValidation() SharedOption {
	return sharedOption(func(s *requestSettings, _ *arguments.Problems) { s.withoutValidation = true })
}

// WithoutReadAhead fetches each page of a range only when the loop needs it.
func WithoutReadAhead() SharedOption {
	return sharedOption(func(s *requestSettings, _ *arguments.Problems) { s.withoutReadAhead = true })
}

// WithRepeatableSend allows a send to be retried although it may have been carried
// out: after a lost response, a timeout or a server error. It may then be carried out
// more than once. Use it where a duplicate is better than a loss.
func WithRepeatableSend() RequestOption {
	return requestOption(func(s *requestSettings, _ *arguments.Problems) { s.repeatableSend = true })
}

// WithoutRetries limits a call to one attempt, regardless of the [RetryPolicy]. Use it
// where something else retries, such as a job queue.
func WithoutRetries() RequestOption {
	return requestOption(func(s *requestSettings, _ *arguments.Problems) { s.withoutRetries = true })
}

// WithNotAfter begins no request after t, neither the first nor a retry. The call then
// fails with [ErrNotAfter]: immediately, if a retry would have to wait beyond t. In that
// case, [errors.As] also finds the error of the attempt before. Use the option where a late
// send is worse than none.
//
// t is compared with the wall clock and also with the monotonic clock, so setting the wall
// clock back during the call does not move t. The clocks are read as the last thing before
// a request is passed to the transport. For a send with a body, they are read again
// before each part of the body, since connecting takes time. If t has passed, the request is
// cut off, so the service receives an incomplete one. For one of the
// operations of this package, that is [DeliveryNotSent]; for [Client.Do], it is unknown
// unless there was no connection, since a service may act before it reads the body.
//
// If the option is repeated, the earliest time counts. For a range, t applies to every
// page. A request that began in time is not interrupted after t, and neither is a rate
// limiter, a key source or a hook: for that, set a deadline in the context.
func WithNotAfter(t time.Time) RequestOption {
	limit := exchange.NewTimeLimit(t)
	return requestOption(func(s *requestSettings, p *arguments.Problems) {
		if t.IsZero() {
			p.Add("WithNotAfter", "must not be given the zero time")
		}
		s.notAfter = s.notAfter.Earliest(limit)
	})
}

// requestSettings holds the options of a call.
type requestSettings struct {
	// setHeaders is a closure because a header can be a secret, and fmt does not print
	// what a closure holds.
	setHeaders        func(http.Header)
	withoutValidation bool
	withoutReadAhead  bool
	repeatableSend    bool
	withoutRetries    bool
	notAfter          exchange.TimeLimit
	retry             exchange.RetryPolicy
	attemptTimeout    exchange.AttemptTimeout
}

// with returns the settings changed by opts.
func (s requestSettings) with(opts []RequestOption, p *arguments.Problems) requestSettings {
	if len(opts) == 0 {
		return s
	}
	return s.changed(opts, p)
}

// changed is separate from with because settings that are passed to an option are
// allocated on the heap, and most calls have no options.
func (s requestSettings) changed(opts []RequestOption, p *arguments.Problems) requestSettings {
	for _, opt := range opts {
		if opt == nil {
			p.Add("opts", "must not hold a nil option")
			continue
		}
		opt.applyToRequest(&s, p)
	}
	return s
}

// core is the configured client. It does not change after NewClient. It is referenced by a
// pointer, since fmt does not follow a pointer within a struct that it prints.
type core struct {
	engine     exchange.Config
	guards     []Guard
	hooks      []Hooks
	callInfo   CallInfo // of every call, for hooks
	perRequest requestSettings
}

// config is an incomplete client. The options fill it before the client is built, so their
// order does not matter.
type config struct {
	core
	client   *http.Client // nil where none was given
	product  string       // before the name of this package in User-Agent
	insecure bool
}

const (
	defaultTimeout  = 30 * time.Second
	defaultMaxBytes = 10 << 20
)

// build completes the client.
func (c *config) build(baseURL, apiKey string, p *arguments.Problems) *core {
	x := &c.engine
	x.BaseURL = c.checkBaseURL(baseURL, p)
	c.callInfo = callInfoOf(x.BaseURL)
	switch {
	case x.Key == nil:
		if problem := exchange.KeyProblem(apiKey); problem != "" {
			p.Add("apiKey", problem)
		}
		x.Key = func(context.Context) (string, error) { return apiKey, nil }
	case apiKey != "":
		p.Add("apiKey", `must be "" if WithKeySource is given`)
	}
	x.UserAgent = []string{strings.TrimSpace(c.product + " messaging-go/" + Version)}
	c.perRequest.retry = c.perRequest.retry.WithDefaults()
	x.MaxResponseBytes = cmp.Or(x.MaxResponseBytes, defaultMaxBytes)
	x.PrepareRequests()
	c.buildHTTP()
	return &c.core
}

// buildHTTP completes the HTTP client.
func (c *config) buildHTTP() {
	x := &c.engine
	if c.client != nil {
		x.HTTP = *c.client
	}
	if x.HTTP.Transport == nil {
		x.HTTP.Transport, x.OwnTransport = newDefaultTransport()
	}
	if own, _ := x.HTTP.Transport.(*http.Transport); x.OwnTransport && !c.insecure && c.callInfo.Scheme == "http" {
		own.Proxy = nil // so that the API key does not leave this machine unencrypted
	}
	timeout := &c.perRequest.attemptTimeout
	if limit := x.HTTP.Timeout; limit > 0 && (timeout.Limit == 0 || limit < timeout.Limit) {
		*timeout = exchange.AttemptTimeout{Limit: limit, Option: "Timeout of the http.Client"}
	}
	x.HTTP.Timeout = 0 // net/http would report it as the caller's deadline
	*timeout = cmp.Or(*timeout, exchange.AttemptTimeout{Limit: defaultTimeout, Option: "WithAttemptTimeout"})
	x.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// checkBaseURL returns the base URL without a trailing slash. It does not quote an
// invalid one, which may hold a password.
func (c *config) checkBaseURL(baseURL string, p *arguments.Problems) string {
	u, problem := parseBaseURL(baseURL)
	if problem != "" {
		p.Add("baseURL", problem)
		return ""
	}
	if u.Scheme == "http" && !c.insecure && !isLoopback(u.Hostname()) {
		p.Add("baseURL", "must be https unless it is on a loopback address, see WithInsecureHTTP")
	}
	if u.User != nil {
		p.Add("baseURL", "must not hold credentials")
	}
	if strings.ContainsAny(baseURL, "?#") {
		p.Add("baseURL", "must not have a query or a fragment")
	}
	if hasDotSegment(u.Path) {
		p.Add("baseURL", "must not have dot segments")
	}
	if p.None() && !strings.HasSuffix(baseURL, u.EscapedPath()) {
		p.Add("baseURL", "has an unescaped character in its path")
	}
	return strings.TrimRight(baseURL, "/")
}

// parseBaseURL parses a base URL, or returns why it cannot be used. The error of url.Parse
// would quote the URL.
func parseBaseURL(baseURL string) (u *url.URL, problem string) {
	u, err := url.Parse(baseURL)
	scheme, _, _ := strings.Cut(baseURL, "://")
	switch {
	case strings.TrimSpace(baseURL) != baseURL:
		return nil, "must not start or end with white space, such as the line break at the end of a file"
	case !exchange.IsPrintable(baseURL) || strings.Contains(baseURL, " "):
		return nil, "must be printable ASCII without white space"
	case !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http"):
		return nil, "must begin with https://, such as https://api.example.com"
	case err != nil:
		return nil, "is not a valid URL: check the host, the port and the escape sequences"
	case u.Hostname() == "":
		return nil, "must have a host, such as https://api.example.com"
	case !isPort(u.Port()):
		return nil, "must have a port from 1 to 65535, or none"
	}
	return u, ""
}

// isPort reports whether text is a port number, or "".
func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && port > 0
}

func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// hasDotSegment reports whether an unescaped path has a segment "." or "..".
func hasDotSegment(path string) bool {
	path = "/" + path + "/"
	return strings.Contains(path, "/./") || strings.Contains(path, "/../")
}
