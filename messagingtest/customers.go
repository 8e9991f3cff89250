package messagingtest

import (
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
)

// Customer is a customer as the service keeps it. Its times are in UTC, to the
// second, as they are listed.
type Customer struct {
	// CustomerParams is what requests have said about the customer. Its Devices
	// are those of all requests together; one with the token of an earlier one
	// has taken its place.
	messaging.CustomerParams
	CreatedAt       time.Time
	UpdatedAt       time.Time
	LastInteraction time.Time
	Providers       []string
	Extra           messaging.Extra
}

// Customers returns the customers in the order of their creation: those that
// were added, and those that broadcasts and triggers have created.
func (s *Server) Customers() []Customer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.customers.records, Customer.copy)
}

// AddCustomers adds customers to those that the service lists. One without
// what identifies it gets a customer id; a time that is missing becomes the
// present. Members of Extra are listed too, and stand in for a time that is
// missing. A customer that is there already is not looked for.
func (s *Server) AddCustomers(customers ...messaging.Customer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range customers {
		added := Customer{
			CustomerParams:  c.Params(),
			CreatedAt:       second(presentUnless(c.Extra, "customer_created_at", c.CreatedAt)),
			UpdatedAt:       second(presentUnless(c.Extra, "updated_at", c.UpdatedAt)),
			LastInteraction: second(presentUnless(c.Extra, "last_interaction", c.LastInteraction)),
			Providers:       c.Providers,
			Extra:           c.Extra,
		}.copy()
		if added.CustomerID == "" && (added.Email == "" || s.customers.identifier == CustomerID) {
			added.CustomerID = s.newID()
		}
		s.customers.add(added)
	}
}

func (s *Server) listCustomers(in received) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := s.customers.filter(in.query.Get("customer_ids"), in.query.Get("emails"))
	rows, meta := page(in, "customers", len(s.customers.records), wanted, func(i int) any {
		return s.customers.records[i].row()
	})
	if len(in.problems) > 0 {
		return invalid(in.problems)
	}
	return done("Customers fetched successfully", map[string]any{"data": rows, "meta": meta})
}

// row is the customer as it is listed.
func (c *Customer) row() any {
	return withExtra(c.Extra, map[string]any{
		"customer_id":         c.CustomerID,
		"first_name":          c.FirstName,
		"last_name":           c.LastName,
		"email":               c.Email,
		"phone_no":            c.PhoneNo,
		"customer_created_at": timeText(c.CreatedAt, toTheSecond),
		"updated_at":          timeText(c.UpdatedAt, toTheSecond),
		"providers":           strings.Join(c.Providers, ","),
		"last_interaction":    timeText(c.LastInteraction, toTheSecond),
	})
}

// readCustomer reads a customer in a request, whether or not it can be told
// from others.
func readCustomer(o object) messaging.CustomerParams {
	params := messaging.CustomerParams{
		CustomerID: o.text("customer_id"),
		Email:      o.email("email"),
		FirstName:  o.text("first_name"),
		LastName:   o.text("last_name"),
		PhoneNo:    o.text("phone_no"),
	}
	if params.PhoneNo != "" && !strings.HasPrefix(params.PhoneNo, "+") {
		o.complain("phone_no", "must be in international format, starting with +")
	}
	devices, length := o.list("devices")
	params.Devices = each(devices, length, func(position string) messaging.Device {
		devices.refuseIf(!devices.has(position), position, "must be an object")
		device := devices.object(position)
		return messaging.Device{DeviceType: device.text("device_type"), DeviceToken: device.text("device_token")}
	})
	return params
}

// check complains about a customer that can't be told from others.
func (id Identifier) check(o object, params messaging.CustomerParams) {
	switch id {
	case CustomerID:
		o.refuseIf(params.CustomerID == "", "customer_id", "is required, since it identifies customers")
	case Email:
		o.refuseIf(params.Email == "", "email", "is required, since it identifies customers")
	default:
		neither := params.CustomerID == "" && params.Email == ""
		o.refuseIf(neither, "customer_id", "is required when there is no email")
		o.refuseIf(neither, "email", "is required when there is no customer_id")
	}
}

// customerBook is the customers in the order of their creation. Every customer
// keeps its position.
type customerBook struct {
	identifier    Identifier // "" for either
	records       []Customer
	byID, byEmail map[string]int
}

// find returns the position of the customer that a request is about.
func (b *customerBook) find(id, email string) (i int, known bool) {
	if b.identifier != Email {
		i, known = b.byID[id]
	}
	if !known && b.identifier != CustomerID {
		i, known = b.byEmail[strings.ToLower(email)]
	}
	return i, known
}

func (b *customerBook) add(c Customer) int {
	b.records = append(b.records, c)
	b.index(len(b.records) - 1)
	return len(b.records) - 1
}

// index lets a customer be found, unless one before it is found in its place.
func (b *customerBook) index(i int) {
	if b.byID == nil {
		b.byID, b.byEmail = make(map[string]int), make(map[string]int)
	}
	c := &b.records[i]
	if _, taken := b.byID[c.CustomerID]; !taken && c.CustomerID != "" {
		b.byID[c.CustomerID] = i
	}
	if _, taken := b.byEmail[strings.ToLower(c.Email)]; !taken && c.Email != "" {
		b.byEmail[strings.ToLower(c.Email)] = i
	}
}

func (b *customerBook) unindex(i int) {
	c := &b.records[i]
	if b.byID[c.CustomerID] == i {
		delete(b.byID, c.CustomerID)
	}
	if b.byEmail[strings.ToLower(c.Email)] == i {
		delete(b.byEmail, strings.ToLower(c.Email))
	}
}

func (b *customerBook) meetAll(recipients []messaging.Recipient) {
	for _, recipient := range recipients {
		for _, params := range recipient.Customers {
			b.meet(params)
		}
	}
}

// meet creates the customer, or updates it by what the request says about it.
func (b *customerBook) meet(params messaging.CustomerParams) {
	at := second(time.Now())
	i, known := b.find(params.CustomerID, params.Email)
	if !known {
		i = b.add(Customer{CreatedAt: at})
	}
	if holder, taken := b.byEmail[strings.ToLower(params.Email)]; taken && holder != i && b.identifier == "" {
		params.Email = ""
	}
	b.unindex(i)
	c := &b.records[i]
	set(&c.CustomerID, params.CustomerID)
	set(&c.Email, params.Email)
	set(&c.FirstName, params.FirstName)
	set(&c.LastName, params.LastName)
	set(&c.PhoneNo, params.PhoneNo)
	for _, device := range params.Devices {
		c.store(device)
	}
	c.UpdatedAt, c.LastInteraction = at, at
	b.index(i)
}

// set changes a field by one that a request gives, which an empty one is not.
func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// store adds a device, or replaces the one with the same token.
func (c *Customer) store(device messaging.Device) {
	for i := range c.Devices {
		if c.Devices[i].DeviceToken == device.DeviceToken {
			c.Devices[i] = device
			return
		}
	}
	c.Devices = append(c.Devices, device)
}

// filter returns which customers two comma-separated lists select together. An
// empty list selects everybody.
func (b *customerBook) filter(ids, emails string) func(i int) bool {
	wantedIDs := strings.Split(ids, ",")
	wantedEmails := strings.Split(strings.ToLower(emails), ",")
	return func(i int) bool {
		c := &b.records[i]
		return (ids == "" || c.CustomerID != "" && slices.Contains(wantedIDs, c.CustomerID)) &&
			(emails == "" || c.Email != "" && slices.Contains(wantedEmails, strings.ToLower(c.Email)))
	}
}

func (c Customer) copy() Customer {
	c.CustomerParams = copiedParams(c.CustomerParams)
	c.Providers = slices.Clone(c.Providers)
	c.Extra = copiedExtra(c.Extra)
	return c
}

func copiedParams(p messaging.CustomerParams) messaging.CustomerParams {
	p.Devices = slices.Clone(p.Devices)
	return p
}
