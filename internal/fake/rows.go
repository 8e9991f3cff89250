package fake

import (
	"encoding/json"
	"strings"
	"time"
)

// The layouts in which the service writes times.
const (
	secondLayout      = "2006-01-02T15:04:05Z"
	microsecondLayout = "2006-01-02T15:04:05.000000Z"
	wallClockLayout   = "2006-01-02 15:04:05"
)

// MarshalJSON writes the customer as an element of the list.
func (c Customer) MarshalJSON() ([]byte, error) {
	return row(c.Extra, map[string]any{
		"customer_id":         c.CustomerID,
		"first_name":          c.FirstName,
		"last_name":           c.LastName,
		"email":               c.Email,
		"phone_no":            c.PhoneNo,
		"customer_created_at": formatTime(c.CreatedAt, secondLayout),
		"updated_at":          formatTime(c.UpdatedAt, secondLayout),
		"providers":           strings.Join(c.Providers, ","),
		"last_interaction":    formatTime(c.LastInteraction, secondLayout),
	})
}

// MarshalJSON writes the event as an element of the list.
func (e Event) MarshalJSON() ([]byte, error) {
	return row(e.Extra, map[string]any{
		"id":          e.ID,
		"name":        e.Name,
		"description": e.Description,
		"parameters":  append([]EventParameter{}, e.Parameters...), // never null
		"created_at":  formatTime(e.CreatedAt, microsecondLayout),
	})
}

// row writes the members of a record, and those of extra, which win.
func row(extra Extra, members map[string]any) ([]byte, error) {
	for name, value := range extra {
		members[name] = value
	}
	return json.Marshal(members)
}

// formatTime returns a time as it stands in a row. It returns nil for the zero time.
func formatTime(t time.Time, layout string) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(layout)
}
