package recipients

import (
	"errors"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// texts are the fields of a customer that are texts, by their names on the wire.
var texts = map[string]func(c *messaging.CustomerParams) *string{
	"customer_id": func(c *messaging.CustomerParams) *string { return &c.CustomerID },
	"email":       func(c *messaging.CustomerParams) *string { return &c.Email },
	"first_name":  func(c *messaging.CustomerParams) *string { return &c.FirstName },
	"last_name":   func(c *messaging.CustomerParams) *string { return &c.LastName },
	"phone_no":    func(c *messaging.CustomerParams) *string { return &c.PhoneNo },
}

// devices is the field that JSON Lines can have besides.
const devices = "devices"

var names = []string{"customer_id", "email", "first_name", "last_name", "phone_no"}

// checkHeader returns an error for a column that no customer has, or without one that identifies a customer.
func checkHeader(header []rows.Field) error {
	identified := header == nil // in JSON Lines, each row has names
	for _, column := range header {
		if texts[column.Name] == nil {
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
	if meant := words.Nearest(strings.TrimSpace(field.Name), names); meant != "" {
		return field.Problem("is no field of a customer; did you mean %s?", meant)
	}
	return field.Problem("is no field of a customer; must be one of %s", strings.Join(names, ", "))
}

// customerOf returns the customer of a row, or a *rows.Problem.
func customerOf(row rows.Row) (c messaging.CustomerParams, err error) {
	for _, field := range row.Fields {
		text := texts[field.Name]
		switch {
		case text != nil && field.JSON == nil:
			*text(&c) = strings.Clone(field.Text) // that of a row of CSV is part of the whole row
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
