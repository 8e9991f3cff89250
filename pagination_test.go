package messaging_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.uber.org/goleak"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/internal/service"
)

// threePages has two items on each page.
var threePages = scripted.Pages{
	"":  {Items: []string{"a1", "a2"}, Meta: scripted.MetaBefore("b")},
	"b": {Items: []string{"b1", "b2"}, Meta: scripted.MetaBefore("c")},
	"c": {Items: []string{"c1", "c2"}, Meta: scripted.MetaOfLastPage},
}

// inFlight counts the requests that are on their way.
type inFlight struct {
	http.RoundTripper
	requests atomic.Int32
}

func (f *inFlight) RoundTrip(req *http.Request) (*http.Response, error) {
	f.requests.Add(1)
	defer f.requests.Add(-1)
	return f.RoundTripper.RoundTrip(req)
}

// serve starts handler on the loopback and returns a client for it. When the
// test is over, no goroutine may be left of either.
func serve(t *testing.T, handler http.Handler, opts ...messaging.Option) (*messaging.Client, *inFlight) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := &inFlight{RoundTripper: server.Client().Transport}
	opts = append([]messaging.Option{messaging.WithHTTPClient(&http.Client{Transport: transport}), scripted.TwoAttempts}, opts...)
	client, err := messaging.NewClient(server.URL, "test-key-1", opts...)
	require.NoError(t, err)
	return client, transport
}

// rangeEnding is the error that a range ends with.
type rangeEnding struct {
	cursor, next string // of the PageError
	is           error  // nil for any
	delivery     messaging.Delivery
	text         string // part of the error text; {rows} stands for the path of the rows
}

func (e *rangeEnding) check(t *testing.T, kind scripted.List, err error) {
	t.Helper()
	if e == nil {
		assert.NoError(t, err)
		return
	}
	var pageError *messaging.PageError
	require.ErrorAs(t, err, &pageError)
	assert.Equal(t, e.cursor, pageError.Cursor, "the cursor to resume at")
	assert.Equal(t, e.next, pageError.Next, "the cursor to skip to")
	assert.Equal(t, e.delivery, pageError.Delivery())
	assert.Equal(t, e.delivery, messaging.DeliveryOf(err))
	if e.is != nil {
		assert.ErrorIs(t, err, e.is)
	}
	rows := "data"
	if kind.Nested {
		rows = "data.data"
	}
	assert.Contains(t, err.Error(), strings.ReplaceAll(e.text, "{rows}", rows))
	assert.True(t, strings.HasPrefix(err.Error(), kind.Name+": "), err.Error())
	assert.NotContains(t, err.Error(), "http://", "no error quotes a URL")
}

// collect ranges over items for as long as visit, where there is one, wants to
// go on. It holds every range to the same manners: one error, last, by itself.
func collect(t *testing.T, items iter.Seq2[string, error], visit func(id string) bool) (got []string, failure error) {
	t.Helper()
	for id, err := range items {
		require.NoError(t, failure, "the error is the last that is yielded")
		if err != nil {
			assert.Empty(t, id, "no item comes with the error")
			failure = err
			continue
		}
		got = append(got, id)
		if visit != nil && !visit(id) {
			break
		}
	}
	return got, failure
}

// walk is one way through a list.
type walk struct {
	name   string
	script scripted.Pages
	start  string // the cursor to start from
	stopAt string // break at this item, "" for never
	items  []string
	asked  []string // the cursors that the service was asked for
	// ahead is the last cursor asked for where pages are read ahead, if that
	// makes a difference.
	ahead string
	ends  *rangeEnding
}

func (w walk) run(t *testing.T) {
	for _, kind := range scripted.Lists() {
		t.Run(kind.Name+", read ahead", func(t *testing.T) {
			w.through(t, kind, true)
		})
		t.Run(kind.Name+", one page at a time", func(t *testing.T) {
			w.through(t, kind, false, messaging.WithoutReadAhead())
		})
	}
}

func (w walk) through(t *testing.T, kind scripted.List, readsAhead bool, opts ...messaging.RequestOption) {
	served := scripted.NewListService(kind, w.script)
	client, transport := serve(t, served)
	asked := slices.Clone(w.asked)
	if readsAhead && w.ahead != "" {
		asked = append(asked, w.ahead)
	}
	items := kind.All(t.Context(), client, w.start, opts...)
	got, failure := collect(t, items, func(id string) bool {
		if id == w.stopAt {
			served.WaitFor(t, asked[len(asked)-1])
		}
		return id != w.stopAt
	})
	assert.Zero(t, transport.requests.Load(), "no request outlives the range")
	assert.Equal(t, w.items, got)
	assert.Equal(t, asked, served.Cursors())
	w.ends.check(t, kind, failure)
}

// badCursor is the ending after a page whose cursor leads nowhere.
func badCursor(cursor, next, text string) *rangeEnding {
	return &rangeEnding{cursor: cursor, next: next, is: messaging.ErrBadCursor, delivery: messaging.DeliveryAccepted,
		text: "invalid response (200): meta.next_page_cursor " + text + ": bad cursor; nothing was changed"}
}

func TestPagesEnd(t *testing.T) {
	for _, row := range []walk{
		{name: "an empty list has no items",
			script: scripted.Pages{"": {Meta: scripted.MetaOfLastPage}}, asked: []string{""}},
		{name: "a list of many pages takes one request each, in order",
			script: threePages,
			items:  []string{"a1", "a2", "b1", "b2", "c1", "c2"}, asked: []string{"", "b", "c"}},
		{name: "a range starts at the cursor that it is given",
			script: threePages, start: "b",
			items: []string{"b1", "b2", "c1", "c2"}, asked: []string{"b", "c"}},
		{name: "an item that is on two pages comes twice",
			script: threePages.With("b", scripted.Page{Items: []string{"a2"}, Meta: scripted.MetaBefore("c")}),
			items:  []string{"a1", "a2", "a2", "c1", "c2"}, asked: []string{"", "b", "c"}},
		{name: "pages may be larger than the meta says",
			script: threePages.With("b", scripted.Page{Items: []string{"1", "2", "3", "4", "5"}, Meta: scripted.MetaBefore("c")}),
			items:  []string{"a1", "a2", "1", "2", "3", "4", "5", "c1", "c2"}, asked: []string{"", "b", "c"}},
		{name: "no meta is a single page",
			script: scripted.Pages{"": {Items: []string{"a1"}}}, items: []string{"a1"}, asked: []string{""}},
		{name: "null for meta is a single page",
			script: scripted.Pages{"": {Items: []string{"a1"}, Meta: `null`}}, items: []string{"a1"}, asked: []string{""}},
		{name: "an empty meta is a single page",
			script: scripted.Pages{"": {Items: []string{"a1"}, Meta: `{}`}}, items: []string{"a1"}, asked: []string{""}},
		{name: "null for data is an empty page",
			script: scripted.Pages{"": {Rows: `null`, Meta: scripted.MetaOfLastPage}}, asked: []string{""}},
		{name: "an empty page in the middle does not end a list that goes on",
			script: threePages.With("b", scripted.Page{Meta: scripted.MetaBefore("c")}),
			items:  []string{"a1", "a2", "c1", "c2"}, asked: []string{"", "b", "c"}},
		{name: "an empty first page does not end a list that goes on",
			script: threePages.With("", scripted.Page{Meta: scripted.MetaBefore("b")}),
			items:  []string{"b1", "b2", "c1", "c2"}, asked: []string{"", "b", "c"}},
		{name: "no next page is the end, whatever cursor there is",
			script: scripted.Pages{"": {Items: []string{"a1"}, Meta: `{"has_next_page":false,"next_page_cursor":"b"}`}},
			items:  []string{"a1"}, asked: []string{""}},
		{name: "a cursor leads on where has_next_page is missing",
			script: threePages.With("", scripted.Page{Items: []string{"a1"}, Meta: `{"next_page_cursor":"b"}`}),
			items:  []string{"a1", "b1", "b2", "c1", "c2"}, asked: []string{"", "b", "c"}},
		{name: "a cursor leads on where has_next_page is null",
			script: threePages.With("", scripted.Page{Items: []string{"a1"}, Meta: `{"next_page_cursor":"b","has_next_page":null}`}),
			items:  []string{"a1", "b1", "b2", "c1", "c2"}, asked: []string{"", "b", "c"}},
		{name: "a cursor may be sent as a number",
			script: scripted.Pages{"": {Meta: `{"has_next_page":true,"next_page_cursor":7}`},
				"7": {Items: []string{"b1"}, Meta: scripted.MetaOfLastPage}},
			items: []string{"b1"}, asked: []string{"", "7"}},
	} {
		t.Run(row.name, row.run)
	}
}

func TestPagesRefuseABadCursor(t *testing.T) {
	const circle, nowhere = "is the cursor of an earlier page", "is missing although has_next_page is true"
	for _, row := range []walk{
		{name: "a cursor that stays where it is",
			script: threePages.With("b", scripted.Page{Items: []string{"b1"}, Meta: scripted.MetaBefore("b")}),
			items:  []string{"a1", "a2", "b1"}, asked: []string{"", "b"}, ends: badCursor("b", "", circle)},
		{name: "two cursors that take turns",
			script: threePages.With("c", scripted.Page{Items: []string{"c1"}, Meta: scripted.MetaBefore("b")}),
			items:  []string{"a1", "a2", "b1", "b2", "c1"}, asked: []string{"", "b", "c"}, ends: badCursor("c", "", circle)},
		{name: "a way back to the cursor that the range started from",
			script: threePages.With("c", scripted.Page{Items: []string{"c1"}, Meta: scripted.MetaBefore("a")}).
				With("a", scripted.Page{Items: []string{"a1"}, Meta: scripted.MetaBefore("b")}), start: "a",
			items: []string{"a1", "b1", "b2", "c1"}, asked: []string{"a", "b", "c"}, ends: badCursor("c", "", circle)},
		{name: "a next page whose cursor is null",
			script: threePages.With("b", scripted.Page{Items: []string{"b1"}, Meta: `{"has_next_page":true,"next_page_cursor":null}`}),
			items:  []string{"a1", "a2", "b1"}, asked: []string{"", "b"}, ends: badCursor("b", "", nowhere)},
		{name: "a next page whose cursor is missing",
			script: scripted.Pages{"": {Items: []string{"a1"}, Meta: `{"has_next_page":true}`}},
			items:  []string{"a1"}, asked: []string{""}, ends: badCursor("", "", nowhere)},
	} {
		t.Run(row.name, row.run)
	}
}

// manyEmptyPages is a page of one item, so many empty ones, and a page of one item
// at the end. It comes with the cursors of them all, "" and then "1", "2", "3".
func manyEmptyPages(count int) (scripted.Pages, []string) {
	pages := scripted.Pages{"": {Items: []string{"first"}, Meta: scripted.MetaBefore("1")}}
	cursors := []string{""}
	for i := 1; i <= count; i++ {
		cursors = append(cursors, strconv.Itoa(i))
		pages[strconv.Itoa(i)] = scripted.Page{Meta: scripted.MetaBefore(strconv.Itoa(i + 1))}
	}
	pages[strconv.Itoa(count+1)] = scripted.Page{Items: []string{"last"}, Meta: scripted.MetaOfLastPage}
	return pages, append(cursors, strconv.Itoa(count+1))
}

func TestPagesSkipEmptyPagesUpToALimit(t *testing.T) {
	hundred, throughHundred := manyEmptyPages(100)
	tooMany, throughTooMany := manyEmptyPages(101)
	interrupted, throughInterrupted := manyEmptyPages(150)
	interrupted["60"] = scripted.Page{Items: []string{"between"}, Meta: scripted.MetaBefore("61")}
	for _, row := range []walk{
		{name: "a hundred in a row are gone through",
			script: hundred, items: []string{"first", "last"}, asked: throughHundred},
		{name: "one more is the end",
			script: tooMany, items: []string{"first"}, asked: throughTooMany[:102],
			ends: badCursor("101", "102", "follows 101 empty pages in a row")},
		{name: "an item between them starts the count anew",
			script: interrupted, items: []string{"first", "between", "last"}, asked: throughInterrupted},
	} {
		t.Run(row.name, row.run)
	}
}

func TestPagesEndWithTheErrorOfAnyPage(t *testing.T) {
	for _, failure := range []struct {
		name      string
		page      scripted.Page // its meta is that of the page in whose place it stands
		requests  int
		tellsNext bool
		ends      rangeEnding
	}{
		{name: "an answer that is cut short", page: scripted.Page{CutShort: true}, requests: 2,
			ends: rangeEnding{is: io.ErrUnexpectedEOF, delivery: messaging.DeliveryUnknown,
				text: "unexpected EOF; after 2 attempts; it is safe to retry"}},
		{name: "a server error", page: scripted.Page{Status: 500, Body: `{"success":false,"message":"out of order"}`}, requests: 2,
			ends: rangeEnding{is: messaging.ErrServer, delivery: messaging.DeliveryUnknown,
				text: "500 Internal Server Error: out of order; after 2 attempts; it is safe to retry"}},
		{name: "a refusal", page: scripted.Page{Status: 422, Body: `{"message":"no","errors":{"cursor":["is expired"]}}`}, requests: 1,
			ends: rangeEnding{is: messaging.ErrValidation, delivery: messaging.DeliveryRejected,
				text: "422 Unprocessable Entity: no: cursor is expired; the request was refused"}},
		{name: "success false", page: scripted.Page{Body: `{"success":false,"message":"not today","data":null}`}, requests: 1,
			ends: rangeEnding{delivery: messaging.DeliveryRejected, text: "200 with success false: not today; the request was refused"}},
		{name: "an answer that is not JSON", page: scripted.Page{Body: `<html>hello</html>`}, requests: 1,
			ends: rangeEnding{delivery: messaging.DeliveryUnknown,
				text: "invalid response (200): the response is HTML or XML, not JSON; check the base URL, or a proxy in between; nothing was changed"}},
		{name: "a row that cannot be read", page: scripted.Page{Rows: `[{},5]`}, requests: 1, tellsNext: true,
			ends: rangeEnding{delivery: messaging.DeliveryAccepted,
				text: "invalid response (200): {rows}.1 is a number, not an object; nothing was changed"}},
	} {
		cursors, items := []string{"", "b", "c"}, []string{"a1", "a2", "b1", "b2", "c1", "c2"}
		for i, cursor := range cursors {
			broken, ends := failure.page, failure.ends
			broken.Meta = threePages[cursor].Meta
			if ends.cursor = cursor; failure.tellsNext && i+1 < len(cursors) {
				ends.next = cursors[i+1]
			}
			t.Run(fmt.Sprintf("%s on page %d", failure.name, i+1), walk{
				script: threePages.With(cursor, broken),
				items:  append([]string(nil), items[:2*i]...),
				asked:  slices.Concat(cursors[:i], slices.Repeat([]string{cursor}, failure.requests)),
				ends:   &ends,
			}.run)
		}
	}
}

func TestPageErrorHasNoNextCursorThatIsUncertain(t *testing.T) {
	const data = `"data":{"data":[5],"meta":{"next_page_cursor":"c"}}`
	for _, row := range []struct{ name, body, problem string }{
		{"meta within the first", `{"success":true,` + data + `,"data":[]}`, "data.data.0 is a number"},
		{"meta within the last", `{"success":true,"data":[],` + data + `}`, "data"},
		{"meta beside them", `{"data":[],"meta":{"next_page_cursor":"c"},"data":[{}],"success":true}`, "data is duplicated"},
		{"a meta with two flags", `{"success":true,"data":[],"meta":{"has_next_page":true,"next_page_cursor":"c","has_next_page":false}}`,
			"meta.has_next_page is duplicated"},
		{"two metas", `{"success":true,"data":[],"meta":` + scripted.MetaBefore("c") + `,"meta":` + scripted.MetaBefore("c") + `}`,
			"meta is duplicated"},
	} {
		t.Run(row.name, walk{script: threePages.With("b", scripted.Page{Body: row.body}), items: []string{"a1", "a2"}, asked: []string{"", "b"},
			ends: &rangeEnding{cursor: "b", next: "", delivery: messaging.DeliveryUnknown, text: row.problem}}.run)
	}
	t.Run("on the last page", walk{asked: []string{""},
		script: scripted.Pages{"": {Rows: `[5]`, Meta: `{"has_next_page":false,"next_page_cursor":"b"}`}},
		ends:   &rangeEnding{delivery: messaging.DeliveryAccepted, text: "{rows}.0 is a number, not an object"}}.run)
}

func TestPagesStopAtABreak(t *testing.T) {
	all := []string{"a1", "a2", "b1", "b2", "c1", "c2"}
	for i, row := range []walk{
		{name: "within the first page", asked: []string{""}},
		{name: "at the end of the first page", asked: []string{""}},
		{name: "within the second page", asked: []string{"", "b"}, ahead: "c"},
		{name: "at the end of the second page", asked: []string{"", "b"}, ahead: "c"},
		{name: "within the last page", asked: []string{"", "b", "c"}},
		{name: "at the end of the last page", asked: []string{"", "b", "c"}},
	} {
		row.script, row.stopAt, row.items = threePages, all[i], all[:i+1]
		t.Run(row.name, row.run)
	}
	t.Run("on the last item, where an error would follow", walk{script: scripted.Pages{"": {Items: []string{"a1"},
		Meta: `{"has_next_page":true}`}}, stopAt: "a1", items: []string{"a1"}, asked: []string{""}}.run)
}

func TestPagesSendCursorsUnchanged(t *testing.T) {
	for _, cursor := range []string{
		"+/=&%", "a b", "%2B", "?#", `"\`, "naïve ☃ 𝄞", "\n\t\x00", "a;b", ",", "..", strings.Repeat("eyJpZCI6MX0", 200),
	} {
		t.Run(strconv.Quote(cursor[:min(len(cursor), 20)]), walk{
			script: scripted.Pages{"": {Items: []string{"a1"}, Meta: scripted.MetaBefore(cursor)},
				cursor: {Items: []string{"b1"}, Meta: scripted.MetaOfLastPage}},
			items: []string{"a1", "b1"}, asked: []string{"", cursor},
		}.run)
	}
}

func TestPagesSendNothingBeforeTheRange(t *testing.T) {
	served := scripted.NewListService(scripted.ListOf(service.ListEvents), threePages)
	client, _ := serve(t, served)
	for _, kind := range scripted.Lists() {
		require.NotNil(t, kind.All(t.Context(), client, ""))
	}
	require.NotNil(t, client.Events.Pages(t.Context(), messaging.EventListParams{}))
	assert.Empty(t, served.Cursors())
}

func TestPagesStartOverWithEachRange(t *testing.T) {
	for _, kind := range scripted.Lists() {
		t.Run(kind.Name, func(t *testing.T) {
			served := scripted.NewListService(kind, threePages)
			client, _ := serve(t, served)
			items := kind.All(t.Context(), client, "")
			interrupted, err := collect(t, items, func(id string) bool {
				if id == "b1" {
					served.WaitFor(t, "c")
				}
				return id != "b1"
			})
			require.NoError(t, err)
			assert.Equal(t, []string{"a1", "a2", "b1"}, interrupted)
			for range 2 {
				got, err := messaging.Collect(items)
				require.NoError(t, err)
				assert.Equal(t, []string{"a1", "a2", "b1", "b2", "c1", "c2"}, got)
			}
			assert.Equal(t, []string{"", "b", "c", "", "b", "c", "", "b", "c"}, served.Cursors())
		})
	}
}

func TestPagesServeConcurrentRanges(t *testing.T) {
	client, _ := serve(t, scripted.NewListService(scripted.ListOf(service.ListCustomers), threePages))
	items := scripted.ListOf(service.ListCustomers).All(t.Context(), client, "")
	var ranges sync.WaitGroup
	for range 8 {
		ranges.Go(func() {
			got, err := messaging.Collect(items)
			assert.NoError(t, err)
			assert.Equal(t, []string{"a1", "a2", "b1", "b2", "c1", "c2"}, got)
		})
	}
	ranges.Wait()
}

func TestPagesGoOnAfterAnError(t *testing.T) {
	all := []string{"a1", "a2", "b1", "b2", "c1", "c2"}
	empty, _ := manyEmptyPages(101)
	resume := func(e *messaging.PageError) string { return e.Cursor }
	skip := func(e *messaging.PageError) string { return e.Next }
	for _, row := range []struct {
		name          string
		failing, then scripted.Pages
		from          func(*messaging.PageError) string
		want          []string
	}{
		{"at the first page, once it can be read", threePages.With("", scripted.Page{Status: 422}), threePages, resume, all},
		{"at the second page, once it can be read", threePages.With("b", scripted.Page{Status: 422}), threePages, resume, all},
		{"at the last page, once it can be read", threePages.With("c", scripted.Page{Status: 422}), threePages, resume, all},
		{"behind a page that cannot be read", threePages.With("b", scripted.Page{Rows: `["?"]`, Meta: scripted.MetaBefore("c")}), threePages,
			skip, []string{"a1", "a2", "c1", "c2"}},
		{"behind too many empty pages", empty, empty, skip, []string{"first", "last"}},
	} {
		for _, kind := range scripted.Lists() {
			t.Run(row.name+", "+kind.Name, func(t *testing.T) {
				served := scripted.NewListService(kind, row.failing)
				client, _ := serve(t, served)
				before, err := messaging.Collect(kind.All(t.Context(), client, ""))
				var failure *messaging.PageError
				require.ErrorAs(t, err, &failure)

				served.Pages = row.then
				rest, err := messaging.Collect(kind.All(t.Context(), client, row.from(failure)))
				require.NoError(t, err)
				assert.Equal(t, row.want, append(before, rest...))
			})
		}
	}
}

func TestPagesYieldNoPageWithAnError(t *testing.T) {
	client, _ := serve(t, scripted.NewListService(scripted.ListOf(service.ListEvents),
		threePages.With("b", scripted.Page{Rows: `[5]`, Meta: scripted.MetaBefore("c")})))
	var got []*messaging.Page[messaging.Event]
	var failure error
	for page, err := range client.Events.Pages(t.Context(), messaging.EventListParams{}) {
		if failure = err; err == nil {
			got = append(got, page)
			continue
		}
		assert.Nil(t, page)
	}
	require.Error(t, failure)
	require.Len(t, got, 1)
	assert.Equal(t, messaging.PageMeta{HasNextPage: true, NextPageCursor: "b", PerPage: 2}, got[0].Meta)
	assert.Len(t, got[0].Items, 2)
	assert.Equal(t, "fetched", got[0].Response.Message)
	assert.Equal(t, 1, got[0].Response.Attempts)
	assert.Nil(t, got[0].Response.Data, "the rows are in Items")
}

func TestCollectReturnsTheItemsBeforeAnError(t *testing.T) {
	for _, failure := range []error{nil, assert.AnError} {
		for _, items := range [][]string{nil, {"a", "b"}} {
			got, err := messaging.Collect(func(yield func(string, error) bool) {
				for _, item := range items {
					if !yield(item, nil) {
						return
					}
				}
				if failure != nil {
					yield("the item beside an error is not one", failure)
				}
			})
			assert.Equal(t, failure, err)
			assert.Equal(t, items, got)
		}
	}
}

func TestReadAheadRequestsTheNextPageDuringTheLoop(t *testing.T) {
	fourPages := threePages.With("c", scripted.Page{Items: []string{"c1"}, Meta: scripted.MetaBefore("d")}).
		With("d", scripted.Page{Items: []string{"d1"}, Meta: scripted.MetaOfLastPage})
	for _, row := range []struct {
		name    string
		client  []messaging.Option
		call    []messaging.RequestOption
		askedAt map[string]int // how many pages were asked for while the loop works on the item
	}{
		{name: "from the second page on, and never more than one",
			askedAt: map[string]int{"a1": 1, "a2": 1, "b1": 3, "b2": 3, "c1": 4, "d1": 4}},
		{name: "not when the client is told otherwise", client: []messaging.Option{messaging.WithoutReadAhead()},
			askedAt: map[string]int{"a1": 1, "a2": 1, "b1": 2, "b2": 2, "c1": 3, "d1": 4}},
		{name: "not when the call is told otherwise", call: []messaging.RequestOption{messaging.WithoutReadAhead()},
			askedAt: map[string]int{"a1": 1, "a2": 1, "b1": 2, "b2": 2, "c1": 3, "d1": 4}},
	} {
		for _, kind := range scripted.Lists() {
			t.Run(row.name+", "+kind.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					served := scripted.NewListService(kind, fourPages)
					client := scripted.NewInMemoryClient(t, served, row.client...)
					askedAt := make(map[string]int)
					for id, err := range kind.All(t.Context(), client, "", row.call...) {
						require.NoError(t, err)
						synctest.Wait()
						askedAt[id] = len(served.Cursors())
					}
					assert.Equal(t, row.askedAt, askedAt)
				})
			})
		}
	}
}

// stalling answers like the service beneath it, but for the page at a cursor: a
// request for that never ends by itself.
type stalling struct {
	*scripted.ListService
	cursor  string
	arrived chan struct{} // closed when the page is asked for
	ended   chan struct{} // closed when the caller has hung up
}

func newStalling(kind scripted.List, cursor string) *stalling {
	return &stalling{scripted.NewListService(kind, threePages), cursor, make(chan struct{}), make(chan struct{})}
}

func (s *stalling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("cursor") != s.cursor {
		s.ListService.ServeHTTP(w, r)
		return
	}
	close(s.arrived)
	<-r.Context().Done()
	close(s.ended)
}

func (s *stalling) hungUp(t *testing.T) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(5 * time.Minute):
		require.FailNow(t, "the request was not cancelled")
	}
}

func TestPagesCancelTheRequestInFlightAtABreak(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, items iter.Seq2[string, error], atSecondPage func()){
		"by break": func(t *testing.T, items iter.Seq2[string, error], atSecondPage func()) {
			for id := range items {
				if id == "b1" {
					atSecondPage()
					break
				}
			}
		},
		"by a panic": func(t *testing.T, items iter.Seq2[string, error], atSecondPage func()) {
			assert.PanicsWithValue(t, "enough", func() {
				for id := range items {
					if id == "b1" {
						atSecondPage()
						panic("enough")
					}
				}
			})
		},
		"by the end of its goroutine": func(t *testing.T, items iter.Seq2[string, error], atSecondPage func()) {
			var working sync.WaitGroup
			working.Go(func() {
				for id := range items {
					if id == "b1" {
						atSecondPage()
						runtime.Goexit()
					}
				}
			})
			working.Wait()
		},
		"by stopping a pull": func(t *testing.T, items iter.Seq2[string, error], atSecondPage func()) {
			next, stop := iter.Pull2(items)
			for range 3 {
				_, err, ok := next()
				require.True(t, ok)
				require.NoError(t, err)
			}
			atSecondPage()
			stop()
		},
	} {
		for _, kind := range scripted.Lists() {
			t.Run(name+", "+kind.Name, func(t *testing.T) {
				served := newStalling(kind, "c")
				client, transport := serve(t, served)
				leave(t, kind.All(t.Context(), client, ""), func() { <-served.arrived })
				assert.Zero(t, transport.requests.Load(), "the request is over before the range is")
				served.hungUp(t)
				assert.Equal(t, []string{"", "b"}, served.Cursors())
			})
		}
	}
}

func TestPagesObeyTheirContext(t *testing.T) {
	all := []string{"a1", "a2", "b1", "b2"}
	for _, row := range []struct {
		name     string
		cancelAt string // the item at which the caller gives up, "" for before the range
		stalled  bool   // the third page is asked for by then, and never comes
		items    []string
		asked    []string
		ends     rangeEnding
	}{
		{name: "before the first request",
			ends: rangeEnding{delivery: messaging.DeliveryNotSent, text: "context canceled; nothing was sent"}},
		{name: "between two requests", cancelAt: "a2", items: all[:2], asked: []string{""},
			ends: rangeEnding{cursor: "b", delivery: messaging.DeliveryNotSent, text: "context canceled; nothing was sent"}},
		{name: "within a page, whose other items still come", cancelAt: "a1", items: all[:2], asked: []string{""},
			ends: rangeEnding{cursor: "b", delivery: messaging.DeliveryNotSent, text: "context canceled; nothing was sent"}},
		{name: "while the next page is on its way", cancelAt: "b1", stalled: true, items: all, asked: []string{"", "b"},
			ends: rangeEnding{cursor: "c", delivery: messaging.DeliveryUnknown, text: "context canceled; it is safe to retry"}},
	} {
		for _, kind := range scripted.Lists() {
			t.Run(row.name+", "+kind.Name, func(t *testing.T) {
				served := newStalling(kind, "c")
				client, transport := serve(t, served)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if row.cancelAt == "" {
					cancel()
				}
				got, failure := collect(t, kind.All(ctx, client, ""), func(id string) bool {
					if id == row.cancelAt {
						if row.stalled {
							<-served.arrived
						}
						cancel()
					}
					return true
				})
				assert.Equal(t, row.items, got)
				assert.Equal(t, row.asked, served.Cursors())
				assert.Zero(t, transport.requests.Load())
				row.ends.is = context.Canceled
				row.ends.check(t, kind, failure)
			})
		}
	}
}

func TestPagesEndAtTheDeadline(t *testing.T) {
	for _, kind := range scripted.Lists() {
		for _, stalled := range []string{"", "b", "c"} {
			t.Run(fmt.Sprintf("%s, at %q", kind.Name, stalled), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					served := newStalling(kind, stalled)
					client := scripted.NewInMemoryClient(t, served)
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					start := time.Now()
					got, err := messaging.Collect(kind.All(ctx, client, ""))
					assert.Equal(t, 5*time.Second, time.Since(start))
					assert.Len(t, got, map[string]int{"": 0, "b": 2, "c": 4}[stalled])
					assert.NotErrorIs(t, err, messaging.ErrAttemptTimeout)
					(&rangeEnding{cursor: stalled, is: context.DeadlineExceeded, delivery: messaging.DeliveryUnknown,
						text: "context deadline exceeded; it is safe to retry"}).check(t, kind, err)
				})
			})
		}
	}
}

func TestPagesRepeatFiltersAndPageSize(t *testing.T) {
	kind, asked := scripted.ListOf(service.ListCustomers), make(chan string, 3)
	served := scripted.NewListService(kind, threePages)
	client := scripted.NewInMemoryClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RawQuery
		served.ServeHTTP(w, r)
	}))
	_, err := messaging.Collect(client.Customers.All(t.Context(), messaging.CustomerListParams{
		PerPage: 2, CustomerIDs: messaging.Only("7", "8"), Emails: messaging.Only("ada+1@example.com")}))
	require.NoError(t, err)
	const filters = "customer_ids=7%2C8&emails=ada%2B1%40example.com&per_page=2"
	assert.Equal(t, filters, <-asked)
	assert.Equal(t, "cursor=b&"+filters, <-asked)
	assert.Equal(t, "cursor=c&"+filters, <-asked)
}

// clientOver returns a client for which answer writes the n-th response.
func clientOver(t *testing.T, answer func(n int, r *http.Request) string) *messaging.Client {
	t.Helper()
	var requests atomic.Int32
	client, err := messaging.NewClient("https://api.example.com", "test-key", messaging.WithHTTPClient(&http.Client{
		Transport: scripted.RoundTripper(func(r *http.Request) (*http.Response, error) {
			body := answer(int(requests.Add(1)), r)
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
		})}))
	require.NoError(t, err)
	return client
}

// eventPage is a page of one event, and a cursor that leads on from it.
func eventPage(n int) string {
	return fmt.Sprintf(`{"success":true,"data":[{"id":"%d"}],"meta":{"has_next_page":true,"next_page_cursor":"%d"}}`, n, n)
}

func TestReadAheadPanicReachesTheLoop(t *testing.T) {
	client := clientOver(t, func(n int, _ *http.Request) string {
		if n == 3 {
			panic("the transport is out of order")
		}
		return eventPage(n)
	})
	seen := 0
	require.PanicsWithValue(t, "the transport is out of order", func() {
		for range client.Events.All(t.Context(), messaging.EventListParams{}) {
			seen++
		}
	})
	require.Equal(t, 2, seen, "the items of the pages before it")
}

// The stack of a new goroutine grows anew during a request, which takes time.
func TestReadAheadUsesASingleGoroutine(t *testing.T) {
	goroutines := map[string]bool{}
	client := clientOver(t, func(n int, _ *http.Request) string {
		stack := make([]byte, 64)
		goroutine, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), " [")
		goroutines[goroutine] = true
		return fmt.Sprintf(`{"success":true,"data":[],"meta":{"has_next_page":%t,"next_page_cursor":"%d"}}`, n < 9, n)
	})
	_, err := messaging.Collect(client.Events.All(t.Context(), messaging.EventListParams{}))
	require.NoError(t, err)
	require.Len(t, goroutines, 2, "that of the loop, and the one that reads ahead")
}

func TestReadAheadSendsItsRequestBeforeTheLoopGoesOn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the loop would otherwise keep the only processor
	const pages = 50
	var requests atomic.Int32
	client := clientOver(t, func(n int, _ *http.Request) string {
		requests.Store(int32(n))
		return strings.Replace(eventPage(n), "true,\"next", fmt.Sprintf("%t,\"next", n < pages), 1)
	})
	seen, ahead := int32(0), 0
	for _, err := range client.Events.All(t.Context(), messaging.EventListParams{}) {
		require.NoError(t, err)
		if seen++; requests.Load() > seen {
			ahead++
		}
	}
	require.EqualValues(t, pages, seen)
	require.Greater(t, ahead, pages/2, "the scheduler decides, but seldom otherwise")
}

func TestPageErrorHasNoNextCursorForALoop(t *testing.T) {
	for _, next := range []string{"a", "", "b"} {
		client := clientOver(t, func(int, *http.Request) string {
			return fmt.Sprintf(`{"success":true,"data":[7],"meta":{"has_next_page":true,"next_page_cursor":%q}}`, next)
		})
		_, err := messaging.Collect(client.Events.All(t.Context(), messaging.EventListParams{Cursor: "a"}))
		var stopped *messaging.PageError
		require.ErrorAs(t, err, &stopped)
		require.Equal(t, map[string]string{"a": "", "": "", "b": "b"}[next], stopped.Next)
	}
}

func TestPagesFindACustomerBehindAnEmptyPage(t *testing.T) {
	pages := map[string]string{
		"":  `{"data":[],"meta":{"has_next_page":true,"next_page_cursor":"b"}}`,
		"b": `{"data":[{"customer_id":"7"}],"meta":{"has_next_page":false}}`,
	}
	client := clientOver(t, func(_ int, r *http.Request) string {
		return `{"success":true,"data":` + pages[r.URL.Query().Get("cursor")] + `}`
	})
	customer, err := client.Customers.Get(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, "7", customer.CustomerID)
}

func TestReadAheadGoexitEndsTheGoroutineOfTheLoop(t *testing.T) {
	client := clientOver(t, func(n int, _ *http.Request) string {
		if n == 3 {
			runtime.Goexit()
		}
		return eventPage(n)
	})
	finished, done := false, make(chan struct{})
	go func() {
		defer close(done)
		for range client.Events.All(t.Context(), messaging.EventListParams{}) {
		}
		finished = true
	}()
	<-done
	require.False(t, finished)
}

// longScript has a dozen pages of a few customers, no two of whom are alike.
func longScript() (scripted.Pages, []messaging.Customer) {
	const pages, rows = 12, 3
	pagesByCursor, customers := scripted.Pages{}, []messaging.Customer(nil)
	for page := range pages {
		var list []string
		for row := range rows {
			id := fmt.Sprintf("%d-%d", page, row)
			list = append(list, fmt.Sprintf(`{"customer_id":%q,"email":"%s@example.com","providers":"mail %s,push %s","plan":%q}`, id, id, id, id,
				id))
			customers = append(customers, messaging.Customer{CustomerID: id, Email: id + "@example.com",
				Providers: []string{"mail " + id, "push " + id}, Extra: map[string]json.RawMessage{"plan": json.RawMessage(strconv.Quote(id))}})
		}
		meta := scripted.MetaOfLastPage
		if page < pages-1 {
			meta = scripted.MetaBefore(strconv.Itoa(page + 1))
		}
		cursor := ""
		if page > 0 {
			cursor = strconv.Itoa(page)
		}
		pagesByCursor[cursor] = scripted.Page{Rows: "[" + strings.Join(list, ",") + "]", Meta: meta}
	}
	return pagesByCursor, customers
}

func TestPagesDoNotModifyYieldedItems(t *testing.T) {
	script, customers := longScript()
	kind := scripted.ListOf(service.ListCustomers)
	for name, opts := range map[string][]messaging.RequestOption{"read ahead": nil, "one page at a time": {messaging.WithoutReadAhead()}} {
		scripted.RunInBubble(t, name, func(t *testing.T) {
			client := scripted.NewInMemoryClient(t, scripted.NewListService(kind, script))
			var items, itemsOfPages []messaging.Customer
			for customer, err := range client.Customers.All(t.Context(), messaging.CustomerListParams{}, opts...) {
				require.NoError(t, err)
				synctest.Wait() // until the next page is there
				items = append(items, customer)
			}
			pages, err := messaging.Collect(client.Customers.Pages(t.Context(), messaging.CustomerListParams{}, opts...))
			require.NoError(t, err)
			for _, page := range pages {
				itemsOfPages = append(itemsOfPages, page.Items...)
			}
			assert.Equal(t, customers, items)
			assert.Equal(t, customers, itemsOfPages)
		})
	}
}

func TestPagesRefuseANilContext(t *testing.T) {
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
	var none context.Context
	for name, call := range map[string]scripted.Call{
		"a range over items": scripted.ListOf(service.ListCustomers).Request().Call,
		"a range over pages": func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
			_, err := messaging.Collect(client.Events.Pages(ctx, messaging.EventListParams{}))
			return err
		},
		"a page":    scripted.ReadCustomers,
		"a send":    scripted.TriggerEvent,
		"a request": scripted.Do(messaging.Request{Method: http.MethodGet, Path: "/v1/tags"}),
	} {
		t.Run(name, func(t *testing.T) {
			err := call(none, client)
			require.ErrorIs(t, err, messaging.ErrValidation)
			assert.ErrorContains(t, err, "ctx must not be nil")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
		})
	}
	assert.Empty(t, transport.Sent)
}

// pageWithNext is a page of one row, and a cursor that leads on from it.
func pageWithNext(cursor string) string {
	return scripted.ListOf(service.ListCustomers).Response(scripted.Page{Items: []string{"c-1"}, Meta: scripted.MetaBefore(cursor)})
}

func TestPagesRedactTheKeyInTheHeaderOfAnError(t *testing.T) {
	quoting := []string{"X-Echo", "key " + scripted.SecretKey, scripted.SecretKey, "1"}
	for name, scenes := range map[string][]scripted.Scene{
		"a page that leads back": {scripted.Responds(200, pageWithNext("a"), quoting...),
			scripted.Responds(200, pageWithNext("a"), quoting...)},
		"a customer that is another":    {scripted.Responds(200, `{"success":true,"data":[{"customer_id":"eve"}]}`, quoting...)},
		"a page without its own cursor": {scripted.Responds(200, pageWithNext(""), quoting...)},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := scripted.NewClient(t, scenes)
			_, err := client.Customers.Get(t.Context(), "ada")
			var unusable *messaging.DecodeError
			require.ErrorAs(t, err, &unusable)
			require.Len(t, unusable.Header, 2)
			assert.NotContains(t, strings.ToLower(fmt.Sprint(unusable.Header)), strings.ToLower(scripted.SecretKey))
		})
	}
}

func TestPagesFiltersPassForEveryPage(t *testing.T) {
	longest := strings.Repeat("1", 6000-len("customer_ids="))
	client, transport := scripted.NewClient(t,
		[]scripted.Scene{scripted.Responds(200, pageWithNext(strings.Repeat("c", 500))), scripted.Responds(200, pageWithNext("d")),
			scripted.Responds(200, `{"success":true,"data":[],"meta":{"has_next_page":false}}`)})
	params := messaging.CustomerListParams{PerPage: 100, CustomerIDs: messaging.Only(longest)}
	customers, err := messaging.Collect(client.Customers.All(t.Context(), params))
	require.NoError(t, err)
	assert.Len(t, customers, 2)
	assert.Len(t, transport.Sent, 3)
}

func TestValidationRefusesANegativePageSize(t *testing.T) {
	var calls []invalidCall
	for _, list := range scripted.Lists() {
		call := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := list.Page(ctx, c, -1, "", opts...)
			return err
		}
		calls = append(calls, invalidCall{list.Name, call, []string{"per_page must not be negative"}})
	}
	requireInvalidUnlessLifted(t, calls)
}

func TestValidationErrorEndsARangeAtOnce(t *testing.T) {
	g := scripted.NewGate(t)
	p := messaging.CustomerListParams{Cursor: "page-2", CustomerIDs: messaging.Only()}
	ranges := map[string]func() error{
		"All":   func() error { return onlyError(t, g.Client.Customers.All(t.Context(), p)) },
		"Pages": func() error { return onlyError(t, g.Client.Customers.Pages(t.Context(), p)) },
	}
	for name, walk := range ranges {
		t.Run(name, func(t *testing.T) {
			err := walk()
			scripted.RequireProblems(t, err, "customer_ids must have at least one value, since the service would select all customers without one")
			var page *messaging.PageError
			require.ErrorAs(t, err, &page)
			assert.Equal(t, "page-2", page.Cursor)
			assert.Empty(t, g.Take())
		})
	}
}

// onlyError ranges over what must yield one error and nothing else.
func onlyError[T any](t *testing.T, seq iter.Seq2[T, error]) error {
	t.Helper()
	var errs []error
	for item, err := range seq {
		assert.Zero(t, item)
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	return errs[0]
}
