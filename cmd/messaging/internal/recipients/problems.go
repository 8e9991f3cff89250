package recipients

import (
	"errors"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// problemOf returns why a customer cannot be used, or "".
func problemOf(c messaging.CustomerParams) string {
	for _, field := range [][2]string{{"customer_id", c.CustomerID}, {"email", c.Email}, {"phone_no", c.PhoneNo}} {
		if strings.ContainsFunc(field[1], visible.Hidden) {
			return field[0] + " contains an invisible character: " + visible.Quote(shortened(field[1]))
		}
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
var missing = []string{"null", "nil", "none", "n/a", "na", "nan", "undefined", "(null)", "<null>", "-", "#n/a", "#name?"}

// oddityOf returns why a customer id looks like a mistake, or "".
func oddityOf(id string) string {
	lower := strings.ToLower(strings.TrimSpace(id))
	switch {
	case slices.Contains(missing, lower):
		return "looks like a missing value"
	case strings.HasPrefix(lower, "#") && strings.HasSuffix(lower, "!"):
		return "looks like an error of a spreadsheet"
	case strings.Contains(id, "{{"), strings.Contains(id, "${"):
		return "looks like a placeholder"
	case strings.Contains(id, "@"):
		return "looks like an email address"
	case id != strings.TrimSpace(id):
		return "begins or ends with a space"
	}
	return ""
}
