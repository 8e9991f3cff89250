// Package service is the catalog of the service's operations. Each operation is declared
// here once, with its method, its path and the members of its body. The client, the in-memory
// service, the sandbox and the tests range over the catalog.
//
// Outboxes store the names, and metrics use them as labels, so a released name never
// changes.
package service

import (
	"iter"
	"net/http"
	"slices"
	"strings"
)

// The operations of the service, and the lookups that read a list to find one record.
var (
	SendEmailBroadcast = send("send email broadcast", "/v1/broadcast/send/email", emailBroadcast, "the broadcast", "sent")
	SendPushBroadcast  = send("send push broadcast", "/v1/broadcast/send/push-notification", pushBroadcast, "the broadcast", "sent")
	CreateEvent        = send("create event", "/v1/events", event, "the event", "created").returning(Event)
	TriggerEvent       = send("trigger event", "/v1/events/trigger", trigger, "the event", "triggered").rejectedByFalse()
	ListEvents         = list("list events", "/v1/events", Event)
	GetEvent           = lookup("get event", ListEvents)
	ListCustomers      = list("list customers", "/v1/customers", ListedCustomer, customerFilters...)
	GetCustomer        = lookup("get customer", ListCustomers)
	ListTransactional  = list("list transactional messages", "/v1/messaging/transactional", TransactionalMessage)
)

// Operation is one operation of the service. It never changes.
type Operation struct {
	// Name names the operation in errors, logs, spans, metrics and stored requests.
	Name string
	// Method is the HTTP method, and Path the path below the base URL.
	Method, Path string
	// Subject and Done describe a send in the text of an error: "the broadcast" may
	// have been "sent".
	Subject, Done string
	// FalseRejects means that "data": false in a successful response is a rejection.
	FalseRejects bool
	// Body is the body of a send. It is nil for a read, and for a request that is not in the
	// catalog.
	Body *Object
	// Query is the query of a list.
	Query []Member
	// Record is each record of a list, or what a send returns. It is nil if there is none.
	Record *Object
	// Reads is the list that a lookup reads. It is nil for any other operation.
	Reads *Operation
	// Custom is true for a request that is not in the catalog. Its path is not a
	// template and can hold personal data.
	Custom bool
}

// IsRead reports whether the operation changes nothing, and so can be repeated.
func (o *Operation) IsRead() bool { return o.Method == http.MethodGet || o.Method == http.MethodHead }

// NamesRecords reports whether the operation names records of the service, such as a customer,
// so that status 404 may be about them.
func (o *Operation) NamesRecords() bool { return o.Body != nil && o.Body.AddressesSomebody() }

// Route returns the method and the path, such as "GET /v1/events".
func (o *Operation) Route() string { return o.Method + " " + o.Path }

// catalog holds every declared operation, in order.
var catalog []*Operation

func declare(o Operation) *Operation {
	catalog = append(catalog, &o)
	return &o
}

func send(name, path string, body *Object, subject, done string) *Operation {
	return declare(Operation{Name: name, Method: http.MethodPost, Path: path, Body: body, Subject: subject, Done: done})
}

func list(name, path string, record *Object, filters ...Member) *Operation {
	return declare(Operation{Name: name, Method: http.MethodGet, Path: path, Record: record, Query: slices.Concat(pageQuery, filters)})
}

func lookup(name string, reads *Operation) *Operation {
	return declare(Operation{Name: name, Method: reads.Method, Path: reads.Path, Reads: reads})
}

func (o *Operation) returning(record *Object) *Operation {
	o.Record = record
	return o
}

func (o *Operation) rejectedByFalse() *Operation {
	o.FalseRejects = true
	return o
}

// All ranges over the catalog, including lookups.
func All() iter.Seq[*Operation] { return slices.Values(catalog) }

// Served ranges over the operations that the service itself has. They do not include
// lookups: a lookup is a request for the list that it reads.
func Served() iter.Seq[*Operation] {
	return matching(func(o *Operation) bool { return o.Reads == nil })
}

// Sends ranges over the operations that change something.
func Sends() iter.Seq[*Operation] { return matching(func(o *Operation) bool { return !o.IsRead() }) }

// Lists ranges over the operations that return pages of records.
func Lists() iter.Seq[*Operation] {
	return matching(func(o *Operation) bool { return o.IsRead() && o.Reads == nil })
}

func matching(matches func(*Operation) bool) iter.Seq[*Operation] {
	return func(yield func(*Operation) bool) {
		for _, o := range catalog {
			if matches(o) && !yield(o) {
				return
			}
		}
	}
}

// Named returns the operation with the given name, or nil if there is none.
func Named(name string) *Operation {
	for _, o := range catalog {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Find returns the operation that a request is for, or nil if there is none. For a lookup,
// it returns the list that the lookup reads. If the path exists only with other methods,
// allowed lists these methods.
func Find(method, path string) (found *Operation, allowed []string) {
	for o := range Served() {
		switch {
		case o.Path != path:
		case o.Method == method:
			return o, nil
		default:
			allowed = append(allowed, o.Method)
		}
	}
	return nil, allowed
}

// Names returns the names of operations, joined for a message.
func Names(operations iter.Seq[*Operation]) string {
	var names []string
	for o := range operations {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}
