package messaging

import (
	"errors"
	"slices"
	"strings"
)

// Recipients is who a [Prepared] addresses, as read from its body.
type Recipients struct {
	// Everyone is true if it goes to all customers.
	Everyone bool
	// Segments are the ids of segments. How many customers they have is not known.
	Segments []string
	// Customers is the number of customer objects.
	Customers int
	// CustomerIDs, Emails and Phones are those of all customers, in order. Emails also
	// has the addresses in email, cc and bcc. The addresses of the sender and in
	// reply_to are not among them.
	CustomerIDs, Emails, Phones []string
	// Devices is the number of devices of all customers.
	Devices int
	// Unmodelled is true for a request of [Client.Do], and for a body that does not
	// read as its operation: one with an unknown member, one that names nobody. The
	// other fields then tell nothing.
	Unmodelled bool
}

// Recipients returns who the request addresses. The creation of an event addresses
// nobody.
func (p *Prepared) Recipients() Recipients { return p.reach().Recipients }

// reach is Recipients, and what guards need besides.
type reach struct {
	Recipients
	// addresses is the number of e-mail addresses that stand for recipients of their
	// own, beside the customers.
	addresses int
}

var unmodelled = reach{Recipients: Recipients{Unmodelled: true}}

func (p *Prepared) reach() reach {
	op := p.request().operation
	known, ok := preparableNamed(op.name)
	if !ok || op.custom {
		return unmodelled
	}
	r := newReader()
	defer r.free()
	r.reset(p.request().body)
	var found reach
	if known.reach(r, &found) != nil || r.end() != nil {
		return unmodelled
	}
	return found
}

var (
	errUnknownMember = errors.New("is unknown")
	errNobody        = errors.New("names nobody")
)

// The methods below read bodies that this package wrote, as strictly as a guard needs:
// a body of another program may have been stored. Duplicate members are added up.

func (r *reader) emailReach(found *reach) error {
	return r.broadcastReach(found, func(key string) error {
		switch key {
		case "email":
			found.addresses++
			return r.add(&found.Emails)
		case "cc", "bcc":
			return r.array(func(int) error {
				found.addresses++
				return r.add(&found.Emails)
			})
		case "sender_email", "sender_name", "subject", "reply_to", "message", "template_id", "email_template_id",
			"variables", "message_type":
			return r.skipDeep()
		}
		return errUnknownMember
	})
}

func (r *reader) pushReach(found *reach) error {
	return r.broadcastReach(found, func(key string) error {
		switch key {
		case "subject", "message", "whatsapp_template_id":
			return r.skipDeep()
		}
		return errUnknownMember
	})
}

// broadcastReach reads what both kinds of broadcast share, and leaves the rest to other.
func (r *reader) broadcastReach(found *reach, other func(key string) error) error {
	err := r.object(func(key []byte) error {
		switch string(key) {
		case "all_customers":
			var all bool
			err := r.boolean(&all)
			found.Everyone = found.Everyone || all
			return err
		case "recipients":
			if r.kind() == kindArray {
				return r.array(func(int) error { return r.recipientReach(found) })
			}
			return r.recipientReach(found)
		case "schedule_type", "schedule_date":
			return r.skipDeep()
		default:
			return other(string(key))
		}
	})
	if err == nil && !found.Everyone && found.Customers == 0 && len(found.Segments) == 0 {
		return errNobody
	}
	return err
}

// recipientReach reads a recipient, which has a type, and the list of that type alone.
func (r *reader) recipientReach(found *reach) error {
	var kinds []RecipientType
	customers, segments := 0, 0
	err := r.object(func(key []byte) error {
		switch string(key) {
		case "type":
			kinds = append(kinds, "")
			return r.string((*string)(&kinds[len(kinds)-1]))
		case "customers":
			return r.array(func(int) error { customers++; return r.customerReach(found) })
		case "segments":
			return r.array(func(int) error { segments++; return r.add(&found.Segments) })
		default:
			return errUnknownMember
		}
	})
	switch {
	case err != nil:
		return err
	case slices.Equal(kinds, []RecipientType{RecipientCustomer}) && customers > 0 && segments == 0:
		return nil
	case slices.Equal(kinds, []RecipientType{RecipientSegment}) && segments > 0 && customers == 0:
		return nil
	default:
		return errNobody
	}
}

func (r *reader) customerReach(found *reach) error {
	found.Customers++
	before := len(found.CustomerIDs) + len(found.Emails)
	err := r.object(func(key []byte) error {
		switch string(key) {
		case "customer_id":
			return r.add(&found.CustomerIDs)
		case "email":
			return r.add(&found.Emails)
		case "phone_no":
			return r.add(&found.Phones)
		case "devices":
			return r.array(func(int) error {
				found.Devices++
				return r.skipDeep()
			})
		case "first_name", "last_name":
			return r.skipDeep()
		default:
			return errUnknownMember
		}
	})
	if err == nil && len(found.CustomerIDs)+len(found.Emails) == before {
		return errNobody
	}
	return err
}

func (r *reader) triggerReach(found *reach) error {
	err := r.object(func(key []byte) error {
		switch string(key) {
		case "event_id":
			return r.skipDeep()
		case "payload":
			return r.object(func(key []byte) error {
				switch string(key) {
				case "email":
					return r.add(&found.Emails)
				case "customer":
					return r.customerReach(found)
				default: // a parameter of the event
					return r.skipDeep()
				}
			})
		default:
			return errUnknownMember
		}
	})
	if found.Customers == 0 { // else the address is that of the same customer
		found.addresses = len(found.Emails)
	}
	if err == nil && found.Customers+found.addresses == 0 {
		return errNobody
	}
	return err
}

func (r *reader) createReach(*reach) error {
	return r.object(func(key []byte) error {
		switch string(key) {
		case "name", "description", "parameters":
			return r.skipDeep()
		default:
			return errUnknownMember
		}
	})
}

// add reads a string that is not empty, and appends it.
func (r *reader) add(to *[]string) error {
	var value string
	err := r.string(&value)
	switch {
	case err != nil:
	case value == "":
		err = errNobody
	case strings.Contains(value, replacement): // invalid UTF-8, read as something else
		err = errNotUTF8
	default:
		*to = append(*to, value)
	}
	return err
}

// skipDeep skips a value, however deep it is nested.
func (r *reader) skipDeep() error { return r.scalar(r.json.Skip()) }
