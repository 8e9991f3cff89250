package recipients

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// problemOf returns why a customer cannot be used, or "".
func problemOf(c messaging.CustomerParams) string {
	for _, field := range [][2]string{{"customer_id", c.CustomerID}, {"email", c.Email}, {"phone_no", c.PhoneNo}} {
		if strings.ContainsFunc(field[1], visible.Hidden) {
			return field[0] + " contains an invisible character: " + visible.Quote(shortened(field[1]))
		}
	}
	if !alike.IsAddressAlone(c.Email) {
		return "email must be an address alone, such as ada@example.com, and not " + visible.Quote(shortened(c.Email))
	}
	probe := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToCustomers(c)}
	_, err := probe.Prepare()
	invalid := new(messaging.ValidationError)
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &invalid):
		return err.Error()
	}
	var problems []string
	for _, field := range invalid.Fields {
		name := strings.TrimPrefix(strings.TrimPrefix(field.Field, "recipients.0.customers.0"), ".")
		problems = append(problems, strings.TrimSpace(name+" "+strings.Join(field.Messages, ", ")))
	}
	return strings.Join(problems, "; ")
}

// missing are texts that programs write in place of a value that is not there.
var missing = []string{"null", "nil", "none", "n/a", "na", "nan", "undefined", "(null)", "<null>", "-", "#n/a", "#name?", "unknown"}

// totals are what stands in a row below the others.
var totals = []string{"total", "totals", "sum", "subtotal", "grand total", "count"}

// converted matches numbers and dates in the form of a spreadsheet, and its truth values.
var converted = regexp.MustCompile(`^(\d+([.,]\d+)?e\+?\d+|\d+[.,]0+|true|false|(\d{1,2}-)?` +
	`(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(-\d{1,4})?|` +
	`\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}-\d{2}-\d{2}( .*)?)$`)

// Oddity returns what looks like a mistake in a customer, or "".
func Oddity(c messaging.CustomerParams) string {
	field, value, why := oddityOf(c)
	if why == "" {
		return ""
	}
	return field + " " + visible.Quote(shortened(value)) + " " + why
}

// oddityOf returns the field of a customer that looks like a mistake, and why, or "".
func oddityOf(c messaging.CustomerParams) (field, value, why string) {
	if why := oddityOfID(c.CustomerID); why != "" {
		return "customer_id", c.CustomerID, why
	}
	for _, name := range [][2]string{{"first_name", c.FirstName}, {"last_name", c.LastName}} {
		switch value := name[1]; {
		case strings.Contains(value, "@"):
			return name[0], value, "looks like an email address"
		case strings.TrimLeft(value, "+0123456789- ") == "" && strings.TrimSpace(value) != "":
			return name[0], value, "looks like a number"
		}
	}
	return "", "", ""
}

// oddityOfID returns why a customer id looks like a mistake, or "".
func oddityOfID(id string) string {
	lower := strings.ToLower(strings.TrimSpace(id))
	switch {
	case slices.Contains(missing, lower):
		return "looks like a missing value"
	case strings.HasPrefix(lower, "#") && strings.HasSuffix(lower, "!"):
		return "looks like an error of a spreadsheet"
	case converted.MatchString(lower):
		return "looks like what a spreadsheet makes of an id"
	case slices.Contains(totals, lower):
		return "looks like the last row of a table"
	case strings.Contains(id, "{{"), strings.Contains(id, "${"):
		return "looks like a placeholder"
	case strings.Contains(id, "@"):
		return "looks like an email address"
	case id != strings.TrimSpace(id):
		return "begins or ends with a space"
	}
	return ""
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

// oddMixture notes that some customers are known by their ids alone, and all others by their
// addresses alone: nobody can tell whether two of them are the same.
func (l *List) oddMixture() {
	byID, byAddress := -1, -1 // the first of each
	for i, c := range l.Customers {
		switch {
		case c.Email != "" && c.CustomerID != "":
			return
		case c.Email == "" && byID < 0:
			byID = i
		case c.CustomerID == "" && byAddress < 0:
			byAddress = i
		}
	}
	if byID >= 0 && byAddress >= 0 {
		l.odd(l.lines[max(byID, byAddress)], "customer", fmt.Sprintf("of line %d", l.lines[min(byID, byAddress)]),
			"may be the same as this one: one row has only an id, and the other only an address")
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
