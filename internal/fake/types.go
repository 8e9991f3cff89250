package fake

import (
	"encoding/json"
	"time"
)

// Extra holds further members of a record in its JSON. They win over its fields.
type Extra = map[string]json.RawMessage

// Device is an app installation of a customer.
type Device struct {
	DeviceType  string `json:"device_type"`
	DeviceToken string `json:"device_token"`
}

// CustomerParams is a customer in a request.
type CustomerParams struct {
	CustomerID string   `json:"customer_id,omitempty"`
	Email      string   `json:"email,omitempty"`
	FirstName  string   `json:"first_name,omitempty"`
	LastName   string   `json:"last_name,omitempty"`
	PhoneNo    string   `json:"phone_no,omitempty"`
	Devices    []Device `json:"devices,omitempty"`
}

// Customer is a customer as the service stores it. Its JSON has the form of the list, which
// lacks Number and Devices.
type Customer struct {
	// Number counts the customers from 1, in the order of their creation. [Server.Reset]
	// does not restart the count.
	Number          int
	CustomerParams  // of all requests that named the customer
	CreatedAt       time.Time
	UpdatedAt       time.Time
	LastInteraction time.Time
	Providers       []string
	Extra           Extra
}

// Event is an event definition. Its JSON has the form of the list.
type Event struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Parameters  []EventParameter `json:"parameters"`
	CreatedAt   time.Time        `json:"created_at"`
	Extra       Extra            `json:"-"`
}

// EventParameter is a parameter of an event.
type EventParameter struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // in lower case
	Required bool   `json:"required"`
}

// Timestamp is the type of the parameters whose values can be skipped.
const Timestamp = "timestamp"

// EmailBroadcast is an email broadcast that the service accepted.
type EmailBroadcast struct {
	At               time.Time // when the request arrived
	SenderEmail      string
	SenderName       string
	Email            string
	Subject          string
	CC, BCC, ReplyTo []string
	Message          string
	TemplateID       string
	EmailTemplateID  string
	Variables        Values
	MessageType      string
	AllCustomers     bool
	Recipients       []Recipient
	Schedule         *Schedule // nil for an immediate broadcast
}

// PushBroadcast is a push notification broadcast that the service accepted. Its fields are
// those of an [EmailBroadcast].
type PushBroadcast struct {
	At                 time.Time
	Subject            string
	Message            string
	WhatsAppTemplateID string
	AllCustomers       bool
	Recipients         []Recipient
	Schedule           *Schedule
}

// Recipient is a group of customers within a broadcast.
type Recipient struct {
	Type      string // "customer" or "segment"
	Customers []CustomerParams
	Segments  []string
}

// Schedule is the time at which a broadcast is sent.
type Schedule struct {
	Date     string `json:"schedule_date"`
	Timezone string `json:"timezone"`
}

// Trigger is a triggered event.
type Trigger struct {
	At        time.Time // when the request arrived
	EventID   string
	EventName string // from the event definition
	Email     string
	Customer  *CustomerParams // nil if the payload has no customer object
	Values    Values          // the other members of the payload, except the skipped ones
	Skipped   []string        // the timestamp parameters whose values the service ignores
}
