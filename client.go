package messaging

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/exchange"
	"github.com/messaging-go/messaging/internal/redact"
	"github.com/messaging-go/messaging/internal/service"
)

// Client calls the service's API. Create one with [NewClient] and reuse it: it keeps
// connections open. It is safe for concurrent use.
//
// A Client never shows its API key when it is printed, logged or marshaled.
type Client struct {
	Broadcasts    *BroadcastsService
	Events        *EventsService
	Customers     *CustomersService
	Transactional *TransactionalService

	core *core
}

// NewClient returns a client for the service at baseURL, such as
// "https://api.example.com". The base URL must be https unless it is on a loopback
// address. The API key has at least 8 characters. NewClient sends nothing, and the client
// reads only the proxy settings from the environment.
//
// If there is an error, it is a [*ValidationError]. It lists every invalid argument.
func NewClient(baseURL, apiKey string, opts ...Option) (*Client, error) {
	var config config
	var problems arguments.Problems
	for _, opt := range opts {
		if opt == nil {
			problems.Add("opts", "must not hold a nil option")
			continue
		}
		opt.applyToClient(&config, &problems)
	}
	core := config.build(baseURL, apiKey, &problems)
	if err := validationError(newClientOp, &problems, NextFixSetup); err != nil {
		return nil, err
	}
	shared := &resource{core}
	return &Client{
		Broadcasts:    (*BroadcastsService)(shared),
		Events:        (*EventsService)(shared),
		Customers:     (*CustomersService)(shared),
		Transactional: (*TransactionalService)(shared),
		core:          core,
	}, nil
}

// Request describes an operation of the service that this package does not model.
type Request struct {
	// Operation names the operation in errors, logs, spans and metrics. It must be a constant,
	// without an id or anything else that differs from call to call. The default is the
	// method followed by "request".
	Operation string
	// Method is the HTTP method. Every method except GET and HEAD is a send, which is
	// retried only if the service certainly did nothing.
	Method string
	// Path is relative to the base URL and already escaped; see [url.PathEscape].
	// A path with a scheme, a host, a dot segment or a query is invalid.
	Path  string
	Query url.Values
	// Body is encoded with encoding/json; nil sends no body. GET and HEAD cannot have one.
	// A nil pointer, map or slice is invalid.
	Body any
	// Into is a pointer into which encoding/json decodes the member "data" of the
	// response, or nil to leave the data in [Response.Data]. If the data does not fit, the
	// text of the error does not quote it, even if an UnmarshalJSON method does.
	Into any
}

// Do sends a request that this package does not model. Its errors, [Delivery] and retries
// are like those of the other methods. Any HTTP method except GET and HEAD is a send.
func (c *Client) Do(ctx context.Context, req Request, opts ...RequestOption) (*Response, error) {
	call := c.core.begin(ctx, req.operation(), opts)
	defer call.finish()
	call.exchange.Query = req.Query.Encode()
	if req.Into != nil {
		call.exchange.Accept = req.fill
	}
	if req.validate(&call.problems); req.Body != nil && call.problems.None() {
		call.exchange.Body = write(req.Body, &call.problems)
	}
	return call.perform()
}

func (r Request) operation() *service.Operation {
	name := r.Operation
	switch {
	case name != "":
	case exchange.IsMethod(r.Method):
		name = r.Method + " request"
	default: // an invalid method may hold anything, so it is not shown
		name = "do request"
	}
	return &service.Operation{Name: name, Method: r.Method, Path: r.Path, Custom: true}
}

func (r Request) validate(p *arguments.Problems) {
	if !exchange.IsMethod(r.Method) {
		p.Add("Method", "must be an HTTP method in upper case")
	}
	u, err := url.Parse(r.Path)
	switch {
	case err != nil || !exchange.IsPrintable(r.Path) || strings.ContainsAny(r.Path, ` \`):
		p.Add("Path", "must be an escaped path")
	case u.IsAbs() || strings.HasPrefix(r.Path, "//"):
		p.Add("Path", "must be relative to the base URL")
	case strings.ContainsAny(r.Path, "?#"):
		p.Add("Path", "must not have a query or a fragment, see Query")
	case u.EscapedPath() != r.Path:
		p.Add("Path", "must be an escaped path")
	case strings.Trim(r.Path, "/") == "":
		p.Add("Path", "is required")
	case hasDotSegment(u.Path):
		p.Add("Path", "must not have dot segments")
	}
	if r.Body != nil && r.operation().IsRead() {
		p.Add("Body", "cannot be sent with "+r.Method)
	}
	if arguments.IsNil(r.Body) {
		p.Add("Body", "must not be a nil pointer, map or slice: use nil for no body")
	}
	if r.Into != nil && r.Method == http.MethodHead {
		p.Add("Into", "cannot be filled by HEAD, which has no body")
	}
	if into := reflect.ValueOf(r.Into); r.Into != nil && (into.Kind() != reflect.Pointer || into.IsNil()) {
		p.Add("Into", "must be a pointer")
	}
}

// fill decodes data into r.Into, which does not change if there is an error.
func (r Request) fill(data json.RawMessage) error {
	into := reflect.ValueOf(r.Into).Elem()
	fresh := reflect.New(into.Type())
	if err := json.Unmarshal(data, fresh.Interface()); err != nil {
		return redact.Withhold("does not fit into "+into.Type().String(), err)
	}
	into.Set(fresh.Elem())
	return nil
}

// Send sends a prepared request, with the same delivery, retries, guards and errors as the
// method that sends the params directly. It returns a [*ValidationError] if p is nil or
// zero.
//
// p was validated when it was prepared, so [WithoutValidation] has no effect. If p creates
// an event, [Response.Data] holds the event.
func (c *Client) Send(ctx context.Context, p *Prepared, opts ...RequestOption) (*Response, error) {
	request, problem := p.sendable()
	call := c.core.begin(ctx, request.operation, opts)
	defer call.finish()
	if problem != "" {
		call.problems.Add("p", problem)
	}
	call.exchange.Body = request.body
	if request.operation == service.CreateEvent {
		call.exchange.Accept = new(Event).read
	}
	return call.perform()
}

// Check calls the guards with a prepared request, as [Client.Send] does, and sends nothing. It
// calls neither hooks, key source nor rate limiter. Use it to refuse a request before it is
// stored, or before somebody is asked to approve it.
//
// The error is a [*GuardError] if a guard refuses the request, and a [*ValidationError] if ctx
// is nil, or p nil or zero. The guards are called again when the request is sent, so a guard
// that counts its calls counts both.
func (c *Client) Check(ctx context.Context, p *Prepared) error {
	var problems arguments.Problems
	checkContext(ctx, &problems)
	request, problem := p.sendable()
	if problem != "" {
		problems.Add("p", problem)
	}
	if err := validationError(request.operation.Name, &problems, NextFixRequest); err != nil {
		return err
	}
	return c.core.askGuards(ctx, request.operation, request.body)
}
