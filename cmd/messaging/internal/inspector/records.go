package inspector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/internal/fake"
)

// link is a line of a list of records.
type link struct {
	records.Line
	Href    string
	Current bool
}

// recordPage shows the records of a kind, and one of them.
func (in *Inspector) recordPage(kind *records.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := in.newPage(kind.Name, kind.Title(), r)
		p.Reload, p.Origin = true, kind.Origin
		before, err := integer(r, "before", 0, 1, 0)
		if err != nil {
			p.Problem, p.Status = err.Error(), http.StatusBadRequest
		}
		all, selected := in.box.Records.All(kind), number(r)
		if r.PathValue("n") != "" {
			record, ok := all.WithNumber(selected)
			if !ok {
				in.notFound(w, r)
				return
			}
			p.Detail, p.Title = recordDetail{record, in.box.History}, record.Line().Title
		}
		found, more := all.Search(search.Terms(p.Query), before, pageSize)
		if p.Detail != nil && before == 0 && len(found) > 0 && found[len(found)-1].Number > selected { // the page around it
			before = selected + pageSize/2
			found, more = all.Search(search.Terms(p.Query), before, pageSize)
		}
		if p.Detail == nil && len(found) > 0 {
			p.Detail, p.Beside, selected = recordDetail{found[0], in.box.History}, true, found[0].Number
		}
		p.fillLinks(kind, found, before, selected)
		if more {
			p.Older = "/" + kind.Name + queryString("q", p.Query, "before", strconv.Itoa(found[len(found)-1].Number))
		}
		p.write(w, "records.html")
	}
}

// fillLinks fills in the list beside a detail.
func (p *page) fillLinks(kind *records.Kind, found records.Records, before, selected int) {
	p.ListURL = "/" + kind.Name + queryString("q", p.Query, "before", positive(before))
	for _, record := range found {
		href := fmt.Sprintf("/%s/%d%s", kind.Name, record.Number, queryString("q", p.Query, "before", positive(before)))
		p.Links = append(p.Links, link{record.Line(), href, record.Number == selected})
	}
	if before > 0 {
		p.Newer = "/" + kind.Name + queryString("q", p.Query)
	}
}

// recordDetail is what the detail of a record shows.
type recordDetail struct {
	records.Record
	history *history.Store
}

// JSON returns the record as the service lists it.
func (d recordDetail) JSON() (string, error) {
	encoded, err := json.Marshal(d.Value)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.Indent(&b, encoded, "", "  ")
	return b.String(), err
}

// Devices returns the devices of the record, which is a customer, up to a number that a
// page can show.
func (d recordDetail) Devices() []fake.Device {
	devices := d.Model().(records.Customer).Devices
	return devices[:min(len(devices), maxRows)]
}

// MoreDevices returns how many devices are not shown.
func (d recordDetail) MoreDevices() int {
	return max(0, len(d.Model().(records.Customer).Devices)-maxRows)
}

// customerRows is how many requests the page of a customer shows.
const customerRows = 20

// Requests returns the latest requests for the record, which is a customer, with those that were
// not carried out.
func (d recordDetail) Requests() (rows []row) {
	customer := d.Model().(records.Customer)
	entries, _ := d.history.Find(history.Query{}.And(func(e *history.Entry) bool {
		return e.Mentions(customer.Email, customer.CustomerID)
	}), 0, customerRows)
	for _, e := range entries {
		rows = append(rows, linkedRow(e))
	}
	return rows
}

// Searches returns the searches for all requests with the address and the id of the record, which
// is a customer.
func (d recordDetail) Searches() (terms []string) {
	customer := d.Model().(records.Customer)
	for _, text := range []string{customer.Email, customer.CustomerID} {
		if text != "" {
			terms = append(terms, recipientSearch(text))
		}
	}
	return terms
}

// recipientSearch returns the search for the requests to a recipient.
func recipientSearch(to string) string { return search.Term{Text: "to:" + to}.String() }
