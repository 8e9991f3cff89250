package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// Query selects entries. The zero Query selects all.
type Query struct {
	terms   []term
	replays bool // it selects replays
}

// term is a part of a query. The text is that of the query, or "" if the term comes from elsewhere.
type term struct {
	text  string
	match func(*Entry) bool
}

// WithoutReplays returns a query that does not match replays, unless the query selects
// them.
func (q Query) WithoutReplays() Query {
	if q.replays {
		return q
	}
	return q.And(func(e *Entry) bool { return e.ReplayOf == 0 })
}

// Match reports whether all terms of the query match.
func (q Query) Match(e *Entry) bool {
	for _, term := range q.terms {
		if !term.match(e) {
			return false
		}
	}
	return true
}

// Differs returns the terms of the text of the query that do not match.
func (q Query) Differs(e *Entry) (terms []string) {
	for _, term := range q.terms {
		if term.text != "" && !term.match(e) {
			terms = append(terms, term.text)
		}
	}
	return terms
}

// Searches reports whether an entry is one of those among which the text of the query selects.
func (q Query) Searches(e *Entry) bool {
	return !slices.ContainsFunc(q.terms, func(t term) bool { return t.text == "" && !t.match(e) })
}

// And returns a query that also needs something else to match.
func (q Query) And(match func(*Entry) bool) Query { return q.and(term{match: match}) }

func (q Query) and(t term) Query { return Query{append(slices.Clip(q.terms), t), q.replays} }

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
	{"fault", "fault:answer_lost", "part of the kind of the fault, or any", []string{"any"}, func(value string) (func(*Entry) bool, error) {
		return func(e *Entry) bool { return e.Fault != "" && (value == "any" || containsFold(e.Fault, value)) }, nil
	}},
}

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

// Parse parses a query: words that the request or the response contains, and
// key:value terms, all of which must match. A value with blanks needs double quotes.
// With a - or a ! before it, a word or a term must not match.
// An unknown key is an error, so that a typo does not look like a search without
// matches; an address such as http://host is a word.
func Parse(text string) (Query, error) {
	var q Query
	if strings.Count(strings.ReplaceAll(text, `\"`, ""), `"`)%2 == 1 {
		return Query{}, fmt.Errorf("invalid query: a quotation mark has no other one")
	}
	for _, t := range search.Terms(text) {
		key, value, _ := strings.Cut(t.Text, ":")
		match, err := parseTerm(key, lower(value))
		if err != nil {
			return Query{}, fmt.Errorf("invalid query: %s: %w", t.Text, err)
		}
		if match == nil && isUnknownTerm(key, value) {
			return Query{}, fmt.Errorf("invalid query: %s: unknown key %q; %s", t.Text, key, rightKey(t, key, value))
		}
		if match == nil {
			word := lower(t.Text)
			match = func(e *Entry) bool { return e.contains(word) }
		}
		q = q.and(term{t.String(), func(e *Entry) bool { return match(e) != t.Not }})
		q.replays = q.replays || key == "has" && lower(value) == "replay"
	}
	return q, nil
}

// isUnknownTerm reports whether a word looks like a term.
func isUnknownTerm(key, value string) bool {
	return key != "" && value != "" && !strings.HasPrefix(value, "//") &&
		!strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
}

// rightKey says what was probably meant by a term with an unknown key, and what the keys are.
func rightKey(t search.Term, key, value string) string {
	meant := words.Nearest(key, keyNames())
	if meant == "" {
		return "must be one of " + KeyNames("or")
	}
	return fmt.Sprintf("did you mean %v? The keys are %s", search.Term{Text: meant + ":" + value, Not: t.Not}, KeyNames("and"))
}

// KeyNames returns the keys of a query, such as "op, status or to".
func KeyNames(conjunction string) string { return words.List(keyNames(), conjunction) }

func keyNames() (names []string) {
	for _, key := range Keys {
		names = append(names, key.Key)
	}
	return names
}

// parseTerm returns nil if the key is unknown.
func parseTerm(key, value string) (func(*Entry) bool, error) {
	i := slices.IndexFunc(Keys, func(t Term) bool { return t.Key == key })
	if i < 0 {
		return nil, nil
	}
	return Keys[i].parse(value)
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
	holds, rest := parseComparison[int](value)
	status, err := strconv.Atoi(rest)
	if err != nil {
		return nil, fmt.Errorf("must be a status code, a class such as 4xx, a comparison such as >=400, or none")
	}
	return func(e *Entry) bool { return e.Status != 0 && holds(e.Status, status) }, nil
}

// parseComparison returns the comparison at the beginning of a value, and the rest of the
// value. Without an operator, it is the comparison for equality.
func parseComparison[T cmp.Ordered](value string) (holds func(a, b T) bool, rest string) {
	switch {
	case strings.HasPrefix(value, ">="):
		return func(a, b T) bool { return a >= b }, value[2:]
	case strings.HasPrefix(value, "<="):
		return func(a, b T) bool { return a <= b }, value[2:]
	case strings.HasPrefix(value, ">"):
		return func(a, b T) bool { return a > b }, value[1:]
	case strings.HasPrefix(value, "<"):
		return func(a, b T) bool { return a < b }, value[1:]
	default:
		return func(a, b T) bool { return a == b }, value
	}
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

// contains reports whether the request or the response contains a word.
func (e *Entry) contains(word string) bool {
	if containsFold(unescaped(e.Request.Body), word) || containsFold(e.Op, word) || containsFold(e.Request.Path, word) ||
		containsFold(unescaped(e.ResponseBody), word) || containsFold(e.Fault, word) || containsFold(e.EventName, word) {
		return true
	}
	for name, values := range e.Request.Query {
		if containsFold(name, word) || slices.ContainsFunc(values, func(v string) bool { return containsFold(v, word) }) {
			return true
		}
	}
	return headerContains(e.Request.Header, word) || headerContains(e.ResponseHeader, word)
}

// headerContains reports whether a value contains a word. Values in place of credentials
// are left out: they are the same in every request.
func headerContains(header http.Header, word string) bool {
	for _, values := range header {
		if slices.ContainsFunc(values, func(v string) bool { return v != "REDACTED" && containsFold(v, word) }) {
			return true
		}
	}
	return false
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
	return findValue(read[any](e.Request.Body), nil, func(at []string, text string) bool {
		return len(at) > 0 && slices.Contains(recipientFields, at[len(at)-1]) && containsFold(text, part)
	})
}

// recipientFields are the members of a body that hold a recipient.
var recipientFields = []string{"email", "customer_id", "phone_no", "cc", "bcc"}

// Mentions reports whether the body of the request has one of some texts as a value. Empty texts are left out.
func (e *Entry) Mentions(texts ...string) bool {
	body := unescaped(e.Request.Body)
	return slices.ContainsFunc(texts, func(text string) bool { return text != "" && containsFold(body, lower(`"`+text+`"`)) })
}

// lower returns a text in lower case, for containsFold.
func lower(text string) string { return strings.ToLower(text) }

// unescaped returns a JSON body as people read it: without the escapes in its
// strings.
func unescaped(body []byte) []byte {
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	return escape.ReplaceAllFunc(body, func(match []byte) []byte {
		var text string
		if json.Unmarshal(slices.Concat([]byte{'"'}, match, []byte{'"'}), &text) != nil {
			return match
		}
		return []byte(text)
	})
}

// escape matches adjacent escapes together, since two can be one character.
var escape = regexp.MustCompile(`(\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])+`)

// containsFold reports whether text contains lower, which is in lower case. It does not
// allocate for ASCII, because a search calls it for every entry.
func containsFold[T string | []byte](text T, lower string) bool {
	if lower == "" {
		return true
	}
	if strings.ContainsFunc(lower, func(r rune) bool { return r > unicode.MaxASCII }) {
		return strings.Contains(strings.ToLower(string(text)), lower)
	}
	first, upper := lower[0], upperASCII(lower[0])
	for i := 0; i+len(lower) <= len(text); i++ {
		if text[i] != first && text[i] != upper {
			continue
		}
		j := 1
		for j < len(lower) && lowerASCII(text[i+j]) == lower[j] {
			j++
		}
		if j == len(lower) {
			return true
		}
	}
	return false
}

func upperASCII(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
