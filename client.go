package messaging

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// Version is the version of this package, sent in the User-Agent header.
const Version = "0.2.0"

// Client calls the service's API. Create one with [NewClient] and reuse it: it keeps
// connections open. It is safe for concurrent use.
//
// A Client prints, logs and marshals without its API key.
type Client struct {
	Broadcasts    *BroadcastsService
	Events        *EventsService
	Customers     *CustomersService
	Transactional *TransactionalService

	core *core
}

// service is shared by the services of all resources.
type service struct{ core *core }

// core is the configured client. It is immutable after NewClient, and referenced by
// pointer, since fmt does not follow a pointer within a struct that it prints.
type core struct {
	baseURL string // no trailing slash
	http    http.Client
	// ownTransport says that the transport of http was built here.
	ownTransport bool
	key          func(context.Context) (string, error)
	userAgent    []string // as a header holds it
	retry        RetryPolicy
	limiter      Limiter
	logger       *slog.Logger
	guards       []func(context.Context, *Prepared) error
	hooks        []Hooks
	endpoint     endpoint
	timeout      time.Duration
	maxBytes     int64
	perRequest   requestSettings
}

// NewClient returns a client for the service at baseURL, such as
// "https://api.example.com", which must be https unless it is on a loopback
// address. Nothing is sent, and nothing but the proxy settings is read from the
// environment.
//
// The error is a [*ValidationError] that lists every invalid argument and quotes
// none of them.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	var config config
	var problems problems
	for _, opt := range opts {
		if opt == nil {
			problems.add("opts", "must not hold a nil option")
			continue
		}
		opt.applyToClient(&config, &problems)
	}
	core := config.build(baseURL, apiKey, &problems)
	if err := problems.err("new client"); err != nil {
		return nil, err
	}
	shared := &service{core}
	return &Client{
		Broadcasts:    (*BroadcastsService)(shared),
		Events:        (*EventsService)(shared),
		Customers:     (*CustomersService)(shared),
		Transactional: (*TransactionalService)(shared),
		core:          core,
	}, nil
}

// Request is an operation of the service that this package does not model.
type Request struct {
	// Op is what errors and logs call the operation. It also names spans and metrics,
	// so it must be a constant, without an id or anything else that differs from call
	// to call. Default: the method and "request".
	Op string
	// Method is the HTTP method. Every method but GET and HEAD is a send, and is
	// retried only if the service certainly did nothing.
	Method string
	// Path is relative to the base URL and already escaped, see [url.PathEscape].
	// An absolute URL, a //host, a dot segment and a query are refused.
	Path  string
	Query url.Values
	// Body is written with encoding/json; nil sends none. GET and HEAD have none.
	Body any
	// Into receives the member "data" of the response, by encoding/json. It is a
	// pointer, or nil to leave the data in [Response.Data].
	Into any
}

// Response is a successful response of the service.
type Response struct {
	StatusCode int
	// Header is that of the response; a quoted API key is replaced.
	Header http.Header
	// Message is the human-readable message of the service.
	Message string
	// Data is the member "data" as received; nil for a list.
	Data json.RawMessage
	// Attempts is the number of attempts that were made. net/http can repeat a read
	// on its own within one attempt.
	Attempts int
	// Duration is the time that the call took, waits included.
	Duration time.Duration
}

// Do sends a request that this package does not model. Errors, [Delivery] and retries
// are those of the other methods. Any method but GET and HEAD is a send.
func (c *Client) Do(ctx context.Context, req Request, opts ...RequestOption) (*Response, error) {
	request := call{operation: req.operation(), query: req.Query.Encode()}
	if req.Body != nil {
		request.params = anyBody{req.Body}
	}
	if req.Into != nil {
		request.accept = req.fill
	}
	x := c.core.newExchange(ctx, request, opts)
	defer x.end()
	if req.validate(&x.problems); x.problems.none() {
		x.body = request.encode(x.settings.withoutValidation, &x.problems)
	}
	return x.run()
}

func (r Request) operation() operation {
	name := r.Op
	switch {
	case name != "":
	case isMethod(r.Method):
		name = r.Method + " request"
	default: // it may be anything
		name = "request"
	}
	return operation{name: name, method: r.Method, path: r.Path, custom: true}
}

func (r Request) validate(p *problems) {
	if !isMethod(r.Method) {
		p.add("Method", "must be an HTTP method in upper case")
	}
	u, err := url.Parse(r.Path)
	switch {
	case err != nil || strings.ContainsFunc(r.Path, isNotPrintableASCII) || strings.ContainsAny(r.Path, ` \`):
		p.add("Path", "must be an escaped path")
	case u.IsAbs() || strings.HasPrefix(r.Path, "//"):
		p.add("Path", "must be relative to the base URL")
	case strings.ContainsAny(r.Path, "?#"):
		p.add("Path", "must not have a query or a fragment; see Query")
	case u.EscapedPath() != r.Path:
		p.add("Path", "must be an escaped path")
	case strings.Trim(r.Path, "/") == "":
		p.add("Path", "is required")
	case hasDotSegment(u.Path):
		p.add("Path", "must not have dot segments")
	}
	if r.Body != nil && (operation{method: r.Method}).isRead() {
		p.add("Body", "can't be sent with "+r.Method)
	}
	if r.Into != nil && r.Method == http.MethodHead {
		p.add("Into", "can't be filled by HEAD, which has no body")
	}
	if into := reflect.ValueOf(r.Into); r.Into != nil && (into.Kind() != reflect.Pointer || into.IsNil()) {
		p.add("Into", "must be a pointer")
	}
}

func isMethod(method string) bool {
	return method != "" && !strings.ContainsFunc(method, isNotTokenRune) && method == strings.ToUpper(method)
}

// hasDotSegment reports whether an unescaped path has a segment "." or "..".
func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// fill decodes data into r.Into, which is unchanged on an error.
func (r Request) fill(data json.RawMessage) error {
	into := reflect.ValueOf(r.Into).Elem()
	fresh := reflect.New(into.Type())
	if err := json.Unmarshal(data, fresh.Interface()); err != nil {
		return err
	}
	into.Set(fresh.Elem())
	return nil
}

// anyBody is a body that encoding/json writes.
type anyBody struct{ value any }

func (anyBody) validate(*problems)   {}
func (b anyBody) wire(*problems) any { return b.value }

// Format prints the client as its base URL, whatever the verb.
func (c Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// LogValue logs the client as its base URL.
func (c Client) LogValue() slog.Value { return slog.StringValue(c.text()) }

// MarshalJSON writes the client as its base URL.
func (c Client) MarshalJSON() ([]byte, error) { return json.Marshal(c.text()) }

func (c Client) text() string {
	if c.core == nil {
		return "messaging.Client()"
	}
	return "messaging.Client(" + c.core.baseURL + ")"
}
