package messaging_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

const baseURL = "https://api.example.com"

func TestNewClientRefusesAnInvalidBaseURL(t *testing.T) {
	const (
		noURL       = "baseURL is not a valid URL: check the host, the port and the escape sequences"
		notASCII    = "baseURL must be printable ASCII without white space"
		noScheme    = "baseURL must begin with https://, such as https://api.example.com"
		noHost      = "baseURL must have a host, such as https://api.example.com"
		port        = "baseURL must have a port from 1 to 65535, or none"
		clearText   = "baseURL must be https unless it is on a loopback address, see WithInsecureHTTP"
		credentials = "baseURL must not hold credentials"
		query       = "baseURL must not have a query or a fragment"
		dots        = "baseURL must not have dot segments"
	)
	tests := []struct {
		name    string
		url     string
		problem string
	}{
		{"nothing", "", noScheme},
		{"no scheme", "api.canary.com", noScheme},
		{"no scheme, but a port", "canary:443", noScheme},
		{"no scheme, but a port of a name with dots", "api.canary.com:443", noScheme},
		{"no scheme, but slashes", "//api.canary.com", noScheme},
		{"a path alone", "/v1/canary", noScheme},
		{"another scheme", "ftp://api.canary.com", noScheme},
		{"a scheme without slashes", "https:canary", noScheme},
		{"a scheme alone", "https", noHost},
		{"no host", "https://", noHost},
		{"no host, but a path", "https:///canary", noHost},
		{"no host, but a port", "https://:443", noHost},
		{"a port that is too high", "https://api.canary.com:65536", port},
		{"a port of many digits", "https://api.canary.com:99999999999999999999999", port},
		{"port zero", "https://api.canary.com:0", port},
		{"a port that is too high on this machine", "http://[::1]:99999", port},
		{"a port that is no number", "https://api.canary.com:https", noURL},
		{"a host that is cut short", "https://[::1", noURL},
		{"an escape that is cut short", "https://api.canary.com/%4", noURL},
		{"clear text to another machine", "http://api.canary.com", clearText},
		{"clear text to a name that begins like this machine", "http://localhost.canary.com", clearText},
		{"clear text to a name that begins like an address of this machine", "http://127.0.0.1.canary.com", clearText},
		{"clear text to every address of this machine", "http://0.0.0.0", clearText},
		{"clear text to an address nearby", "http://192.168.0.1", clearText},
		{"clear text in capitals", "HTTP://API.CANARY.COM", clearText},
		{"a user", "https://canary@api.example.com", credentials},
		{"a user and a password", "https://user:canary@api.example.com", credentials},
		{"a user without a name", "https://@api.example.com", credentials},
		{"a query", "https://api.example.com?key=canary", query},
		{"a query after a path", "https://api.example.com/v1?key=canary", query},
		{"a question mark with nothing after it", "https://api.example.com?", query},
		{"a fragment", "https://api.example.com/#canary", query},
		{"a hash with nothing after it", "https://api.example.com#", query},
		{"a blank before it", " https://api.canary.com", "baseURL " + surrounded},
		{"a blank after it", "https://api.canary.com ", "baseURL " + surrounded},
		{"a blank in the host", "https://api canary.com", notASCII},
		{"a blank in the path", "https://api.example.com/ca nary", notASCII},
		{"a line break after it", "https://api.canary.com\n", "baseURL " + surrounded},
		{"a tab in the path", "https://api.example.com/canary\t", "baseURL " + surrounded},
		{"a NUL", "https://api.canary.com/\x00", notASCII},
		{"a DEL", "https://api.canary.com/\x7f", notASCII},
		{"a host that is not ASCII", "https://cänary.com", notASCII},
		{"bytes that are not UTF-8", "https://canary.com/\xff", notASCII},
		{"a step up", "https://api.example.com/canary/../admin", dots},
		{"a step up at the end", "https://api.example.com/canary/..", dots},
		{"an escaped step up", "https://api.example.com/canary/%2e%2E/admin", dots},
		{"a step up to an escaped slash", "https://api.example.com/canary/..%2fadmin", dots},
		{"a step on the spot", "https://api.example.com/./canary", dots},
		{"a quotation mark that is not escaped", `https://api.example.com/"canary"`, "baseURL has an unescaped character in its path"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, err := messaging.NewClient(test.url, "test-key-1")
			scripted.RequireProblems(t, err, test.problem)
			assert.Nil(t, client)
		})
	}
}

func TestNewClientReportsEveryProblemOfABaseURL(t *testing.T) {
	_, err := messaging.NewClient("http://canary:canary@api.example.com/..?canary#canary", "test-key-1")
	scripted.RequireProblems(t, err, "baseURL must be https unless it is on a loopback address, see WithInsecureHTTP, "+
		"must not hold credentials, must not have a query or a fragment, must not have dot segments")
}

func TestNewClientAcceptsAValidBaseURL(t *testing.T) {
	tests := []struct {
		name    string
		url     string
		options []messaging.Option
	}{
		{"a host", "https://api.example.com", nil},
		{"a port", "https://api.example.com:8443", nil},
		{"the highest port", "https://api.example.com:65535", nil},
		{"a colon without a port", "https://api.example.com:", nil},
		{"a slash at the end", "https://api.example.com/", nil},
		{"a path before that of the service", "https://example.com/messaging/eu", nil},
		{"a path with a slash at the end", "https://example.com/messaging/", nil},
		{"a path with dots that lead nowhere", "https://example.com/.well-known/a..b", nil},
		{"an escaped path", "https://example.com/a%20b", nil},
		{"capitals", "HTTPS://API.EXAMPLE.COM", nil},
		{"an address", "https://192.0.2.1", nil},
		{"an IPv6 address", "https://[2001:db8::1]:8443", nil},
		{"clear text to this machine by name", "http://localhost:8080", nil},
		{"clear text to this machine by name, in capitals", "http://LOCALHOST", nil},
		{"clear text to this machine", "http://127.0.0.1:8080", nil},
		{"clear text to this machine by another address", "http://127.1.2.3", nil},
		{"clear text to this machine over IPv6", "http://[::1]:8080", nil},
		{"clear text to another machine, where that is asked for", "http://api.example.com", []messaging.Option{messaging.WithInsecureHTTP()}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, err := messaging.NewClient(test.url, "test-key-1", test.options...)
			require.NoError(t, err)
			assert.NotNil(t, client)
		})
	}
}

// surrounded is the problem with a key or a URL that was read from a file.
const surrounded = "must not start or end with white space, such as the line break at the end of a file"

// badKeys are keys that cannot be sent, and why.
var badKeys = []struct{ name, key, problem string }{
	{"a key is required", "", "is required"},
	{"a blank is no key", " ", surrounded},
	{"a key has no blank before it", " canary", surrounded},
	{"a key has no blank after it", "canary ", surrounded},
	{"a key has no blank within", "can ary", "must be printable ASCII without white space"},
	{"a key has no scheme before it", "Bearer canary", `must not begin with "Bearer "`},
	{"a key has no scheme before it, in small letters", "bearer canary", `must not begin with "Bearer "`},
	{"a key read from a file has lost its line break", "canary\n", surrounded},
	{"a key cannot smuggle in a header", "canary\r\nX-Evil: 1", "must be printable ASCII without white space"},
	{"a key has no tab", "canary\tcanary", "must be printable ASCII without white space"},
	{"a key has no NUL", "canary\x00", "must be printable ASCII without white space"},
	{"a key has no DEL", "canary\x7f", "must be printable ASCII without white space"},
	{"a key has no escape code", "\x1b[0mcanary", "must be printable ASCII without white space"},
	{"a key is ASCII", "canäry", "must be printable ASCII without white space"},
	{"a key has no byte order mark", "\ufeffcanary", "must be printable ASCII without white space"},
	{"a key is no binary", notUTF8, "must be printable ASCII without white space"},
	{"a key of seven bytes is too short", "canary7", "must have at least 8 characters"},
	{"a key of 4097 bytes is too long", strings.Repeat("k", 4097), "must not be longer than 4 KiB"},
}

func TestNewClientRefusesAnInvalidKey(t *testing.T) {
	for _, bad := range badKeys {
		t.Run(bad.name, func(t *testing.T) {
			client, err := messaging.NewClient(baseURL, bad.key)
			scripted.RequireProblems(t, err, "apiKey "+bad.problem)
			assert.Nil(t, client)
		})
	}
}

func TestKeySourceWithAnInvalidKeySendsNothing(t *testing.T) {
	for _, bad := range badKeys {
		t.Run(bad.name, func(t *testing.T) {
			err := withKeySource(bad.key, nil, gettingCustomer("42"))(t.Context(), nil)
			require.EqualError(t, err, "get customer: GET /v1/customers: API key "+bad.problem+"; nothing was sent")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
		})
	}
}

func TestKeySourceWithoutAKeySendsNothing(t *testing.T) {
	failure := errors.New("the vault is sealed")
	err := withKeySource(canary, failure, gettingCustomer("42"))(t.Context(), nil)
	require.ErrorIs(t, err, failure)
	assert.NotContains(t, err.Error(), canary)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
}

func TestNewClientAcceptsTheLongestKey(t *testing.T) {
	_, err := messaging.NewClient(baseURL, strings.Repeat("k", 4096))
	require.NoError(t, err)
	_, err = messaging.NewClient(baseURL, "test-key-1")
	require.NoError(t, err)
}

func TestOptionsRefuseInvalidArguments(t *testing.T) {
	policy := func(p messaging.RetryPolicy) messaging.Option { return messaging.WithRetryPolicy(p) }
	tests := []struct {
		name    string
		option  messaging.Option
		problem string
	}{
		{"no option at all", nil, "opts must not hold a nil option"},
		{"no HTTP client", messaging.WithHTTPClient(nil), "WithHTTPClient must be given an HTTP client, not nil"},
		{"no logger", messaging.WithLogger(nil), "WithLogger must be given a logger, not nil"},
		{"a zero logger", messaging.WithLogger(new(slog.Logger)), "WithLogger must be given a logger from slog.New"},
		{"no limiter", messaging.WithRateLimiter(nil), "WithRateLimiter must be given a rate limiter, not nil"},
		{"a limiter that is a nil pointer", messaging.WithRateLimiter((*neverBusy)(nil)),
			"WithRateLimiter must be given a rate limiter, not nil"},
		{"a limiter that is a nil function", messaging.WithRateLimiter(limiterFunc(nil)),
			"WithRateLimiter must be given a rate limiter, not nil"},
		{"no guard", messaging.WithGuard(nil), "WithGuard must be given a guard, not nil"},
		{"a limit of no recipients", messaging.WithMaxRecipients(0), "WithMaxRecipients must be given a positive number"},
		{"hooks without a function", messaging.WithHooks(messaging.Hooks{}), "WithHooks must be given hooks with at least one function"},
		{"no key source", messaging.WithKeySource(nil), "WithKeySource must be given a key source, not nil"},
		{"a key source beside a key", messaging.WithKeySource(func(context.Context) (string, error) { return canary, nil }),
			`apiKey must be "" if WithKeySource is given`},
		{"no time for an attempt", messaging.WithAttemptTimeout(0), "WithAttemptTimeout must be given a positive duration"},
		{"less than no time for an attempt", messaging.WithAttemptTimeout(-time.Second), "WithAttemptTimeout must be given a positive duration"},
		{"no room for an answer", messaging.WithMaxResponseBytes(0), "WithMaxResponseBytes must be given a positive number"},
		{"less than no room for an answer", messaging.WithMaxResponseBytes(-1), "WithMaxResponseBytes must be given a positive number"},
		{"fewer than no attempts", policy(messaging.RetryPolicy{MaxAttempts: -1}), "WithRetryPolicy.MaxAttempts must not be negative"},
		{"a shortest wait below zero", policy(messaging.RetryPolicy{MinWait: -1}), "WithRetryPolicy.MinWait must not be negative"},
		{"a longest wait below zero", policy(messaging.RetryPolicy{MaxWait: -1}), "WithRetryPolicy.MaxWait must not be negative"},
		{"a longest wait for the service below zero", policy(messaging.RetryPolicy{MaxRetryAfter: -1}),
			"WithRetryPolicy.MaxRetryAfter must not be negative"},
		{"a longest wait below the shortest", policy(messaging.RetryPolicy{MinWait: 2 * time.Second, MaxWait: time.Second}),
			"WithRetryPolicy.MaxWait must not be below MinWait, which is 2s"},
		{"a longest wait below the default of the shortest", policy(messaging.RetryPolicy{MaxWait: time.Millisecond}),
			"WithRetryPolicy.MaxWait must not be below MinWait, which is 500ms"},
		{"no product", messaging.WithUserAgent(""), "WithUserAgent must be given printable ASCII that is not blank"},
		{"a blank product", messaging.WithUserAgent("  "), "WithUserAgent must be given printable ASCII that is not blank"},
		{"a product with a line break", messaging.WithUserAgent("canary\r\nX-Evil: 1"),
			"WithUserAgent must be given printable ASCII that is not blank"},
		{"a product that is not ASCII", messaging.WithUserAgent("cänary"), "WithUserAgent must be given printable ASCII that is not blank"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, err := messaging.NewClient(baseURL, "test-key-1", test.option)
			scripted.RequireProblems(t, err, test.problem)
			assert.Nil(t, client)
		})
	}
}

func TestNewClientReportsEveryInvalidArgument(t *testing.T) {
	_, err := messaging.NewClient("https://user:canary@api.example.com", "ca nary",
		messaging.WithMaxResponseBytes(-1), nil, messaging.WithHTTPClient(nil), messaging.WithHeader("Host", canary))
	scripted.RequireProblems(t, err,
		"WithMaxResponseBytes must be given a positive number", "opts must not hold a nil option",
		"WithHTTPClient must be given an HTTP client, not nil",
		"WithHeader.Host cannot be set", "baseURL must not hold credentials", "apiKey must be printable ASCII without white space")
	assert.Equal(t, "new client", scripted.RequireValidationError(t, err).Operation)
}

func TestOptionsRefuseReservedHeaders(t *testing.T) {
	const noName = "WithHeader must be given a valid header name"
	const control = "WithHeader.X-Trace must not have a value with control characters"
	tests := []struct {
		name, key, value, problem string
	}{
		{"the API key", "X-Authorization", canary, "WithHeader.X-Authorization cannot be set"},
		{"the API key in small letters", "x-authorization", canary, "WithHeader.X-Authorization cannot be set"},
		{"the API key in mixed letters", "x-AUTHORIZATION", canary, "WithHeader.X-Authorization cannot be set"},
		{"an encoding that the body does not have", "Content-Encoding", canary, "WithHeader.Content-Encoding cannot be set"},
		{"another protocol", "Upgrade", canary, "WithHeader.Upgrade cannot be set"},
		{"an encoding", "accept-encoding", canary, "WithHeader.Accept-Encoding cannot be set"},
		{"the host", "HOST", canary, "WithHeader.Host cannot be set"},
		{"the length", "content-length", canary, "WithHeader.Content-Length cannot be set"},
		{"the type", "Content-type", canary, "WithHeader.Content-Type cannot be set"},
		{"a reserved header with an empty value", "X-Authorization", "", "WithHeader.X-Authorization cannot be set"},
		{"a cookie, which only the jar of the HTTP client sets", "Cookie", canary, "WithHeader.Cookie cannot be set"},
		{"a key for a proxy", "proxy-authorization", canary, "WithHeader.Proxy-Authorization cannot be set"},
		{"another method", "X-HTTP-Method-Override", canary, "WithHeader.X-Http-Method-Override cannot be set"},
		{"another method by an older name", "X-HTTP-Method", canary, "WithHeader.X-Http-Method cannot be set"},
		{"another method by another name", "x-method-override", canary, "WithHeader.X-Method-Override cannot be set"},
		{"the API key with an underscore", "X_AUTHORIZATION", canary, "WithHeader.X_authorization cannot be set"},
		{"another method with underscores", "x_http-method_override", canary, "WithHeader.X_http-Method_override cannot be set"},
		{"no name", "", canary, noName},
		{"a name with a blank", "X Canary", canary, noName},
		{"a reserved name with a blank after it", "X-Authorization ", canary, noName},
		{"a name with a colon", "X-Canary:", canary, noName},
		{"a name with a line break", "X-Canary\r\nX-Evil", canary, noName},
		{"a name that is not ASCII", "X-Cänary", canary, noName},
		{"a value with a line break", "x-trace", "canary\r\nX-Evil: 1", control},
		{"a value with a NUL", "X-Trace", "canary\x00", control},
		{"a value with a DEL", "X-Trace", "canary\x7f", control},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			header := messaging.WithHeader(test.key, test.value)
			_, err := messaging.NewClient(baseURL, "test-key-1", header)
			scripted.RequireProblems(t, err, test.problem)

			g := scripted.NewGate(t)
			r := invalidCall{call: gettingCustomer("42"), problems: []string{test.problem}}
			g.RequireInvalid(t, r.call, r.problems, header)
			g.RequireInvalid(t, r.call, r.problems, header, messaging.WithoutValidation())
		})
	}
}

type neverBusy struct{}

func (neverBusy) Wait(context.Context) error { return nil }

func TestOptionsAcceptValidArguments(t *testing.T) {
	_, err := messaging.NewClient(baseURL, "",
		messaging.WithKeySource(func(context.Context) (string, error) { return "test-key-1", nil }),
		messaging.WithHTTPClient(new(http.Client)), messaging.WithLogger(slog.New(slog.DiscardHandler)),
		messaging.WithRateLimiter(neverBusy{}),
		messaging.WithAttemptTimeout(1), messaging.WithMaxResponseBytes(1), messaging.WithUserAgent("billing/1.4 (nightly)"),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Minute}),
		messaging.WithHeader("X-Trace", "jäne\u00a0doe"), messaging.WithHeader("Accept-Language", ""),
		messaging.WithoutValidation(), messaging.WithoutReadAhead())
	require.NoError(t, err)
}

func TestARetryPolicyOfACallReplacesThatOfTheClient(t *testing.T) {
	scripted.RunInBubble(t, "in a bubble", func(t *testing.T) {
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, "")},
			messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 5, MinWait: time.Minute, MaxWait: time.Minute}))
		attempts := func(opts ...messaging.RequestOption) []time.Duration {
			transport.Sent = nil
			require.Error(t, scripted.TriggerEvent(t.Context(), client, opts...))
			return transport.Waits()
		}
		assert.Equal(t, []time.Duration{time.Minute, time.Minute, time.Minute, time.Minute}, attempts())
		assert.Equal(t, []time.Duration{time.Second}, attempts(messaging.WithRetryPolicy(
			messaging.RetryPolicy{MaxAttempts: 2, MinWait: time.Second, MaxWait: time.Second})))
		waits := attempts(messaging.WithRetryPolicy(messaging.RetryPolicy{}))
		assert.Len(t, waits, 2, "a zero field is the default, and not that of the client")
		assert.Less(t, waits[0], time.Minute)
		for _, opts := range [][]messaging.RequestOption{
			{messaging.WithoutRetries(), messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 9})},
			{messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 9}), messaging.WithoutRetries()},
		} {
			assert.Empty(t, attempts(opts...), "WithoutRetries wins")
		}
		scripted.RequireProblems(t, scripted.TriggerEvent(t.Context(), client, messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: -1})),
			"WithRetryPolicy.MaxAttempts must not be negative")
	})
}

func TestAnAttemptTimeoutOfACallReplacesThatOfTheClient(t *testing.T) {
	scripted.RunInBubble(t, "in a bubble", func(t *testing.T) {
		hanging := &http.Client{Transport: &scripted.Transport{Scenes: []scripted.Scene{scripted.Hangs}}, Timeout: time.Second}
		client := scripted.NewClientOver(t, "https://api.example.com", hanging, messaging.WithAttemptTimeout(10*time.Second))
		for limit, opts := range map[time.Duration][]messaging.RequestOption{
			time.Second: nil, time.Millisecond: {messaging.WithAttemptTimeout(time.Millisecond)},
			time.Hour: {messaging.WithAttemptTimeout(time.Hour)},
		} {
			start := time.Now()
			err := scripted.TriggerEvent(t.Context(), client, append(opts, messaging.WithoutRetries())...)
			require.ErrorIs(t, err, messaging.ErrAttemptTimeout)
			assert.Equal(t, limit, time.Since(start))
			assert.ErrorContains(t, err, limit.String())
			assert.Equal(t, opts != nil, strings.Contains(err.Error(), "WithAttemptTimeout"), err)
		}
	})
}

func TestOptionsMergeHeadersAndTheLastOneWins(t *testing.T) {
	list := listingCustomers(messaging.CustomerListParams{})
	g := scripted.NewGate(t, messaging.WithHeader("X-Team", "billing"), messaging.WithHeader("X-Trace", "of the client"))
	g.RequireSent(t, list, messaging.WithHeader("x-trace", "of the call"), messaging.WithHeader("X-Shard", "7"))
	assert.Equal(t, []string{"billing"}, g.Header().Values("X-Team"))
	assert.Equal(t, []string{"of the call"}, g.Header().Values("X-Trace"))
	assert.Equal(t, []string{"7"}, g.Header().Values("X-Shard"))

	g.RequireSent(t, list)
	assert.Equal(t, []string{"of the client"}, g.Header().Values("X-Trace"))
	assert.Empty(t, g.Header().Values("X-Shard"), "a call leaves nothing behind")
}
