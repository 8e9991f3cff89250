package recipients

import (
	"errors"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// problemOf returns why the SDK refuses a customer, or "".
func problemOf(c messaging.CustomerParams) string {
	_, err := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToCustomers(c)}.Prepare()
	invalid := new(messaging.ValidationError)
	if err == nil {
		return ""
	} else if !errors.As(err, &invalid) {
		return err.Error()
	}
	var problems []string
	for _, field := range invalid.Fields {
		name := strings.TrimPrefix(strings.TrimPrefix(field.Field, "recipients.0.customers.0"), ".")
		if value := map[string]string{"customer_id": c.CustomerID, "email": c.Email, "phone_no": c.PhoneNo}[name]; value != "" {
			name += " " + visible.Quote(value)
		}
		problems = append(problems, strings.TrimSpace(name+" "+strings.Join(field.Messages, ", ")))
	}
	return strings.Join(problems, "; ")
}
