package inspector

import (
	"cmp"
	"encoding/json"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/fake"
)

// addressees returns the first customers that a request names, also if it was refused, and how many it names. The
// customers of a segment are not known.
func addressees(e *history.Entry, most int) (names []string, count int) {
	add := func(name string) {
		if count++; name != "" && len(names) < most {
			names = append(names, name)
		}
	}
	addAll := func(recipients []fake.Recipient) {
		for _, r := range recipients {
			for _, c := range r.Customers {
				add(nameOf(c))
			}
		}
	}
	switch effect := e.Effect.(type) {
	case *fake.EmailBroadcast:
		addAll(effect.Recipients)
	case *fake.PushBroadcast:
		addAll(effect.Recipients)
	case *fake.Trigger:
		add(who(effect))
	case nil:
		for _, name := range requestedAddressees(e) {
			add(name)
		}
	}
	return names, count
}

// audienceOf returns whether a broadcast is for all customers, and for which segments.
func audienceOf(e *history.Entry) (everyone bool, segments []string) {
	var recipients []fake.Recipient
	switch effect := e.Effect.(type) {
	case *fake.EmailBroadcast:
		everyone, recipients = effect.AllCustomers, effect.Recipients
	case *fake.PushBroadcast:
		everyone, recipients = effect.AllCustomers, effect.Recipients
	}
	for _, r := range recipients {
		segments = append(segments, r.Segments...)
	}
	return everyone, segments
}

// requestedAddressees returns the customers that a refused request names. What is no customer is "".
func requestedAddressees(e *history.Entry) (names []string) {
	switch {
	case len(e.Request.Body) > maxShown:
	case requestsTrigger(e):
		if name := requestedCustomer(e); name != "" {
			names = append(names, name)
		}
	case requestsBroadcast(e):
		_, recipients := requestedRecipients(e)
		for _, r := range recipients {
			for _, raw := range r.Customers {
				var c fake.CustomerParams
				_ = json.Unmarshal(raw, &c) // another value names nobody
				names = append(names, nameOf(c))
			}
		}
	}
	return names
}

// nameOf returns the address of a customer, or else what else names it.
func nameOf(c fake.CustomerParams) string { return cmp.Or(c.Email, c.CustomerID, c.PhoneNo) }

func who(t *fake.Trigger) string {
	if t.Email != "" {
		return t.Email
	}
	return nameOf(*t.Customer)
}

// requestedCustomer returns the address, or else the id, of the customer whom a trigger names.
func requestedCustomer(e *history.Entry) string {
	payload := e.Payload()
	var email string
	_ = json.Unmarshal(payload["email"], &email) // a value of another type is left out
	var customer fake.CustomerParams
	_ = json.Unmarshal(payload["customer"], &customer)
	return cmp.Or(email, nameOf(customer))
}

// requestedRecipient is a recipient of a broadcast that may be invalid.
type requestedRecipient struct {
	Customers []json.RawMessage `json:"customers"`
	Segments  []string          `json:"segments"`
}

// requestedRecipients returns whom the body of a broadcast names, as far as it can be read.
func requestedRecipients(e *history.Entry) (all bool, recipients []requestedRecipient) {
	var body struct {
		All        bool            `json:"all_customers"`
		Recipients json.RawMessage `json:"recipients"`
	}
	if len(e.Request.Body) > maxShown || json.Unmarshal(e.Request.Body, &body) != nil {
		return false, nil
	}
	var one requestedRecipient
	switch { // a single recipient can be sent without an array
	case json.Unmarshal(body.Recipients, &recipients) == nil:
		return body.All, recipients
	case json.Unmarshal(body.Recipients, &one) == nil:
		return body.All, []requestedRecipient{one}
	default:
		return body.All, nil
	}
}
