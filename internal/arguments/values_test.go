package arguments_test

import (
	"context"
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

func triggerValue(value any) scripted.Call { return triggerOf(map[string]any{"value": value}) }

func templateVariable(value any) scripted.Call { return templateOf(map[string]any{"value": value}) }

// sentValue returns what a value of a trigger was on the wire.
func sentValue(t *testing.T, g *scripted.Gate, value any, opts ...messaging.RequestOption) string {
	t.Helper()
	var body struct {
		Payload struct{ Value json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(g.RequireSent(t, triggerValue(value), opts...)), &body))
	return string(body.Payload.Value)
}

// sentVariable returns what a variable of a template was on the wire.
func sentVariable(t *testing.T, g *scripted.Gate, value any) string {
	t.Helper()
	var body struct {
		Variables struct{ Value json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(g.RequireSent(t, templateVariable(value))), &body))
	return string(body.Variables.Value)
}

// invalidValue is a value, and where in it is which problem.
type invalidValue struct {
	name    string
	value   any
	problem string
}

func requireValuesInvalid(t *testing.T, tests []invalidValue) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scripted.RequireAlwaysInvalid(t, triggerValue(test.value), []string{"payload.value" + test.problem})
		})
	}
}

// requireVariablesInvalid is for what neither Values nor Variables can hold.
func requireVariablesInvalid(t *testing.T, tests []invalidValue) {
	t.Helper()
	requireValuesInvalid(t, tests)
	for _, test := range tests {
		t.Run(test.name+", in a template", func(t *testing.T) {
			scripted.RequireAlwaysInvalid(t, templateVariable(test.value), []string{"variables.value" + test.problem})
		})
	}
}

type (
	plan        string
	celsius     float64
	ratio       float32
	consent     bool
	count       int16
	size        uint32
	byName      map[plan]any
	times       []time.Time
	madeOfTime  time.Time
	blob        []byte
	octet       byte
	level       byte
	place       struct{ name string }
	places      []place
	pointerOnly struct{ name string }
	failing     struct{}
	failingText struct{}
	brokenText  struct{}
)

func (l level) MarshalText() ([]byte, error)        { return fmt.Appendf(nil, "level %d", byte(l)), nil }
func (p place) MarshalText() ([]byte, error)        { return []byte("at " + p.name), nil }
func (p places) MarshalJSON() ([]byte, error)       { return json.Marshal(len(p)) }
func (p *pointerOnly) MarshalJSON() ([]byte, error) { return json.Marshal("I am " + p.name) }
func (failing) MarshalJSON() ([]byte, error)        { return nil, errors.New(canary) }
func (failingText) MarshalText() ([]byte, error)    { return nil, errors.New(canary) }
func (brokenText) MarshalText() ([]byte, error)     { return []byte(notUTF8), nil }

// anHourEast is 2026-01-02T03:04:05.9Z on the clock of another zone.
var anHourEast = time.Date(2026, 1, 2, 4, 4, 5, 900_000_000, time.FixedZone("", 3600))

// onTheSecond is the same second as anHourEast, as a database would return it.
var onTheSecond = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const onTheWire = `"2026-01-02T03:04:05Z"`

// The times of other packages, which write themselves.
type (
	promoted         struct{ time.Time }
	promotedPointer  struct{ *time.Time }
	promotedTwice    struct{ promoted }
	nullTime         struct{ sql.NullTime } // as null.Time
	strictTime       time.Time              // as strfmt.DateTime
	timestampOfProto struct {               // as timestamppb.Timestamp, which has no MarshalJSON
		Seconds int64
		Nanos   int32
	}
	timestampOfPostgres struct { // as pgtype.Timestamptz
		Time     time.Time
		Infinity int
		Valid    bool
	}
)

func (n nullTime) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte(`null`), nil
	}
	return n.Time.MarshalJSON()
}

func (s strictTime) MarshalText() ([]byte, error) {
	return time.Time(s).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

func (s timestampOfPostgres) MarshalJSON() ([]byte, error) {
	switch {
	case !s.Valid:
		return []byte(`null`), nil
	case s.Infinity > 0:
		return []byte(`"infinity"`), nil
	case s.Infinity < 0:
		return []byte(`"-infinity"`), nil
	default:
		return json.Marshal(s.Time.Format(time.RFC3339Nano))
	}
}

// laidOut is a time with a layout of its own; printed is one that goes by String.
type (
	laidOut struct {
		time.Time
		layout string
	}
	printed struct{ time.Time }
)

func (l laidOut) MarshalText() ([]byte, error) { return []byte(l.Format(l.layout)), nil }
func (l laidOut) MarshalJSON() ([]byte, error) { return json.Marshal(l.Format(l.layout)) }
func (p printed) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

// day writes itself by its pointer alone.
type day struct{ at time.Time }

func (d *day) MarshalText() ([]byte, error) { return []byte(d.at.Format(time.DateOnly)), nil }

func pointerTo[T any](value T) *T { return &value }

func TestValuesSendATimeInTheFormOfTheService(t *testing.T) {
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
		{"maps and slices within one another", map[string]any{"a": []any{map[plan][]*time.Time{"b": {&anHourEast}}}},
			`{"a":[{"b":[` + onTheWire + `]}]}`},
		{"the first second that has a form", time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), `"0000-01-01T00:00:00Z"`},
		{"the last second that has a form", time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), `"9999-12-31T23:59:59Z"`},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.JSONEq(t, test.wire, sentValue(t, g, test.value))
			assert.JSONEq(t, test.wire, sentValue(t, g, test.value, messaging.WithoutValidation()))
		})
	}
}

const isZeroTime = " is the zero time: use nil for no time"

func TestValuesRefuseATimeThatHasNoForm(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	var zero time.Time
	const outside = " is a time outside the years 0 to 9999: use a time within them"
	requireValuesInvalid(t, []invalidValue{
		{"the zero time", zero, isZeroTime},
		{"the zero time in another zone", zero.In(time.FixedZone("", 3600)), isZeroTime},
		{"a pointer to the zero time", &zero, isZeroTime},
		{"the zero time in a slice", []time.Time{anHourEast, zero}, ".1" + isZeroTime},
		{"the zero time in an array", [1]time.Time{}, ".0" + isZeroTime},
		{"the zero time in a map", map[string]time.Time{"at": zero}, ".at" + isZeroTime},
		{"the zero time far within", map[string]any{"a": []any{map[plan]*time.Time{"b": &zero}}}, ".a.0.b" + isZeroTime},
		{"the year 10000", year(10_000), outside},
		{"the year -1", year(-1), outside},
		{"a year that is 10000 in UTC alone", time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)), outside},
		{"a year that is -1 in UTC alone", time.Date(0, 1, 1, 1, 0, 0, 0, time.FixedZone("", 7200)), outside},
	})
}

const skipped = " is a time in a form that the service ignores: use time.Time, or the form 2006-01-02T15:04:05Z"

func TestValuesRefuseATypeThatWritesATimeInAnotherForm(t *testing.T) {
	null := nullTime{sql.NullTime{Time: anHourEast, Valid: true}}
	postgres := timestampOfPostgres{Time: anHourEast, Valid: true}
	var boxed any = null
	requireValuesInvalid(t, []invalidValue{
		{"null.Time", null, skipped},
		{"strfmt.DateTime", strictTime(anHourEast), skipped},
		{"strfmt.DateTime, on the second", strictTime(onTheSecond), skipped},
		{"strfmt.DateTime, the zero time", strictTime{}, skipped},
		{"pgtype.Timestamptz", postgres, skipped},
		{"a type that embeds a time", promoted{anHourEast}, skipped},
		{"a type that embeds a pointer to a time", promotedPointer{&anHourEast}, skipped},
		{"a type that embeds one that embeds a time", promotedTwice{promoted{anHourEast}}, skipped},
		{"a type that writes itself as a date", laidOut{anHourEast, time.DateOnly}, skipped},
		{"a type whose pointer writes itself as a date", &day{anHourEast}, skipped},
		{"raw JSON with an offset", json.RawMessage(`"2026-01-02T04:04:05+01:00"`), skipped},
		{"raw JSON with an escape", json.RawMessage(`"2026-01-02\u002004:04:05"`), skipped},

		{"behind a pointer", &null, skipped},
		{"behind a pointer to a pointer", pointerTo(&null), skipped},
		{"behind a pointer to an interface", &boxed, skipped},
		{"in a slice", []nullTime{{}, null}, ".1" + skipped},
		{"in a slice of pointers", []*nullTime{nil, &null}, ".1" + skipped},
		{"in a slice of anything", []any{1, postgres}, ".1" + skipped},
		{"in a slice of what writes itself by its pointer", []day{{anHourEast}}, ".0" + skipped},
		{"in an array", [1]timestampOfPostgres{postgres}, ".0" + skipped},
		{"in an array behind a pointer", &[1]day{{anHourEast}}, ".0" + skipped},
		{"in a map", map[plan]nullTime{"at": null}, ".at" + skipped},
		{"in a map of pointers", map[string]*day{"at": {anHourEast}}, ".at" + skipped},
		{"far within", map[string]any{"a": []any{map[plan]any{"b": &null}}}, ".a.0.b" + skipped},
	})
}

func TestValuesRefuseEveryOtherFormOfATimeThatATypeWrites(t *testing.T) {
	central := onTheSecond.In(time.FixedZone("CET", 3600))
	local := time.Now() // has a reading of the monotonic clock
	tests := []invalidValue{
		{"a printed time in UTC", printed{onTheSecond}, skipped},
		{"a printed time in a zone with a name", printed{central}, skipped},
		{"a printed time in a zone without a name, with a fraction", printed{anHourEast}, skipped},
		{"a printed time of the monotonic clock", printed{local}, skipped},
		{"an offset that leads out of the year 9999", json.RawMessage(`"9999-12-31T23:59:59-02:00"`), skipped},
		{"a comma before the fraction", json.RawMessage(`"2026-01-02T03:04:05,9Z"`), skipped},
		{"small letters", json.RawMessage(`"2026-01-02t03:04:05z"`), skipped},
		{"an offset without a colon", json.RawMessage(`"2026-01-02T04:04:05+0100"`), skipped},
	}
	for _, layout := range []string{
		time.RFC3339, time.RFC3339Nano, time.DateTime, time.DateOnly, time.ANSIC, time.UnixDate, time.RubyDate,
		time.RFC822, time.RFC822Z, time.RFC850, time.RFC1123, time.RFC1123Z, "2006-01-02T15:04:05", "2006-01-02T15:04:05.000Z",
	} {
		tests = append(tests, invalidValue{layout, laidOut{central, layout}, skipped})
	}
	requireValuesInvalid(t, tests)
}

func TestValuesSendATypeThatWritesATimeInTheFormOfTheService(t *testing.T) {
	null := nullTime{sql.NullTime{Time: onTheSecond, Valid: true}}
	const form = "2006-01-02T15:04:05Z"
	tests := []struct {
		name  string
		value any
		wire  string
	}{
		{"null.Time", null, onTheWire},
		{"null.Time that is null", nullTime{}, `null`},
		{"a slice of null.Time", []nullTime{null, {}}, `[` + onTheWire + `,null]`},
		{"a map of pointers to null.Time", map[string]*nullTime{"at": &null, "until": nil}, `{"at":` + onTheWire + `,"until":null}`},
		{"pgtype.Timestamptz", timestampOfPostgres{Time: onTheSecond, Valid: true}, onTheWire},
		{"pgtype.Timestamptz that is null", timestampOfPostgres{}, `null`},
		{"pgtype.Timestamptz that is infinite, which is no time", timestampOfPostgres{Infinity: -1, Valid: true}, `"-infinity"`},
		{"a type that embeds a time", promoted{onTheSecond}, onTheWire},
		{"a type that embeds a pointer to a time", promotedPointer{&onTheSecond}, onTheWire},
		{"a pointer to a type with a layout of its own", &laidOut{onTheSecond, form}, onTheWire},
		{"raw JSON", json.RawMessage(onTheWire), onTheWire},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.wire, sentValue(t, g, test.value))
			assert.Equal(t, test.wire, sentVariable(t, g, test.value))
		})
	}
	requireValuesInvalid(t, []invalidValue{
		{"the zero time of a type that embeds a time", promoted{}, isZeroTime},
		{"the zero time of null.Time", []any{nullTime{sql.NullTime{Valid: true}}}, ".0" + isZeroTime},
		{"the zero time in raw JSON", json.RawMessage(`"0001-01-01T00:00:00Z"`), isZeroTime},
	})
}

func TestValuesSendAStringThatLooksLikeATime(t *testing.T) {
	g := scripted.NewGate(t)
	for _, text := range []string{"2026-01-02", "2026-01-02 03:04:05", "2026-01-02T04:04:05+01:00", "0001-01-01T00:00:00Z"} {
		wire := `"` + text + `"`
		assert.Equal(t, wire, sentValue(t, g, text))
		assert.Equal(t, wire, sentValue(t, g, plan(text)))
		assert.Equal(t, `[`+wire+`]`, sentValue(t, g, []string{text}))
		assert.Equal(t, `{"at":`+wire+`}`, sentValue(t, g, json.RawMessage(`{"at":`+wire+`}`)), "it is not all that the value writes")
	}
}

func TestVariablesSendATimeInAnyForm(t *testing.T) {
	const precise = `"2026-01-02T04:04:05.9+01:00"`
	tests := []struct {
		name  string
		value any
		wire  string
	}{
		{"a time", anHourEast, precise},
		{"the zero time", time.Time{}, `"0001-01-01T00:00:00Z"`},
		{"a slice of times", []time.Time{anHourEast}, `[` + precise + `]`},
		{"a struct that holds a time", struct{ At *time.Time }{&anHourEast}, `{"At":` + precise + `}`},
		{"a map of times with numbers for keys", map[int]time.Time{1: anHourEast}, `{"1":` + precise + `}`},
		{"a type that embeds a time", promoted{anHourEast}, precise},
		{"null.Time", []nullTime{{sql.NullTime{Time: anHourEast, Valid: true}}}, `[` + precise + `]`},
		{"strfmt.DateTime", strictTime(anHourEast), `"2026-01-02T03:04:05.900Z"`},
		{"pgtype.Timestamptz", &timestampOfPostgres{Time: anHourEast, Valid: true}, precise},
		{"timestamppb.Timestamp", &timestampOfProto{1, 2}, `{"Seconds":1,"Nanos":2}`},
		{"a type that writes itself as a mail does", laidOut{anHourEast, time.RFC1123Z}, `"Fri, 02 Jan 2026 04:04:05 +0100"`},
		{"a type that writes itself as a date", []day{{anHourEast}}, `["2026-01-02"]`},
		{"raw JSON", json.RawMessage(precise), precise},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.wire, sentVariable(t, g, test.value))
		})
	}
}

func TestValuesAndVariablesSendEveryKind(t *testing.T) {
	var noMap map[string]any
	var noKeys map[int]string
	var noSlice []string
	var noMarshaler *pointerOnly
	tests := []struct {
		name  string
		value any
		wire  string
	}{
		{"nil", nil, `null`},
		{"a string", "wörds & <b>", `"wörds & <b>"`},
		{"a string type", plan("gold"), `"gold"`},
		{"a pointer to a string", pointerTo("gold"), `"gold"`},
		{"true", true, `true`},
		{"a bool type", consent(false), `false`},
		{"an int", -1, `-1`},
		{"the least int64", int64(math.MinInt64), `-9223372036854775808`},
		{"the greatest uint64, to the last digit", uint64(math.MaxUint64), `18446744073709551615`},
		{"an int8", int8(-8), `-8`},
		{"an int16", int16(-16), `-16`},
		{"an int32", int32(-32), `-32`},
		{"an int type", count(-7), `-7`},
		{"a uint", uint(1), `1`},
		{"a uint8", uint8(8), `8`},
		{"a uint16", uint16(16), `16`},
		{"a uint32", uint32(32), `32`},
		{"a uintptr", uintptr(64), `64`},
		{"a uint type", size(7), `7`},
		{"a float32, with no digit too many", float32(0.1), `0.1`},
		{"a float32 type, with no digit too many", ratio(0.1), `0.1`},
		{"a float64", 1e21, `1e+21`},
		{"a float64 type", celsius(36.6), `36.6`},
		{"a big number", big.NewInt(7), `7`},
		{"a json.Number, to the last digit", json.Number("1.000000000000000000001"), `1.000000000000000000001`},
		{"a pointer to a json.Number", pointerTo(json.Number("1e400")), `1e400`},
		{"a replacement character, which is valid UTF-8", "\ufffd", "\"\ufffd\""},
		{"the same as a key", map[string]any{"\ufffd": 1}, "{\"\ufffd\":1}"},
		{"raw JSON", json.RawMessage(`{"a":[1, 2]}`), `{"a":[1,2]}`},
		{"raw JSON with an escaped replacement character", json.RawMessage(`"\ufffd"`), `"\ufffd"`},
		{"no raw JSON", json.RawMessage(nil), `null`},
		{"bytes", []byte("jane"), `"amFuZQ=="`},
		{"a type of bytes", blob("jane"), `"amFuZQ=="`},
		{"a slice of a byte type", []octet("jane"), `"amFuZQ=="`},
		{"a slice of a byte type that writes itself", []level{1}, `["level 1"]`},
		{"an array of bytes", [2]byte{1, 2}, `[1,2]`},
		{"a nil slice of bytes", []byte(nil), `null`},
		{"a nil map", noMap, `null`},
		{"a nil map with numbers for keys", noKeys, `null`},
		{"an empty map", map[string]any{}, `{}`},
		{"a nil slice", noSlice, `null`},
		{"an empty slice", []string{}, `[]`},
		{"a nil pointer to what writes itself", noMarshaler, `null`},
		{"a nil pointer to what writes itself, as a json.Marshaler", []json.Marshaler{noMarshaler, nil}, `[null,null]`},
		{"what writes itself by its pointer", &pointerOnly{"jane"}, `"I am jane"`},
		{"a slice of what writes itself by its pointer", []big.Int{*big.NewInt(5)}, `[5]`},
		{"what writes itself as text", place{"home"}, `"at home"`},
		{"a pointer to what writes itself as text", &place{"home"}, `"at home"`},
		{"a slice that writes itself", places{{}, {}}, `2`},
		{"a nil slice that writes itself", places(nil), `0`},
		{"a struct that is lent its way of writing", struct{ netip.Addr }{netip.MustParseAddr("127.0.0.1")}, `"127.0.0.1"`},
		{"values of any type within one another", map[plan][]any{"a": {celsius(1), nil, map[string]bool{"b": true}}},
			`{"a":[1,null,{"b":true}]}`},
		{"a hundred objects within one another", nested(100), strings.Repeat(`{"in":`, 100) + "1" + strings.Repeat("}", 100)},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.wire, sentValue(t, g, test.value))
			assert.Equal(t, test.wire, sentVariable(t, g, test.value))
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

func TestVariablesSendStructs(t *testing.T) {
	type named struct {
		Name string `json:"name"`
	}
	tests := []struct {
		name  string
		value any
		wire  string
	}{
		{"a struct", named{"jane"}, `{"name":"jane"}`},
		{"a pointer to a struct", &named{"jane"}, `{"name":"jane"}`},
		{"no struct", (*named)(nil), `null`},
		{"a slice of structs", []named{{"jane"}}, `[{"name":"jane"}]`},
		{"a map of structs", map[plan]named{"gold": {"jane"}}, `{"gold":{"name":"jane"}}`},
		{"a pointer to a struct with a field that writes itself by its pointer", &struct{ N big.Int }{*big.NewInt(5)}, `{"N":5}`},
		{"a replacement character, which is valid UTF-8", named{"\ufffd"}, "{\"name\":\"\ufffd\"}"},
		{"a string that looks like its escape", named{`\ufffd`}, `{"name":"\\ufffd"}`},
		{"a string that looks like its escape, behind a backslash", named{`\\ufffd`}, `{"name":"\\\\ufffd"}`},
		{"a map with numbers for keys", map[int]string{1: "one"}, `{"1":"one"}`},
		{"a map with keys that write themselves as text", map[place]int{{"home"}: 1}, `{"at home":1}`},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.wire, sentVariable(t, g, test.value))
		})
	}
}

func TestValuesRefuseStructsAndOtherKeysThanStrings(t *testing.T) {
	const isStruct = " is a struct: use a map, a time.Time, or a type with MarshalJSON"
	const keys = " is a map with keys that are not strings: use string keys"
	type named struct{ Name string }
	requireValuesInvalid(t, []invalidValue{
		{"a struct", named{canary}, isStruct},
		{"a pointer to a struct", &named{canary}, isStruct},
		{"a struct with nothing in it", struct{}{}, isStruct},
		{"a struct in a slice", []named{{canary}}, ".0" + isStruct},
		{"a struct in a map", map[string]*named{"x": {canary}}, ".x" + isStruct},
		{"a struct that writes itself by its pointer", pointerOnly{canary}, isStruct},
		{"a struct around what writes itself", struct{ At promoted }{promoted{anHourEast}}, isStruct},
		{"a struct with two ways to write itself, which are none", struct {
			nullTime
			timestampOfPostgres
		}{}, isStruct},
		{"a type made of time.Time, which writes nothing of itself", madeOfTime(anHourEast), isStruct},
		{"timestamppb.Timestamp", &timestampOfProto{1, 2}, isStruct},
		{"sql.NullTime", sql.NullTime{Time: anHourEast, Valid: true}, isStruct},
		{"a map with numbers for keys", map[int]string{1: canary}, keys},
		{"an empty map with numbers for keys", map[int]string{}, keys},
		{"a map with any keys", map[any]any{canary: 1}, keys},
		{"a map with keys that write themselves as text", map[place]int{{canary}: 1}, keys},
		{"a map with times for keys, in a slice", []any{map[time.Time]int{}}, ".0" + keys},
	})
}

func TestValuesAndVariablesRefuseWhatJSONCannotHold(t *testing.T) {
	kind := func(name string) string {
		return " is of kind " + name + ": use a bool, a string, a number, a time.Time, a map or a slice"
	}
	const unwritable = " cannot be written as JSON"
	const infinite = " must be a finite number"
	const noNumber = " must be a valid number"
	requireVariablesInvalid(t, []invalidValue{
		{"not a number", math.NaN(), infinite},
		{"a float32 that is not a number", float32(math.NaN()), infinite},
		{"infinity", math.Inf(1), infinite},
		{"minus infinity", math.Inf(-1), infinite},
		{"a float type that is not a number", celsius(math.NaN()), infinite},
		{"not a number behind a pointer", pointerTo(math.NaN()), infinite},
		{"not a number in a slice", []float64{1, math.NaN()}, ".1" + infinite},
		{"a channel", make(chan int), kind("chan")},
		{"a nil channel", (chan int)(nil), kind("chan")},
		{"a function", func() {}, kind("func")},
		{"a nil function", (func())(nil), kind("func")},
		{"a complex number", 1i, kind("complex128")},
		{"a short complex number", complex64(1i), kind("complex64")},
		{"an address", unsafe.Pointer(nil), kind("unsafe.Pointer")},
		{"a json.Number that is none", json.Number("12" + canary), noNumber},
		{"a json.Number that is another value", json.Number("true"), noNumber},
		{"an empty json.Number", json.Number(""), noNumber},
		{"an empty json.Number in a slice", []json.Number{"1", ""}, ".1" + noNumber},
		{"raw JSON that is none", json.RawMessage("{" + canary), unwritable},
		{"raw JSON that is empty", json.RawMessage{}, unwritable},
		{"what fails to write itself", failing{}, unwritable},
		{"what fails to write itself, by a pointer", new(failing), unwritable},
		{"what fails to write itself as text", failingText{}, unwritable},
		{"what fails to write itself, in a map", map[string]failing{"x": {}}, ".x" + unwritable},
	})
}

func TestVariablesRefuseStructsThatJSONCannotHold(t *testing.T) {
	const unwritable = "variables.value cannot be written as JSON"
	const invalid = "variables.value must be valid UTF-8"
	loop := new(struct{ Self any })
	loop.Self = loop
	tests := []struct {
		name    string
		value   any
		problem string
	}{
		{"a struct around a channel", struct{ C chan int }{}, unwritable},
		{"a struct around what fails to write itself", struct{ F failing }{}, unwritable},
		{"a struct within itself", loop, unwritable},
		{"a time with a year of five digits", anHourEast.AddDate(9000, 0, 0), unwritable},
		{"a map with keys that JSON has no form for", map[bool]string{true: canary}, unwritable},
		{"a map with numbers for keys, around a function", map[int]any{1: func() {}}, unwritable},
		{"a struct that holds invalid UTF-8", struct{ Name string }{notUTF8}, invalid},
		{"a struct that holds it behind a backslash", &struct{ Name string }{`\` + notUTF8}, invalid},
		{"a map with numbers for keys that holds invalid UTF-8", map[int]string{1: notUTF8}, invalid},
		{"a map with keys that write themselves as invalid UTF-8", map[brokenText]int{{}: 1}, invalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scripted.RequireAlwaysInvalid(t, templateVariable(test.value), []string{test.problem})
		})
	}
}

func TestValuesAndVariablesRefuseInvalidUTF8(t *testing.T) {
	const invalid = " must be valid UTF-8"
	requireVariablesInvalid(t, []invalidValue{
		{"a string", notUTF8, invalid},
		{"a string type", plan(notUTF8), invalid},
		{"a string behind a pointer", pointerTo(notUTF8), invalid},
		{"a string in a slice", []string{"a", notUTF8}, ".1" + invalid},
		{"a string in an array", [1]any{notUTF8}, ".0" + invalid},
		{"a string in a map", map[plan]string{"x": notUTF8}, ".x" + invalid},
		{"a string far within", map[string]any{"a": []any{0, map[string]plan{"b": notUTF8}}}, ".a.1.b" + invalid},
		{"a key", map[string]any{"plan\xff": 1}, `.plan\xff has a name that is not valid UTF-8`},
		{"a key far within", []any{map[plan]int{"é\"\xff": 1}}, `.0.é\"\xff has a name that is not valid UTF-8`},
		{"a key, and what is under it", map[string]any{"\xff": notUTF8}, `.\xff has a name that is not valid UTF-8, must be valid UTF-8`},
		{"what writes itself as text", brokenText{}, invalid},
		{"raw JSON", json.RawMessage(`"` + notUTF8 + `"`), invalid},
		{"raw JSON within an object", json.RawMessage(`{"a":["` + notUTF8 + `"]}`), invalid},
	})
	values := map[string]any{"plan\xff": 1}
	scripted.RequireAlwaysInvalid(t, triggerOf(values), []string{`payload.plan\xff has a name that is not valid UTF-8`})
	scripted.RequireAlwaysInvalid(t, templateOf(values), []string{`variables.plan\xff has a name that is not valid UTF-8`})
}

func TestValuesAndVariablesRefuseOnceWhatContainsItselfOrIsTooDeep(t *testing.T) {
	inMap := map[string]any{"not a number": math.NaN()}
	inMap["self"] = inMap
	inSlice := []any{nil, func() {}}
	inSlice[0] = inSlice
	var inPointer any
	inPointer = &inPointer
	const tooDeep = " is nested deeper than 100 levels, or contains itself"
	requireVariablesInvalid(t, []invalidValue{
		{"a map within itself", inMap, tooDeep},
		{"a slice within itself", inSlice, tooDeep},
		{"a pointer to itself", inPointer, tooDeep},
		{"a map within itself, behind a pointer", &inMap, tooDeep},
		{"a map within itself, in a slice", []any{math.NaN(), inMap}, tooDeep},
		{"a ring of maps that closes in two places", ringOfMaps(10), tooDeep},
		{"a hundred and one objects within one another", nested(101), tooDeep},
	})
}

func TestValuesReportWhatIsBesideAValueThatContainsItself(t *testing.T) {
	loop := []any{nil}
	loop[0] = loop
	values := map[string]any{"a": math.NaN(), "b": loop, "c": []any{func() {}, math.NaN()}, "d": loop}
	scripted.RequireAlwaysInvalid(t, triggerOf(values), []string{
		"payload.a must be a finite number",
		"payload.b is nested deeper than 100 levels, or contains itself",
		"payload.c.0 is of kind func: use a bool, a string, a number, a time.Time, a map or a slice",
		"payload.c.1 must be a finite number",
		"payload.d is nested deeper than 100 levels, or contains itself",
	})
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

func TestValuesReportProblemsInTheOrderOfTheirNames(t *testing.T) {
	values, within := map[string]any{}, map[string]any{}
	var problems, problemsWithin []string
	for letter := 'a'; letter <= 'y'; letter++ {
		values[string(letter)], within[string(letter)] = math.NaN(), math.NaN()
		problems = append(problems, "payload."+string(letter)+" must be a finite number")
		problemsWithin = append(problemsWithin, "payload.z."+string(letter)+" must be a finite number")
	}
	values["z"] = within
	scripted.RequireAlwaysInvalid(t, triggerOf(values), append(problems, problemsWithin...))
}

func TestValuesReportEveryProblemBesideThoseOfTheOtherParams(t *testing.T) {
	trigger := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Events.Trigger(ctx,
			messaging.EventTriggerParams{Values: map[string]any{"at": time.Time{}, "size": math.Inf(1)}}, opts...)
		return err
	}
	broadcast := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		p := scripted.BroadcastTo("jane@example.com")
		p.Subject, p.Variables = "", map[string]any{"size": math.Inf(1)}
		_, err := c.Broadcasts.SendEmail(ctx, p, opts...)
		return err
	}
	g := scripted.NewGate(t)
	g.RequireInvalid(t, trigger, []string{"event_id is required", "payload.email is required when there is no customer",
		"payload.at" + isZeroTime, "payload.size must be a finite number"})
	g.RequireInvalid(t, broadcast, []string{"subject is required", "variables.size must be a finite number"})
}

func TestParamsAreNotModified(t *testing.T) {
	values := func() map[string]any {
		return map[string]any{
			"at": anHourEast, "pointer": pointerTo(anHourEast), "none": nil, "bytes": blob("jane"),
			"list": []any{anHourEast, map[string]time.Time{"at": anHourEast}}, "times": times{anHourEast},
			"raw": json.RawMessage(`{"a": 1}`), "days": []*promoted{{onTheSecond}},
		}
	}
	customer := func() *messaging.CustomerParams {
		return &messaging.CustomerParams{Email: "jane@example.com", Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "token"}}}
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
			To: messaging.ToCustomers(*customer()), Schedule: &messaging.Schedule{Date: "2027-03-01 09:00:00", Timezone: "UTC"}}
	}
	event := func() messaging.EventCreateParams {
		return messaging.EventCreateParams{Name: "signup", Description: "D",
			Parameters: []messaging.EventParameter{{Name: "plan", Type: "Text", Required: true}}}
	}
	g := scripted.NewGate(t)

	triggered := trigger()
	_, err := g.Client.Events.Trigger(t.Context(), triggered)
	require.NoError(t, err)
	assert.Equal(t, trigger(), triggered)

	sent := broadcast()
	_, err = g.Client.Broadcasts.SendEmail(t.Context(), sent)
	require.NoError(t, err)
	assert.Equal(t, broadcast(), sent)

	created := event()
	_, err = g.Client.Events.Create(t.Context(), created)
	require.NoError(t, err)
	assert.Equal(t, event(), created)
	require.Len(t, g.Take(), 3)
}
