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

// Mapper turns rows into triggers.
type Mapper struct {
	event     *messaging.Event
	renamed   map[string]string // what --map says of a column
	keyColumn string
	mapping   []string // see Mapping
}

// NewMapper returns a mapper for triggers of an event. renamed has, by the name of a column,
// the parameter or field that the column holds, or "" for a column to leave out. keyColumn
// names the column with the key of the entry; if it is "", the key is the hash of the request.
func NewMapper(event *messaging.Event, renamed map[string]string, keyColumn string) (*Mapper, error) {
	m := &Mapper{event: event, renamed: renamed, keyColumn: keyColumn}
	for column, name := range renamed {
		if name != "" && !m.isTarget(name) {
			return nil, fmt.Errorf("column %q: %w", column, m.unknown(name))
		}
	}
	return m, nil
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
	i := slices.IndexFunc(m.event.Parameters, func(p messaging.EventParameter) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &m.event.Parameters[i]
}

func (m *Mapper) unknown(name string) error {
	var names []string
	for _, p := range m.event.Parameters {
		names = append(names, p.Name)
	}
	return fmt.Errorf("%q is neither a parameter of the event %q (%s) nor a field of a customer (%s)",
		name, m.event.Name, strings.Join(names, ", "), strings.Join(recipients.Fields, ", "))
}

// CheckHeader returns an error for a header that does not fit the event.
func (m *Mapper) CheckHeader(header []rows.Field) error {
	filled := map[string]string{} // what the columns hold
	has := func(column string) bool {
		return slices.ContainsFunc(header, func(f rows.Field) bool { return f.Name == column })
	}
	m.mapping = nil
	for _, field := range header {
		column, name := field.Name, m.target(field.Name)
		m.mapping = append(m.mapping, m.describe(column, name))
		switch earlier, twice := filled[name]; {
		case name == "":
			continue
		case !m.isTarget(name):
			return ofColumn(field, "%v; pass --map %q to leave it out, or --map %q to give it a name", m.unknown(name), column+"=",
				column+"=PARAMETER")
		case twice:
			return ofColumn(field, "holds %q, as %q does", name, earlier)
		}
		filled[name] = column
	}
	for column := range m.renamed {
		if !has(column) {
			return fmt.Errorf("--map: the file has no column %q", column)
		}
	}
	if m.keyColumn != "" && !has(m.keyColumn) {
		return fmt.Errorf("--key-column: the file has no column %q", m.keyColumn)
	}
	return m.checkMissing(filled)
}

// ofColumn returns an error about a column, which no row can be used without.
func ofColumn(header rows.Field, format string, args ...any) error {
	return errors.New(header.Problem(format, args...).Error())
}

// describe says what a column holds.
func (m *Mapper) describe(column, name string) string {
	holds := name
	switch {
	case name == "" && column == m.keyColumn:
		return column + " is the key"
	case name == "":
		return column + " is left out"
	case m.parameter(name) == nil:
		holds = customerPrefix + strings.TrimPrefix(name, customerPrefix)
	}
	if column == m.keyColumn {
		holds += " and the key"
	}
	return column + " → " + holds
}

// checkMissing returns an error for a required parameter that no column holds.
func (m *Mapper) checkMissing(filled map[string]string) error {
	for _, p := range m.event.Parameters {
		if _, ok := filled[p.Name]; p.Required && !ok {
			return fmt.Errorf("line 1: no column holds %q, which the event %q requires; pass --map COLUMN=%s if it has another name", p.Name,
				m.event.Name, p.Name)
		}
	}
	for _, name := range []string{"email", "customer_id", customerPrefix + "email", customerPrefix + "customer_id"} {
		if _, ok := filled[name]; ok {
			return nil
		}
	}
	return errors.New(`line 1: no column identifies the recipient of a row; name it "email" or "customer_id", or pass --map COLUMN=email`)
}

// target returns what a column holds, or "" if it is left out.
func (m *Mapper) target(column string) string {
	name, renamed := m.renamed[column]
	switch {
	case renamed:
		return name
	case column == m.keyColumn && !m.isTarget(column):
		return ""
	default:
		return column
	}
}

// Mapping says of each column what it holds, in the order of the file. It is empty for a
// file without a header.
func (m *Mapper) Mapping() []string { return m.mapping }

// item returns the trigger of a row, and the hash of its body. The error is a *rows.Problem.
func (m *Mapper) item(row rows.Row) (item outbox.Item, body [sha256.Size]byte, err error) {
	params := messaging.EventTriggerParams{Definition: m.event, Values: map[string]any{}}
	var customer messaging.CustomerParams
	for _, field := range row.Fields {
		if field.Name == m.keyColumn {
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
	case m.keyColumn == "":
		item.Key = hex.EncodeToString(body[:])
	case item.Key == "":
		return item, body, &rows.Problem{Line: row.Line, Name: m.keyColumn, Text: "is missing, and is the key"}
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
