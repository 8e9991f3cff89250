package messagingtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

var storedCustomers = keep(newCustomerStore)

func init() { handle(service.ListCustomers, listCustomers) }

// Customer is a customer as the service stores it. As in the service's lists, its times
// are in UTC and truncated to the second.
type Customer struct {
	// Number counts the customers from 1, in the order of their creation. [Server.Reset]
	// does not restart the count.
	Number int
	// CustomerParams combines the fields of all requests that named the customer. Devices
	// holds the latest device with each token.
	messaging.CustomerParams
	CreatedAt       time.Time
	UpdatedAt       time.Time
	LastInteraction time.Time
	Providers       []string
	Extra           map[string]json.RawMessage
}

// Customers returns all customers in the order of their creation: those that were added
// with [Server.AddCustomers], and those that broadcasts and triggers created.
func (s *Server) Customers() []Customer {
	s.lock()
	defer s.mu.Unlock()
	return cloneSlice(storedCustomers.of(s).all, Customer.clone)
}

// AddCustomers adds customers to the list of the service, and does not check for
// duplicates. A customer without an identifier gets a customer id. A zero time is set to
// the current time, unless Extra has a member for it. The list includes the members of
// Extra.
func (s *Server) AddCustomers(customers ...messaging.Customer) {
	s.lock()
	defer s.mu.Unlock()
	for _, c := range customers {
		customer := Customer{
			CustomerParams:  c.Params(),
			CreatedAt:       truncateToSecond(timeOrNow(c.Extra, "customer_created_at", c.CreatedAt)),
			UpdatedAt:       truncateToSecond(timeOrNow(c.Extra, "updated_at", c.UpdatedAt)),
			LastInteraction: truncateToSecond(timeOrNow(c.Extra, "last_interaction", c.LastInteraction)),
			Providers:       c.Providers,
			Extra:           c.Extra,
		}.clone()
		if customer.Email == "" || s.config.identifier == CustomerID {
			customer.CustomerID = s.idOr(customer.CustomerID)
		}
		storedCustomers.of(s).add(customer)
	}
}

func listCustomers(s *Server, in input) response {
	s.lock()
	defer s.mu.Unlock()
	store := storedCustomers.of(s)
	selected := store.filter(in.query.Get("customer_ids"), in.query.Get("emails"))
	rows, meta := page(in, len(store.all), selected, func(i int) any { return store.all[i].row() })
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	return successResponse("Customers fetched successfully", map[string]any{"data": rows, "meta": meta})
}

// row returns the customer as an element of a list response.
func (c *Customer) row() any {
	return withExtra(c.Extra, map[string]any{
		"customer_id":         c.CustomerID,
		"first_name":          c.FirstName,
		"last_name":           c.LastName,
		"email":               c.Email,
		"phone_no":            c.PhoneNo,
		"customer_created_at": formatTime(c.CreatedAt, secondLayout),
		"updated_at":          formatTime(c.UpdatedAt, secondLayout),
		"providers":           strings.Join(c.Providers, ","),
		"last_interaction":    formatTime(c.LastInteraction, secondLayout),
	})
}

// readCustomer reads a customer from a request. It does not check whether the customer
// has an identifier.
func readCustomer(o object) messaging.CustomerParams {
	params := messaging.CustomerParams{
		CustomerID: o.string("customer_id"),
		Email:      o.email("email"),
		FirstName:  o.string("first_name"),
		LastName:   o.string("last_name"),
		PhoneNo:    o.string("phone_no"),
	}
	if params.PhoneNo != "" && !strings.HasPrefix(params.PhoneNo, "+") {
		o.addProblem("phone_no", "must be in international format, starting with +")
	}
	devices, length := o.array("devices")
	params.Devices = each(devices, length, func(index string) messaging.Device {
		devices.invalidIf(!devices.has(index), index, "must be an object")
		device := devices.object(index)
		return messaging.Device{DeviceType: device.string("device_type"), DeviceToken: device.string("device_token")}
	})
	return params
}

// check reports a problem if the customer has no identifier.
func (id Identifier) check(o object, params messaging.CustomerParams) {
	switch id {
	case CustomerID:
		o.invalidIf(params.CustomerID == "", "customer_id", "is required as the customer identifier")
	case Email:
		o.invalidIf(params.Email == "", "email", "is required as the customer identifier")
	default:
		neither := params.CustomerID == "" && params.Email == ""
		o.invalidIf(neither, "customer_id", "is required when there is no email")
		o.invalidIf(neither, "email", "is required when there is no customer_id")
	}
}

// customerStore holds the customers in the order of their creation. The index of a
// customer never changes.
type customerStore struct {
	identifier    Identifier
	all           []Customer
	removed       int // the number of customers before the last reset
	byID, byEmail map[string]int
}

func newCustomerStore(c config) *customerStore { return &customerStore{identifier: c.identifier} }

// find returns the index of the customer with the given identifiers.
func (store *customerStore) find(id, email string) (i int, ok bool) {
	if store.identifier != Email {
		i, ok = store.byID[id]
	}
	if !ok && store.identifier != CustomerID {
		i, ok = store.byEmail[strings.ToLower(email)]
	}
	return i, ok
}

func (store *customerStore) add(c Customer) int {
	c.Number = store.removed + len(store.all) + 1
	store.all = append(store.all, c)
	store.index(len(store.all) - 1)
	return len(store.all) - 1
}

// index lets find return a customer. If two customers share an identifier, find returns
// the first one.
func (store *customerStore) index(i int) {
	if store.byID == nil {
		store.byID, store.byEmail = make(map[string]int), make(map[string]int)
	}
	c := &store.all[i]
	if _, taken := store.byID[c.CustomerID]; !taken && c.CustomerID != "" {
		store.byID[c.CustomerID] = i
	}
	if _, taken := store.byEmail[strings.ToLower(c.Email)]; !taken && c.Email != "" {
		store.byEmail[strings.ToLower(c.Email)] = i
	}
}

func (store *customerStore) unindex(i int) {
	c := &store.all[i]
	if store.byID[c.CustomerID] == i {
		delete(store.byID, c.CustomerID)
	}
	if store.byEmail[strings.ToLower(c.Email)] == i {
		delete(store.byEmail, strings.ToLower(c.Email))
	}
}

// reset removes all customers. It does not restart their numbers.
func (store *customerStore) reset() {
	store.removed += len(store.all)
	store.all, store.byID, store.byEmail = nil, nil, nil
}

// upsertRecipients updates or creates the customers of a broadcast, and records the
// changes in e unless e is nil. The caller must hold s.mu.
func (s *Server) upsertRecipients(e *Exchange, recipients []Recipient) {
	for _, recipient := range recipients {
		for _, params := range recipient.Customers {
			s.upsert(e, params)
		}
	}
}

// customersOf returns the customers of all recipients.
func customersOf(recipients []Recipient) (all []messaging.CustomerParams) {
	for _, recipient := range recipients {
		all = append(all, recipient.Customers...)
	}
	return all
}

// roomForCustomers reports whether the server may store the customers of a request. If it
// may not, it returns the response to the request. The caller must hold s.mu.
func (s *Server) roomForCustomers(customers []messaging.CustomerParams) (full response, ok bool) {
	store := storedCustomers.of(s)
	room := s.config.maxRecords - len(store.all)
	if len(customers) <= room {
		return response{}, true
	}
	created := make(map[string]bool)
	for _, c := range customers {
		if _, found := store.find(c.CustomerID, c.Email); !found {
			created[store.keyOf(c)] = true
		}
	}
	if len(created) > 0 && len(created) > room {
		return s.fullResponse("customers"), false
	}
	return response{}, true
}

// keyOf returns what tells a new customer from others in the same request.
func (store *customerStore) keyOf(c messaging.CustomerParams) string {
	if store.identifier == CustomerID || store.identifier == "" && c.CustomerID != "" {
		return "id " + c.CustomerID
	}
	return "email " + strings.ToLower(c.Email)
}

func (s *Server) fullResponse(kind string) response {
	return errorResponse(http.StatusInsufficientStorage, fmt.Sprintf(
		"the in-memory service stores at most %d %s; this limit is not one of the real service", s.config.maxRecords, kind))
}

// upsert updates or creates a customer, and records the change in e unless e is nil. The
// caller must hold s.mu.
func (s *Server) upsert(e *Exchange, params messaging.CustomerParams) {
	store := storedCustomers.of(s)
	i, created := store.upsert(params)
	if e != nil {
		e.Customers = append(e.Customers, CustomerChange{Created: created, Customer: store.all[i].clone()})
	}
}

// upsert updates the customer that params identifies, or creates it. It returns the index
// of the customer.
func (store *customerStore) upsert(params messaging.CustomerParams) (i int, created bool) {
	at := truncateToSecond(time.Now())
	i, found := store.find(params.CustomerID, params.Email)
	if !found {
		i = store.add(Customer{CreatedAt: at})
	}
	if holder, taken := store.byEmail[strings.ToLower(params.Email)]; taken && holder != i && store.identifier == "" {
		params.Email = ""
	}
	store.unindex(i)
	c := &store.all[i]
	set(&c.CustomerID, params.CustomerID)
	set(&c.Email, params.Email)
	set(&c.FirstName, params.FirstName)
	set(&c.LastName, params.LastName)
	set(&c.PhoneNo, params.PhoneNo)
	for _, device := range params.Devices {
		c.addDevice(device)
	}
	c.UpdatedAt, c.LastInteraction = at, at
	store.index(i)
	return i, !found
}

// set sets a field to value, unless value is empty.
func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// addDevice adds a device, or replaces the device with the same token.
func (c *Customer) addDevice(device messaging.Device) {
	for i := range c.Devices {
		if c.Devices[i].DeviceToken == device.DeviceToken {
			c.Devices[i] = device
			return
		}
	}
	c.Devices = append(c.Devices, device)
}

// filter returns a function that reports whether a customer matches both comma-separated
// lists. An empty list matches every customer.
func (store *customerStore) filter(ids, emails string) func(i int) bool {
	selectedIDs := strings.Split(ids, ",")
	selectedEmails := strings.Split(strings.ToLower(emails), ",")
	return func(i int) bool {
		c := &store.all[i]
		return (ids == "" || c.CustomerID != "" && slices.Contains(selectedIDs, c.CustomerID)) &&
			(emails == "" || c.Email != "" && slices.Contains(selectedEmails, strings.ToLower(c.Email)))
	}
}

func (c Customer) clone() Customer {
	c.CustomerParams = cloneParams(c.CustomerParams)
	c.Providers = slices.Clone(c.Providers)
	c.Extra = cloneExtra(c.Extra)
	return c
}

func cloneParams(p messaging.CustomerParams) messaging.CustomerParams {
	p.Devices = slices.Clone(p.Devices)
	return p
}
