package history

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Query selects entries. The zero Query selects all.
type Query []term

// term is a part of a query. The text is that of the query, or "" if the term comes from elsewhere.
type term struct {
	text  string
	match match
}

// match reports whether a term selects an entry.
type match = func(*Entry) bool

// WithoutReplays returns a query that does not match replays, unless the query selects
// them.
func (q Query) WithoutReplays() Query {
	if slices.ContainsFunc(q, func(t term) bool { return strings.HasSuffix(strings.ToLower(t.text), "has:replay") }) {
		return q
	}
	return q.And(func(e *Entry) bool { return e.ReplayOf == 0 })
}

// Match reports whether all terms of the query match.
func (q Query) Match(e *Entry) bool {
	return !slices.ContainsFunc(q, func(t term) bool { return !t.match(e) })
}

// Differs returns the terms of the text of the query that do not match.
func (q Query) Differs(e *Entry) (terms []string) {
	for _, term := range q {
		if term.text != "" && !term.match(e) {
			terms = append(terms, term.text)
		}
	}
	return terms
}

// Searches reports whether an entry is one of those among which the text of the query selects.
func (q Query) Searches(e *Entry) bool {
	return !slices.ContainsFunc(q, func(t term) bool { return t.text == "" && !t.match(e) })
}

// And returns a query that also needs something else to match.
func (q Query) And(match match) Query { return append(slices.Clip(q), term{match: match}) }

// Parse parses a query: words that the request or the response contains, and
// key:value terms, all of which must match. A value with blanks needs double quotes.
// With a - or a ! before it, a word or a term must not match.
func Parse(text string) (q Query, err error) {
	if strings.Count(strings.ReplaceAll(text, `\"`, ""), `"`)%2 == 1 {
		return nil, fmt.Errorf("invalid query: a quotation mark has no other one")
	}
	for _, t := range search.Terms(text) {
		match, err := parseTerm(t)
		if err != nil {
			return nil, fmt.Errorf("invalid query: %s: %w", t.Text, err)
		}
		q = append(q, term{t.String(), func(e *Entry) bool { return match(e) != t.Not }})
	}
	return q, nil
}

// RequestKeys are the keys of the terms that a request has before it is answered.
var RequestKeys = []string{"op", "to", "event", "subject", "value"}

// ParseRequest parses a query for requests that are not answered yet. It only has terms of
// RequestKeys, and none without a value: it would find the requests of everybody.
func ParseRequest(text string) (Query, error) {
	q, err := Parse(text)
	for _, t := range search.Terms(text) {
		key, value, _ := strings.Cut(t.Text, ":")
		if err == nil && (value == "" || !slices.Contains(RequestKeys, key)) {
			err = fmt.Errorf("%s: must be %s, with a value: a request has no other terms before it is answered",
				t.Text, words.List(RequestKeys, "or"))
		}
	}
	return q, err
}

// parseTerm returns what a term selects. An unknown key is an error, so that a typo does not look like a search without
// matches; an address such as http://host is a word.
func parseTerm(t search.Term) (match, error) {
	key, value, _ := strings.Cut(t.Text, ":")
	if i := slices.IndexFunc(Keys, func(k Term) bool { return k.Key == key }); i >= 0 {
		return Keys[i].parse(strings.ToLower(value))
	}
	isKey := !strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	if key == "" || value == "" || strings.HasPrefix(value, "//") || !isKey {
		word := strings.ToLower(t.Text)
		return func(e *Entry) bool { return e.contains(word) }, nil
	}
	meant := words.Nearest(key, keyNames())
	if meant == "" {
		return nil, fmt.Errorf("unknown key %q; must be one of %s", key, KeyNames("or"))
	}
	return nil, fmt.Errorf("unknown key %q; did you mean %v? The keys are %s", key,
		search.Term{Text: meant + ":" + value, Not: t.Not}, KeyNames("and"))
}

// Term is a key of a query, with what it selects.
type Term struct {
	Key, Example, Selects string
	// Values are those that are known.
	Values []string
	// parse returns what a value selects, which is in lower case.
	parse func(value string) (match, error)
}

// Keys are the keys of a query: help, filters, suggestions and errors range over them.
var Keys = []Term{
	{"op", fmt.Sprintf("op:%q", service.TriggerEvent.Name), "part of the name of an operation, such as op:trigger", Operations(), parseOp},
	{"status", "status:422", "the status: 200, 4xx, or none if the response was lost; also accepted, rejected or unknown",
		[]string{"2xx", "4xx", "5xx", "none"}, parseStatus},
	{"to", "to:ada@example.com", "part of a recipient: email address, customer id or phone number; also a broadcast to all customers", nil,
		anything((*Entry).isFor)},
	{"event", "event:order", "the id of an event, or part of its name", nil, anything(func(e *Entry, value string) bool {
		return e.EventID+e.EventName != "" && (strings.EqualFold(e.EventID, value) || containsFold(e.EventName, value))
	})},
	{"subject", "subject:moved", "part of the subject of a broadcast", nil,
		anything(func(e *Entry, value string) bool { return containsFold(e.Subject, value) })},
	{"value", "value:order=A-1001",
		"part of a value of the request, by its name or the end of its path, as in value:payload.order=A-1001; == is for all of it",
		nil, parseValue},
	{"has", "has:skipped", "effect (it was carried out), replay, or what is worth a look: " + words.List(Codes, "or"),
		append([]string{"effect", "replay"}, Codes...), parseHas},
	{"delivery", "delivery:unknown", "what the SDK reports: accepted, rejected, unknown or not_sent", deliveries, parseDelivery},
	{"mark", "mark:checkout", "the name of the last mark before the request; of several marks with the name, the latest", nil,
		anything(func(e *Entry, value string) bool {
			return e.Mark != nil && !e.Mark.repeated.Load() && strings.EqualFold(e.Mark.Name, value)
		})},
	{"since", "since:5m", "requests of the last 5 minutes", []string{"5m"}, parseSince},
	{"fault", "fault:answer_lost", "part of the kind of the fault, or any", append([]string{"any"}, fake.FaultKinds...),
		anything(func(e *Entry, value string) bool {
			return e.Fault != "" && (value == "any" || containsFold(e.Fault, value))
		})},
}

// KeyNames returns the keys of a query, such as "op, status or to".
func KeyNames(conjunction string) string { return words.List(keyNames(), conjunction) }

func keyNames() (names []string) {
	for _, key := range Keys {
		names = append(names, key.Key)
	}
	return names
}

// Operations returns the names of the operations of the service.
func Operations() (names []string) {
	for op := range service.Served() {
		names = append(names, op.Name)
	}
	return names
}

// anything returns the parser of a key that takes any value.
func anything(matches func(e *Entry, value string) bool) func(string) (match, error) {
	return func(value string) (match, error) { return func(e *Entry) bool { return matches(e, value) }, nil }
}

func parseSince(value string) (match, error) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return nil, fmt.Errorf("must be a duration such as 5m or 1h30m")
	}
	from := time.Now().Add(-d)
	return func(e *Entry) bool { return e.At.After(from) }, nil
}

// parseOp returns an error for the name of no operation, which would never match.
func parseOp(value string) (match, error) {
	if !slices.ContainsFunc(Operations(), func(name string) bool { return strings.Contains(name, value) }) {
		return nil, fmt.Errorf("unknown operation; must be part of one of %s", service.Names(service.Served()))
	}
	return func(e *Entry) bool { return containsFold(e.Op, value) }, nil
}

// statusForm is that of a status, or of a class such as 4xx.
var statusForm = regexp.MustCompile(`^[1-5](\d\d|xx)$`)

func parseStatus(value string) (match, error) {
	switch {
	case value == "none":
		return func(e *Entry) bool { return e.Status == 0 }, nil
	case value != "not_sent" && slices.Contains(deliveries, value):
		return parseDelivery(value)
	case !statusForm.MatchString(value):
		return nil, fmt.Errorf("must be a status code, a class such as 4xx, or none")
	}
	digits := strings.TrimSuffix(value, "xx")
	return func(e *Entry) bool { return strings.HasPrefix(strconv.Itoa(e.Status), digits) }, nil
}

func parseDelivery(value string) (match, error) {
	if !slices.Contains(deliveries, value) {
		return nil, fmt.Errorf("must be %s", words.List(deliveries, "or"))
	}
	return func(e *Entry) bool { return words.Delivery(e.Delivery) == value }, nil
}

// deliveries are the values of delivery:.
var deliveries = []string{"accepted", "rejected", "unknown", "not_sent"}

func parseHas(value string) (match, error) {
	switch {
	case value == "effect":
		return func(e *Entry) bool { return e.Kind != "" }, nil
	case value == "replay":
		return func(e *Entry) bool { return e.ReplayOf > 0 }, nil
	case !slices.Contains(Codes, value):
		return nil, fmt.Errorf("must be effect, replay, %s", words.List(Codes, "or"))
	}
	return func(e *Entry) bool {
		return slices.ContainsFunc(e.Notes(), func(n Note) bool { return n.Code == value })
	}, nil
}

// parseValue returns a term such as value:order=A-1001, which finds A-10012 too, or value:order==A-1001, which does not.
func parseValue(value string) (match, error) {
	name, part, ok := strings.Cut(value, "=")
	if !ok || name == "" {
		return nil, errors.New("must be the name of a value of the body, =, and a part of the value")
	}
	end := strings.Split(name, ".")
	part, isWhole := strings.CutPrefix(part, "=")
	matches := func(text string) bool { return containsFold(text, part) }
	if isWhole {
		matches = func(text string) bool { return strings.ToLower(text) == part } // as the term was
	}
	return func(e *Entry) bool {
		body := unescaped(e.Request.Body)
		if !containsFold(body, end[len(end)-1]) || !containsFold(body, part) {
			return false // most bodies need not be read
		}
		return e.hasValue(func(path []string, text string) bool {
			return len(path) >= len(end) && slices.EqualFunc(path[len(path)-len(end):], end, strings.EqualFold) && matches(text)
		})
	}, nil
}

// recipientFields are the members of a body that hold a recipient.
var recipientFields = []string{"email", "customer_id", "phone_no", "cc", "bcc"}

// isFor reports whether a part of a recipient matches. A request that was not carried out has no recipients: its body
// is searched.
func (e *Entry) isFor(part string) bool {
	if e.Everyone && e.Kind != "" {
		return true
	}
	if len(e.Request.Body) == 0 || !containsFold(unescaped(e.Request.Body), part) {
		return false
	}
	return e.Kind == "" || e.hasValue(func(path []string, text string) bool {
		return len(path) > 0 && slices.Contains(recipientFields, path[len(path)-1]) && containsFold(text, part)
	})
}
