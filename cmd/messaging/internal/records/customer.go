package records

import (
	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// Customer is a customer as the service lists it, with what its lists leave out. Its
// JSON has the form of the lists.
type Customer struct {
	messaging.Customer
	Number  int
	Devices []messaging.Device
}

func storedCustomers(s *messagingtest.Server) []Customer {
	stored := s.Customers()
	customers := make([]Customer, len(stored))
	for i, c := range stored {
		customers[i] = Customer{Number: c.Number, Devices: c.Devices, Customer: messaging.Customer{
			CustomerID: c.CustomerID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, PhoneNo: c.PhoneNo,
			CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, LastInteraction: c.LastInteraction, Providers: c.Providers, Extra: c.Extra}}
	}
	return customers
}

func addCustomers(s *messagingtest.Server, customers ...Customer) {
	for _, c := range customers {
		s.AddCustomers(c.Customer)
	}
}

// devices is what the API adds to the form of the lists.
type devices struct {
	Devices []messaging.Device `json:"devices"`
}
