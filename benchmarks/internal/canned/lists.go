package canned

import (
	"fmt"
	"net/http"
)

// Whole returns a page that contains the complete list.
func Whole(format Format, rows int) string {
	return string(NewBook(format).Append(nil, Page{PerPage: rows, Total: rows}, http.Header{}))
}

// Events is the list of event definitions, with three parameters each.
var Events = Format{
	Row: func(i int) string {
		p := NewPerson(i)
		return fmt.Sprintf(`{"id":"4e1bfbc3-dc3e-41f2-a18f-%s","name":"order of %s","description":"An order of %s has left the warehouse",`+
			`"parameters":[{"name":"order","type":"text","required":true},{"name":"amount","type":"numeric","required":false},`+
			`{"name":"shipped_at","type":"timestamp","required":true}],"created_at":"%s"}`,
			Number, p.LastName, p.Email, p.Created.Format("2006-01-02T15:04:05.000000Z"))
	},
	Frame: outerFrame("Company events fetched successfully"),
}

// Transactional is the list of transactional messages.
var Transactional = Format{
	Row: func(i int) string {
		p := NewPerson(i)
		return fmt.Sprintf(`{"id":"7d0e4f8a-91c2-4b67-8f3d-%s","channel":"email","subject":"Your order","title":"",`+
			`"message":"Dear %s, your order has left the warehouse.","message_type":null,"created_at":"%s",`+
			`"total_sent":1,"total_delivered":1,"total_failed":0,"total_complained":0,"total_bounced":0}`,
			Number, p.FirstName, p.Created.Format("2006-01-02 15:04:05"))
	},
	Frame: outerFrame("Transactional Messages fetched successfully"),
}

// outerFrame returns the Frame of the lists in which meta is next to data.
func outerFrame(message string) func(Page, http.Header) (head, tail string) {
	return func(p Page, _ http.Header) (head, tail string) {
		return `{"success":true,"message":"` + message + `","data":[`, `],"meta":` + metaOf(p) + `}`
	}
}
