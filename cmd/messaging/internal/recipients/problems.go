package recipients

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// problemOf returns why a customer cannot be used, or "".
func problemOf(c messaging.CustomerParams) string {
	for _, field := range [][2]string{{"customer_id", c.CustomerID}, {"email", c.Email}, {"phone_no", c.PhoneNo}} {
		if strings.ContainsFunc(field[1], visible.Hidden) {
			return field[0] + " contains an invisible character: " + oddity.Quote(field[1])
		}
	}
	if !alike.IsAddressAlone(c.Email) {
		return "email must be an address alone, such as ada@example.com, and not " + oddity.Quote(c.Email)
	}
	probe := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToCustomers(c)}
	prepared, err := probe.Prepare()
	invalid := new(messaging.ValidationError)
	switch {
	case err == nil && strings.ContainsAny(c.PhoneNo, " ,;"):
		return "phone_no must be a number without spaces, such as +491701234567, and not " + oddity.Quote(c.PhoneNo)
	case err == nil && messaging.MaxRecipients(1)(context.Background(), prepared) != nil:
		name := oddity.Quote(strings.TrimSpace(c.CustomerID + " " + c.Email))
		return name + " may stand for several customers, as an id with a space does"
	case err == nil:
		return ""
	case !errors.As(err, &invalid):
		return err.Error()
	}
	var problems []string
	for _, field := range invalid.Fields {
		name := strings.TrimPrefix(strings.TrimPrefix(field.Field, "recipients.0.customers.0"), ".")
		if value := map[string]string{"customer_id": c.CustomerID, "email": c.Email, "phone_no": c.PhoneNo}[name]; value != "" {
			name += " " + oddity.Quote(value)
		}
		problems = append(problems, strings.TrimSpace(name+" "+strings.Join(field.Messages, ", ")))
	}
	return strings.Join(problems, "; ")
}

// Oddity returns what looks like a mistake in a customer, or "".
func Oddity(c messaging.CustomerParams) string {
	field, value, why := oddityOf(c)
	if why == "" {
		return ""
	}
	return field + " " + oddity.Quote(value) + " " + why
}

// oddityOf returns the field of a customer that looks like a mistake, and why, or "".
func oddityOf(c messaging.CustomerParams) (field, value, why string) {
	for _, each := range []struct {
		field, value string
		why          func(string) string
	}{
		{"customer_id", c.CustomerID, oddity.ID}, {"email", c.Email, oddity.Address},
		{"first_name", c.FirstName, oddity.Name}, {"last_name", c.LastName, oddity.Name},
		{"phone_no", c.PhoneNo, oddity.Phone},
	} {
		if why := each.why(each.value); why != "" {
			return each.field, each.value, why
		}
	}
	return "", "", ""
}

// shape is what a customer id looks like.
func shape(id string) string {
	switch {
	case strings.Trim(id, "0123456789") == "":
		return "a number"
	case len(id) == 36 && strings.Count(id, "-") == 4 && strings.Trim(strings.ToLower(id), "0123456789abcdef-") == "":
		return "a UUID"
	default:
		return "a text"
	}
}

// oddMixture notes that some customers are known by their ids alone, and others by their
// addresses alone: nobody can tell whether two of them are the same.
func (l *List) oddMixture() {
	byID, byAddress := -1, -1 // the first of each
	for i, c := range l.Customers {
		switch {
		case c.Email != "" && c.CustomerID != "":
		case c.Email == "" && byID < 0:
			byID = i
		case c.CustomerID == "" && byAddress < 0:
			byAddress = i
		}
	}
	if byID >= 0 && byAddress >= 0 {
		l.Odd = append(l.Odd, fmt.Errorf("%s: line %d: may have the customer of line %d: one row has only an id, and the other only an address",
			l.Name, l.lines[max(byID, byAddress)], l.lines[min(byID, byAddress)]))
	}
}

// fewest is how many ids there must be to tell what they look like.
const fewest = 20

// oddShapes notes the ids that look different from nearly all others, such as a number among
// UUIDs.
func (l *List) oddShapes() {
	positions := map[string][]int{}
	total := 0
	for i, c := range l.Customers {
		if c.CustomerID != "" {
			positions[shape(c.CustomerID)] = append(positions[shape(c.CustomerID)], i)
			total++
		}
	}
	if total < fewest {
		return
	}
	for what, at := range positions {
		if len(at)*fewest > total {
			continue
		}
		for _, i := range at {
			l.odd(l.lines[i], "customer_id", l.Customers[i].CustomerID, "is "+what+", unlike nearly all others")
		}
	}
}
