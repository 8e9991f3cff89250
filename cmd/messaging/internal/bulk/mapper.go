// Package bulk turns the rows of a file into triggers of an event, for an outbox.
package bulk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/outbox"
)

// customerPrefix marks a column as a field of the customer where the event has a parameter
// of the same name.
const customerPrefix = "customer."

// Mapper turns rows into triggers of an event.
type Mapper struct {
	Event *messaging.Event
	// KeyColumn is the column with the key of the entry; if it is "", the key is the hash of the request.
	KeyColumn string
}

// isKnown reports whether a column can hold this.
func (m *Mapper) isKnown(name string) bool {
	return m.parameter(name) != nil || customerField(new(messaging.CustomerParams), name) != nil
}

// customerField returns the field of a customer that a column holds, or nil.
func customerField(c *messaging.CustomerParams, name string) *string {
	return recipients.Field(c, strings.TrimPrefix(name, customerPrefix))
}

func (m *Mapper) parameter(name string) *messaging.EventParameter {
	i := slices.IndexFunc(m.Event.Parameters, func(p messaging.EventParameter) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &m.Event.Parameters[i]
}

// known lists what a column can hold, for people.
func (m *Mapper) known() string {
	var names []string
	for _, p := range m.Event.Parameters {
		names = append(names, p.Name)
	}
	return fmt.Sprintf("a parameter of the event %q (%s), or %s", m.Event.Name, strings.Join(names, ", "), recipients.Known)
}

// item returns the trigger of a row, and the hash of its body. The error is a *rows.Problem.
func (m *Mapper) item(row rows.Row) (item outbox.Item, body [sha256.Size]byte, err error) {
	params := messaging.EventTriggerParams{Definition: m.Event, Values: map[string]any{}}
	var customer messaging.CustomerParams
	for _, field := range row.Fields {
		if field.Name == m.KeyColumn {
			item.Key = cmp.Or(string(field.JSON), field.Text)
			if key := item.Key; key == "" || len(key) > 255 || key != strings.TrimSpace(key) || strings.ContainsFunc(key, visible.Hidden) {
				return item, body, field.Problem(
					"is the key, which must have 1 to 255 bytes, without spaces around them and without invisible characters")
			}
		}
		if field.Holds == "" || field.IsNull() {
			continue
		}
		if err := m.set(&params, &customer, field); err != nil {
			return item, body, field.Problem("%v", err)
		}
	}
	if params.Email = customer.Email; customer.CustomerID != "" || customer.FirstName+customer.LastName+customer.PhoneNo != "" {
		params.Email, params.Customer = "", &customer
	}
	if item.Prepared, err = params.Prepare(); err != nil {
		return item, body, m.problemOf(row, err)
	}
	body = sha256.Sum256(item.Prepared.Body())
	switch {
	case m.KeyColumn == "":
		item.Key = hex.EncodeToString(body[:])
	case item.Key == "":
		return item, body, &rows.Problem{Line: row.Line, Name: m.KeyColumn, Text: "is missing, and is the key"}
	}
	return item, body, nil
}

// set puts the value of a field where it belongs. A parameter of the event comes before a
// field of the customer that has the same name.
func (m *Mapper) set(params *messaging.EventTriggerParams, customer *messaging.CustomerParams, field rows.Field) error {
	if parameter := m.parameter(field.Holds); parameter != nil {
		value, err := valueOf(field, parameter.Type)
		params.Values[field.Holds] = value
		return err
	}
	if field.JSON != nil {
		return errors.New("must be a text")
	}
	*customerField(customer, field.Holds) = field.Text
	return nil
}

// valueOf returns a field as a value of its parameter. The SDK reports other values that do
// not fit.
func valueOf(field rows.Field, kind messaging.ParameterType) (any, error) {
	switch {
	case field.JSON != nil:
		return strictjson.Value(field.JSON)
	case kind == messaging.ParameterNumeric:
		var number json.Number
		if err := json.Unmarshal([]byte(field.Text), &number); err != nil || string(number) != field.Text {
			return nil, errors.New("must be a number, such as 12.50")
		}
		return number, nil
	case kind != messaging.ParameterTimestamp:
		return field.Text, nil
	}
	return words.ParseTime(field.Text)
}

// problemOf returns the first problem with the arguments, at the field that it is about.
func (m *Mapper) problemOf(row rows.Row, err error) error {
	invalid, ok := errors.AsType[*messaging.ValidationError](err)
	if !ok || len(invalid.Fields) == 0 {
		return &rows.Problem{Line: row.Line, Text: err.Error()}
	}
	first := invalid.Fields[0]
	name := strings.TrimPrefix(first.Field, "payload.")
	text := strings.Join(first.Messages, ", ")
	for _, field := range row.Fields {
		if field.Holds == name || customerPrefix+field.Holds == name {
			return field.Problem("%s", text)
		}
	}
	return &rows.Problem{Line: row.Line, Name: name, Text: text}
}
