package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Customer is a customer as the service stores it, with what its lists leave out.
type Customer = fake.Customer

// Customers are the customers that the service stores.
var Customers = &Kind{
	Name:   "customers",
	Origin: "Customers come from the seed, or are created by broadcasts and triggers.",
	List:   service.ListCustomers,
	Read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Customers.List(ctx, messaging.CustomerListParams{})
		return err
	},
	parse: parseCustomer,
	stored: func(s *fake.Server) []Value {
		return values(s.Customers(), func(c *fake.Customer) Value { return customer{c} })
	},
	add: func(s *fake.Server, v Value) { s.AddCustomers(*v.(customer).Customer) },
	created: func(e *fake.Exchange) (n int) {
		for _, change := range e.Customers {
			if change.Created {
				n++
			}
		}
		return n
	},
	idKey: "customer_id",
}

func parseCustomer(raw json.RawMessage) (Value, error) {
	var c messaging.Customer
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	local, domain, _ := strings.Cut(c.Email, "@")
	switch {
	case len(c.Extra) > 0:
		return nil, unreadable(c.Extra)
	case c.CustomerID == "" && c.Email == "":
		return nil, errors.New("a customer_id or an email is required")
	case c.Email != "" && (local == "" || domain == ""):
		return nil, errors.New("email: is not an email address")
	}
	return customer{&Customer{CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, LastInteraction: c.LastInteraction, Providers: c.Providers,
		CustomerParams: fake.CustomerParams{CustomerID: c.CustomerID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email,
			PhoneNo: c.PhoneNo}}}, nil
}

type customer struct{ *Customer }

func (c customer) ID() string  { return c.CustomerID }
func (c customer) Model() any  { return *c.Customer }
func (c customer) number() int { return c.Number }

func (c customer) Line() Line {
	name := strings.TrimSpace(c.FirstName + " " + c.LastName)
	title := cmp.Or(name, c.Email, c.CustomerID)
	others := slices.DeleteFunc([]string{c.Email, c.CustomerID, c.PhoneNo}, func(text string) bool { return text == title })
	return Line{title, cmp.Or(others...), words.Recent(c.LastInteraction)}
}

func (c customer) Texts() []string {
	return []string{c.CustomerID, c.Email, c.FirstName + " " + c.LastName, c.PhoneNo}
}
