package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Term is a key of a query, with what it selects.
type Term struct {
	Key, Example, Selects string
	// Values are those that are known.
	Values []string
	// parse returns what a value selects, which is in lower case.
	parse func(value string) (func(*Entry) bool, error)
}

// Keys are the keys of a query: help, filters, suggestions and errors range over them.
var Keys = []Term{
	{"op", fmt.Sprintf("op:%q", service.TriggerEvent.Name), "part of the name of an operation, such as op:trigger", operations(), parseOp},
	{"status", "status:422", "the status: 200, 4xx, >=400, or none if the response was lost; also accepted, rejected or unknown",
		[]string{"2xx", "4xx", "5xx", "none"}, parseStatus},
	{"to", "to:ada@example.com", "part of a recipient: email address, customer id or phone number; also a broadcast to all customers", nil,
		func(value string) (func(*Entry) bool, error) {
			return func(e *Entry) bool { return e.isFor(value) }, nil
		}},
	{"event", "event:order", "the id of an event, or part of its name", nil, parseEvent},
	{"subject", "subject:moved", "part of the subject of a broadcast", nil, func(value string) (func(*Entry) bool, error) {
		return func(e *Entry) bool { return containsFold(e.Subject, value) }, nil
	}},
	{"value", "value:order=A-1001",
		"part of a value of the request, by its name or the end of its path, as in value:payload.order=A-1001; == is for all of it",
		nil, parseValue},
	{"has", "has:skipped", "effect (it was carried out), replay, or what is worth a look: " + words.List(Codes, "or"),
		append([]string{"effect", "replay"}, Codes...), parseHas},
	{"delivery", "delivery:unknown", "what the SDK reports: accepted, rejected, unknown or not_sent", deliveries, parseDelivery},
	{"mark", "mark:checkout", "the name of the last mark before the request; of several marks with the name, the latest", nil,
		func(value string) (func(*Entry) bool, error) {
			return func(e *Entry) bool {
				return e.Mark != nil && !e.Mark.repeated.Load() && strings.EqualFold(e.Mark.Name, value)
			}, nil
		}},
	{"since", "since:5m", "requests of the last 5 minutes", []string{"5m"}, parseSince},
	{"fault", "fault:answer_lost", "part of the kind of the fault, or any", faults, func(value string) (func(*Entry) bool, error) {
		return func(e *Entry) bool { return e.Fault != "" && (value == "any" || containsFold(e.Fault, value)) }, nil
	}},
}

var faults = append([]string{"any"}, fake.FaultKinds...)

func operations() (names []string) {
	for op := range service.Served() {
		names = append(names, op.Name)
	}
	return names
}

func parseEvent(value string) (func(*Entry) bool, error) {
	return func(e *Entry) bool {
		return e.EventID != "" && (strings.EqualFold(e.EventID, value) || containsFold(e.EventName, value))
	}, nil
}

func parseSince(value string) (func(*Entry) bool, error) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return nil, fmt.Errorf("must be a duration such as 5m or 1h30m")
	}
	from := time.Now().Add(-d)
	return func(e *Entry) bool { return e.At.After(from) }, nil
}

// parseOp returns an error for the name of no operation, which would never match.
func parseOp(value string) (func(*Entry) bool, error) {
	for op := range service.Served() {
		if strings.Contains(op.Name, value) {
			return func(e *Entry) bool { return containsFold(e.Op, value) }, nil
		}
	}
	return nil, fmt.Errorf("unknown operation; must be part of one of %s", service.Names(service.Served()))
}

func parseStatus(value string) (func(*Entry) bool, error) {
	switch value {
	case "none":
		return func(e *Entry) bool { return e.Status == 0 }, nil
	case "accepted", "rejected", "unknown":
		return parseDelivery(value)
	}
	if class, ok := strings.CutSuffix(value, "xx"); ok && len(class) == 1 && class >= "1" && class <= "5" {
		return func(e *Entry) bool { return e.Status/100 == int(class[0]-'0') }, nil
	}
	digits := strings.TrimLeft(value, "<>=")
	holds, known := comparisons[strings.TrimSuffix(value, digits)]
	status, err := strconv.Atoi(digits)
	if err != nil || !known {
		return nil, fmt.Errorf("must be a status code, a class such as 4xx, a comparison such as >=400, or none")
	}
	return func(e *Entry) bool { return e.Status != 0 && holds(cmp.Compare(e.Status, status)) }, nil
}

// comparisons are those of a status, each with what holds of its sign.
var comparisons = map[string]func(sign int) bool{
	"": func(sign int) bool { return sign == 0 }, ">": func(sign int) bool { return sign > 0 }, "<": func(sign int) bool { return sign < 0 },
	">=": func(sign int) bool { return sign >= 0 }, "<=": func(sign int) bool { return sign <= 0 },
}

func parseDelivery(value string) (func(*Entry) bool, error) {
	if !slices.Contains(deliveries, value) {
		return nil, fmt.Errorf("must be %s", words.List(deliveries, "or"))
	}
	return func(e *Entry) bool { d, _ := e.Delivery(); return words.Delivery(d) == value }, nil
}

// deliveries are the values of delivery:.
var deliveries = []string{"accepted", "rejected", "unknown", "not_sent"}

func parseHas(value string) (func(*Entry) bool, error) {
	switch {
	case value == "effect":
		return func(e *Entry) bool { return e.Kind != "" }, nil
	case value == "replay":
		return func(e *Entry) bool { return e.ReplayOf > 0 }, nil
	case slices.Contains(Codes, value):
		return func(e *Entry) bool { return e.has(value) }, nil
	default:
		return nil, fmt.Errorf("must be effect, replay, %s", words.List(Codes, "or"))
	}
}

// parseValue returns a term such as value:order=A-1001, which finds A-10012 too, or value:order==A-1001, which does not.
func parseValue(value string) (func(*Entry) bool, error) {
	name, part, ok := strings.Cut(value, "=")
	if !ok || name == "" {
		return nil, errors.New("must be the name of a value of the body, =, and a part of the value")
	}
	path := strings.Split(name, ".")
	part, isWhole := strings.CutPrefix(part, "=")
	matches := func(text string) bool { return containsFold(text, part) }
	if isWhole {
		matches = func(text string) bool { return strings.ToLower(text) == part } // as the term was
	}
	return func(e *Entry) bool { return e.hasValue(path, part, matches) }, nil
}

// isFor reports whether a part of a recipient matches. A request that was not carried out has no recipients: its body
// is searched.
func (e *Entry) isFor(part string) bool {
	switch {
	case e.Everyone && e.Kind != "":
		return true
	case e.Kind == "" || !containsFold(unescaped(e.Request.Body), part):
		return len(e.Request.Body) > 0 && containsFold(unescaped(e.Request.Body), part)
	}
	return e.findValue(func(at []string, text string) bool {
		return len(at) > 0 && slices.Contains(recipientFields, at[len(at)-1]) && containsFold(text, part)
	})
}

// recipientFields are the members of a body that hold a recipient.
var recipientFields = []string{"email", "customer_id", "phone_no", "cc", "bcc"}
