package inspector

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
)

// The items of the API. Their fields are the contract with tests in any
// language: see the golden files.

type requestItem struct {
	Number     int                 `json:"number"`
	At         string              `json:"at"`
	TookMS     float64             `json:"took_ms"`
	Op         string              `json:"op"`
	Method     string              `json:"method"`
	Path       string              `json:"path"`
	Status     int                 `json:"status"`
	Delivery   string              `json:"delivery"`
	Fault      string              `json:"fault"`
	Effect     history.Kind        `json:"effect"`
	Subject    string              `json:"subject,omitempty"`
	Event      string              `json:"event,omitempty"` // its name
	To         []string            `json:"to,omitempty"`    // the first customers
	ToCount    int                 `json:"to_count,omitempty"`
	Everyone   bool                `json:"all_customers,omitempty"`
	Segments   []string            `json:"segments,omitempty"`
	ForeignKey bool                `json:"foreign_key"`
	ReplayOf   int                 `json:"replay_of,omitempty"`
	Mark       string              `json:"mark,omitempty"` // the name of the latest one before
	Problems   map[string][]string `json:"problems"`
	Skipped    []history.Skipped   `json:"skipped"`
}

// SampleRequest has every field of a request in a list.
var SampleRequest any = requestItem{Subject: "-", Event: "-", To: []string{"-"}, ToCount: 1, Everyone: true, Segments: []string{"-"},
	ReplayOf: 1, Mark: "-"}

type requestDetail struct {
	requestItem
	Notes    []history.Note      `json:"notes"`
	Query    map[string][]string `json:"query"`
	Header   http.Header         `json:"header"`
	Body     jsonBody            `json:"body"`
	Response *responseItem       `json:"response"` // null if the response was lost
	Error    string              `json:"error"`    // that package messaging returns
}

type responseItem struct {
	Header http.Header `json:"header"`
	Body   jsonBody    `json:"body"`
}

// jsonBody is a body. If it is not JSON, it becomes a string.
type jsonBody []byte

// MarshalJSON writes null for an empty body.
func (b jsonBody) MarshalJSON() ([]byte, error) {
	switch {
	case len(b) == 0:
		return []byte("null"), nil
	case json.Valid(b):
		return b, nil
	default:
		return json.Marshal(string(b))
	}
}

func newRequestItem(e *history.Entry) requestItem {
	item := requestItem{Number: e.Number, At: e.At.UTC().Format(time.RFC3339Nano), Op: e.Op,
		TookMS: float64(e.Took.Round(10*time.Microsecond)) / float64(time.Millisecond), Method: e.Request.Method,
		Path: e.Request.Path, Status: e.Status, Delivery: words.Delivery(e.Delivery), Fault: e.Fault, Effect: e.Kind,
		Subject: e.Subject, Event: e.EventName, To: e.Names, ToCount: e.Named, Everyone: e.Everyone, Segments: e.Segments,
		ForeignKey: e.ForeignKey, ReplayOf: e.ReplayOf, Problems: problems(e), Skipped: skipped(e)}
	if e.Mark != nil {
		item.Mark = e.Mark.Name
	}
	return item
}

// skipped returns what the service skipped, never nil.
func skipped(e *history.Entry) []history.Skipped { return append([]history.Skipped{}, e.Skipped...) }

func problems(e *history.Entry) map[string][]string {
	first := make(map[string][]string)
	for i, path := range slices.Sorted(maps.Keys(e.Problems)) {
		if i == maxProblems {
			first["…"] = []string{fmt.Sprintf("%d more", len(e.Problems)-maxProblems)}
			break
		}
		first[path] = e.Problems[path]
	}
	return first
}

// maxProblems is how many problems an item of a list shows. The response of the request
// has all of them.
const maxProblems = 20

func newRequestDetail(e *history.Entry) requestDetail {
	detail := requestDetail{requestItem: newRequestItem(e), Notes: append([]history.Note{}, e.Notes()...), Query: e.Request.Query,
		Header: e.Request.Header, Body: e.Request.Body}
	if e.Status != 0 {
		detail.Response = &responseItem{e.ResponseHeader, e.ResponseBody}
	}
	if err := outcome.Of(e.Exchange); err != nil {
		detail.Error = err.Error()
	}
	return detail
}

// The items of broadcasts have the members of their bodies, with what the service made of
// the recipients and the schedule in their place.
type (
	emailItem struct {
		broadcastHead
		emailMembers
		broadcastRest
	}
	pushItem struct {
		broadcastHead
		pushMembers
		broadcastRest
	}
)

// emailMembers and pushMembers are the params without their methods, which refuse JSON.
type (
	emailMembers messaging.EmailBroadcastParams
	pushMembers  messaging.PushBroadcastParams
)

type broadcastHead struct {
	Number int          `json:"number"`
	At     string       `json:"at"`
	Kind   history.Kind `json:"kind"`
}

type broadcastRest struct {
	AllCustomers  bool                `json:"all_customers"`
	Segments      []string            `json:"segments"`
	Customers     []history.Change    `json:"customers"`                // the first ones
	MoreCustomers int                 `json:"more_customers,omitempty"` // how many others there are
	Schedule      *messaging.Schedule `json:"schedule"`                 // null if it is sent immediately
}

func newBroadcastItem(e *history.Entry) any {
	head := broadcastHead{e.Number, e.At.UTC().Format(time.RFC3339Nano), e.Kind}
	rest := broadcastRest{AllCustomers: e.Everyone, Customers: append([]history.Change{}, e.Changes...),
		MoreCustomers: e.Created + e.Updated - len(e.Changes)}
	email, push := e.Broadcast()
	if email != nil {
		rest.Segments, rest.Schedule = append([]string{}, email.Segments...), email.Params.Schedule
		return emailItem{head, emailMembers(email.Params), rest}
	}
	rest.Segments, rest.Schedule = append([]string{}, push.Segments...), push.Params.Schedule
	return pushItem{head, pushMembers(push.Params), rest}
}

type triggerItem struct {
	Number   int                        `json:"number"`
	At       string                     `json:"at"`
	EventID  string                     `json:"event_id"`
	Event    string                     `json:"event"`
	Email    string                     `json:"email"`
	Customer *history.Change            `json:"customer"`
	Values   map[string]json.RawMessage `json:"values"`
	Skipped  []history.Skipped          `json:"skipped"`
}

func newTriggerItem(e *history.Entry) triggerItem {
	item := triggerItem{Number: e.Number, At: e.At.UTC().Format(time.RFC3339Nano), EventID: e.EventID, Event: e.EventName,
		Values: e.Values(), Skipped: skipped(e)}
	for _, each := range e.Skipped {
		delete(item.Values, each.Parameter)
	}
	if trigger, ok := e.Sent().(*fake.Trigger); ok {
		item.Email = trigger.Params.Email
	}
	if len(e.Changes) > 0 {
		item.Customer = &e.Changes[0]
	}
	return item
}
