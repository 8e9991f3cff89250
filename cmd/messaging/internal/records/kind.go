// Package records holds the kinds of records that the service stores, such as
// customers: their seeds, their numbers and counts, and their forms in pages and JSON.
package records

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Kind is a kind of records.
type Kind struct {
	// Name is what URLs, seeds and the API call the records, such as "events".
	Name string
	// Origin describes where the records come from.
	Origin string
	// List is the operation that lists the records.
	List *service.Operation
	// Read reads a page of the records with a client.
	Read func(context.Context, *messaging.Client) error

	keys    keys
	idKey   string
	parse   func(raw json.RawMessage) (record Value, unread []string, err error)
	stored  func(*fake.Server) []Value
	add     func(*fake.Server, []Value)
	created func(*fake.Exchange) int
}

// Title returns the name as a heading.
func (k *Kind) Title() string { return strings.ToUpper(k.Name[:1]) + k.Name[1:] }

// Listed returns the kind whose records the operation lists, nil if there is none.
func Listed(by *service.Operation) *Kind {
	for _, k := range Kinds {
		if k.List == by {
			return k
		}
	}
	return nil
}

// Names returns the names of all kinds, such as "customers, events or messages".
func Names(conjunction string) string {
	var names []string
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return words.List(names, conjunction)
}

// Value is a record of any kind. Its JSON has the form of the service's lists.
type Value interface {
	json.Marshaler
	// ID returns the id of the record, "" if it has none.
	ID() string
	// Line returns the record as a line of a list.
	Line() Line
	// Texts returns what a search looks at.
	Texts() []string
	// Model returns the record itself, such as a messaging.Event.
	Model() any

	number() int
	more() any
}

// Line is a record as a line of a list.
type Line struct{ Title, Sub, Side string }

// declaration declares a kind of records whose model is T.
type declaration[T json.Marshaler] struct {
	list         *service.Operation
	read         func(context.Context, *messaging.Client) error
	name, origin string

	// stored returns all records, oldest first, and add adds some.
	stored func(*fake.Server) []T
	add    func(*fake.Server, ...T)
	// created returns how many records a request created. It is nil if no request
	// creates any.
	created func(*fake.Exchange) int

	// keys are the keys that a record of a seed can have, and idKey is that of its id.
	keys  keys
	idKey string
	id    func(T) string
	// extra returns the members that the model does not read.
	extra func(T) map[string]json.RawMessage
	// check returns why a seed cannot have the record.
	check func(T) error

	line  func(T) Line
	texts func(T) []string

	// number returns the number that the service gives to the record. It is nil if
	// the service gives none.
	number func(T) int
	// more returns an object with the members that the API adds. It is nil if there
	// are none.
	more func(T) any
}

func declare[T json.Marshaler](d declaration[T]) *Kind {
	k := &Kind{Name: d.name, Origin: d.origin, List: d.list, Read: d.read, keys: d.keys, idKey: d.idKey, created: d.created}
	k.parse = func(raw json.RawMessage) (Value, []string, error) {
		var model T
		if err := json.Unmarshal(raw, &model); err != nil {
			return nil, nil, err
		}
		return &value[T]{&d, &model}, slices.Sorted(maps.Keys(d.extra(model))), d.check(model)
	}
	k.stored = func(s *fake.Server) []Value {
		models := d.stored(s)
		stored, values := make([]value[T], len(models)), make([]Value, len(models))
		for i := range models {
			stored[i] = value[T]{&d, &models[i]}
			values[i] = &stored[i] // so that a list of many records needs few allocations
		}
		return values
	}
	k.add = func(s *fake.Server, values []Value) {
		models := make([]T, len(values))
		for i, v := range values {
			models[i] = *v.(*value[T]).model
		}
		d.add(s, models...)
	}
	return k
}

// value is a record of a declared kind.
type value[T json.Marshaler] struct {
	of    *declaration[T]
	model *T
}

func (v *value[T]) MarshalJSON() ([]byte, error) { return (*v.model).MarshalJSON() }
func (v *value[T]) ID() string                   { return v.of.id(*v.model) }
func (v *value[T]) Line() Line                   { return v.of.line(*v.model) }
func (v *value[T]) Texts() []string              { return v.of.texts(*v.model) }
func (v *value[T]) Model() any                   { return *v.model }

func (v *value[T]) number() int {
	if v.of.number == nil {
		return 0
	}
	return v.of.number(*v.model)
}

func (v *value[T]) more() any {
	if v.of.more == nil {
		return struct{}{}
	}
	return v.of.more(*v.model)
}
