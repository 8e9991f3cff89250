package canned

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Messaging is the service of the SDK. Its list contains customers, and its small
// call triggers an event.
var Messaging = Service{
	Format:   Format{Row: customerRow, Frame: customerFrame, Ask: askMessaging, Path: customerPath},
	Response: `{"success":true,"message":"Event successfully triggered","data":true}`,
	Status:   http.StatusOK,
}

func customerRow(i int) string {
	p := NewPerson(i)
	return fmt.Sprintf(`{"customer_id":"cus_%s","first_name":"%s","last_name":"%s","email":"%s","phone_no":"%s",`+
		`"customer_created_at":"%s","updated_at":"%s","providers":"email,sms,whatsapp","last_interaction":"%s"}`,
		Number, p.FirstName, p.LastName, p.Email, p.Phone,
		p.Created.Format(Stamp), p.Updated.Format(Stamp), p.Seen.Format(Stamp))
}

func customerFrame(p Page, _ http.Header) (head, tail string) {
	return `{"success":true,"message":"Customers fetched successfully","data":{"data":[`, `],"meta":` + metaOf(p) + `}}`
}

func metaOf(p Page) string {
	next, prev := "null", "null"
	if p.Next().Exists() {
		next = fmt.Sprintf(`"from-%d"`, p.Next().From)
	}
	if p.From > 0 {
		prev = fmt.Sprintf(`"from-%d"`, max(0, p.From-p.PerPage))
	}
	return fmt.Sprintf(`{"has_next_page":%t,"has_prev_page":%t,"next_page_cursor":%s,"prev_page_cursor":%s,"per_page":%d}`,
		p.Next().Exists(), p.From > 0, next, prev, p.PerPage)
}

func askMessaging(query url.Values) (from, perPage int) {
	perPage = intOr(query.Get("per_page"), 20)
	cursor := query.Get("cursor")
	if cursor == "" {
		return 0, perPage
	}
	if _, err := fmt.Sscanf(cursor, "from-%d", &from); err != nil {
		return -1, perPage
	}
	return from, perPage
}

func customerPath(p Page) string {
	path := "/v1/customers?per_page=" + strconv.Itoa(p.PerPage)
	if p.From > 0 {
		path += "&cursor=from-" + strconv.Itoa(p.From)
	}
	return path
}
