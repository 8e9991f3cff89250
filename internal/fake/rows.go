package fake

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Extra holds the members of a record that it has no field for, or that could not be read
// into their field. They are written back, in place of such a field.
type Extra = map[string]json.RawMessage

// The layouts in which the service writes times.
const (
	secondLayout      = "2006-01-02T15:04:05Z"
	microsecondLayout = "2006-01-02T15:04:05.000000Z"
	wallClockLayout   = "2006-01-02 15:04:05"
)

// row holds pointers to the fields of a record, by the names of the members in its JSON.
type row map[string]any

// encode writes the fields, and the members of extra.
func (r row) encode(extra Extra) ([]byte, error) {
	members := make(map[string]any, len(r)+len(extra))
	for name, field := range r {
		members[name] = field
	}
	for name, value := range extra {
		members[name] = value
	}
	return json.Marshal(members)
}

// decode reads the fields, and returns the other members.
func (r row) decode(data []byte) (Extra, error) {
	var members Extra
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	for name, field := range r {
		if value, ok := members[name]; ok && json.Unmarshal(value, field) == nil {
			delete(members, name)
		}
	}
	if len(members) == 0 {
		return nil, nil
	}
	return members, nil
}

// timeField writes a time in a layout, and reads it in that or in RFC 3339. The zero time is
// null.
type timeField struct {
	at     *time.Time
	layout string
}

// MarshalJSON writes the time in UTC.
func (f *timeField) MarshalJSON() ([]byte, error) {
	if f.at.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(f.at.UTC().Format(f.layout))
}

// UnmarshalJSON reads the time.
func (f *timeField) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	at, err := time.Parse(f.layout, text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	if err == nil {
		*f.at = at.UTC()
	}
	return err
}

// listField reads and writes a list as one string with commas.
type listField struct{ list *[]string }

// MarshalJSON joins the list.
func (f *listField) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Join(*f.list, ",")) }

// UnmarshalJSON splits the list.
func (f *listField) UnmarshalJSON(data []byte) error {
	var joined string
	err := json.Unmarshal(data, &joined)
	*f.list = slices.DeleteFunc(strings.Split(joined, ","), func(name string) bool { return name == "" })
	return err
}

func (c *Customer) row() row {
	return row{
		"customer_id":         &c.CustomerID,
		"first_name":          &c.FirstName,
		"last_name":           &c.LastName,
		"email":               &c.Email,
		"phone_no":            &c.PhoneNo,
		"customer_created_at": &timeField{&c.CreatedAt, secondLayout},
		"updated_at":          &timeField{&c.UpdatedAt, secondLayout},
		"providers":           &listField{&c.Providers},
		"last_interaction":    &timeField{&c.LastInteraction, secondLayout},
	}
}

// MarshalJSON writes the customer as an element of the list.
func (c Customer) MarshalJSON() ([]byte, error) { return c.row().encode(c.Extra) }

// UnmarshalJSON reads an element of the list.
func (c *Customer) UnmarshalJSON(data []byte) (err error) {
	c.Extra, err = c.row().decode(data)
	return err
}

func (e *Event) row() row {
	return row{
		"id":          &e.ID,
		"name":        &e.Name,
		"description": &e.Description,
		"parameters":  &e.Parameters,
		"created_at":  &timeField{&e.CreatedAt, microsecondLayout},
	}
}

// MarshalJSON writes the event as an element of the list.
func (e Event) MarshalJSON() ([]byte, error) {
	e.Parameters = append([]EventParameter{}, e.Parameters...) // never null
	return e.row().encode(e.Extra)
}

// UnmarshalJSON reads an element of the list.
func (e *Event) UnmarshalJSON(data []byte) (err error) {
	e.Extra, err = e.row().decode(data)
	for i := range e.Parameters {
		e.Parameters[i].Type = strings.ToLower(e.Parameters[i].Type)
	}
	return err
}

func (m *TransactionalMessage) row() row {
	return row{
		"id":               &m.ID,
		"channel":          &m.Channel,
		"subject":          &m.Subject,
		"title":            &m.Title,
		"message":          &m.Message,
		"message_type":     &m.MessageType,
		"created_at":       &timeField{&m.CreatedAt, wallClockLayout},
		"total_sent":       &m.TotalSent,
		"total_delivered":  &m.TotalDelivered,
		"total_failed":     &m.TotalFailed,
		"total_complained": &m.TotalComplained,
		"total_bounced":    &m.TotalBounced,
	}
}

// MarshalJSON writes the message as an element of the list.
func (m TransactionalMessage) MarshalJSON() ([]byte, error) { return m.row().encode(m.Extra) }

// UnmarshalJSON reads an element of the list.
func (m *TransactionalMessage) UnmarshalJSON(data []byte) (err error) {
	m.Extra, err = m.row().decode(data)
	return err
}
