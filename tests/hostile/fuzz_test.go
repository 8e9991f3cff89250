package hostile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// seedResponses are the seeds of the fuzz targets for responses: valid, unusual and
// invalid ones.
var seedResponses = []string{
	`{"success":true,"message":"Company events fetched successfully","data":[{"id":"8a7e","name":"Order","description":"d",
		"parameters":[{"name":"total","type":"Numeric","required":true}],"created_at":"2026-05-01T10:20:30.123456Z","more":[1.50]}],
		"meta":{"has_next_page":true,"has_prev_page":false,"next_page_cursor":"b","prev_page_cursor":null,"per_page":20}}`,
	`{"success":true,"message":"Customers fetched successfully","data":{"data":[{"customer_id":7,"first_name":"Ada","last_name":null,
		"email":"ada@example.com","phone_no":"+441234567890","customer_created_at":"2026-05-01T10:20:30Z","updated_at":"0000-00-00",
		"providers":"a, b,,c","last_interaction":1777630830}],"meta":{"has_next_page":false,"next_page_cursor":null,"per_page":"20"}}}`,
	`{"success":true,"data":{"meta":[],"data":[{"providers":["a","b"]}]},"meta":null}`,
	`{"success":true,"message":"Transactional Messages fetched successfully","data":[{"id":"8a7e","channel":"sms","subject":"","title":"",
		"message":"m","message_type":null,"created_at":"2026-05-01 10:20:30","total_sent":"20","total_delivered":3.0,"total_failed":1e2,
		"total_complained":null,"total_bounced":-1},{"message_type":"OTP"}],"meta":{"has_next_page":"?"}}`,
	`{"success":true,"data":{"id":"8a7e","name":"n","description":"d","parameters":[],"created_at":"2026-05-01T12:20:30,5+0200"}}`,
	"\uFEFF" + ` {"data":null,"success":true} `,
	`{"success":true,"data":[{"id":"\ud83d\ude00\ud800\u0000","k` + "\xff" + `":"` + "\xc0" + `"}]}`,
	`{"success":true,"data":[{"created_at":"soon","created_at":"2026-05-01T10:20:30Z","customer_created_at":"2026-05-01T10:20:30Z",` +
		`"customer_created_at":""}]}`,
	`{"success":true,"data":[{"providers":[" a ",null,"b,c"]},{"providers":null},{"providers":""}]}`,
	`{"success":true,"data":[{"created_at":"0000-01-01T00:00:00+02:00","updated_at":"9999-12-31T23:59:59.999999999-02:00"}]}`,
	`{"success":true,"data":[{"message_type":nope"OTP"}]}`, `{"success":true,"data":nope[{}]}`,
	`{"success":true,"data":[{"created_at":nope""}]}`,
	`{"success":true,"data":[{"total_sent":1e30}]}`, `{"success":true,"data":[{},null]}`, `{"success":true,"data":{}}`,
	`{"success":true,"success":false}`, `{"Success":true}`, `{"success":"true"}`, `{"success":true} {}`, `{"success":true,"data":false}`,
	`{"success":true,"data":` + scripted.NestedArrays(101) + `}`, `{"success":true,"data":[{"x":` + scripted.NestedArrays(97) + `}]}`,
	`{"success":false,"message":"no\u001b[31m\r\n","data":{"field":["is wrong"]}}`,
	`{"message":"no","errors":{"recipients.0.email":["is wrong","is long"]}}`,
	`{"errors":[{"field":"email","message":"is wrong"},{"loc":["body",0],"msg":"is wrong"}]}`, `{"errors":["a","b"]}`,
	`{"error":{"code":7,"message":"no","fields":{"a":{"b":"c"}}}}`, `{"error":"no"}`,
	`{"title":"no","detail":"really","invalid-params":[{"name":"a","reason":"b"}]}`,
	`<html><body>Bad gateway</body></html>`, `null`, `[]`, `"ok"`, `1`, `true`, ``, `{`, "\xff\xfe{\x00}\x00",
}

// changingResponse is a handler whose response each round of fuzzing replaces.
type changingResponse struct {
	status int
	body   []byte
}

func (a *changingResponse) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// resultCall is a call that returns what the method of the client does.
type resultCall = func(context.Context, *messaging.Client, ...messaging.RequestOption) (any, error)

// fuzzResponses makes calls that receive any response. Each returns what it got from a
// valid document, or an error whose text can be printed.
func fuzzResponses(f *testing.F, calls []resultCall) {
	for _, answer := range seedResponses {
		f.Add([]byte(answer))
	}
	answer := &changingResponse{status: http.StatusOK}
	client := scripted.NewInMemoryClient(f, answer)
	f.Fuzz(func(t *testing.T, body []byte) {
		answer.body = body
		for _, call := range calls {
			got, err := call(t.Context(), client)
			require.NotEqual(t, err == nil, got == nil, "either a value or an error")
			if err != nil {
				requirePresentable(t, err)
				continue
			}
			document := bytes.TrimPrefix(body, []byte("\uFEFF"))
			require.True(t, json.Valid(document), "what is no JSON is not understood")
			requireSound(t, got)
		}
	})
}

// requireSound checks what a call returns.
func requireSound(t *testing.T, got any) {
	t.Helper()
	switch got := got.(type) {
	case *messaging.Response:
		require.True(t, got.Data == nil || json.Valid(got.Data), "%q", got.Data)
	case *messaging.Event:
		require.NotEmpty(t, got.ID)
		scripted.RequireRoundTrip(t, got)
	case *messaging.Page[scripted.Model]:
		for _, item := range got.Items {
			scripted.RequireRoundTrip(t, item)
		}
		for _, cursor := range []string{got.Meta.NextPageCursor, got.Meta.PrevPageCursor} {
			require.True(t, utf8.ValidString(cursor))
			require.NotContains(t, cursor, "\uFFFD")
		}
	default:
		t.Fatalf("nothing checks %T: add a case", got)
	}
}

// requirePresentable checks what every error of a call with a response promises.
func requirePresentable(t *testing.T, err error) {
	t.Helper()
	var refusal *messaging.APIError
	var failure *messaging.DecodeError
	require.True(t, errors.As(err, &refusal) || errors.As(err, &failure), "%T", err)
	assert.NotEqual(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err), "it was sent")
	text := err.Error()
	require.True(t, utf8.ValidString(text), "%q", text)
	for _, r := range text {
		require.True(t, unicode.IsPrint(r), "%q", text)
	}
	require.LessOrEqual(t, utf8.RuneCountInString(text), 320, "%q", text)
}

func FuzzListResponse(f *testing.F) {
	var calls []resultCall
	for _, list := range scripted.Lists() {
		calls = append(calls, func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) (any, error) {
			page, err := list.Page(ctx, c, 0, "", opts...)
			if page == nil {
				return nil, err
			}
			return page, err
		})
	}
	fuzzResponses(f, calls)
}

func FuzzSendResponse(f *testing.F) {
	var calls []resultCall
	for _, send := range scripted.Sends() {
		calls = append(calls, send.Full().Do)
	}
	fuzzResponses(f, calls)
}

// seedRefusals are more bodies of errors.
var seedRefusals = []string{
	`"Invalid."`, "Invalid.", "\x1f\x8b\x08",
	`{"code":1,"message":"Invalid.","errors":{"a.0.b":["x","y"],"c":{"message":"z"}}}`,
	`{"errors":[{"field":"a","message":"x"},{"loc":["b",0],"msg":"y"},{"source":{"pointer":"/c"},"detail":"z"}]}`,
	`{"error":{"message":"Invalid.","details":[{"name":"a","reason":"x"}]},"data":{"b":["y"]}}`,
	`{"title":"Invalid.","detail":"x","invalid-params":[null,true,1,"y",[["z"]]]}`,
	`{"errors":{"a":["\u0000\u001b[31m\ud800","` + "\xe9" + `"]`,
	strings.Repeat(`{"errors":[`, 200), strings.Repeat(`["a",`, 200), `{"a":` + strings.Repeat("9", 400) + `}`,
}

// FuzzErrorResponse checks a broadcast that receives any status but 2xx, with any body.
func FuzzErrorResponse(f *testing.F) {
	for i, body := range slices.Concat(seedResponses, seedRefusals) {
		f.Add([]int{400, 401, 403, 404, 422, 429, 301, 500, 503}[i%9], []byte(body))
	}
	answer := new(changingResponse)
	client := scripted.NewInMemoryClient(f, answer)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 300 || status > 999 {
			t.Skip("no final status, or a success")
		}
		answer.status, answer.body = status, body
		_, err := client.Broadcasts.SendPush(t.Context(), messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers()})
		requirePresentable(t, err)
		var refusal *messaging.APIError
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, status, refusal.StatusCode)
		require.Equal(t, string(body[:min(len(body), scripted.MaxKeptBody)]), string(refusal.Body))
		require.True(t, utf8.ValidString(refusal.Code))
		require.True(t, utf8.ValidString(refusal.Message))
		for _, field := range refusal.Fields {
			require.True(t, utf8.ValidString(field.Field))
			require.NotEmpty(t, field.Field, "what is not about a field belongs into the message")
			require.NotEmpty(t, field.Messages)
			for _, message := range field.Messages {
				require.True(t, utf8.ValidString(message))
				require.NotEmpty(t, message)
			}
		}
	})
}

// FuzzTimestamp checks any string in place of a timestamp: it is decoded to the instant
// that package time decodes, or it is kept as it is.
func FuzzTimestamp(f *testing.F) {
	for _, text := range []string{
		"2026-05-01T10:20:30Z", "2026-05-01T10:20:30.123456Z", "2026-05-01T10:20:30,5Z", "2026-05-01T12:20:30+02:00", "2026-05-01T04:50:30-05:30",
		"2026-05-01 10:20:30", "2026-05-01t10:20:30z", "2026-05-01T12:20:30+0200", "2026-05-01T9:20:30Z", "2026-05-01T9:20:30-02:00",
		"2026-05-01T10:20:30.1234567890123456789012345678901234567890Z", "0000-01-01T00:00:00+02:00", "9999-12-31T23:59:59-02:00",
		"0001-01-01T00:00:00Z",
		"", "0000-00-00", "2026-02-30T10:20:30Z", "2026-05-01T24:00:00Z", "2026-05-01T10:20:60Z", "<soon>", "1777630830", "\xff", "\u2028",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.Marshal(text)
		require.NoError(t, err)
		var event messaging.Event
		require.NoError(t, event.UnmarshalJSON(fmt.Appendf(nil, `{"created_at":%s}`, raw)))
		scripted.RequireRoundTrip(t, &event)
		if want, err := time.Parse(time.RFC3339, text); err == nil && want.UTC().Year() >= 0 && want.UTC().Year() <= 9999 {
			require.True(t, event.CreatedAt.Equal(want), "%s, not %s", event.CreatedAt, want)
			require.Nil(t, event.Extra)
		}
		if event.Extra == nil {
			require.Equal(t, time.UTC, event.CreatedAt.Location())
			return
		}
		require.True(t, event.CreatedAt.IsZero(), "a date that is kept was not read")
		require.JSONEq(t, string(raw), string(event.Extra["created_at"]))
	})
}

// FuzzCursorWalk ranges over any graph of pages. Two bytes make a page: the page that
// follows it, and what its response contains.
func FuzzCursorWalk(f *testing.F) {
	const hasItem, hasNext, noFlag, noCursor, emptyCursor, noMeta = 1, 2, 4, 8, 16, 32
	f.Add([]byte{1, hasItem | hasNext, 2, hasItem | hasNext, 0, hasItem})
	f.Add([]byte{1, hasItem | hasNext, 0, hasItem | hasNext})
	f.Add([]byte{1, hasNext, 1, hasNext})
	f.Add([]byte{1, hasItem | noFlag, 2, noFlag | noCursor})
	f.Add([]byte{1, hasItem | hasNext | emptyCursor})
	f.Add([]byte{9, hasItem | hasNext})
	f.Add([]byte{1, hasItem | hasNext, 3, hasItem | noMeta})
	endless := make([]byte, 0, 500)
	for next := range byte(250) {
		endless = append(endless, next+1, hasNext)
	}
	f.Add(endless)

	page := func(next, says byte) scripted.Page {
		var p scripted.Page
		if says&hasItem != 0 {
			p.Items = []string{"item"}
		}
		meta := map[string]any{"has_next_page": says&hasNext != 0, "next_page_cursor": cursorOf(int(next))}
		if says&noFlag != 0 {
			delete(meta, "has_next_page")
		}
		if says&emptyCursor != 0 {
			meta["next_page_cursor"] = ""
		}
		if says&noCursor != 0 {
			delete(meta, "next_page_cursor")
		}
		if written, _ := json.Marshal(meta); says&noMeta == 0 {
			p.Meta = string(written)
		}
		return p
	}
	f.Fuzz(func(t *testing.T, graph []byte) {
		pages := make(scripted.Pages)
		for i := 0; i+1 < len(graph) && i < 512; i += 2 {
			pages[cursorOf(i/2)] = page(graph[i], graph[i+1])
		}
		for _, kind := range scripted.Lists() {
			requireSoundWalk(t, kind, pages)
		}
	})
}

// cursorOf returns the cursor of a page of a graph; that of the first is empty.
func cursorOf(page int) string {
	if page == 0 {
		return ""
	}
	return strconv.Itoa(page)
}

// requireSoundWalk ranges over pages and requires that the range ends, requests no page
// twice, and yields every item of the pages that it requests.
func requireSoundWalk(t *testing.T, kind scripted.List, pages scripted.Pages) {
	t.Helper()
	service := scripted.NewListService(kind, pages)
	items, err := messaging.Collect(kind.All(t.Context(), scripted.NewInMemoryClient(t, service), ""))
	asked := service.Cursors()
	last := asked[len(asked)-1]
	page, known := pages[last]
	silent := known && last != "" && !saysWhetherAPageFollows(page)
	seen := make(map[string]bool)
	var passed []string
	for _, cursor := range asked {
		require.False(t, seen[cursor], "asked for %q twice: %q", cursor, asked)
		seen[cursor] = true
		if cursor != last || !silent {
			passed = append(passed, pages[cursor].Items...)
		}
	}
	require.Equal(t, passed, items)
	if err == nil {
		require.NotContains(t, page.Meta, `"has_next_page":true`, "the list goes on")
		require.False(t, silent, "the list may go on")
		return
	}
	var failure *messaging.PageError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, last, failure.Cursor)
	require.Equal(t, !known, errors.Is(err, messaging.ErrNotFound))
	require.Equal(t, known && !silent, errors.Is(err, messaging.ErrBadCursor))
}

// saysWhetherAPageFollows reports whether the meta of a page has a flag or a cursor.
func saysWhetherAPageFollows(page scripted.Page) bool {
	var meta struct {
		Flag   *bool  `json:"has_next_page"`
		Cursor string `json:"next_page_cursor"`
	}
	return page.Meta != "" && json.Unmarshal([]byte(page.Meta), &meta) == nil && (meta.Flag != nil || meta.Cursor != "")
}
