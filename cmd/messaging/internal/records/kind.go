// Package records holds the kinds of records that the service stores, such as
// customers: their seeds, their numbers and counts, and their forms in pages and JSON.
package records

import (
	"context"
	"encoding/json"
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

	// parse reads a record of a seed, and checks it. stored returns all records, oldest
	// first, and add adds one.
	parse  func(raw json.RawMessage) (Value, error)
	stored func(*fake.Server) []Value
	add    func(*fake.Server, Value)
	// idKey is the key of the id.
	idKey string
}

// Kinds are the kinds of records, one for each list of the service. Seeds, dumps, the
// API, the pages, their counts and the search range over them.
var Kinds = []*Kind{Customers, Events, Messages}

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
	// Model returns the record itself: a Customer, a fake.Event or a
	// messaging.TransactionalMessage.
	Model() any
}

// Line is a record as a line of a list.
type Line struct{ Title, Sub, Side string }

// values returns records as values. Each is a pointer into the list, so that a list of many
// records needs few allocations.
func values[T any](list []T, value func(*T) Value) []Value {
	all := make([]Value, len(list))
	for i := range list {
		all[i] = value(&list[i])
	}
	return all
}
