package wire_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// answering returns a client that gets the same answer to everything.
func answering(t testing.TB, body string, opts ...messaging.Option) *messaging.Client {
	t.Helper()
	return scripted.NewInMemoryClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
	}), opts...)
}

// only returns the one item of a page.
func only[T any](t *testing.T, page *messaging.Page[T], err error) (T, error) {
	t.Helper()
	if err != nil {
		assert.Nil(t, page, "nothing half-filled is returned")
		var none T
		return none, err
	}
	require.Len(t, page.Items, 1)
	return page.Items[0], nil
}

// eventIn, customerIn and messageIn return the one item of a list whose only
// row has the given members.
func eventIn(t *testing.T, members string) (messaging.Event, error) {
	t.Helper()
	page, err := answering(t, `{"success":true,"data":[{`+members+`}]}`).Events.List(t.Context(), messaging.EventListParams{})
	return only(t, page, err)
}

func customerIn(t *testing.T, members string) (messaging.Customer, error) {
	t.Helper()
	page, err := answering(t, `{"success":true,"data":{"data":[{`+members+`}]}}`).Customers.List(t.Context(), messaging.CustomerListParams{})
	return only(t, page, err)
}

func messageIn(t *testing.T, members string) (messaging.TransactionalMessage, error) {
	t.Helper()
	page, err := answering(t, `{"success":true,"data":[{`+members+`}]}`).Transactional.List(t.Context(), messaging.TransactionalListParams{})
	return only(t, page, err)
}

// requireProblem asks for a DecodeError that says just this, path first.
func requireProblem(t *testing.T, problem string, err error) *messaging.DecodeError {
	t.Helper()
	var failure *messaging.DecodeError
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, problem, failure.Err.Error())
	assert.Contains(t, failure.Error(), "invalid response (200)")
	assert.NotEmpty(t, failure.Body)
	return failure
}

// requireKept requires that a record could be read, and that it has a member in Extra.
func requireKept(t *testing.T, extra map[string]json.RawMessage, member, value string, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Contains(t, extra, member)
	assert.Equal(t, strings.ReplaceAll(value, " ", ""), strings.ReplaceAll(string(extra[member]), " ", ""))
}

// reading is a JSON value in the place of a field, and what becomes of it.
type reading[T any] struct {
	name  string
	value string // JSON, "" to leave the field out
	want  T
	kept  bool // in Extra; then there is no want
}

func (r reading[T]) title() string {
	if r.name != "" {
		return r.name
	}
	return r.value
}

// member writes the field as a member of a row.
func (r reading[T]) member(name string) string {
	if r.value == "" {
		return ""
	}
	return fmt.Sprintf("%q:%s", name, r.value)
}

func TestDecodeReadsAStringThatMayBeANumber(t *testing.T) {
	for _, row := range []reading[string]{
		{value: `"8a7e"`, want: "8a7e"},
		{value: `""`},
		{value: `42`, want: "42"},
		{value: `-7.50`, want: "-7.50"},
		{value: `12345678901234567890123`, want: "12345678901234567890123"},
		{value: `null`},
		{name: "a missing text is empty"},
		{value: `"\u0041\t\"\/\ud83d\ude00"`, want: "A\t\"/😀"},
		{value: `"naïve ☃"`, want: "naïve ☃"},
		{name: "a lone surrogate", value: `"a\ud800z"`, want: "a\uFFFDz"},
		{name: "a NUL", value: `"a\u0000z"`, want: "a\x00z"},
		{name: "a megabyte", value: `"` + strings.Repeat("m", 1<<20) + `"`, want: strings.Repeat("m", 1<<20)},
		{value: `true`, kept: true},
		{value: `{}`, kept: true},
		{value: `["a"]`, kept: true},
	} {
		t.Run(row.title(), func(t *testing.T) {
			event, err := eventIn(t, row.member("id"))
			if row.kept {
				requireKept(t, event.Extra, "id", row.value, err)
				assert.Empty(t, event.ID)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, messaging.Event{ID: row.want}, event)
		})
	}
}

func TestDecodeReadsAnIntegerInAnySpelling(t *testing.T) {
	for _, row := range []reading[int]{
		{value: `20`, want: 20}, {value: `"20"`, want: 20},
		{value: `3.0`, want: 3}, {value: `"3.0"`, want: 3},
		{value: `1e2`, want: 100}, {value: `"1e2"`, want: 100}, {value: `1E+2`, want: 100}, {value: `0.5e1`, want: 5},
		{value: `1200e-2`, want: 12},
		{value: `-1`, want: -1}, {value: `"-1"`, want: -1}, {value: `0`}, {value: `-0`}, {value: `0.0`}, {value: `0e9`},
		{value: `null`}, {name: "a missing number is zero"},
		{value: fmt.Sprint(math.MaxInt), want: math.MaxInt}, {value: fmt.Sprintf("%q", fmt.Sprint(math.MaxInt)), want: math.MaxInt},
	} {
		t.Run(row.title(), func(t *testing.T) {
			message, err := messageIn(t, row.member("total_sent"))
			require.NoError(t, err)
			assert.Equal(t, messaging.TransactionalMessage{TotalSent: row.want}, message)
		})
	}
}

func TestDecodeKeepsAnInvalidInteger(t *testing.T) {
	for _, value := range []string{
		`1.5`, `"1.5"`, `-0.5`, `15e-1`, `1e30`, `"1e30"`, `-1e30`, `1e999`, strings.Repeat("9", 100_000),
		fmt.Sprint(uint64(math.MaxInt) + 1), fmt.Sprint(uint64(math.MaxInt)+1) + ".0",
		`9007199254740994.0`, // a whole number that a float64 rounds
		`"Inf"`, `"NaN"`, `"Infinity"`, `"0x1p4"`, `"0x14"`, `"1_0"`, `"1,000"`, `"+1"`, `"x"`, `""`, `" 20"`, `"20 "`, `"\"20\""`,
		`true`, `{}`, `[]`,
	} {
		t.Run(value[:min(len(value), 40)], func(t *testing.T) {
			message, err := messageIn(t, `"total_sent":`+value)
			requireKept(t, message.Extra, "total_sent", value, err)
			assert.Zero(t, message.TotalSent)
		})
	}
}

func TestDecodeReadsABoolean(t *testing.T) {
	for _, row := range []reading[bool]{
		{value: `true`, want: true}, {value: `1`, want: true},
		{value: `false`}, {value: `0`}, {value: `null`}, {name: "a missing boolean is false"},
		{value: `2`, kept: true},
		{value: `-1`, kept: true},
		{value: `"true"`, kept: true},
		{value: `{}`, kept: true},
		{value: `[]`, kept: true},
	} {
		t.Run(row.title(), func(t *testing.T) {
			event, err := eventIn(t, `"parameters":[{`+row.member("required")+`}]`)
			if row.kept {
				requireKept(t, event.Extra, "parameters", `[{`+row.member("required")+`}]`, err)
				assert.Empty(t, event.Parameters)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []messaging.EventParameter{{Required: row.want}}, event.Parameters)
		})
	}
}

func TestDecodeReadsProviders(t *testing.T) {
	for _, row := range []reading[[]string]{
		{value: `null`}, {value: `""`}, {value: `" , "`}, {value: `[]`}, {name: "missing providers are none"},
		{value: `"mailgun"`, want: []string{"mailgun"}},
		{value: `"a, b,,c"`, want: []string{"a", "b", "c"}},
		{value: `"a,"`, want: []string{"a"}},
		{value: `["a","b"]`, want: []string{"a", "b"}},
		{value: `7`, want: []string{"7"}},
		{name: "an array is held to the same as a text", value: `[" a ","",null,"b,c"]`, want: []string{"a", "b", "c"}},
		{value: `{}`, kept: true},
		{value: `["a",{}]`, kept: true},
	} {
		t.Run(row.title(), func(t *testing.T) {
			customer, err := customerIn(t, row.member("providers"))
			if row.kept {
				requireKept(t, customer.Extra, "providers", row.value, err)
				assert.Empty(t, customer.Providers)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, messaging.Customer{Providers: row.want}, customer)
		})
	}
}

func TestDecodeReadsParameters(t *testing.T) {
	for _, row := range []reading[[]messaging.EventParameter]{
		{value: `null`}, {value: `[]`}, {name: "missing parameters are none"},
		{name: "types are kept in lower case",
			value: `[{"name":"Plan","type":"Text"},{"name":"at","type":"TIMESTAMP","required":true},{"type":"Colour"}]`,
			want: []messaging.EventParameter{{Name: "Plan", Type: messaging.ParameterText},
				{Name: "at", Type: messaging.ParameterTimestamp, Required: true}, {Type: "colour"}}},
		{name: "what is unknown of a parameter is kept", value: `[{"unit":{"of":["time"]},"name":"at"}]`,
			want: []messaging.EventParameter{{Name: "at", Extra: map[string]json.RawMessage{"unit": json.RawMessage(`{"of":["time"]}`)}}}},
		{value: `{}`, kept: true},
		{value: `[null]`, kept: true},
		{value: `[{},{"name":[]}]`, kept: true},
		{value: `[{},{},{"required":"no"}]`, kept: true},
	} {
		t.Run(row.title(), func(t *testing.T) {
			event, err := eventIn(t, row.member("parameters"))
			if row.kept {
				requireKept(t, event.Extra, "parameters", row.value, err)
				assert.Empty(t, event.Parameters)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, messaging.Event{Parameters: row.want}, event)
		})
	}
}

func TestDecodeReadsAnUnambiguousTimestamp(t *testing.T) {
	second := time.Date(2026, 5, 1, 10, 20, 30, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-05-01T10:20:30Z":           second,
		"2026-05-01T10:20:30.123456Z":    second.Add(123456 * time.Microsecond),
		"2026-05-01T10:20:30.123456789Z": second.Add(123456789),
		"2026-05-01T10:20:30,5Z":         second.Add(time.Second / 2),
		"2026-05-01 10:20:30":            second,
		"2026-05-01T10:20:30":            second,
		"2026-05-01 10:20:30.25":         second.Add(time.Second / 4),
		"2026-05-01 10:20:30Z":           second,
		"2026-05-01t10:20:30z":           second,
		"2026-05-01T12:20:30+02:00":      second,
		"2026-05-01T12:20:30.5+02:00":    second.Add(time.Second / 2),
		"2026-05-01 12:20:30+0200":       second,
		"2026-05-01T04:50:30-05:30":      second,
		"2026-05-01T04:50:30-0530":       second,
		"2026-05-01T10:20:30+0000":       second,
		"2024-02-29T00:00:00Z":           time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"0000-01-01T00:00:00Z":           time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		"9999-12-31T23:59:59Z":           time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		`2026-05-01T12:20:30\u002b02:00`: second,
		`2026\u002d05-01T10:20:30\u005a`: second,
	} {
		t.Run(text, func(t *testing.T) {
			event, err := eventIn(t, `"created_at":"`+text+`"`)
			require.NoError(t, err)
			assert.Equal(t, messaging.Event{CreatedAt: want}, event)
		})
	}
}

func TestDecodeKeepsAnInvalidTimestamp(t *testing.T) {
	for _, raw := range []string{
		`""`, `"0000-00-00"`, `"0000-00-00 00:00:00"`, `"2026-05-01"`, `"2026-05-01T10:20Z"`, `"2026-05-01T24:00:00Z"`,
		`"2026-02-30T10:20:30Z"`, `"2026-13-01T10:20:30Z"`, `"2026-05-01T10:20:60Z"`, `"2026-05-01T10:20:30 CET"`,
		`"01/05/2026 10:20:30 AM"`, `"Fri, 01 May 2026 10:20:30 GMT"`, `"<soon> & \"later\""`, `1777630830`, `1.5e9`, `true`,
		`{"date":"2026-05-01"}`, `[2026,5,1]`,
		`"` + strings.Repeat("2026", 1000) + `"`,
		`"0000-01-01T00:00:00+02:00"`, `"9999-12-31T23:59:59-02:00"`, // in UTC, their years have no four digits
	} {
		t.Run(raw[:min(len(raw), 40)], func(t *testing.T) {
			event, err := eventIn(t, `"id":"1","created_at":`+raw)
			require.NoError(t, err, "a list does not fail for a date")
			assert.JSONEq(t, raw, string(event.Extra["created_at"]))
			assert.Len(t, event.Extra, 1)
			event.Extra = nil
			assert.Equal(t, messaging.Event{ID: "1"}, event)
		})
	}
}

func TestDecodeKeepsUnknownMembers(t *testing.T) {
	const members = `"score":1.50,"nested":{"list":[1, {"deep":null}],"text":"\u0041"},"nothing":null,"":true,"naïve \u2603":"x",` +
		`"Id":"another"`
	want := map[string]json.RawMessage{
		"score": json.RawMessage(`1.50`), "nested": json.RawMessage(`{"list":[1, {"deep":null}],"text":"\u0041"}`),
		"nothing": json.RawMessage(`null`), "": json.RawMessage(`true`), "naïve ☃": json.RawMessage(`"x"`), "Id": json.RawMessage(`"another"`),
	}
	event, err := eventIn(t, members)
	require.NoError(t, err)
	assert.Equal(t, messaging.Event{Extra: want}, event)

	customer, err := customerIn(t, members)
	require.NoError(t, err)
	assert.Equal(t, messaging.Customer{Extra: want}, customer)

	message, err := messageIn(t, members)
	require.NoError(t, err)
	assert.Equal(t, messaging.TransactionalMessage{Extra: want}, message)
}

func TestDecodeLeavesExtraNilWithoutUnknownMembers(t *testing.T) {
	for name, members := range map[string]string{
		"no members": ``, "known members": `"id":"1","created_at":"2026-05-01T10:20:30Z"`, "null for a date": `"created_at":null`,
		"a date that is there twice": `"created_at":"soon","created_at":"2026-05-01T10:20:30Z"`,
	} {
		t.Run(name, func(t *testing.T) {
			event, err := eventIn(t, members)
			require.NoError(t, err)
			assert.Nil(t, event.Extra)
		})
	}
}

func TestDecodeReadsMembersInAnyOrder(t *testing.T) {
	page, err := answering(t, ` { "meta" : { "per_page" : "5" } , "message" : "m" ,
		"data" : [ { "name" : "n" , "id" : 1 } ] , "links" : { } , "success" : true } `).
		Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	assert.Equal(t, []messaging.Event{{ID: "1", Name: "n"}}, page.Items)
	assert.Equal(t, messaging.PageMeta{PerPage: 5}, page.Meta)
	assert.Equal(t, "m", page.Response.Message)
}

func TestDecodeSharesNoMemoryWithItsBuffer(t *testing.T) {
	bodies := make(chan string, 1)
	client := scripted.NewInMemoryClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, <-bodies)
	}))
	list := func(letter string) (*messaging.Page[messaging.Event], error) {
		bodies <- strings.ReplaceAll(`{"success":true,"message":"%%%%","data":[{"id":"%%%%","parameters":[{"name":"%%%%"}],"more":["%%%%"]}],
			"meta":{"has_next_page":true,"next_page_cursor":"%%%%"}}`, "%", letter)
		return client.Events.List(t.Context(), messaging.EventListParams{})
	}
	page, err := list("a")
	require.NoError(t, err)
	bodies <- `{"success":true,"data":"aaaa"}`
	push, err := client.Broadcasts.SendPush(t.Context(),
		messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers()})
	require.NoError(t, err)
	bodies <- `{"success":true,"data":"aaaa"}`
	_, err = client.Events.List(t.Context(), messaging.EventListParams{})
	failure := requireProblem(t, "data is a string, not an array", err)
	for range 20 {
		_, err := list("z")
		require.NoError(t, err)
	}
	assert.Equal(t, []messaging.Event{{ID: "aaaa", Parameters: []messaging.EventParameter{{Name: "aaaa"}},
		Extra: map[string]json.RawMessage{"more": json.RawMessage(`["aaaa"]`)}}}, page.Items)
	assert.Equal(t, "aaaa", page.Meta.NextPageCursor)
	assert.Equal(t, "aaaa", page.Response.Message)
	assert.Equal(t, `"aaaa"`, string(push.Data))
	assert.Equal(t, `{"success":true,"data":"aaaa"}`, string(failure.Body))
}

func TestDecodeReadsMetaWhereverItIs(t *testing.T) {
	const meta = `{"has_next_page":true,"has_prev_page":true,"next_page_cursor":"n","prev_page_cursor":"p","per_page":"50","total":7}`
	full := messaging.PageMeta{HasNextPage: true, HasPrevPage: true, NextPageCursor: "n", PrevPageCursor: "p", PerPage: 50}
	for _, row := range []struct {
		name, body string
		want       messaging.PageMeta
		problem    string
	}{
		{name: "beside data", body: `{"success":true,"data":[{}],"meta":` + meta + `}`, want: full},
		{name: "before data", body: `{"success":true,"meta":` + meta + `,"data":[{}]}`, want: full},
		{name: "within data", body: `{"success":true,"data":{"data":[{}],"meta":` + meta + `}}`, want: full},
		{name: "beside an outer data that holds the rows", body: `{"success":true,"data":{"data":[{}]},"meta":` + meta + `}`, want: full},
		{name: "in both places, and the same", body: `{"success":true,"data":{"data":[{}],"meta":` + meta + `},"meta":` + meta + `}`, want: full},
		{name: "in both places, and null in one", body: `{"success":true,"data":{"data":[{}],"meta":` + meta + `},"meta":null}`, want: full},
		{name: "in both places, and different", body: `{"success":true,"data":{"data":[{}],"meta":` + meta + `},"meta":{"per_page":20}}`,
			problem: "meta is duplicated, and the copies differ"},
		{name: "in both places, and empty in one", body: `{"success":true,"data":{"data":[{}],"meta":` + meta + `},"meta":{}}`,
			problem: "meta is duplicated, and the copies differ"},
		{name: "twice in one place", problem: "meta is duplicated",
			body: `{"success":true,"data":[{}],"meta":` + meta + `,"meta":` + meta + `}`},
		{name: "twice within data", body: `{"success":true,"data":{"meta":{},"data":[{}],"meta":{}}}`, problem: "data.meta is duplicated"},
		{name: "a flag twice, which differs", problem: "meta.has_next_page is duplicated",
			body: `{"success":true,"data":[{}],"meta":{"has_next_page":true,"next_page_cursor":"n","has_next_page":false}}`},
		{name: "a flag twice, which is the same", problem: "meta.has_next_page is duplicated",
			body: `{"success":true,"data":[{}],"meta":{"has_next_page":false,"has_next_pag\u0065":false}}`},
		{name: "a cursor twice, which differs", problem: "meta.next_page_cursor is duplicated",
			body: `{"success":true,"data":[{}],"meta":{"next_page_cursor":"n","has_next_page":true,"next_page_cursor":"o"}}`},
		{name: "a cursor twice, which is the same", problem: "meta.next_page_cursor is duplicated",
			body: `{"success":true,"data":[{}],"meta":{"next_page_cursor":"","next_page_cursor":""}}`},
		{name: "nulls in all its members",
			body: `{"success":true,"data":[{}],"meta":{"has_next_page":null,"has_prev_page":null,"next_page_cursor":null,"prev_page_cursor":null,` +
				`"per_page":null}}`},
		{name: "a list with something in it", body: `{"success":true,"data":[{}],"meta":[1]}`,
			problem: "meta.0 is an element of what must be an object"},
		{name: "a text", body: `{"success":true,"data":[{}],"meta":"?"}`, problem: "meta is a string, not an object"},
		{name: "a page size that is none", body: `{"success":true,"data":[{}],"meta":{"per_page":1e30}}`,
			problem: "meta.per_page is not an integer"},
		{name: "a flag that is none", body: `{"success":true,"data":{"data":[{}],"meta":{"has_next_page":"yes"}}}`,
			problem: "data.meta.has_next_page is a string, not a boolean"},
		{name: "a cursor that is none", body: `{"success":true,"data":[{}],"meta":{"next_page_cursor":{"id":1}}}`,
			problem: "meta.next_page_cursor is an object, not a string"},
		{name: "a cursor that is not UTF-8", body: `{"success":true,"data":[{}],"meta":{"next_page_cursor":"a` + "\xff" + `"}}`,
			problem: "meta.next_page_cursor is not valid UTF-8"},
	} {
		t.Run(row.name, func(t *testing.T) {
			events, err := answering(t, row.body).Events.List(t.Context(), messaging.EventListParams{})
			customers, customersErr := answering(t, row.body).Customers.List(t.Context(), messaging.CustomerListParams{})
			if row.problem != "" {
				requireProblem(t, row.problem, err)
				requireProblem(t, row.problem, customersErr)
				assert.Nil(t, events)
				assert.Nil(t, customers)
				return
			}
			require.NoError(t, err)
			require.NoError(t, customersErr)
			assert.Equal(t, row.want, events.Meta)
			assert.Equal(t, row.want, customers.Meta)
			assert.Len(t, events.Items, 1)
			assert.Len(t, customers.Items, 1)
		})
	}
}

// everyKindOfCall is one call of each way in which an answer is read.
var everyKindOfCall = map[string]func(*testing.T, *messaging.Client) error{
	"a list": func(t *testing.T, c *messaging.Client) error {
		page, err := c.Events.List(t.Context(), messaging.EventListParams{})
		assert.Equal(t, err == nil, page != nil)
		return err
	},
	"a nested list": func(t *testing.T, c *messaging.Client) error {
		page, err := c.Customers.List(t.Context(), messaging.CustomerListParams{})
		assert.Equal(t, err == nil, page != nil)
		return err
	},
	"a send": func(t *testing.T, c *messaging.Client) error {
		response, err := c.Broadcasts.SendPush(t.Context(),
			messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers()})
		assert.Equal(t, err == nil, response != nil)
		return err
	},
	"a trigger": func(t *testing.T, c *messaging.Client) error {
		response, err := c.Events.Trigger(t.Context(), messaging.EventTriggerParams{EventID: "1", Email: "ada@example.com"})
		assert.Equal(t, err == nil, response != nil)
		return err
	},
	"a creation": func(t *testing.T, c *messaging.Client) error {
		event, err := c.Events.Create(t.Context(),
			messaging.EventCreateParams{Name: "n", Description: "d", Parameters: []messaging.EventParameter{}})
		assert.Equal(t, err == nil, event != nil)
		return err
	},
}

func TestDecodeReportsUnknownDeliveryForAnInvalidResponse(t *testing.T) {
	const notJSON = "the response is not valid JSON"
	utf16 := strings.Join(strings.Split(`{"success":true,"data":null}`, ""), "\x00") + "\x00"
	for _, row := range []struct{ name, body, problem string }{
		{"a page of HTML", "<html><body>Bad gateway</body></html>", "the response is HTML or XML, not JSON"},
		{"a page of HTML after a byte order mark and a blank line", "\uFEFF\n<html></html>", "the response is HTML or XML, not JSON"},
		{"blanks", " \r\n\t", "the response is empty"},
		{"an unfinished object", `{"success":true,"data":null`, notJSON},
		{"an unfinished text", `{"success":true,"message":"Bro`, "message is not valid JSON"},
		{"a bare word", `OK`, notJSON},
		{"UTF-16", "\xFF\xFE" + utf16, notJSON},
		{"UTF-16 without a byte order mark", utf16, notJSON},
		{"two byte order marks", "\uFEFF\uFEFF" + `{"success":true,"data":null}`, notJSON},
		{"a trailing comma", `{"success":true,"data":null,}`, notJSON},
		{"a comment", `{/**/"success":true,"data":null}`, notJSON},
		{"a control character in a text", "{\"success\":true,\"message\":\"a\nb\"}", "message is not valid JSON"},
		{"an escape that JSON does not have", `{"success":true,"message":"\x41"}`, "message is not valid JSON"},
		{"a word that begins like null", `not found`, notJSON},
		{"a word that begins like true", `try again`, notJSON},
		{"a word that begins like false", `{"success":failed}`, "success is not valid JSON"},
		{"null", `null`, "the response is null, not an object"},
		{"a list", `[{"success":true}]`, "the response is an array, not an object"},
		{"a text", `"ok"`, "the response is a string, not an object"},
		{"a number", `1`, "the response is a number, not an object"},
		{"true", `true`, "the response is a boolean, not an object"},
		{"an empty object", `{}`, "success is missing"},
		{"no success", `{"message":"sent","data":null}`, "success is missing"},
		{"success in capitals", `{"Success":true,"SUCCESS":true,"data":null}`, "success is missing"},
		{"success as a text", `{"success":"true"}`, "success is a string, not a boolean"},
		{"success as a number", `{"success":1}`, "success is a number, not a boolean"},
		{"success null", `{"success":null}`, "success is null, not a boolean"},
		{"success as an object", `{"success":{}}`, "success is an object, not a boolean"},
		{"two successes that differ", `{"success":false,"success":true,"data":null}`, "success is duplicated"},
		{"two successes that agree", `{"success":true,"data":null,"success":true}`, "success is duplicated"},
		{"a second success in disguise", `{"success":true,"succes\u0073":false,"data":null}`, "success is duplicated"},
		{"text after the answer", `{"success":true,"data":null} and so on`, "the response is followed by more text"},
		{"a second answer", `{"success":true,"data":null}{"success":false}`, "the response is followed by more text"},
		{"a bracket too many", `{"success":true,"data":null}}`, "the response is followed by more text"},
		{"a NUL after the answer", `{"success":true,"data":null}` + "\x00", "the response is followed by more text"},
	} {
		for name, call := range everyKindOfCall {
			t.Run(row.name+" to "+name, func(t *testing.T) {
				err := call(t, answering(t, row.body))
				failure := requireProblem(t, row.problem, err)
				assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
				assert.Equal(t, 1, failure.Attempts)
				assert.Equal(t, row.body, string(failure.Body))
			})
		}
	}
}

func TestDecodeReadsAResponseOfAnyContentType(t *testing.T) {
	const body = `{"success":true,"message":"fine","data":{"id":"1","data":[]}}`
	for _, row := range []struct{ name, contentType, body string }{
		{"a byte order mark", "application/json", "\uFEFF" + body},
		{"white space", "application/json", " \r\n\t" + body + " \r\n\t"},
		{"plain text by its header", "text/plain; charset=utf-8", body},
		{"HTML by its header", "text/html", body},
		{"no type", "", body},
	} {
		for name, call := range everyKindOfCall {
			t.Run(row.name+", to "+name, func(t *testing.T) {
				require.NoError(t, call(t, scripted.NewInMemoryClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Content-Type"] = []string{row.contentType}
					_, _ = io.WriteString(w, row.body)
				}))))
			})
		}
	}
}

func TestDecodeReportsSuccessFalseWhateverTheData(t *testing.T) {
	for _, data := range []string{`null`, `[]`, `[5]`, `{"per_page":["is too large"]}`, `"x"`, `false`} {
		for name, call := range everyKindOfCall {
			t.Run(data+" to "+name, func(t *testing.T) {
				err := call(t, answering(t, `{"data":`+data+`,"success":false,"message":"no\u0000\u001b[31m\r\n!"}`))
				var refusal *messaging.APIError
				require.ErrorAs(t, err, &refusal)
				assert.Equal(t, "no\x00\x1b[31m\r\n!", refusal.Message, "the message is kept as it came")
				assert.Contains(t, err.Error(), `no\x00\x1b[31m\r\n!`, "and escaped where it is printed")
				assert.Equal(t, messaging.DeliveryRejected, messaging.DeliveryOf(err))
			})
		}
	}
}

func TestDecodeReplacesInvalidUTF8(t *testing.T) {
	page, err := answering(t, `{"success":true,"message":"caf`+"\xe9"+`","data":[{"id":"a`+"\xff"+`z","k`+"\xc0"+`y":"v`+"\xed\xa0\x80"+
		`"}]}`).
		Events.List(t.Context(), messaging.EventListParams{})
	event, err := only(t, page, err)
	require.NoError(t, err)
	assert.Equal(t, "a\uFFFDz", event.ID)
	assert.Equal(t, map[string]json.RawMessage{"k\uFFFDy": json.RawMessage("\"v\uFFFD\"")}, event.Extra)
	assert.Equal(t, "caf\uFFFD", page.Response.Message)
}

// everyKindOfSend is one call of each way in which the data of a send are read.
var everyKindOfSend = map[string]func(*testing.T, *messaging.Client) error{
	"a send":     everyKindOfCall["a send"],
	"a trigger":  everyKindOfCall["a trigger"],
	"a creation": everyKindOfCall["a creation"],
	"an own request": func(t *testing.T, c *messaging.Client) error {
		response, err := c.Do(t.Context(), messaging.Request{Method: http.MethodPost, Path: "/v1/unknown", Body: map[string]any{}})
		assert.Equal(t, err == nil, response != nil)
		return err
	},
}

func TestDecodeRefusesDeepDataThatIsInvalidJSON(t *testing.T) {
	const levels = 9_000
	left, right := strings.Repeat("[", levels), strings.Repeat("]", levels)
	for name, data := range map[string]string{
		"a comma before the end":          left + "1," + right,
		"a member without a value":        left + `{"a":}` + right,
		"an array that ends as an object": left + "[1}" + right,
		"a bracket too few":               left + right[1:],
		"a bracket too many":              left + right + "]",
		"a string without an end":         left + `"` + right,
		"text behind it":                  left + right + " and so on",
	} {
		for _, body := range []string{`{"success":true,"data":` + data + `}`, `{"data":` + data + `,"success":true}`} {
			t.Run(name, func(t *testing.T) {
				err := everyKindOfCall["a send"](t, answering(t, body))
				require.ErrorAs(t, err, new(*messaging.DecodeError))
				assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			})
		}
	}
}

// inconclusiveData are members of a response that leave it open what happened, whatever
// stands beside them.
var inconclusiveData = map[string]string{
	"data of 10,001 levels":                  `"data":` + scripted.NestedArrays(10_000),
	"data twice":                             `"data":1,"data":2`,
	"data twice, with equal copies":          `"data":{"id":"1"},"data":{"id":"1"}`,
	"data twice, with an escape in one name": `"data":null,"d\u0061ta":null`,
	"data twice, false in both":              `"data":false,"data":false`,
	"success twice":                          `"success":true,"data":null`,
}

func TestDecodeOfDuplicatedOrVeryDeepDataIsInconclusive(t *testing.T) {
	for name, members := range inconclusiveData {
		for kind, call := range everyKindOfSend {
			for _, success := range []string{"true", "false"} {
				t.Run(name+" beside success "+success+", to "+kind, func(t *testing.T) {
					err := call(t, answering(t, `{"success":`+success+`,`+members+`}`))
					require.ErrorAs(t, err, new(*messaging.DecodeError))
					assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
				})
			}
		}
	}
}

func TestDecodeOfInvalidRowsKeepsTheDelivery(t *testing.T) {
	for _, row := range []struct{ name, data, problem string }{
		{"arrays for a row", `"data":` + scripted.NestedArrays(9_000), "data.0 is an array, not an object"},
		{"nested data duplicated", `"data":{"data":[],"data":[]}`, "data.data is duplicated"},
		{"no data", `"message":"Done"`, "data is missing"},
		{"no data beside a meta", `"meta":{"has_next_page":false}`, "data is missing"},
	} {
		for success, delivery := range map[string]messaging.Delivery{
			`true`: messaging.DeliveryAccepted, `false`: messaging.DeliveryRejected,
			`true,"success":true`: messaging.DeliveryUnknown, `"true"`: messaging.DeliveryUnknown,
		} {
			t.Run(row.name+" beside success "+success, func(t *testing.T) {
				err := everyKindOfCall["a list"](t, answering(t, `{"success":`+success+`,`+row.data+`}`))
				assert.Equal(t, delivery, messaging.DeliveryOf(err))
				if delivery == messaging.DeliveryAccepted {
					requireProblem(t, row.problem, err)
				}
			})
		}
	}
	for name, data := range map[string]string{
		"data duplicated": `"data":[],"data":[]`,
		"data duplicated, with rows in both places":  `"data":[],"data":{"data":[]}`,
		"data duplicated, with a meta in each":       `"data":{"data":[],"meta":{}},"data":{"data":[],"meta":{}}`,
		"a row that is nested deeper than jx allows": `"data":[{"more":` + scripted.NestedArrays(10_000) + `}]`,
	} {
		t.Run(name, func(t *testing.T) {
			err := everyKindOfCall["a list"](t, answering(t, `{"success":true,`+data+`}`))
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
		})
	}
}

func TestDecodeErrorNamesThePath(t *testing.T) {
	for _, row := range []struct{ name, body, problem string }{
		{"a row that is null", `{"success":true,"data":[{},null]}`, "data.1 is null, not an object"},
		{"a row that is a number", `{"success":true,"data":[7]}`, "data.0 is a number, not an object"},
		{"a row that is a list", `{"success":true,"data":[{},{},[]]}`, "data.2 is an array, not an object"},
		{"a nested row that is a text", `{"success":true,"data":{"data":[{},"x"]}}`, "data.data.1 is a string, not an object"},
		{"a field cut short", `{"success":true,"data":{"data":[{},{},{},{"created_at":}]}}`, "data.data.3.created_at is not valid JSON"},
		{"a text cut short", `{"success":true,"data":[{"id":"x`, "data.0.id is not valid JSON"},
		{"a row cut short", `{"success":true,"data":[{"id":"x"`, "data.0 is not valid JSON"},
		{"rows without a comma", `{"success":true,"data":[{} {}]}`, "data is not valid JSON"},
		{"a number with a leading zero", `{"success":true,"data":[{"id":01}]}`, "data.0.id is not valid JSON"},
		{"a key that is not quoted", `{"success":true,"data":[{id:1}]}`, "data.0 is not valid JSON"},
		{"a path of odd keys", `{"success":true,"data":[{"parameters":[{"a.b c":x}]}]}`, "data.0.parameters is not valid JSON"},
		{"rows that are a text", `{"success":true,"data":"none"}`, "data is a string, not an array"},
		{"rows that are a number", `{"success":true,"data":0}`, "data is a number, not an array"},
		{"rows that are false", `{"success":true,"data":false}`, "data is a boolean, not an array"},
		{"an object without rows", `{"success":true,"data":{}}`, "data.data is missing"},
		{"an object that is a row itself", `{"success":true,"data":{"id":"1","name":"n"}}`, "data.data is missing"},
		{"nested rows that are an object", `{"success":true,"data":{"data":{}}}`, "data.data is an object, not an array"},
		{"nested rows that are a text", `{"success":true,"data":{"data":"none"}}`, "data.data is a string, not an array"},
		{"nested rows that are there twice", `{"success":true,"data":{"data":[],"data":[]}}`, "data.data is duplicated"},
		{"rows that stand in both places", `{"success":true,"data":[],"data":{"data":[]}}`, "data is duplicated"},
	} {
		t.Run(row.name, func(t *testing.T) {
			page, err := answering(t, row.body).Events.List(t.Context(), messaging.EventListParams{})
			assert.Nil(t, page, "nothing half-filled is returned")
			requireProblem(t, row.problem, err)
		})
	}
}

// What follows half a word must not pass for the value that was meant.
func TestDecodeRefusesALiteralThatBeginsLikeNull(t *testing.T) {
	for _, row := range []struct{ name, body, problem string }{
		{"for a text", `{"success":true,"data":[{"id":nope"1"}]}`, "data.0.id is not valid JSON"},
		{"for a timestamp", `{"success":true,"data":[{"created_at":nope"2026-05-01T10:20:30Z"}]}`, "data.0.created_at is not valid JSON"},
		{"for a count", `{"success":true,"data":[{"total_sent":nope1}]}`, "data.0.total_sent is not valid JSON"},
		{"for the rows", `{"success":true,"data":nope[{"id":"1"}]}`, "data is not valid JSON"},
		{"for a flag", `{"success":true,"data":[],"meta":{"has_next_page":nope true}}`, "meta.has_next_page is not valid JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := answering(t, row.body).Transactional.List(t.Context(), messaging.TransactionalListParams{})
			requireProblem(t, row.problem, err)
		})
	}
	var event messaging.Event
	require.EqualError(t, event.UnmarshalJSON([]byte(`{"parameters":nope[]}`)), "messaging: parameters is not valid JSON")
}

func TestDecodeErrorTextIsShortForALongPath(t *testing.T) {
	key := strings.Repeat("k", 1<<20)
	_, err := eventIn(t, `"`+key+`":x`)
	requireProblem(t, "data.0."+key+" is not valid JSON", err)
	assert.Less(t, len(err.Error()), 400)
}

func TestDecodeLimitsTheRowsOfAPage(t *testing.T) {
	page := func(t *testing.T, envelope string, perPage, rows int) (*messaging.Page[messaging.Event], error) {
		t.Helper()
		list := "[" + strings.Repeat("{},", rows-1) + "{}]"
		return answering(t, fmt.Sprintf(envelope, list)).Events.List(t.Context(), messaging.EventListParams{PerPage: perPage})
	}
	for _, row := range []struct {
		name           string
		perPage, limit int
	}{
		{"to ten thousand", 0, 10_000},
		{"to ten thousand, however few were asked for", 1, 10_000},
		{"to ten thousand, where half of it was asked for", 5_000, 10_000},
		{"to twice of what was asked for", 5_001, 10_002},
	} {
		for path, envelope := range map[string]string{"data": `{"success":true,"data":%s}`, "data.data": `{"success":true,"data":{"data":%s}}`} {
			t.Run(row.name+" in "+path, func(t *testing.T) {
				full, err := page(t, envelope, row.perPage, row.limit)
				require.NoError(t, err)
				assert.Equal(t, row.limit, len(full.Items))

				over, err := page(t, envelope, row.perPage, row.limit+1)
				assert.Nil(t, over)
				require.ErrorIs(t, err, messaging.ErrTooLarge)
				requireProblem(t, fmt.Sprintf("%s.%d exceeds the limit of %d rows", path, row.limit, row.limit), err)
			})
		}
	}
}

func TestDecodeStopsBeforeTheRowBeyondTheLimit(t *testing.T) {
	rows := strings.Repeat("{},", 10_000)
	_, err := answering(t, `{"success":true,"data":[`+rows+`5,{"id":{}}]}`).Events.List(t.Context(), messaging.EventListParams{})
	requireProblem(t, "data.10000 exceeds the limit of 10000 rows", err)
}

// pageOf is a response of equal rows, each with a list of equal elements.
func pageOf(rows int, member, list string, elements int, element string) string {
	row := fmt.Sprintf(`{%q:%s},`, member, fmt.Sprintf(list, strings.Repeat(element+",", elements-1)+element))
	return `{"success":true,"data":[` + strings.Repeat(row, rows-1) + strings.TrimSuffix(row, ",") + "]}"
}

func TestDecodeLimitsTheListsWithinRowsInTotal(t *testing.T) {
	const problem = " exceeds the limit of 250000 list elements and unknown members"
	for _, row := range []struct{ name, kind, body, problem string }{
		{"250,000 parameters of one event", "a list", pageOf(1, "parameters", "[%s]", 250_000, "{}"), ""},
		{"250,001 parameters of one event", "a list", pageOf(1, "parameters", "[%s]", 250_001, "{}"), "data.0.parameters.250000" + problem},
		{"250,000 parameters of 1,000 events", "a list", pageOf(1000, "parameters", "[%s]", 250, "{}"), ""},
		{"251,000 parameters of 1,000 events", "a list", pageOf(1000, "parameters", "[%s]", 251, "{}"), "data.996.parameters.4" + problem},
		{"125,000 parameters with an unknown member", "a list", pageOf(1, "parameters", "[%s]", 125_000, `{"a":1}`), ""},
		{"125,001 parameters with an unknown member", "a list", pageOf(1, "parameters", "[%s]", 125_001, `{"a":1}`),
			"data.0.parameters.125000" + problem},
		{"250,000 providers in an array", "a nested list", pageOf(1, "providers", "[%s]", 250_000, `"a"`), ""},
		{"250,001 providers in an array", "a nested list", pageOf(1, "providers", "[%s]", 250_001, `"a"`), "data.0.providers.250000" + problem},
		{"250,000 providers in a string", "a nested list", pageOf(1, "providers", `"%s"`, 250_000, "a"), ""},
		{"250,001 providers in a string", "a nested list", pageOf(1, "providers", `"%s"`, 250_001, "a"), "data.0.providers" + problem},
		{"251,000 providers of 1,000 customers", "a nested list", pageOf(1000, "providers", `"%s"`, 251, "a"), "data.996.providers" + problem},
		{"400,000 providers without a name", "a nested list", pageOf(1, "providers", `"%s"`, 400_000, " "), ""},
		{"250,001 parameters of a created event", "a creation",
			`{"success":true,"data":{"id":"1","parameters":[` + strings.Repeat("{},", 250_000) + `{}]}}`, "data.parameters.250000" + problem},
	} {
		t.Run(row.name, func(t *testing.T) {
			client := answering(t, row.body)
			err := everyKindOfCall[row.kind](t, client)
			if row.problem == "" {
				require.NoError(t, err)
				require.NoError(t, everyKindOfCall[row.kind](t, client), "each response has the whole limit")
				return
			}
			requireProblem(t, row.problem, err)
			assert.ErrorIs(t, err, messaging.ErrTooLarge)
			assert.Equal(t, messaging.DeliveryAccepted, messaging.DeliveryOf(err))
		})
	}
	var event messaging.Event
	err := event.UnmarshalJSON([]byte(`{"parameters":[` + strings.Repeat("{},", 250_000) + `{}]}`))
	require.EqualError(t, err, "messaging: parameters.250000"+problem)
}

func TestDecodeErrorOfALargePageHasTheNextCursor(t *testing.T) {
	rows := "[" + strings.Repeat("{},", 10_000) + "{}]"
	for name, body := range map[string]string{
		"before the rows": `{"success":true,"meta":` + scripted.MetaBefore("b") + `,"data":` + rows + `}`,
		"after the rows":  `{"success":true,"data":{"data":` + rows + `,"meta":` + scripted.MetaBefore("b") + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := messaging.Collect(answering(t, body).Customers.All(t.Context(), messaging.CustomerListParams{}))
			var failure *messaging.PageError
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, "b", failure.Next)
			assert.ErrorIs(t, err, messaging.ErrTooLarge)
		})
	}
}

func TestDecodeAcceptsAnyUncheckedPageSize(t *testing.T) {
	for _, perPage := range []int{-1, math.MinInt, math.MaxInt} {
		t.Run(fmt.Sprint(perPage), func(t *testing.T) {
			client := answering(t, `{"success":true,"data":[{"id":"1"}]}`)
			require.NotPanics(t, func() {
				page, err := client.Events.List(t.Context(), messaging.EventListParams{PerPage: perPage}, messaging.WithoutValidation())
				event, err := only(t, page, err)
				require.NoError(t, err)
				assert.Equal(t, "1", event.ID)
			})
		})
	}
}

func TestDecodeKeepsAListWithOddMembersAndWritesThemBack(t *testing.T) {
	const row = `{"customer_id":"1","first_name":true,"last_name":{},"email":["a"],"customer_created_at":"0000-00-00"}`
	page, err := answering(t, `{"success":true,"data":{"data":[`+row+`,{"customer_id":"2"}]}}`).
		Customers.List(t.Context(), messaging.CustomerListParams{})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	written, err := json.Marshal(page.Items[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"customer_id":"1","first_name":true,"last_name":{},"email":["a"],"customer_created_at":"0000-00-00",`+
		`"phone_no":"","providers":""}`, string(written))
}

func TestDecodeCountsUnknownMembers(t *testing.T) {
	var members strings.Builder
	for i := range 250_001 {
		fmt.Fprintf(&members, `"%d":1,`, i)
	}
	_, err := customerIn(t, members.String()+`"customer_id":"1"`)
	require.ErrorIs(t, err, messaging.ErrTooLarge)
}

func TestLookupOfAnEventWithAnOddMemberIsADecodeError(t *testing.T) {
	for member, row := range map[string]string{"id": `{"name":"n","id":{}}`, "name": `{"name":[],"id":"1"}`,
		"parameters": `{"name":"n","id":"1","parameters":[{"required":"no"}]}`} {
		client := answering(t, `{"success":true,"data":[`+row+`]}`)
		_, err := client.Events.GetByName(t.Context(), "n")
		problem := "data.0." + member + " cannot be read, and it may be of the event that is looked up"
		var failure *messaging.DecodeError
		require.ErrorAs(t, err, &failure)
		assert.EqualError(t, failure.Err, problem)
		_, err = client.Events.Ensure(t.Context(),
			messaging.EventCreateParams{Name: "n", Description: "d", Parameters: []messaging.EventParameter{}})
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	}
}

func TestDecodeReportsAcceptedForAnInvalidCreatedEvent(t *testing.T) {
	for _, row := range []struct{ name, body, problem string }{
		{"no id", `{"success":true,"data":{"name":"n"}}`, "data.id is missing"},
		{"null for an id", `{"success":true,"data":{"id":null}}`, "data.id is missing"},
		{"an empty id", `{"success":true,"data":{"id":""}}`, "data.id is missing"},
		{"an id that is none", `{"success":true,"data":{"id":{}}}`, "data.id is missing"},
		{"null for data", `{"success":true,"data":null}`, "data is null, not an object"},
		{"no data", `{"success":true}`, "data is missing"},
		{"a list of one", `{"success":true,"data":[{"id":"1"}]}`, "data is an array, not an object"},
		{"an empty list", `{"success":true,"data":[]}`, "data is an array, not an object"},
		{"true", `{"success":true,"data":true}`, "data is a boolean, not an object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := everyKindOfCall["a creation"](t, answering(t, row.body))
			requireProblem(t, row.problem, err)
			assert.Equal(t, messaging.DeliveryAccepted, messaging.DeliveryOf(err))
			assert.Contains(t, err.Error(), "the event was created, do not repeat it")
		})
	}
}

func TestDecodeReportsRejectedForATriggerWithDataFalse(t *testing.T) {
	for _, row := range []struct {
		name, body, data string
		refused          bool
	}{
		{name: "true", body: `{"success":true,"data":true}`, data: `true`},
		{name: "null", body: `{"success":true,"data":null}`, data: `null`},
		{name: "missing", body: `{"success":true}`},
		{name: "an object", body: `{"success":true,"data":{"ok": false}}`, data: `{"ok": false}`},
		{name: "a text", body: `{"success":true,"data":"false"}`, data: `"false"`},
		{name: "false", body: `{"success":true,"data":false,"message":"unknown event"}`, refused: true},
		{name: "false between blanks", body: `{ "data" : false , "message" : "unknown event" , "success" : true }`, refused: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			response, err := answering(t, row.body).Events.Trigger(t.Context(),
				messaging.EventTriggerParams{EventID: "1", Email: "ada@example.com"})
			if !row.refused {
				require.NoError(t, err)
				assert.Equal(t, row.data, string(response.Data))
				return
			}
			assert.Nil(t, response)
			var refusal *messaging.APIError
			require.ErrorAs(t, err, &refusal)
			assert.Equal(t, messaging.DeliveryRejected, refusal.Delivery())
			assert.Equal(t, "unknown event", refusal.Message)
		})
	}
	require.NoError(t, everyKindOfSend["an own request"](t, answering(t, `{"success":true,"data":false}`)), "no trigger")
}

func TestDecodeAcceptsAnyMessage(t *testing.T) {
	for message, want := range map[string]string{
		`"sent"`: "sent", `null`: "", `7`: "7", `true`: "true", `{"en":"sent"}`: `{"en":"sent"}`, `["a"]`: `["a"]`,
	} {
		t.Run(message, func(t *testing.T) {
			page, err := answering(t, `{"success":true,"data":[],"message":`+message+`}`).Events.List(t.Context(), messaging.EventListParams{})
			require.NoError(t, err)
			assert.Equal(t, want, page.Response.Message)
		})
	}
}

func TestDecodeTakesLessThanOneAllocationPerRow(t *testing.T) {
	scripted.SkipUnderRace(t)
	listing := func(rows int) float64 {
		client := scripted.NewClientOver(t, "https://api.example.com", (&measuringTransport{answer: pageOfCustomers(rows)}).client())
		return testing.AllocsPerRun(5, func() {
			page, err := client.Customers.List(t.Context(), messaging.CustomerListParams{PerPage: rows})
			require.NoError(t, err)
			require.Equal(t, rows, len(page.Items))
		})
	}
	assert.Less(t, (listing(1000)-listing(200))/800, 0.7)
}

// pageOfCustomers is the response to a list, with customers that have everything.
func pageOfCustomers(rows int) string {
	var page strings.Builder
	page.WriteString(`{"success":true,"message":"fetched","data":{"data":[`)
	for i := range rows {
		if i > 0 {
			page.WriteByte(',')
		}
		fmt.Fprintf(&page,
			`{"customer_id":"cus_%d","first_name":"Jane","last_name":"Doe","email":"jane+%d@example.com","phone_no":"+33612345678",`+
				`"customer_created_at":"2024-01-31T08:00:00Z","updated_at":"2024-02-01T08:00:00Z","providers":"email,push",`+
				`"last_interaction":"2024-02-28T08:00:00Z"}`, i, i)
	}
	page.WriteString(`],"meta":{"has_next_page":false,"next_page_cursor":null}}}`)
	return page.String()
}
