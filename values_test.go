package messaging_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func triggerValue(value any) serviceCall {
	return triggerWith(func(p *messaging.EventTriggerParams) { p.Values = map[string]any{"value": value} })
}

func templateVariable(value any) serviceCall {
	return emailWith(func(p *messaging.EmailBroadcastParams) { p.Variables = map[string]any{"value": value} })
}

// sentValue returns what a value of a trigger was on the wire.
func (g *gate) sentValue(t *testing.T, value any, opts ...messaging.RequestOption) string {
	t.Helper()
	var body struct {
		Payload struct{ Value json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(g.requireSent(t, triggerValue(value), opts...)), &body))
	return string(body.Payload.Value)
}

// sentVariable returns what a variable of a template was on the wire.
func (g *gate) sentVariable(t *testing.T, value any) string {
	t.Helper()
	var body struct {
		Variables struct{ Value json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(g.requireSent(t, templateVariable(value))), &body))
	return string(body.Variables.Value)
}

type (
	plan        string
	celsius     float64
	byName      map[plan]any
	times       []time.Time
	promoted    struct{ time.Time }
	pointerOnly struct{ name string }
	chain       struct {
		Link int
		Next *chain
	}
	dates       []time.Time
	appointment struct{ At time.Time }
	ticket      struct{ At time.Time }
	nullable    struct{}
	failing     struct{}
	failingText struct{}
	brokenText  struct{}
)

func (dates) MarshalJSON() ([]byte, error)        { return []byte(`"daily"`), nil }
func (*appointment) MarshalJSON() ([]byte, error) { return []byte(`"soon"`), nil }
func (ticket) MarshalText() ([]byte, error)       { return []byte("row 5"), nil }
func (nullable) MarshalJSON() ([]byte, error)     { return []byte(`null`), nil }
func (brokenText) MarshalText() ([]byte, error)   { return []byte(notUTF8), nil }

func (p *pointerOnly) MarshalJSON() ([]byte, error) { return json.Marshal("I am " + p.name) }
func (failing) MarshalJSON() ([]byte, error)        { return nil, errors.New(canary) }
func (failingText) MarshalText() ([]byte, error)    { return nil, errors.New(canary) }

// serviceTime writes itself as the service reads it.
type serviceTime struct{ time.Time }

func (s serviceTime) MarshalJSON() ([]byte, error) {
	return json.Marshal(s.UTC().Format("2006-01-02T15:04:05Z"))
}

// dayOnly writes itself in a form that the service skips.
type dayOnly struct{ time.Time }

func (d dayOnly) MarshalJSON() ([]byte, error) { return json.Marshal(d.Format(time.DateOnly)) }

// anHourEast is 2026-01-02T03:04:05.9Z on the clock of another zone.
var anHourEast = time.Date(2026, 1, 2, 4, 4, 5, 900_000_000, time.FixedZone("", 3600))

const onTheWire = `"2026-01-02T03:04:05Z"`

func pointerTo[T any](value T) *T { return &value }

func TestATimeIsSentAsTheServiceReadsIt(t *testing.T) {
	var boxed any = anHourEast
	var none *time.Time
	tests := []struct {
		name  string
		value any
		wire  string
	}{
		{"a time, in UTC and without its fraction", anHourEast, onTheWire},
		{"a pointer to a time", &anHourEast, onTheWire},
		{"a pointer to a pointer to a time", pointerTo(&anHourEast), onTheWire},
		{"a pointer to an interface around a time", &boxed, onTheWire},
		{"no time at all", none, `null`},
		{"a slice of times", []time.Time{anHourEast}, `[` + onTheWire + `]`},
		{"a slice type of times", times{anHourEast}, `[` + onTheWire + `]`},
		{"a slice of pointers to times, one of them nil", []*time.Time{&anHourEast, nil}, `[` + onTheWire + `,null]`},
		{"a slice of anything", []any{anHourEast, &anHourEast, "plain"}, `[` + onTheWire + `,` + onTheWire + `,"plain"]`},
		{"a slice of an interface that a time has", []fmt.Stringer{anHourEast}, `[` + onTheWire + `]`},
		{"an array of times", [2]time.Time{anHourEast, anHourEast}, `[` + onTheWire + `,` + onTheWire + `]`},
		{"a map of anything", map[string]any{"at": anHourEast}, `{"at":` + onTheWire + `}`},
		{"a map of times", map[string]time.Time{"at": anHourEast}, `{"at":` + onTheWire + `}`},
		{"a map type with a key type of its own", byName{"gold": anHourEast}, `{"gold":` + onTheWire + `}`},
		{"a pointer to a map", &map[string]*time.Time{"at": &anHourEast, "until": nil}, `{"at":` + onTheWire + `,"until":null}`},
		{"maps and slices within one another", map[string]any{"a": []any{map[plan][]*time.Time{"b": {&anHourEast}}}}, `{"a":[{"b":[` + onTheWire + `]}]}`},
		{"a time that writes itself in the form of the service", serviceTime{anHourEast}, onTheWire},
		{"the first second that has a form", time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), `"0000-01-01T00:00:00Z"`},
		{"the last second that has a form", time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), `"9999-12-31T23:59:59Z"`},
	}
	g := newGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.JSONEq(t, test.wire, g.sentValue(t, test.value))
			assert.JSONEq(t, test.wire, g.sentValue(t, test.value, messaging.WithoutValidation()))
		})
	}
}

func TestATimeThatTheServiceWouldSkipIsRefused(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	var zero time.Time
	const isZero, outside = " is the zero time", " has a year outside 0 to 9999"
	tests := []struct {
		name    string
		value   any
		problem string
	}{
		{"the zero time", zero, isZero},
		{"the zero time in another zone", zero.In(time.FixedZone("", 3600)), isZero},
		{"a pointer to the zero time", &zero, isZero},
		{"the zero time in a slice", []time.Time{anHourEast, zero}, ".1" + isZero},
		{"the zero time in an array", [1]time.Time{}, ".0" + isZero},
		{"the zero time in a map", map[string]time.Time{"at": zero}, ".at" + isZero},
		{"the zero time far within", map[string]any{"a": []any{map[plan]*time.Time{"b": &zero}}}, ".a.0.b" + isZero},
		{"the year 10000", year(10_000), outside},
		{"the year -1", year(-1), outside},
		{"a year that is 10000 in UTC alone", time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)), outside},
		{"a year that is -1 in UTC alone", time.Date(0, 1, 1, 1, 0, 0, 0, time.FixedZone("", 7200)), outside},
	}
	var refusals []refusal
	for _, test := range tests {
		refusals = append(refusals, refusal{test.name, triggerValue(test.value), []string{"payload.value" + test.problem}})
	}
	requireAlwaysRefused(t, refusals)
}

func TestAStructThatHoldsATimeIsRefused(t *testing.T) {
	const holdsTime = " is a struct that holds a time, which would be sent in a form that the service skips; use a map"
	const skipped = " is a time that writes itself in a form that the service skips; use time.Time"
	const badKeys = " is a map that holds a time, and must have string keys"
	type direct struct{ At time.Time }
	type inner struct{ Direct direct }
	type embedding struct{ direct }
	shared := []any{1, anHourEast}
	tests := []struct {
		name    string
		value   any
		problem string
	}{
		{"in a field", direct{anHourEast}, holdsTime},
		{"in a field that is empty today", direct{}, holdsTime},
		{"behind a pointer to the struct", &direct{anHourEast}, holdsTime},
		{"in a pointer field", struct{ At *time.Time }{&anHourEast}, holdsTime},
		{"in a pointer field that is nil today", struct{ At *time.Time }{}, holdsTime},
		{"in a struct within", inner{direct{anHourEast}}, holdsTime},
		{"in a pointer to a struct within", struct{ Inner *inner }{new(inner)}, holdsTime},
		{"in a field of any type", struct{ At any }{anHourEast}, holdsTime},
		{"in a slice field that is empty today", struct{ At []time.Time }{}, holdsTime},
		{"in an array of anything", struct{ All [1]any }{[1]any{anHourEast}}, holdsTime},
		{"behind a pointer to anything", struct{ At *any }{&shared[1]}, holdsTime},
		{"in a slice, beside the beginning of it", struct{ Head, All []any }{shared[:1], shared}, holdsTime},
		{"in a slice, beside a pointer to its first element", struct {
			First *any
			All   []any
		}{&shared[0], shared}, holdsTime},
		{"in a slice of anything", struct{ All []any }{[]any{1, &anHourEast}}, holdsTime},
		{"in an array in a slice field that is empty today", struct{ At [][1]time.Time }{}, holdsTime},
		{"in a map field that is nil today", struct{ At map[string]*time.Time }{}, holdsTime},
		{"in a map of anything", struct{ All map[string]any }{map[string]any{"at": anHourEast}}, holdsTime},
		{"in an array field", struct{ At [1]time.Time }{}, holdsTime},
		{"in an embedded struct that is not exported", embedding{direct{anHourEast}}, holdsTime},
		{"in a nullable column", sql.NullTime{Time: anHourEast, Valid: true}, holdsTime},
		{"in an element of a slice", []any{1, direct{anHourEast}}, ".1" + holdsTime},
		{"in a value of a map", map[string]direct{"x": {anHourEast}}, ".x" + holdsTime},
		{"in a field that lends it its way of writing", promoted{anHourEast}, skipped},
		{"behind a pointer to one that was lent it", &promoted{anHourEast}, skipped},
		{"in a pointer field that lends it its way of writing", struct{ *time.Time }{&anHourEast}, skipped},
		{"in a field that lends it through another struct", struct{ promoted }{promoted{anHourEast}}, skipped},
		{"in a field that lends it through a pointer to another struct", struct{ *promoted }{&promoted{anHourEast}}, skipped},
		{"in a field that writes itself as a day", dayOnly{anHourEast}, skipped},
		{"in a field of a struct, that writes itself", struct{ At serviceTime }{serviceTime{anHourEast}}, holdsTime},
		{"in a map whose keys are numbers", map[int]time.Time{1: anHourEast}, badKeys},
		{"in a map of anything whose keys are numbers", map[int]any{1: &anHourEast}, badKeys},
		{"in a struct in a map whose keys are numbers", map[uint8]direct{}, badKeys},
	}
	var refusals []refusal
	for _, test := range tests {
		refusals = append(refusals, refusal{test.name, triggerValue(test.value), []string{"payload.value" + test.problem}})
	}
	requireAlwaysRefused(t, refusals)
}

func TestTheZeroTimeIsRefusedInAStructThatIsWrittenAsATime(t *testing.T) {
	g := newGate(t)
	refused := requireValidationError(t, triggerValue(promoted{})(t.Context(), g.client))
	assert.Equal(t, "payload.value", refused.Fields[0].Field)
	assert.Empty(t, g.take())
}

func TestAStructWhoseTimeIsNotWrittenIsSent(t *testing.T) {
	tests := []struct {
		name  string
		value any
		wire  string
	}{
		{"a field that is not exported", struct {
			Name string
			at   time.Time
		}{"jane", anHourEast}, `{"Name":"jane"}`},
		{"a field that is left out of JSON", struct {
			Name string
			At   time.Time `json:"-"`
		}{"jane", anHourEast}, `{"Name":"jane"}`},
		{"a struct that writes itself", &pointerOnly{"jane"}, `"I am jane"`},
		{"a list of times that writes itself", struct{ At dates }{dates{anHourEast}}, `{"At":"daily"}`},
		{"a pointer to a struct that writes itself by its pointer", struct{ Next *appointment }{&appointment{anHourEast}}, `{"Next":"soon"}`},
		{"a struct that writes itself as text", ticket{anHourEast}, `"row 5"`},
		{"a struct around one that writes itself as text", struct{ Ticket ticket }{ticket{anHourEast}}, `{"Ticket":"row 5"}`},
		{"a struct that is lent its way of writing by something else", struct{ netip.Addr }{netip.MustParseAddr("127.0.0.1")}, `"127.0.0.1"`},
		{"a struct with room for a time, and something else in it", struct {
			One  any
			None any
			All  []any
			Some [1]any
			Map  map[string]any
		}{1, nil, []any{2}, [1]any{3}, map[string]any{"four": 4}}, `{"One":1,"None":null,"All":[2],"Some":[3],"Map":{"four":4}}`},
		{"a struct with no time", struct {
			Name string `json:"name"`
		}{"jane"}, `{"name":"jane"}`},
		{"a struct of a type that holds itself", chain{1, &chain{2, nil}}, `{"Link":1,"Next":{"Link":2,"Next":null}}`},
	}
	g := newGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.JSONEq(t, test.wire, g.sentValue(t, test.value))
		})
	}
}

func TestAValueIsSentAsItIs(t *testing.T) {
	var noMap map[string]any
	var noSlice []string
	var noMarshaler *pointerOnly
	tests := []struct {
		name  string
		value any
		wire  string
	}{
		{"nil", nil, `null`},
		{"a text", "wörds & <b>", `"wörds & <b>"`},
		{"a text type", plan("gold"), `"gold"`},
		{"a pointer to a text", pointerTo("gold"), `"gold"`},
		{"true", true, `true`},
		{"an int", -1, `-1`},
		{"the least int64", int64(math.MinInt64), `-9223372036854775808`},
		{"the greatest uint64, to the last digit", uint64(math.MaxUint64), `18446744073709551615`},
		{"an int8", int8(-8), `-8`},
		{"an int16", int16(-16), `-16`},
		{"an int32", int32(-32), `-32`},
		{"a uint", uint(1), `1`},
		{"a uint8", uint8(8), `8`},
		{"a uint16", uint16(16), `16`},
		{"a uint32", uint32(32), `32`},
		{"a float32, with no digit too many", float32(0.1), `0.1`},
		{"a float64", 1e21, `1e+21`},
		{"a number type", celsius(36.6), `36.6`},
		{"a big number", big.NewInt(7), `7`},
		{"a number as text, to the last digit", json.Number("1.000000000000000000001"), `1.000000000000000000001`},
		{"the sign for what could not be read, which is sound UTF-8", "\ufffd", "\"\ufffd\""},
		{"the same within a struct", struct{ A string }{"\ufffd"}, "{\"A\":\"\ufffd\"}"},
		{"a text in a struct that looks like its escape", struct{ A string }{`\ufffd`}, `{"A":"\\ufffd"}`},
		{"raw JSON", json.RawMessage(`{"a":[1, 2]}`), `{"a":[1,2]}`},
		{"bytes", []byte("jane"), `"amFuZQ=="`},
		{"an array of bytes", [2]byte{1, 2}, `[1,2]`},
		{"a nil map", noMap, `null`},
		{"an empty map", map[string]any{}, `{}`},
		{"a nil slice", noSlice, `null`},
		{"an empty slice", []string{}, `[]`},
		{"a nil pointer to what writes itself", noMarshaler, `null`},
		{"a pointer to what writes itself", &pointerOnly{"jane"}, `"I am jane"`},
		{"a map with numbers for keys", map[int]string{1: "one"}, `{"1":"one"}`},
		{"values of any type within one another", map[plan][]any{"a": {celsius(1), nil, map[string]bool{"b": true}}}, `{"a":[1,null,{"b":true}]}`},
		{"ninety objects within one another", nested(90), strings.Repeat(`{"in":`, 90) + "1" + strings.Repeat("}", 90)},
	}
	g := newGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.wire, g.sentValue(t, test.value))
			assert.Equal(t, test.wire, g.sentVariable(t, test.value))
		})
	}
}

// nested puts the number 1 into as many maps.
func nested(depth int) any {
	var value any = 1
	for range depth {
		value = map[string]any{"in": value}
	}
	return value
}

func TestAVariableMayHoldATimeInAnyForm(t *testing.T) {
	g := newGate(t)
	const precise = `"2026-01-02T04:04:05.9+01:00"`
	assert.Equal(t, precise, g.sentVariable(t, anHourEast))
	assert.Equal(t, `"0001-01-01T00:00:00Z"`, g.sentVariable(t, time.Time{}))
	assert.Equal(t, precise, g.sentVariable(t, promoted{anHourEast}))
	assert.Equal(t, `{"At":`+precise+`}`, g.sentVariable(t, struct{ At time.Time }{anHourEast}))
	assert.Equal(t, `{"1":`+precise+`}`, g.sentVariable(t, map[int]time.Time{1: anHourEast}))
}

func TestAValueThatJSONCannotHoldIsRefused(t *testing.T) {
	const unwritable = " can't be written as JSON"
	const infinite = " must be a finite number"
	const invalid = " must be valid UTF-8"
	tests := []struct {
		name    string
		value   any
		problem string
	}{
		{"not a number", math.NaN(), infinite},
		{"not a number in short", float32(math.NaN()), infinite},
		{"infinity", math.Inf(1), infinite},
		{"minus infinity", math.Inf(-1), infinite},
		{"a number type that is not a number", celsius(math.NaN()), infinite},
		{"not a number behind a pointer", pointerTo(math.NaN()), infinite},
		{"not a number in a slice", []float64{1, math.NaN()}, ".1" + infinite},
		{"a channel", make(chan int), " is a chan, which JSON has no form for"},
		{"a nil channel", (chan int)(nil), " is a chan, which JSON has no form for"},
		{"a function", func() {}, " is a func, which JSON has no form for"},
		{"a nil function", (func())(nil), " is a func, which JSON has no form for"},
		{"a complex number", 1i, " is a complex128, which JSON has no form for"},
		{"a short complex number", complex64(1i), " is a complex64, which JSON has no form for"},
		{"an address", unsafe.Pointer(nil), " is a unsafe.Pointer, which JSON has no form for"},
		{"a number as text that is none", json.Number("12" + canary), unwritable},
		{"raw JSON that is none", json.RawMessage("{" + canary), unwritable},
		{"what fails to write itself", failing{}, unwritable},
		{"what fails to write itself, by a pointer", new(failing), unwritable},
		{"what fails to write itself as text", failingText{}, unwritable},
		{"a struct around a channel", struct{ C chan int }{}, unwritable},
		{"a struct around what fails to write itself", struct{ F failing }{}, unwritable},
		{"a map with keys that JSON has no form for", map[bool]string{true: canary}, unwritable},
		{"a map with numbers for keys, around a function", map[int]any{1: func() {}}, unwritable},
		{"a text that is not UTF-8", notUTF8, invalid},
		{"a text type that is not UTF-8", plan(notUTF8), invalid},
		{"a text behind a pointer that is not UTF-8", pointerTo(notUTF8), invalid},
		{"a text in a slice that is not UTF-8", []string{"a", notUTF8}, ".1" + invalid},
		{"a text in an array that is not UTF-8", [1]any{notUTF8}, ".0" + invalid},
		{"a text in a map that is not UTF-8", map[plan]string{"x": notUTF8}, ".x" + invalid},
		{"a text far within that is not UTF-8", map[string]any{"a": []any{0, map[string]plan{"b": notUTF8}}}, ".a.1.b" + invalid},
		{"a key that is not UTF-8", map[string]any{notUTF8: 1}, invalid},
		{"a key far within that is not UTF-8", []any{map[plan]int{notUTF8: 1}}, ".0" + invalid},
		{"what writes itself as text that is not UTF-8", brokenText{}, invalid},
		{"raw JSON that is not UTF-8", json.RawMessage(`"` + notUTF8 + `"`), invalid},
		{"a text in a struct that is not UTF-8", struct{ Name string }{notUTF8}, invalid},
		{"a text in a map with numbers for keys that is not UTF-8", map[int]string{1: notUTF8}, invalid},
	}
	var refusals []refusal
	for _, test := range tests {
		refusals = append(refusals,
			refusal{"in a trigger, " + test.name, triggerValue(test.value), []string{"payload.value" + test.problem}},
			refusal{"in a template, " + test.name, templateVariable(test.value), []string{"variables.value" + test.problem}})
	}
	requireAlwaysRefused(t, refusals)
}

func TestANameOfAValueThatIsNotUTF8IsRefused(t *testing.T) {
	values := map[string]any{notUTF8: 1}
	requireAlwaysRefused(t, []refusal{
		{"in a trigger", triggerWith(func(p *messaging.EventTriggerParams) { p.Values = values }), []string{"payload must be valid UTF-8"}},
		{"in a template", emailWith(func(p *messaging.EmailBroadcastParams) { p.Variables = values }), []string{"variables must be valid UTF-8"}},
	})
}

func TestAValueWithinItselfIsRefusedAndSoIsOneTooDeep(t *testing.T) {
	inMap := map[string]any{}
	inMap["self"] = inMap
	inSlice := []any{nil}
	inSlice[0] = inSlice
	var inPointer any
	inPointer = &inPointer
	inStruct := new(struct{ Self any })
	inStruct.Self = inStruct
	tests := []struct {
		name  string
		value any
	}{
		{"a map within itself", inMap},
		{"a slice within itself", inSlice},
		{"a pointer to itself", inPointer},
		{"a struct within itself", inStruct},
		{"a struct around a map within itself", struct{ In any }{inMap}},
		{"a struct around a slice within itself", struct{ In any }{inSlice}},
		{"a ring of maps that closes in two places", ringOfMaps(10)},
		{"maps nested deeper than the service is trusted to read", nested(200)},
	}
	g := newGate(t)
	for place, call := range map[string]func(any) serviceCall{"in a trigger, ": triggerValue, "in a template, ": templateVariable} {
		for _, test := range tests {
			t.Run(place+test.name, func(t *testing.T) {
				refused := requireValidationError(t, call(test.value)(t.Context(), g.client, messaging.WithoutValidation()))
				assert.LessOrEqual(t, len(refused.Fields), 2, "a value within itself is one problem, however often one can go round")
				assert.Contains(t, refused.Fields[0].Field, ".value")
				assert.Empty(t, g.take())
			})
		}
	}
}

// ringOfMaps is maps that each hold the next. The last one holds the first, twice.
func ringOfMaps(length int) map[string]any {
	first := map[string]any{}
	last := first
	for range length - 1 {
		next := map[string]any{}
		last["next"], last = next, next
	}
	last["left"], last["right"] = first, first
	return first
}

// family is a type that holds itself in two places. Going through its types
// without remembering them takes forever.
type family struct {
	Name     string
	Parents  []family
	Children []family
}

func TestATypeThatHoldsItselfTwiceIsSent(t *testing.T) {
	g := newGate(t)
	sent := make(chan error, 1)
	go func() { sent <- triggerValue(family{Name: "jane"})(t.Context(), g.client) }()
	select {
	case err := <-sent:
		require.NoError(t, err)
	case <-time.After(5 * time.Second):
		require.FailNow(t, "it is still looking for a time")
	}
}

func TestProblemsWithValuesComeInTheOrderOfTheirNames(t *testing.T) {
	values := map[string]any{}
	var problems []string
	for letter := 'a'; letter <= 'z'; letter++ {
		values[string(letter)] = math.NaN()
		problems = append(problems, "payload."+string(letter)+" must be a finite number")
	}
	requireAlwaysRefused(t, []refusal{
		{"twenty-six of them", triggerWith(func(p *messaging.EventTriggerParams) { p.Values = values }), problems},
	})
}

func TestAllThatIsWrongWithValuesIsReportedBesideTheRest(t *testing.T) {
	g := newGate(t)
	g.requireRefused(t, refusal{
		call: triggerWith(func(p *messaging.EventTriggerParams) {
			*p = messaging.EventTriggerParams{Values: map[string]any{"at": time.Time{}, "size": math.Inf(1)}}
		}),
		problems: []string{"event_id is required", "payload.email is required when there is no customer",
			"payload.at is the zero time", "payload.size must be a finite number"},
	})
	g.requireRefused(t, refusal{
		call: emailWith(func(p *messaging.EmailBroadcastParams) {
			p.Subject, p.Variables = "", map[string]any{"size": math.Inf(1)}
		}),
		problems: []string{"subject is required", "variables.size must be a finite number"},
	})
}

func TestTheParamsAreNotWrittenTo(t *testing.T) {
	values := func() map[string]any {
		return map[string]any{
			"at": anHourEast, "pointer": pointerTo(anHourEast), "none": nil,
			"list": []any{anHourEast, map[string]time.Time{"at": anHourEast}}, "times": times{anHourEast},
			"raw": json.RawMessage(`{"a": 1}`),
		}
	}
	customer := func() *messaging.CustomerParams {
		return &messaging.CustomerParams{Email: "jane@example.com", Devices: []messaging.Device{{DeviceType: "ios"}}}
	}
	definition := func() *messaging.Event {
		event := &messaging.Event{ID: "signup"}
		for _, name := range slices.Sorted(maps.Keys(values())) {
			event.Parameters = append(event.Parameters, messaging.EventParameter{Name: name, Type: "Anything"})
		}
		return event
	}
	trigger := func() messaging.EventTriggerParams {
		return messaging.EventTriggerParams{Definition: definition(), Customer: customer(), Values: values()}
	}
	broadcast := func() messaging.EmailBroadcastParams {
		return messaging.EmailBroadcastParams{SenderEmail: "a@example.com", SenderName: "A", Email: "b@example.com", Subject: "S",
			CC: []string{"c@example.com"}, Message: "M", MessageType: "T", Variables: values(),
			To: messaging.ToCustomers(*customer()), Schedule: &messaging.Schedule{Date: "2027-03-01", Timezone: "UTC"}}
	}
	event := func() messaging.EventCreateParams {
		return messaging.EventCreateParams{Name: "signup", Description: "D",
			Parameters: []messaging.EventParameter{{Name: "plan", Type: "Text", Required: true}}}
	}
	g := newGate(t)

	triggered := trigger()
	_, err := g.client.Events.Trigger(t.Context(), triggered)
	require.NoError(t, err)
	assert.Equal(t, trigger(), triggered)

	sent := broadcast()
	_, err = g.client.Broadcasts.SendEmail(t.Context(), sent)
	require.NoError(t, err)
	assert.Equal(t, broadcast(), sent)

	created := event()
	_, err = g.client.Events.Create(t.Context(), created)
	require.NoError(t, err)
	assert.Equal(t, event(), created)
	require.Len(t, g.take(), 3)
}

func TestElementsOfASliceAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	service := messagingtest.NewServer(t)
	event, err := service.Client().Events.Create(t.Context(), messaging.EventCreateParams{Name: "n", Description: "d", Parameters: []messaging.EventParameter{}})
	require.NoError(t, err)
	_, err = service.Client().Events.Trigger(t.Context(), messaging.EventTriggerParams{EventID: event.ID, Email: "ada@example.com",
		Values: map[string]any{"sizes": []big.Int{*big.NewInt(5)}, "at": madeOfTime(time.Date(2030, 5, 1, 9, 0, 0, 0, time.UTC))}})
	require.NoError(t, err)
	values := service.Triggers()[0].Values
	assert.Equal(t, []any{5.0}, values["sizes"], "the method belongs to the pointer")
	assert.Equal(t, "2030-05-01T09:00:00Z", values["at"], "a type made of time.Time is a time")
}

type madeOfTime time.Time

func TestANumberWithoutDigitsIsRefused(t *testing.T) {
	requireAlwaysRefused(t, []refusal{{
		"an empty json.Number", triggerWith(func(p *messaging.EventTriggerParams) { p.Values = map[string]any{"size": json.Number("")} }),
		[]string{"payload.size can't be written as JSON"},
	}})
}
