package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// CustomersService lists the customers of the account; see [Client.Customers].
type CustomersService resource

// List returns one page of customers. [CustomersService.All] ranges over all of them.
//
// API: GET /v1/customers
func (s *CustomersService) List(ctx context.Context, p CustomerListParams, opts ...RequestOption) (*Page[Customer], error) {
	return s.list(p, opts).page(ctx)
}

// Pages ranges over the pages of customers, starting at p.Cursor.
//
// API: GET /v1/customers
func (s *CustomersService) Pages(ctx context.Context, p CustomerListParams, opts ...RequestOption) iter.Seq2[*Page[Customer], error] {
	return s.list(p, opts).pages(ctx, false)
}

// All ranges over every customer that p selects, starting at p.Cursor. The package
// documentation says what a range promises.
//
// API: GET /v1/customers
func (s *CustomersService) All(ctx context.Context, p CustomerListParams, opts ...RequestOption) iter.Seq2[Customer, error] {
	return s.list(p, opts).all(ctx)
}

func (s *CustomersService) list(p CustomerListParams, opts []RequestOption) list[Customer, *Customer] {
	query := listQuery{PerPage: p.PerPage, Cursor: p.Cursor, CustomerIDs: p.CustomerIDs.values, Emails: p.Emails.values}
	return list[Customer, *Customer]{s.core, service.ListCustomers, query, opts}
}

// Get returns the customer with the given customer id. The error is [ErrCustomerNotFound]
// if no customer has the id, and a [*DecodeError] if the service responds with a different
// customer, or with several.
//
// API: GET /v1/customers
func (s *CustomersService) Get(ctx context.Context, customerID string, opts ...RequestOption) (*Customer, error) {
	return s.only(ctx, listQuery{CustomerIDs: []string{customerID}, lookup: byCustomerID},
		func(c *Customer) bool { return c.CustomerID == customerID }, opts)
}

// GetByEmail returns the customer with the given email address. ASCII letters match
// regardless of case, and everything else must match exactly. Its errors are like those of
// [CustomersService.Get].
//
// API: GET /v1/customers
func (s *CustomersService) GetByEmail(ctx context.Context, email string, opts ...RequestOption) (*Customer, error) {
	wanted := arguments.LowerASCII(email)
	return s.only(ctx, listQuery{Emails: []string{email}, lookup: byEmail},
		func(c *Customer) bool { return arguments.LowerASCII(c.Email) == wanted }, opts)
}

var (
	errAnotherCustomer  = errors.New("is another customer")
	errSeveralCustomers = errors.New("holds more than one customer")
)

// only returns the customer that q selects. At most one customer can match q.
func (s *CustomersService) only(ctx context.Context, q listQuery, wanted func(*Customer) bool, opts []RequestOption) (*Customer, error) {
	var found []Customer
	attempts := 0
	opts = slices.Concat(opts, []RequestOption{WithoutReadAhead()})
	for page, err := range (list[Customer, *Customer]{s.core, service.GetCustomer, q, opts}).pages(ctx, false) {
		if err != nil {
			return nil, errors.Unwrap(err) // the caller has no use for a cursor
		}
		found, attempts = append(found, page.Items...), page.Response.Attempts
		switch {
		case len(found) > 1:
			return nil, unusable(service.GetCustomer, page.Response, wire.At("data", errSeveralCustomers))
		case len(found) == 1 && !wanted(&found[0]):
			return nil, unusable(service.GetCustomer, page.Response, wire.At("data.0", errAnotherCustomer))
		}
	}
	if len(found) == 0 {
		return nil, newLookupError(service.GetCustomer, attempts, ErrCustomerNotFound)
	}
	return &found[0], nil
}

// CustomerListParams selects customers. Without a filter, it selects all customers.
type CustomerListParams struct {
	// PerPage is the page size. Zero leaves it to the service, which uses 20. Larger
	// pages make a range faster.
	PerPage int
	// Cursor is where to start: a cursor from a [Page], [PageMeta] or [PageError], or ""
	// for the beginning.
	Cursor string
	// CustomerIDs and Emails restrict the list to these customers. [Only] of nothing, an empty
	// value, and a value with a comma or with white space at either end are invalid, and so is
	// an email with a control character or white space: they would select all customers, or
	// customers you did not name. A filter that is too long for a URL is invalid too; split it
	// with [slices.Chunk].
	CustomerIDs, Emails Filter
}

// Customer is a customer as the service lists it.
type Customer struct {
	CustomerID string    `json:"customer_id"`
	FirstName  string    `json:"first_name"`
	LastName   string    `json:"last_name"`
	Email      string    `json:"email"`
	PhoneNo    string    `json:"phone_no"`
	CreatedAt  time.Time `json:"customer_created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	// Providers holds the names that the service sends as one comma-separated string.
	Providers       []string  `json:"providers"`
	LastInteraction time.Time `json:"last_interaction"`
	// Extra holds the members that have no field here, and those that do not fit their
	// field, such as the date 0000-00-00. It is nil if there are none. MarshalJSON writes
	// them back.
	Extra map[string]json.RawMessage `json:"-"`
}

// Params returns the customer as a recipient of a broadcast or a trigger. It has no
// devices, since the service does not list them.
func (c Customer) Params() CustomerParams {
	return CustomerParams{CustomerID: c.CustomerID, Email: c.Email,
		FirstName: c.FirstName, LastName: c.LastName, PhoneNo: c.PhoneNo}
}

func (c *Customer) decode(r *wire.Reader) error {
	record := wire.Record{Reader: r, Extra: &c.Extra}
	return r.Object(func(key []byte) error {
		switch string(key) {
		case "customer_id":
			return record.Text(key, &c.CustomerID)
		case "first_name":
			return record.Text(key, &c.FirstName)
		case "last_name":
			return record.Text(key, &c.LastName)
		case "email":
			return record.Text(key, &c.Email)
		case "phone_no":
			return record.Text(key, &c.PhoneNo)
		case "customer_created_at":
			return record.Time(key, &c.CreatedAt)
		case "updated_at":
			return record.Time(key, &c.UpdatedAt)
		case "providers":
			return record.Names(key, &c.Providers)
		case "last_interaction":
			return record.Time(key, &c.LastInteraction)
		default:
			return record.Keep(key)
		}
	})
}

// MarshalJSON writes the wire form of the customer, including Extra.
func (c Customer) MarshalJSON() ([]byte, error) {
	type fields Customer
	return marshalModel(struct {
		fields
		CreatedAt       string `json:"customer_created_at,omitempty"`
		UpdatedAt       string `json:"updated_at,omitempty"`
		Providers       string `json:"providers"`
		LastInteraction string `json:"last_interaction,omitempty"`
	}{fields(c), wire.FormatTime(c.CreatedAt, time.RFC3339), wire.FormatTime(c.UpdatedAt, time.RFC3339),
		strings.Join(c.Providers, ","), wire.FormatTime(c.LastInteraction, time.RFC3339)}, c.Extra)
}

// UnmarshalJSON reads what the service sends and what MarshalJSON writes.
func (c *Customer) UnmarshalJSON(data []byte) error { return unmarshalModel(data, c) }
