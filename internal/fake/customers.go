package fake

import (
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
)

// Identifier is the field that identifies a customer. With "", it is the customer id or else
// the email address, as IdentifyByCustomerID of package messagingtest says.
type Identifier string

// The fields that alone can identify a customer, which every customer in a request must
// then have.
const (
	CustomerID Identifier = "customer_id"
	Email      Identifier = "email"
)

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
		return messaging.Device{Type: device.string("device_type"), Token: device.string("device_token")}
	})
	return params
}

// customers holds customers in the order of their creation. The index of a customer never
// changes.
type customers struct {
	identifier    Identifier
	all           []Customer
	removed       int // the number of customers before the last reset
	byID, byEmail index
}

// index finds the customers with an identifier, in the order in which they got it.
type index map[string][]int

func (x index) add(key string, i int) {
	if key != "" {
		x[key] = append(x[key], i)
	}
}

// move changes the identifier of a customer.
func (x index) move(from, to string, i int) {
	if from == to {
		return
	}
	if x[from] = slices.DeleteFunc(x[from], func(other int) bool { return other == i }); len(x[from]) == 0 {
		delete(x, from)
	}
	x.add(to, i)
}

// first returns the first customer with the identifier.
func (x index) first(key string) (i int, ok bool) {
	if found := x[key]; len(found) > 0 {
		return found[0], true
	}
	return 0, false
}

// find returns the index of the customer with the given identifiers.
func (c *customers) find(id, email string) (i int, ok bool) {
	if c.identifier != Email {
		i, ok = c.byID.first(id)
	}
	if !ok && c.identifier != CustomerID {
		i, ok = c.byEmail.first(strings.ToLower(email))
	}
	return i, ok
}

// add adds a customer, and returns its index.
func (c *customers) add(customer Customer) int {
	i := len(c.all)
	customer.Number = c.removed + i + 1
	c.all = append(c.all, customer)
	c.byID.add(customer.CustomerID, i)
	c.byEmail.add(strings.ToLower(customer.Email), i)
	return i
}

// reset removes all customers. It does not restart their numbers.
func (c *customers) reset() {
	c.removed += len(c.all)
	c.all, c.byID, c.byEmail = nil, make(index), make(index)
}

// upsert updates the customer that params identifies, or creates it.
func (c *customers) upsert(params messaging.CustomerParams) CustomerChange {
	at := truncateToSecond(time.Now())
	i, found := c.find(params.CustomerID, params.Email)
	if !found {
		i = c.add(Customer{CreatedAt: at})
	}
	if holder, taken := c.byEmail.first(strings.ToLower(params.Email)); taken && holder != i && c.identifier == "" {
		params.Email = ""
	}
	customer := &c.all[i]
	before := *customer
	set(&customer.CustomerID, params.CustomerID)
	set(&customer.Email, params.Email)
	set(&customer.FirstName, params.FirstName)
	set(&customer.LastName, params.LastName)
	set(&customer.PhoneNo, params.PhoneNo)
	customer.Devices = withDevices(customer.Devices, params.Devices)
	customer.UpdatedAt, customer.LastInteraction = at, at
	c.byID.move(before.CustomerID, customer.CustomerID, i)
	c.byEmail.move(strings.ToLower(before.Email), strings.ToLower(customer.Email), i)
	return CustomerChange{Created: !found, Customer: *customer}
}

// set sets a field to value, unless value is empty.
func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// withDevices returns a copy of devices with others, which replace those with the same
// token.
func withDevices(devices, others []messaging.Device) []messaging.Device {
	if len(others) == 0 {
		return devices
	}
	devices = slices.Clone(devices)
	for _, other := range others {
		i := slices.IndexFunc(devices, func(d messaging.Device) bool { return d.Token == other.Token })
		if i < 0 {
			devices = append(devices, other)
		} else {
			devices[i] = other
		}
	}
	return devices
}

// selected returns the customers that match both comma-separated lists. An empty list
// matches every customer.
func (c *customers) selected(ids, emails string) []Customer {
	if ids == "" && emails == "" {
		return c.all
	}
	selectedIDs, selectedEmails := strings.Split(ids, ","), strings.Split(strings.ToLower(emails), ",")
	var selected []Customer
	for _, customer := range c.all {
		if (ids == "" || customer.CustomerID != "" && slices.Contains(selectedIDs, customer.CustomerID)) &&
			(emails == "" || customer.Email != "" && slices.Contains(selectedEmails, strings.ToLower(customer.Email))) {
			selected = append(selected, customer)
		}
	}
	return selected
}

// room reports whether at most limit customers are stored after an upsert of all. With 0,
// there is no limit. It counts a new customer as often as it is named.
func (c *customers) room(limit int, all []messaging.CustomerParams) bool {
	if limit == 0 || len(c.all)+len(all) <= limit {
		return true
	}
	created := 0
	for _, params := range all {
		if _, found := c.find(params.CustomerID, params.Email); !found {
			created++
		}
	}
	return created == 0 || len(c.all)+created <= limit
}

// truncateToSecond truncates a time to the precision of the times of a customer.
func truncateToSecond(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
