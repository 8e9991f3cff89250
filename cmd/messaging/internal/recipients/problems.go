package recipients

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

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
	prepared, err := probe.Prepare()
	invalid := new(messaging.ValidationError)
	switch {
	case err == nil && messaging.MaxRecipients(1)(context.Background(), prepared) != nil:
		name := visible.Quote(shortened(strings.TrimSpace(c.CustomerID + " " + c.Email)))
		return name + " may stand for several customers, as an id with a space does"
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

// missing matches what programs write in place of a value that is not there, such as #N/A, <NA>, (null) and \N.
var missing = regexp.MustCompile(`^([(<\[]?(null|nil|nan|nat|undefined)[)>\]]?|<na>|#(n/a|n/d|nv|n\.v\.)|\\n)$`)

// unsaid are words of people in place of an id that is not there.
var unsaid = []string{"none", "n/a", "n.a.", "na", "unknown"}

// totals are what stands in a row below the others.
var totals = []string{"total", "totals", "sum", "subtotal", "grand total", "count"}

// converted matches numbers and dates in the form of a spreadsheet, and its truth values.
var converted = regexp.MustCompile(`^(\d+([.,]\d+)?e\+?\d+|\d+[.,]0+|true|false|(\d{1,2}-)?` +
	`(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(-\d{1,4})?|` +
	`\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}-\d{2}-\d{2}( .*)?)$`)

// failed matches the errors of a spreadsheet, such as #REF!, #NAME?, #### and Err:502.
var failed = regexp.MustCompile(`^(#[^\d]*[!?]|#{2,}|err:\d+)$`)

// placeholder matches what a template or a shell would have replaced.
var placeholder = regexp.MustCompile(`\{\{|\$\{|^\$[A-Za-z_][A-Za-z0-9_]*$`)

// OddityOfText returns why a text in place of a value looks like a mistake, or "".
func OddityOfText(text string) string {
	lower := strings.ToLower(strings.TrimSpace(text))
	switch {
	case missing.MatchString(lower):
		return "looks like a missing value"
	case failed.MatchString(lower):
		return "looks like an error of a spreadsheet"
	case placeholder.MatchString(text):
		return "looks like a placeholder"
	}
	return ""
}

// OddityOfValues returns what looks like a mistake in the texts that an event requires, or "".
func OddityOfValues(event *messaging.Event, values map[string]any) string {
	for _, p := range event.Parameters {
		if text, isText := values[p.Name].(string); p.Required && isText {
			if why := OddityOfText(text); why != "" {
				return p.Name + " " + visible.Quote(shortened(text)) + " " + why
			}
		}
	}
	return ""
}

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
	if isCutOff(c.Email) {
		return "email", c.Email, "looks cut off or misspelled"
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

// isCutOff reports whether the domain of an address cannot be one.
func isCutOff(address string) bool {
	_, domain, found := strings.Cut(address, "@")
	dot := strings.LastIndexByte(domain, '.')
	return found && (dot < 1 || dot >= len(domain)-2 || strings.Contains(domain, ".."))
}

// oddityOfID returns why a customer id looks like a mistake, or "".
func oddityOfID(id string) string {
	if id == "" {
		return ""
	}
	lower := strings.ToLower(strings.TrimSpace(id))
	if why := OddityOfText(id); why != "" {
		return why
	}
	switch {
	case slices.Contains(unsaid, lower), !strings.ContainsFunc(id, isLetterOrDigit):
		return "looks like a missing value"
	case converted.MatchString(lower):
		return "looks like what a spreadsheet makes of an id"
	case slices.Contains(totals, lower):
		return "looks like the last row of a table"
	case strings.Contains(id, "@"):
		return "looks like an email address"
	}
	return ""
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

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
