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
	"time"
	"unicode"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/outbox"
)

// customerPrefix marks a column as a field of the customer where the event has a parameter
// of the same name.
const customerPrefix = "customer."

// Mapper turns rows into triggers of an event.
type Mapper struct {
	Event *messaging.Event
	// Renamed has, by the name of a column, the parameter or field that the column holds, or "" for a column to leave out.
	Renamed map[string]string
	// KeyColumn is the column with the key of the entry; if it is "", the key is the hash of the request.
	KeyColumn string
}

// isTarget reports whether a column can be called this.
func (m *Mapper) isTarget(name string) bool {
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

func (m *Mapper) unknown(name string) error {
	var names []string
	for _, p := range m.Event.Parameters {
		names = append(names, p.Name)
	}
	return fmt.Errorf("%q is neither a parameter of the event %q (%s) nor a field of a customer (%s)",
		name, m.Event.Name, strings.Join(names, ", "), strings.Join(recipients.Fields, ", "))
}

// checkHeader returns an error for a header that does not fit the event. It is about the file: a row cannot be used without it.
func (m *Mapper) checkHeader(header []rows.Field) error {
	filled := map[string]string{} // what the columns hold
	columns := map[string]bool{}
	for _, field := range header {
		columns[field.Name] = true
		name := m.target(field.Name)
		switch earlier, twice := filled[name]; {
		case name == "":
			continue
		case !m.isTarget(name):
			return errors.New(field.Problem("%v; pass --map %q to leave it out, or --map %q to give it a name", m.unknown(name),
				field.Name+"=", field.Name+"=PARAMETER").Error())
		case twice:
			return errors.New(field.Problem("holds %q, as %q does", name, earlier).Error())
		}
		filled[name] = field.Name
	}
	for column := range m.Renamed {
		if !columns[column] {
			return fmt.Errorf("--map: the file has no column %q", column)
		}
	}
	if m.KeyColumn != "" && !columns[m.KeyColumn] {
		return fmt.Errorf("--key-column: the file has no column %q", m.KeyColumn)
	}
	for _, p := range m.Event.Parameters {
		if _, ok := filled[p.Name]; p.Required && !ok {
			return fmt.Errorf("line 1: no column holds %q, which the event requires; pass --map COLUMN=%[1]s if it has another name", p.Name)
		}
	}
	return nil
}

// target returns what a column holds, or "" if it is left out.
func (m *Mapper) target(column string) string {
	name, renamed := m.Renamed[column]
	switch {
	case renamed:
		return name
	case column == m.KeyColumn && !m.isTarget(column):
		return ""
	default:
		return column
	}
}

// item returns the trigger of a row, and the hash of its body. The error is a *rows.Problem.
func (m *Mapper) item(row rows.Row) (item outbox.Item, body [sha256.Size]byte, err error) {
	params := messaging.EventTriggerParams{Definition: m.Event, Values: map[string]any{}}
	var customer messaging.CustomerParams
	for _, field := range row.Fields {
		if field.Name == m.KeyColumn {
			item.Key = cmp.Or(string(field.JSON), field.Text)
			if item.Key == "" || len(item.Key) > 255 || strings.ContainsFunc(item.Key, unicode.IsControl) {
				return item, body, field.Problem("is the key, which must have 1 to 255 bytes without control characters")
			}
		}
		name := m.target(field.Name)
		if name == "" || field.IsNull() {
			continue
		}
		if err := m.set(&params, &customer, name, field); err != nil {
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
func (m *Mapper) set(params *messaging.EventTriggerParams, customer *messaging.CustomerParams, name string, field rows.Field) error {
	parameter := m.parameter(name)
	text := customerField(customer, name)
	switch {
	case parameter == nil && text == nil:
		return m.unknown(name)
	case parameter == nil && field.JSON != nil:
		return errors.New("must be a text")
	case parameter == nil:
		*text = field.Text
		return nil
	}
	value, err := valueOf(field, parameter.Type)
	params.Values[name] = value
	return err
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
	at, err := time.Parse(time.RFC3339, field.Text)
	if err != nil {
		return nil, errors.New("must be a time with its zone, such as 2026-12-01T09:00:00Z or 2026-12-01T10:00:00+01:00")
	}
	return at, nil
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
		if target := m.target(field.Name); target == name || "customer."+target == name {
			return field.Problem("%s", text)
		}
	}
	return &rows.Problem{Line: row.Line, Name: name, Text: text}
}
