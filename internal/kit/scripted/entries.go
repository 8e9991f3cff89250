package scripted

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

// Operation is an operation of the service, and how a client performs it.
type Operation struct {
	*service.Operation
	// Calls are the methods of the client that perform it, by names such as
	// "EventsService.List".
	Calls map[string]Call
	// Response is the body of a successful response, with which every call succeeds.
	Response string
	// Requests build the requests of a send, alike each time. The first has every argument.
	Requests []func() Request
	// Reaches is whom the first request reaches.
	Reaches messaging.Recipients

	list *List
}

// List is an operation that returns pages of records.
type List struct {
	*service.Operation
	Row     string // a record as the service sends it, with every member of the model
	IDField string // the member of a row that holds its id
	Nested  bool   // rows and meta are within an outer "data"

	// Request builds a request, alike each time.
	Request func() Request
	// New returns a record without values.
	New func() Model
	// Page returns the page at a cursor. All returns the ids of the records.
	Page func(ctx context.Context, c *messaging.Client, perPage int, cursor string,
		opts ...messaging.RequestOption) (*messaging.Page[Model], error)
	All func(ctx context.Context, c *messaging.Client, cursor string, opts ...messaging.RequestOption) iter.Seq2[string, error]
}

// Request is one call, and its params.
type Request struct {
	Params any
	// Do makes the call, and returns what the method returns.
	Do func(context.Context, *messaging.Client, ...messaging.RequestOption) (any, error)
	// Prepare is that of the params, nil for a list.
	Prepare func() (*messaging.Prepared, error)
}

// Call makes the call, and returns its error.
func (r Request) Call(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := r.Do(ctx, c, opts...)
	return err
}

// Model is a pointer to a model, which encodes and decodes itself.
type Model interface {
	json.Marshaler
	json.Unmarshaler
}

// Sends are the operations that change something.
func Sends() []Operation {
	return slices.DeleteFunc(slices.Clone(Operations), func(o Operation) bool { return o.Requests == nil })
}

// Lists are the operations that return pages of records.
func Lists() []List {
	var lists []List
	for _, o := range Operations {
		if o.list != nil {
			lists = append(lists, *o.list)
		}
	}
	return lists
}

// ListOf returns the entry of a list.
func ListOf(op *service.Operation) List {
	lists := Lists()
	return lists[slices.IndexFunc(lists, func(l List) bool { return l.Operation == op })]
}

// Full returns a request with every argument.
func (o Operation) Full() Request { return o.Requests[0]() }

// sendMethod is a method of a client that sends.
type sendMethod[P, R any] func(context.Context, P, ...messaging.RequestOption) (*R, error)

type preparable interface {
	Prepare() (*messaging.Prepared, error)
}

// sendOf returns the entry of a send. The first of params fills every field, and reaches is
// whom it reaches.
func sendOf[P preparable, R any](op *service.Operation, name string, method func(*messaging.Client) sendMethod[P, R],
	response string, reaches messaging.Recipients, params ...func() P) Operation {
	o := Operation{Operation: op, Response: response, Reaches: reaches}
	for _, build := range params {
		o.Requests = append(o.Requests, func() Request {
			p := build()
			return Request{Params: p, Prepare: p.Prepare,
				Do: func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) (any, error) {
					return orNil(method(c)(ctx, p, opts...))
				}}
		})
	}
	o.Calls = map[string]Call{name: func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		return o.Full().Call(ctx, c, opts...)
	}}
	return o
}

// alsoBy adds a method that performs the operation.
func (o Operation) alsoBy(name string, call Call) Operation {
	o.Calls[name] = call
	return o
}

// lister is the service type of a list.
type lister[T, P any] interface {
	List(context.Context, P, ...messaging.RequestOption) (*messaging.Page[T], error)
	Pages(context.Context, P, ...messaging.RequestOption) iter.Seq2[*messaging.Page[T], error]
	All(context.Context, P, ...messaging.RequestOption) iter.Seq2[T, error]
}

// list describes a list of T.
type list[T, P any] struct {
	of           func(*messaging.Client) lister[T, P]
	params       func(perPage int, cursor string) P
	row, idField string
	id           func(T) string
	nested       bool
}

// listOf returns the entry of a list, which three methods perform.
func listOf[T, P any, M interface {
	*T
	Model
}](op *service.Operation, of list[T, P]) Operation {
	l := &List{Operation: op, Row: of.row, IDField: of.idField, Nested: of.nested, New: func() Model { return M(new(T)) }}
	l.Page = func(ctx context.Context, c *messaging.Client, perPage int, cursor string,
		opts ...messaging.RequestOption) (*messaging.Page[Model], error) {
		return asModels[T, M](of.of(c).List(ctx, of.params(perPage, cursor), opts...))
	}
	l.All = func(ctx context.Context, c *messaging.Client, cursor string, opts ...messaging.RequestOption) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for item, err := range of.of(c).All(ctx, of.params(0, cursor), opts...) {
				id := ""
				if err == nil {
					id = of.id(item)
				}
				if !yield(id, err) {
					return
				}
			}
		}
	}
	l.Request = func() Request {
		p := of.params(7, "")
		return Request{Params: p, Do: func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) (any, error) {
			return messaging.Collect(of.of(c).All(ctx, p, opts...))
		}}
	}
	name := reflect.TypeOf(of.of(new(messaging.Client))).Elem().Name()
	return Operation{Operation: op, list: l, Response: l.Response(Page{Rows: "[" + of.row + "]"}), Calls: map[string]Call{
		name + ".List": func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := l.Page(ctx, c, 7, "", opts...)
			return err
		},
		name + ".Pages": func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := messaging.Collect(of.of(c).Pages(ctx, of.params(0, ""), opts...))
			return err
		},
		name + ".All": func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := messaging.Collect(l.All(ctx, c, "", opts...))
			return err
		},
	}}
}

func asModels[T any, M interface {
	*T
	Model
}](p *messaging.Page[T], err error) (*messaging.Page[Model], error) {
	if p == nil {
		return nil, err
	}
	models := &messaging.Page[Model]{Cursor: p.Cursor, Meta: p.Meta, Response: p.Response}
	for i := range p.Items {
		models.Items = append(models.Items, M(&p.Items[i]))
	}
	return models, err
}

// orNil returns a nil pointer as a nil interface.
func orNil[R any](result *R, err error) (any, error) {
	if result == nil {
		return nil, err
	}
	return result, err
}
