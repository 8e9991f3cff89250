package recipients

import (
	"errors"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Fields are the fields of a customer that a column can hold, by their names on the wire.
var Fields = []string{"customer_id", "email", "first_name", "last_name", "phone_no"}

// Field returns one of the fields of a customer, or nil for another name.
func Field(c *messaging.CustomerParams, name string) *string {
	values := []*string{&c.CustomerID, &c.Email, &c.FirstName, &c.LastName, &c.PhoneNo}
	if at := slices.Index(Fields, name); at >= 0 {
		return values[at]
	}
	return nil
}

// devices is the field that JSON Lines can have besides.
const devices = "devices"

// checkHeader returns an error for a column that no customer has, or without one that identifies a customer.
func checkHeader(header []rows.Field) error {
	identified := header == nil // in JSON Lines, each row has names
	for _, column := range header {
		if !slices.Contains(Fields, column.Name) {
			return errors.New(unknown(column).Error())
		}
		identified = identified || column.Name == "email" || column.Name == "customer_id"
	}
	if !identified {
		return errors.New("line 1: there must be a column email or customer_id")
	}
	return nil
}

func unknown(field rows.Field) *rows.Problem {
	return field.Problem("is no field of a customer; must be one of %s", strings.Join(Fields, ", "))
}

// customerOf returns the customer of a row, or a *rows.Problem.
func customerOf(row rows.Row) (c messaging.CustomerParams, err error) {
	for _, field := range row.Fields {
		text := Field(&c, field.Name)
		switch {
		case text != nil && field.JSON == nil:
			*text = strings.Clone(field.Text) // that of a row of CSV is part of the whole row
		case text != nil && !field.IsNull():
			return c, field.Problem("must be a text")
		case field.Name == devices && field.JSON != nil:
			if err := strictjson.Decode(field.JSON, &c.Devices); err != nil {
				return c, field.Problem("%s", strings.TrimPrefix(err.Error(), "line 1: "))
			}
		case text == nil:
			return c, unknown(field)
		}
	}
	if problem := problemOf(c); problem != "" {
		return c, &rows.Problem{Line: row.Line, Text: problem}
	}
	return c, nil
}

// problemOf returns why the SDK refuses a customer, or "".
func problemOf(c messaging.CustomerParams) string {
	_, err := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToCustomers(c)}.Prepare()
	if err == nil {
		return ""
	}
	invalid, ok := errors.AsType[*messaging.ValidationError](err)
	if !ok {
		return err.Error()
	}
	var problems []string
	for _, problem := range invalid.Fields {
		name := strings.TrimPrefix(strings.TrimPrefix(problem.Field, "recipients.0.customers.0"), ".")
		if value := Field(&c, name); value != nil && *value != "" {
			name += " " + visible.Quote(*value)
		}
		problems = append(problems, strings.TrimSpace(name+" "+strings.Join(problem.Messages, ", ")))
	}
	return strings.Join(problems, "; ")
}
