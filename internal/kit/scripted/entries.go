package scripted

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

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

	of     string // the service type
	model  Model
	id     string     // the field of the model for IDField
	params func() any // without a page size and a cursor
}

// Request is one call, and its params.
type Request struct {
	Params any
	// Do makes the call, and returns what the method returns, or the ids of a list.
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

// invoke calls a method of a service of the client, such as "EventsService.Trigger".
func invoke(ctx context.Context, c *messaging.Client, method string, argument any, opts []messaging.RequestOption) []reflect.Value {
	of, name, _ := strings.Cut(method, "Service.")
	arguments := []reflect.Value{reflect.ValueOf(&ctx).Elem(), reflect.ValueOf(argument), reflect.ValueOf(opts)}
	return reflect.ValueOf(c).Elem().FieldByName(of).MethodByName(name).CallSlice(arguments)
}

// resultOf invokes a method that returns a pointer and an error. A nil pointer is a nil
// interface.
func resultOf(ctx context.Context, c *messaging.Client, method string, argument any,
	opts []messaging.RequestOption) (result any, err error) {
	returned := invoke(ctx, c, method, argument, opts)
	if !returned[0].IsNil() {
		result = returned[0].Interface()
	}
	err, _ = returned[1].Interface().(error)
	return result, err
}

// by returns the call of a method with an argument.
func by(method string, argument any) map[string]Call {
	return map[string]Call{method: func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := resultOf(ctx, c, method, argument, opts)
		return err
	}}
}

// alsoBy adds a method that performs the operation.
func (o Operation) alsoBy(method string, argument any) Operation {
	maps.Copy(o.Calls, by(method, argument))
	return o
}

type preparable interface {
	Prepare() (*messaging.Prepared, error)
}

// sendOf returns the entry of a send. The first of params fills every field, and reaches is
// whom it reaches.
func sendOf[P preparable](op *service.Operation, method, response string, reaches messaging.Recipients, params ...func() P) Operation {
	o := Operation{Operation: op, Response: response, Reaches: reaches, Calls: by(method, params[0]())}
	for _, build := range params {
		o.Requests = append(o.Requests, func() Request {
			p := build()
			return Request{Params: p, Prepare: p.Prepare,
				Do: func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) (any, error) {
					return resultOf(ctx, c, method, p, opts)
				}}
		})
	}
	return o
}

// listOf returns the entry of a list, which three methods perform.
func listOf(l List) Operation {
	l.Request = func() Request {
		p := l.paramsAt(7, "")
		return Request{Params: p, Do: func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) (any, error) {
			return messaging.Collect(l.all(ctx, c, p, opts))
		}}
	}
	return Operation{Operation: l.Operation, list: &l, Response: l.Response(Page{Rows: "[" + l.Row + "]"}), Calls: map[string]Call{
		l.of + ".List": func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := l.Page(ctx, c, 7, "", opts...)
			return err
		},
		l.of + ".Pages": l.ranging("Pages"),
		l.of + ".All":   l.ranging("All"),
	}}
}

// ranging returns the call of a method that returns an iterator.
func (l List) ranging(method string) Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) (err error) {
		for _, failure := range invoke(ctx, c, l.of+"."+method, l.paramsAt(0, ""), opts)[0].Seq2() {
			err, _ = failure.Interface().(error)
		}
		return err
	}
}

// paramsAt returns params for the page at a cursor.
func (l List) paramsAt(perPage int, cursor string) any {
	params := reflect.New(reflect.TypeOf(l.params())).Elem()
	params.Set(reflect.ValueOf(l.params()))
	params.FieldByName("PerPage").SetInt(int64(perPage))
	params.FieldByName("Cursor").SetString(cursor)
	return params.Interface()
}

// New returns a record without values.
func (l List) New() Model { return reflect.New(reflect.TypeOf(l.model).Elem()).Interface().(Model) }

// Page returns the page at a cursor.
func (l List) Page(ctx context.Context, c *messaging.Client, perPage int, cursor string,
	opts ...messaging.RequestOption) (*messaging.Page[Model], error) {
	result, err := resultOf(ctx, c, l.of+".List", l.paramsAt(perPage, cursor), opts)
	if result == nil {
		return nil, err
	}
	p := reflect.ValueOf(result).Elem()
	models := &messaging.Page[Model]{Cursor: p.FieldByName("Cursor").String(), Meta: p.FieldByName("Meta").Interface().(messaging.PageMeta)}
	for i := range p.FieldByName("Items").Len() {
		models.Items = append(models.Items, p.FieldByName("Items").Index(i).Addr().Interface().(Model))
	}
	return models, err
}

// All returns the ids of the records.
func (l List) All(ctx context.Context, c *messaging.Client, cursor string, opts ...messaging.RequestOption) iter.Seq2[string, error] {
	return l.all(ctx, c, l.paramsAt(0, cursor), opts)
}

func (l List) all(ctx context.Context, c *messaging.Client, params any, opts []messaging.RequestOption) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for item, failure := range invoke(ctx, c, l.of+".All", params, opts)[0].Seq2() {
			err, _ := failure.Interface().(error)
			if !yield(item.FieldByName(l.id).String(), err) {
				return
			}
		}
	}
}
