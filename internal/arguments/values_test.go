package arguments_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

const (
	canary  = scripted.Canary
	notUTF8 = scripted.NotUTF8
)

// triggerOf triggers an event with values.
func triggerOf(values map[string]any) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "signup", Email: "jane@example.com", Values: values}, opts...)
		return err
	}
}

// templateOf sends a broadcast with variables.
func templateOf(variables map[string]any) scripted.Call {
	p := scripted.BroadcastTo("jane@example.com")
	p.Variables = variables
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Broadcasts.SendEmail(ctx, p, opts...)
		return err
	}
}

// sent returns what a value of a trigger and a variable of a template were on the wire.
func sent(t *testing.T, g *scripted.Gate, value any, opts ...messaging.RequestOption) (inPayload, inTemplate string) {
	t.Helper()
	var body struct {
		Payload   struct{ Value json.RawMessage }
		Variables struct{ Value json.RawMessage }
	}
	values := map[string]any{"value": value}
	require.NoError(t, json.Unmarshal([]byte(g.RequireSent(t, triggerOf(values), opts...)), &body))
	require.NoError(t, json.Unmarshal([]byte(g.RequireSent(t, templateOf(values), opts...)), &body))
	return string(body.Payload.Value), string(body.Variables.Value)
}

type (
	plan      string
	named     struct{ Name string }
	place     struct{ name string }
	byPointer struct{ name string }
	failing   struct{}
	ownTime   struct{ time.Time }
	deepText  struct{ Text string }
)

func (p place) MarshalText() ([]byte, error)      { return []byte("at " + p.name), nil }
func (p *byPointer) MarshalJSON() ([]byte, error) { return json.Marshal("I am " + p.name) }
func (failing) MarshalJSON() ([]byte, error)      { return nil, errors.New(canary) }

// anHourEast is 2026-01-02T03:04:05.9Z on the clock of another zone.
var anHourEast = time.Date(2026, 1, 2, 4, 4, 5, 900_000_000, time.FixedZone("", 3600))

func TestATimeInValuesHasTheFormOfTheService(t *testing.T) {
	const form, precise = `"2026-01-02T03:04:05Z"`, `"2026-01-02T04:04:05.9+01:00"`
	tests := []struct {
		name                  string
		value                 any
		inPayload, inTemplate string
	}{
		{"a time, in UTC and without its fraction", anHourEast, form, precise},
		{"a pointer to a time", &anHourEast, form, precise},
		{"no time at all", (*time.Time)(nil), `null`, `null`},
		{"the first second that has a form", time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), `"0000-01-01T00:00:00Z"`, `"0000-01-01T00:00:00Z"`},
		{"the last second that has a form", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), `"9999-12-31T23:59:59Z"`, `"9999-12-31T23:59:59Z"`},
		{"a slice of times", []time.Time{anHourEast}, `[` + precise + `]`, `[` + precise + `]`},
		{"a map of times", map[string]any{"at": anHourEast}, `{"at":` + precise + `}`, `{"at":` + precise + `}`},
		{"a struct with a time", ownTime{anHourEast}, precise, precise},
		{"a string that looks like a time", "2026-01-02 03:04:05", `"2026-01-02 03:04:05"`, `"2026-01-02 03:04:05"`},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, opts := range [][]messaging.RequestOption{nil, {messaging.WithoutValidation()}} {
				inPayload, inTemplate := sent(t, g, test.value, opts...)
				assert.Equal(t, test.inPayload, inPayload)
				assert.Equal(t, test.inTemplate, inTemplate)
			}
		})
	}
}

func TestValuesRefuseATimeThatHasNoForm(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	const (
		isZero   = "payload.value is the zero time: use nil for no time"
		outside  = "payload.value is a time outside the years 0 to 9999: use a time within them"
		duration = "payload.value is a time.Duration, which would be sent in nanoseconds: say the unit, such as Minutes()"
	)
	tests := []struct {
		name    string
		value   any
		problem string
	}{
		{"the zero time", time.Time{}, isZero},
		{"the zero time in another zone", time.Time{}.In(time.FixedZone("", 3600)), isZero},
		{"a pointer to the zero time", new(time.Time), isZero},
		{"the year 10000", year(10_000), outside},
		{"the year -1", year(-1), outside},
		{"a year that is 10000 in UTC alone", time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)), outside},
		{"a year that is -1 in UTC alone", time.Date(0, 1, 1, 1, 0, 0, 0, time.FixedZone("", 7200)), outside},
		{"a duration", time.Minute, duration},
		{"a pointer to a duration", new(time.Minute), duration},
		{"a nil pointer to a duration", (*time.Duration)(nil), duration},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scripted.RequireAlwaysInvalid(t, triggerOf(map[string]any{"value": test.value}), []string{test.problem})
		})
	}
}

func TestEncodingJSONWritesEveryOtherValue(t *testing.T) {
	tests := []struct {
		name  string
		value any
		wire  string
	}{
		{"nil", nil, `null`},
		{"a string", "wörds & <b>", `"wörds & <b>"`},
		{"a string type", plan("<gold>"), `"<gold>"`},
		{"a pointer to a string", new("gold"), `"gold"`},
		{"a nil pointer", (*string)(nil), `null`},
		{"true", true, `true`},
		{"an int", -1, `-1`},
		{"the least int64", int64(math.MinInt64), `-9223372036854775808`},
		{"the greatest uint64, to the last digit", uint64(math.MaxUint64), `18446744073709551615`},
		{"a float32, with no digit too many", float32(0.1), `0.1`},
		{"a float64", 1e21, `1e+21`},
		{"a big number", big.NewInt(7), `7`},
		{"a json.Number, to the last digit", json.Number("1.000000000000000000001"), `1.000000000000000000001`},
		{"a replacement character, which is valid UTF-8", "\ufffd", "\"\ufffd\""},
		{"raw JSON", json.RawMessage(`{"a":[1, 2]}`), `{"a":[1,2]}`},
		{"bytes", []byte("jane"), `"amFuZQ=="`},
		{"a nil map", map[string]any(nil), `null`},
		{"an empty slice", []string{}, `[]`},
		{"what writes itself by its pointer", &byPointer{"jane"}, `"I am jane"`},
		{"what writes itself as text", place{"home"}, `"at home"`},
		{"an address", netip.MustParseAddr("127.0.0.1"), `"127.0.0.1"`},
		{"a struct", named{"<jane>"}, `{"Name":"<jane>"}`},
		{"a slice of structs", []*named{{"jane"}, nil}, `[{"Name":"jane"},null]`},
		{"a map with numbers for keys", map[int]string{1: "one"}, `{"1":"one"}`},
		{"values within one another", map[plan][]any{"a": {1.5, nil, map[string]bool{"b": true}}}, `{"a":[1.5,null,{"b":true}]}`},
		{"a thousand objects within one another", nested(1000), strings.Repeat(`{"in":`, 1000) + "1" + strings.Repeat("}", 1000)},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inPayload, inTemplate := sent(t, g, test.value)
			assert.Equal(t, test.wire, inPayload)
			assert.Equal(t, test.wire, inTemplate)
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

// encoding/json replaces a text below the top level that is not UTF-8, in one of two forms.
func TestEncodingJSONReplacesATextWithinAValueThatIsNotUTF8(t *testing.T) {
	g := scripted.NewGate(t)
	for _, value := range []any{[]string{notUTF8}, map[string]string{notUTF8: notUTF8}, deepText{notUTF8}} {
		inPayload, inTemplate := sent(t, g, value)
		for _, wire := range []string{inPayload, inTemplate} {
			assert.Contains(t, strings.ReplaceAll(wire, `\ufffd`, "\ufffd"), "\ufffd")
		}
	}
}

func TestWhatJSONCannotHoldIsInvalidUnderItsName(t *testing.T) {
	loop := map[string]any{}
	loop["self"] = loop
	const unwritable, replaced = " cannot be written as JSON", " must be valid UTF-8"
	tests := []struct {
		name    string
		value   any
		problem string
	}{
		{"not a number", math.NaN(), unwritable},
		{"an infinity within a slice", []float64{1, math.Inf(1)}, unwritable},
		{"a channel", make(chan int), unwritable},
		{"a struct around a function", struct{ F func() }{func() {}}, unwritable},
		{"a json.Number that is none", json.Number("12" + canary), " must be a number"},
		{"a json.Number with a comma", json.Number("12,30"), " must be a number"},
		{"raw JSON that is none", json.RawMessage("{" + canary), unwritable},
		{"what fails to write itself, in a map", map[string]failing{"x": {}}, unwritable},
		{"a map with keys that JSON has no form for", map[bool]string{true: canary}, unwritable},
		{"a map within itself", loop, unwritable},
		{"more objects within one another than JSON may have", nested(20_000), unwritable},
		{"a string that is not UTF-8", notUTF8, replaced},
		{"a string type that is not UTF-8", plan(notUTF8), replaced},
		{"a pointer to a string that is not UTF-8", new(notUTF8), replaced},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			values := map[string]any{"value": test.value}
			scripted.RequireAlwaysInvalid(t, triggerOf(values), []string{"payload.value" + test.problem})
			scripted.RequireAlwaysInvalid(t, templateOf(values), []string{"variables.value" + test.problem})
		})
	}
	const key = `.plan\xff has a name that is not valid UTF-8`
	values := map[string]any{"plan\xff": 1}
	scripted.RequireAlwaysInvalid(t, triggerOf(values), []string{"payload" + key})
	scripted.RequireAlwaysInvalid(t, templateOf(values), []string{"variables" + key})
}

// A body is always UTF-8, although some versions of encoding/json copy raw JSON as it is.
func TestRawJSONThatIsNotUTF8IsReplacedOrInvalid(t *testing.T) {
	p := messaging.EventTriggerParams{EventID: "signup", Email: "jane@example.com",
		Values: map[string]any{"raw": json.RawMessage(`["` + notUTF8 + `"]`)}}
	prepared, err := p.Prepare()
	if err != nil {
		scripted.RequireProblems(t, err, "payload.raw must be valid UTF-8")
		return
	}
	assert.True(t, json.Valid(prepared.Body()))
	_, err = messaging.ParsePrepared(prepared.Operation(), prepared.Body())
	assert.NoError(t, err)
}

func TestProblemsOfValuesAreInTheOrderOfTheirNamesBesideTheOthers(t *testing.T) {
	values := map[string]any{"at": time.Time{}}
	problems := []string{"event_id is required", "payload.email is required when there is no customer",
		"payload.at is the zero time: use nil for no time"}
	for letter := 'b'; letter <= 'z'; letter++ {
		values[string(letter)] = math.NaN()
		problems = append(problems, "payload."+string(letter)+" cannot be written as JSON")
	}
	trigger := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Events.Trigger(ctx, messaging.EventTriggerParams{Values: values}, opts...)
		return err
	}
	broadcast := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		p := scripted.BroadcastTo("jane@example.com")
		p.Subject, p.Variables = "", map[string]any{"size": math.Inf(1)}
		_, err := c.Broadcasts.SendEmail(ctx, p, opts...)
		return err
	}
	g := scripted.NewGate(t)
	g.RequireInvalid(t, trigger, problems)
	g.RequireInvalid(t, broadcast, []string{"subject is required", "variables.size cannot be written as JSON"})
}
