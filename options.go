package messaging

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Option configures a [Client].
type Option interface {
	applyToClient(*config, *problems)
}

// RequestOption changes one call.
type RequestOption interface {
	applyToRequest(*requestSettings, *problems)
}

// SharedOption can be given to [NewClient], for every call, and to a single call.
type SharedOption interface {
	Option
	RequestOption
}

type clientOption func(*config, *problems)

func (o clientOption) applyToClient(c *config, p *problems) { o(c, p) }

type requestOption func(*requestSettings, *problems)

func (o requestOption) applyToRequest(s *requestSettings, p *problems) { o(s, p) }

type sharedOption func(*requestSettings, *problems)

func (o sharedOption) applyToClient(c *config, p *problems)           { o(&c.perRequest, p) }
func (o sharedOption) applyToRequest(s *requestSettings, p *problems) { o(s, p) }

// WithHTTPClient sends through a copy of the given client, with its transport and
// its cookie jar, as they are when [NewClient] is called. Both must be safe for
// concurrent use. A client without a transport gets the default one; see
// [NewTransport] for one to change or to wrap. Redirects are not followed whatever
// its CheckRedirect. Its Timeout, where it has one, becomes the limit of one
// attempt, unless [WithAttemptTimeout] sets a shorter one.
//
// Of a given transport nothing is known but whether it has read the body of a
// request, and what it reports to [net/http/httptrace]. An attempt that fails before
// the body is read and headers are written is [DeliveryNotSent], and the body can't be
// read any more. A transport that reads the body beforehand, to sign or to log it, and
// a send without a body are never "not sent". A transport must not drop the body.
//
// Do not give a client that retries by itself, such as the StandardClient of
// go-retryablehttp: it reads the body once and sends it several times, and this
// package can't know.
func WithHTTPClient(client *http.Client) Option {
	return clientOption(func(c *config, p *problems) {
		if client == nil {
			p.add("WithHTTPClient", "must not be nil")
			return
		}
		c.client = client
	})
}

// WithAttemptTimeout limits one attempt of a call, from asking for a connection
// to the last byte of the response. Default 30 s. An attempt over it fails with
// [ErrAttemptTimeout].
func WithAttemptTimeout(limit time.Duration) Option {
	return clientOption(func(c *config, p *problems) {
		if limit <= 0 {
			p.add("WithAttemptTimeout", "must be positive")
		}
		c.timeout = limit
	})
}

// WithRetryPolicy replaces the default [RetryPolicy].
func WithRetryPolicy(policy RetryPolicy) Option {
	return clientOption(func(c *config, p *problems) {
		policy.validate(p.in("WithRetryPolicy"))
		c.retry = policy
	})
}

// Limiter paces requests. A *rate.Limiter of golang.org/x/time/rate is one. It must
// be safe for concurrent use.
type Limiter interface {
	// Wait blocks until a request may be sent, or ctx is done.
	Wait(ctx context.Context) error
}

// WithRateLimiter asks limiter before each attempt. An error of it ends the call.
// It must be safe for concurrent use, also in a program of one goroutine: a range
// fetches the next page in another.
func WithRateLimiter(limiter Limiter) Option {
	return clientOption(func(c *config, p *problems) {
		if limiter == nil {
			p.add("WithRateLimiter", "must not be nil")
		}
		c.limiter = limiter
	})
}

// WithLogger logs one record per attempt: at debug level if it succeeded, else as a
// warning. A record holds the operation, method, path template, status, number
// of the attempt, duration and delivery, and the reason of a failure: the status or one
// of key_source, limiter, attempt_timeout, deadline, dns, connect, tls, connection_lost,
// not_json, decode, too_large, refused and _OTHER. It holds nothing else. The handler of the logger
// must be safe for concurrent use, also in a program of one goroutine: a range
// fetches the next page in another.
func WithLogger(logger *slog.Logger) Option {
	return clientOption(func(c *config, p *problems) {
		if logger == nil {
			p.add("WithLogger", "must not be nil")
		}
		c.logger = logger
	})
}

// WithGuard asks guard about every send, [Client.Do] included, when it is validated and
// before anything is sent. Given several times, all of the guards are asked, in
// order. The error of a guard ends the call as a [*GuardError]. A read is not asked
// about. Guards must be safe for concurrent use. See [AllowOnly] and [MaxRecipients].
func WithGuard(guard func(ctx context.Context, p *Prepared) error) Option {
	return clientOption(func(c *config, p *problems) {
		if guard == nil {
			p.add("WithGuard", "must not be nil")
		}
		c.guards = append(c.guards, guard)
	})
}

// WithHooks observes calls with hooks. Given several times, all of them are called:
// those for the start in order, and those for the end in reverse order.
func WithHooks(hooks Hooks) Option {
	return clientOption(func(c *config, p *problems) {
		if hooks.none() {
			p.add("WithHooks", "must have at least one function")
		}
		c.hooks = append(c.hooks, hooks)
	})
}

// WithUserAgent puts product, such as "billing/1.4", before this package's own
// name in the User-Agent header.
func WithUserAgent(product string) Option {
	return clientOption(func(c *config, p *problems) {
		if strings.TrimSpace(product) == "" || strings.ContainsFunc(product, isNotPrintableASCII) {
			p.add("WithUserAgent", "must be printable ASCII, and not blank")
		}
		c.product = strings.TrimSpace(product + " " + c.product)
	})
}

// WithMaxResponseBytes limits the size of a response, after decompression. Default
// 10 MiB. A larger response is [ErrTooLarge].
func WithMaxResponseBytes(limit int64) Option {
	return clientOption(func(c *config, p *problems) {
		if limit <= 0 {
			p.add("WithMaxResponseBytes", "must be positive")
		}
		c.maxBytes = min(limit, math.MaxInt64-1) // one more byte is read, to detect a larger response
	})
}

// WithInsecureHTTP accepts a base URL that is not https. The API key and every
// address are then sent in clear text.
func WithInsecureHTTP() Option {
	return clientOption(func(c *config, _ *problems) { c.insecure = true })
}

// WithKeySource asks source for the API key before each attempt, so that a key
// can be rotated. The apiKey given to [NewClient] must then be "". An error of
// source, or a key that can't be sent, ends the call. A 401 also ends the call and is
// not retried. The time that source takes does not count towards
// [WithAttemptTimeout]: its context is the call's.
//
// The source must be safe for concurrent use, also in a program of one goroutine:
// a range fetches the next page in another. One that caches a key needs a mutex.
func WithKeySource(source func(context.Context) (string, error)) Option {
	return clientOption(func(c *config, p *problems) {
		if source == nil {
			p.add("WithKeySource", "must not be nil")
		}
		c.key = source
	})
}

// WithHeader sets a header on every request, or on the requests of one call, which
// takes precedence. Headers that this package depends on are refused: those for
// authentication, idempotency, encoding, host, content length and content type.
func WithHeader(key, value string) SharedOption {
	return sharedOption(func(s *requestSettings, p *problems) {
		key := textproto.CanonicalMIMEHeaderKey(key)
		if problem := headerProblem(key, value); problem != "" {
			p.add("WithHeader", problem)
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

// headerProblem says why a header can't be set, "" if it can. key is canonical.
func headerProblem(key, value string) string {
	switch {
	case key == "" || strings.ContainsFunc(key, isNotTokenRune):
		return "has a key that is not a header name"
	case slices.Contains(reservedHeaders, key):
		return "can't set " + key
	case strings.ContainsFunc(value, unicode.IsControl):
		return "has a value with control characters for " + key
	}
	return ""
}

// reservedHeaders can't be set by WithHeader. The idempotency keys are among them
// because net/http sends a request that has one again.
var reservedHeaders = []string{
	"X-Authorization", "Idempotency-Key", "X-Idempotency-Key",
	"Accept-Encoding", "Host", "Content-Length", "Content-Type",
	"Connection", "Content-Encoding", "Expect", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// WithoutValidation skips the checks for required and well-formed fields, for an
// operation whose rules have changed. What the service would misread is still
// refused: a filter that selects other customers, a timestamp that it would skip,
// values that do not match their Definition.
func WithoutValidation() SharedOption {
	return sharedOption(func(s *requestSettings, _ *problems) { s.withoutValidation = true })
}

// WithoutReadAhead fetches each page of a range only when the loop needs it.
func WithoutReadAhead() SharedOption {
	return sharedOption(func(s *requestSettings, _ *problems) { s.withoutReadAhead = true })
}

// WithRepeatableSend allows a send to be retried although it may have been carried
// out: after a lost response, a timeout or a server error. It may then be carried out
// more than once. Use it where twice is better than not at all.
func WithRepeatableSend() RequestOption {
	return requestOption(func(s *requestSettings, _ *problems) { s.repeatableSend = true })
}

// WithoutRetries makes one attempt, whatever the [RetryPolicy]. Use it where something
// else retries, such as a job queue. [Retryable] still says whether to.
func WithoutRetries() RequestOption {
	return requestOption(func(s *requestSettings, _ *problems) { s.withoutRetries = true })
}

// requestSettings holds the options of a call.
type requestSettings struct {
	// setHeaders is a closure because a header can be a secret, and fmt prints
	// no closure.
	setHeaders        func(http.Header)
	withoutValidation bool
	withoutReadAhead  bool
	repeatableSend    bool
	withoutRetries    bool
}

// with returns the settings changed by opts.
func (s requestSettings) with(opts []RequestOption, p *problems) requestSettings {
	if len(opts) == 0 {
		return s
	}
	return s.changed(opts, p)
}

// changed is separate from with because settings that are passed to an option are
// allocated on the heap, and most calls have no options.
func (s requestSettings) changed(opts []RequestOption, p *problems) requestSettings {
	for _, opt := range opts {
		if opt == nil {
			p.add("opts", "must not hold a nil option")
			continue
		}
		opt.applyToRequest(&s, p)
	}
	return s
}

// config is a client that is not complete yet, so that the order of options does
// not matter.
type config struct {
	core
	client   *http.Client // nil where none was given
	product  string       // in front of this package's own name in User-Agent
	insecure bool
}

const (
	defaultTimeout  = 30 * time.Second
	defaultMaxBytes = 10 << 20
)

// build completes the client.
func (c *config) build(baseURL, apiKey string, p *problems) *core {
	core := &c.core
	core.baseURL = c.checkBaseURL(baseURL, p)
	core.endpoint = newEndpoint(core.baseURL)
	switch {
	case core.key == nil:
		if problem := keyProblem(apiKey); problem != "" {
			p.add("apiKey", problem)
		}
		core.key = func(context.Context) (string, error) { return apiKey, nil }
	case apiKey != "":
		p.add("apiKey", `must be "" if WithKeySource is given`)
	}
	core.userAgent = []string{strings.TrimSpace(c.product + " messaging-go/" + Version)}
	core.retry = core.retry.withDefaults()
	core.maxBytes = cmp.Or(core.maxBytes, defaultMaxBytes)
	if c.client != nil {
		core.http = *c.client
	}
	if core.http.Transport == nil {
		core.http.Transport, core.ownTransport = newDefaultTransport()
	}
	if own, _ := core.http.Transport.(*http.Transport); core.ownTransport && !c.insecure && strings.HasPrefix(core.baseURL, "http:") {
		own.Proxy = nil // the API key does not leave this machine in clear text
	}
	if limit := core.http.Timeout; limit > 0 && (core.timeout == 0 || limit < core.timeout) {
		core.timeout = limit
	}
	core.http.Timeout = 0 // net/http would report it as the caller's deadline
	core.timeout = cmp.Or(core.timeout, defaultTimeout)
	core.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return core
}

// checkBaseURL returns the base URL without a trailing slash. It does not quote an
// invalid one, which may hold a password.
func (c *config) checkBaseURL(baseURL string, p *problems) string {
	u, err := url.Parse(baseURL)
	switch {
	case strings.TrimSpace(baseURL) != baseURL:
		p.add("baseURL", "must not start or end with white space, such as the line break at the end of a file")
		return ""
	case err != nil || strings.ContainsFunc(baseURL, isNotPrintableASCII) || strings.Contains(baseURL, " "):
		p.add("baseURL", "must be a URL")
		return ""
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		p.add("baseURL", "must be an absolute URL, such as https://api.example.com")
		return ""
	}
	if u.Scheme == "http" && !c.insecure && !isLoopback(u.Hostname()) {
		p.add("baseURL", "must be https unless it is on a loopback address; see WithInsecureHTTP")
	}
	if u.User != nil {
		p.add("baseURL", "must not hold credentials")
	}
	if strings.ContainsAny(baseURL, "?#") {
		p.add("baseURL", "must not have a query or a fragment")
	}
	if hasDotSegment(u.Path) {
		p.add("baseURL", "must not have dot segments")
	}
	if p.none() && !strings.HasSuffix(baseURL, u.EscapedPath()) {
		p.add("baseURL", "must have an escaped path")
	}
	return strings.TrimRight(baseURL, "/")
}

func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// maxKeyBytes is the length of the longest API key.
const maxKeyBytes = 4 << 10

// keyProblem says why key can't be sent in a header, "" if it can.
func keyProblem(key string) string {
	switch {
	case key == "":
		return "is required"
	case len(key) > maxKeyBytes:
		return "must not be longer than 4 KiB"
	case strings.TrimSpace(key) != key:
		return "must not start or end with white space, such as the line break at the end of a file"
	case strings.ContainsFunc(key, isNotPrintableASCII) || strings.Contains(key, " "):
		return "must be printable ASCII without white space"
	}
	return ""
}

func isNotPrintableASCII(r rune) bool { return r < ' ' || r > '~' }

// isNotTokenRune reports whether r is not allowed in a method or header name.
func isNotTokenRune(r rune) bool {
	return isNotPrintableASCII(r) || strings.ContainsRune(` "(),/:;<=>?@[\]{}`, r)
}
