package records

import (
	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
)

// Customer is a customer as the service lists it, with what its lists leave out. Its
// JSON has the form of the lists.
type Customer struct {
	messaging.Customer
	Number  int
	Devices []fake.Device
}

func customerModel(c fake.Customer) Customer {
	return Customer{Number: c.Number, Devices: c.Devices, Customer: messaging.Customer{
		CustomerID: c.CustomerID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, PhoneNo: c.PhoneNo,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, LastInteraction: c.LastInteraction, Providers: c.Providers, Extra: c.Extra}}
}

func storedCustomer(c Customer) fake.Customer {
	return fake.Customer{CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, LastInteraction: c.LastInteraction,
		Providers: c.Providers, Extra: c.Extra, CustomerParams: fake.CustomerParams{CustomerID: c.CustomerID,
			FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, PhoneNo: c.PhoneNo}}
}

// devices is what the API adds to the form of the lists.
type devices struct {
	Devices []fake.Device `json:"devices"`
}
