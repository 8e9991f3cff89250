package messagingtest

import (
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
)

// Option configures a [Server].
type Option func(*config) error

// config is what options configure.
type config struct {
	identifier Identifier // "" if a customer id or an email address identifies
	listener   net.Listener
	observer   func(*Exchange) // nil if there is none
	limit      int             // of each history
	apiKey     string
	maxRecords int // of each kind that requests create
}

// newConfig applies options. Its error reports each one that is invalid.
func newConfig(opts []Option) (config, error) {
	c := config{limit: noLimit, apiKey: defaultAPIKey, maxRecords: noLimit}
	var problems []string
	for i, opt := range opts {
		if opt == nil {
			problems = append(problems, fmt.Sprintf("option %d is nil", i+1))
		} else if err := opt(&c); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if problems != nil {
		return c, errors.New(strings.Join(problems, "; "))
	}
	return c, nil
}

// isNil reports whether an interface is nil or holds a nil pointer.
func isNil(v any) bool {
	value := reflect.ValueOf(v)
	return v == nil || value.Kind() == reflect.Pointer && value.IsNil()
}

// Identifier is the field that identifies a customer.
type Identifier string

// The fields that can identify a customer.
const (
	CustomerID Identifier = "customer_id"
	Email      Identifier = "email"
)

// WithIdentifier sets the field that identifies a customer, like the setting of an
// integration with the service. Every customer in a request must have the field, and only
// this field decides whether a customer is created or updated.
//
// Without this option, a customer needs a customer id, an email address or both. A
// request updates the customer with the same customer id, or else the customer with the
// same email address. It does not take an email address from another customer. Email
// addresses are compared without regard to case.
func WithIdentifier(id Identifier) Option {
	return func(c *config) error {
		if id != CustomerID && id != Email {
			return fmt.Errorf("WithIdentifier: id must be %q or %q, not %q", CustomerID, Email, id)
		}
		c.identifier = id
		return nil
	}
}

// WithListener makes the server listen on listener, whose address becomes the
// [Server.URL]. The server closes the listener, even if it does not start. By default,
// the server listens on a free port of a loopback address.
func WithListener(listener net.Listener) Option {
	return func(c *config) error {
		if isNil(listener) {
			return errors.New("WithListener: listener must not be nil")
		}
		c.listener = listener
		return nil
	}
}

// WithHistory limits the requests, triggers, email broadcasts and push broadcasts that
// the server keeps to the latest n of each. With 0, it keeps none. By default, it keeps
// all of them. What the service stores, such as customers and events, is not limited.
func WithHistory(n int) Option {
	return func(c *config) error {
		if n < 0 {
			return fmt.Errorf("WithHistory: n must not be negative, and is %d", n)
		}
		c.limit = n
		return nil
	}
}

// WithMaxRecords limits the customers, and the event definitions, that requests make the
// server store, to n of each. A request that would exceed the limit fails with status 507
// and changes nothing. The service has no such limit; it protects the memory of a program
// that runs for a long time. What the Add methods add counts, but is always added.
func WithMaxRecords(n int) Option {
	return func(c *config) error {
		if n < 0 {
			return fmt.Errorf("WithMaxRecords: n must not be negative, and is %d", n)
		}
		c.maxRecords = n
		return nil
	}
}

// WithAPIKey sets the API key that the server accepts, which is otherwise a constant. A
// program that other programs connect to can use a new key for each run, and so reject
// programs that still have an earlier one.
func WithAPIKey(key string) Option {
	return func(c *config) error {
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("WithAPIKey: key must be printable ASCII without white space")
		}
		c.apiKey = key
		return nil
	}
}

// WithObserver calls observe once for every request that arrives, as soon as its outcome
// is known. The calls are made one at a time, in the order of [Exchange.Number]. Each
// call ends before the first byte of the response is sent, or before a fault closes the
// connection. When a client has its response, the exchange has therefore been observed.
//
// The observer may call the methods of the server, but it must neither call Close nor
// send requests to the server: either would block forever. It may keep the exchange, but
// must not modify it.
func WithObserver(observe func(*Exchange)) Option {
	return func(c *config) error {
		if observe == nil {
			return errors.New("WithObserver: observe must not be nil")
		}
		c.observer = observe
		return nil
	}
}
