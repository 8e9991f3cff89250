package fake

import (
	"encoding/json"
	"time"

	"github.com/messaging-go/messaging"
)

// Extra holds further members of a record in its JSON. They win over its fields.
type Extra = map[string]json.RawMessage

// Customer is a customer as the service stores it. Its JSON has the form of the list, which
// lacks Number and Devices.
type Customer struct {
	// Number counts the customers from 1, in the order of their creation. [Server.Reset]
	// does not restart the count.
	Number                   int
	messaging.CustomerParams // of all requests that named the customer
	CreatedAt                time.Time
	UpdatedAt                time.Time
	LastInteraction          time.Time
	Providers                []string
	Extra                    Extra
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

// EmailBroadcast is an email broadcast that the service accepted, with the fields of that of
// package messagingtest.
type EmailBroadcast struct {
	At        time.Time
	Params    messaging.EmailBroadcastParams
	Everyone  bool
	Customers []messaging.CustomerParams
	Segments  []string
}

// PushBroadcast is a push notification broadcast that the service accepted, like an
// [EmailBroadcast].
type PushBroadcast struct {
	At        time.Time
	Params    messaging.PushBroadcastParams
	Everyone  bool
	Customers []messaging.CustomerParams
	Segments  []string
}

// Trigger is a triggered event, with the fields of that of package messagingtest.
type Trigger struct {
	At      time.Time
	Params  messaging.EventTriggerParams
	Skipped []string
}
