package hostile_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/internal/service"
)

// hostileLists are lists of an unexpected form, and pages whose cursors lead
// nowhere, in a loop, or on without end.
func hostileLists() []hostileRow {
	const nextIsB = `{"has_next_page":true,"next_page_cursor":"b","per_page":20}`
	bIsNext := messaging.PageMeta{HasNextPage: true, NextPageCursor: "b", PerPage: 20}
	const oddCursor = "+/=&%2B é☃"
	return []hostileRow{
		{"a list whose data is null", responds200(`{"success":true,"data":null}`, `{"success":true,"data":{"data":null}}`).
			both(succeeds, 1, 1).check(hasNoCustomer)},
		{"a list that is an object", join(
			responds200(`{"success":true,"data":{"data":{"customer_id":"1"}}}`).check(errorContains("data.data is an object, not an array")),
			responds200(`{"success":true,"data":{"id":"1"}}`).reading(listEvents).check(errorContains("data.data is missing")),
		).read(acceptedUnreadable, 1, 1)},
		{"customers that are not nested", responds200(`{"success":true,"data":[{"customer_id":"1"}],"meta":`+nextIsB+`}`).
			read(succeeds, 1, 1).check(hasItems(messaging.Customer{CustomerID: "1"}), hasMeta(bIsNext))},
		{"events that are nested", responds200(`{"success":true,"data":{"data":[{"id":"1"}],"meta":`+nextIsB+`}}`).reading(listEvents).
			read(succeeds, 1, 1).check(hasItems(messaging.Event{ID: "1"}), hasMeta(bIsNext))},
		{"meta in both places", join(
			responds200(`{"success":true,"data":{"data":[],"meta":{"has_next_page":false}},"meta":`+nextIsB+`}`).
				read(acceptedUnreadable, 1, 1).check(errorContains("meta is duplicated, and the copies differ")),
			responds200(`{"success":true,"data":{"data":[],"meta":`+nextIsB+`},"meta":`+nextIsB+`}`).
				read(succeeds, 1, 1).check(hasMeta(bIsNext)),
		)},
		{"no meta, or an empty one", forEach([]string{"", `null`, `[]`, `{}`}, func(meta string) hostileCases {
			return servingPages(scripted.Pages{"": {Items: []string{"1"}, Meta: meta}}).read(succeeds, 1, 1).check(hasItems("1"))
		})},
		{"a next page without a cursor", forEach([]string{`null`, `""`}, func(cursor string) hostileCases {
			return servingPages(scripted.Pages{"": {Items: []string{"1"}, Meta: `{"has_next_page":true,"next_page_cursor":` + cursor + `}`}}).
				read(badCursor, 1, 1).check(errorIs(messaging.ErrBadCursor), errorContains("is missing although has_next_page is true"), hasItems("1"))
		})},
		{"a cursor without a next page",
			servingPages(scripted.Pages{"": {Items: []string{"1"}, Meta: `{"has_next_page":false,"next_page_cursor":"b"}`}}).
				read(succeeds, 1, 1).check(hasItems("1"))},
		{"a cursor, and no word on whether there is a next page",
			servingPages(scripted.Pages{"": {Items: []string{"1"}, Meta: `{"next_page_cursor":"b"}`}, "b": {Items: []string{"2"}}}).
				read(succeeds, 2, 2).check(hasItems("1", "2"))},
		{"a page that leads to itself",
			servingPages(scripted.Pages{"": {Items: []string{"1"}, Meta: scripted.MetaBefore("b")},
				"b": {Items: []string{"2"}, Meta: scripted.MetaBefore("b")}}).
				read(badCursor, 2, 2).check(errorIs(messaging.ErrBadCursor), hasItems("1", "2"))},
		{"pages that lead in a circle", servingPages(scripted.Pages{
			"":  {Items: []string{"1"}, Meta: scripted.MetaBefore("a")},
			"a": {Items: []string{"2"}, Meta: scripted.MetaBefore("b")},
			"b": {Items: []string{"3"}, Meta: scripted.MetaBefore("a")},
		}).read(badCursor, 3, 3).check(errorIs(messaging.ErrBadCursor), hasItems("1", "2", "3"))},
		{"empty pages that lead on", join(
			servingPages(emptyPagesBefore(100)).read(succeeds, 101, 101).check(hasItems("1")),
			servingPages(emptyPagesBefore(101)).read(badCursor, 101, 101).check(errorIs(messaging.ErrBadCursor), hasItems[string]()),
		)},
		{"a page size that was not asked for", join(
			responds200(`{"success":true,"data":[],"meta":{"per_page":20}}`,
				`{"success":true,"data":[],"meta":{"per_page":"20"}}`).check(hasMeta(messaging.PageMeta{PerPage: 20})),
			responds200(`{"success":true,"data":[],"meta":{"per_page":0}}`).check(hasMeta(messaging.PageMeta{})),
		).reading(listFiveCustomers).read(succeeds, 1, 1)},
		{"a cursor of signs that mean something in a URL",
			servingPages(scripted.Pages{"": {Items: []string{"1"}, Meta: scripted.MetaBefore(oddCursor)},
				oddCursor: {Items: []string{"2"}, Meta: scripted.MetaOfLastPage}}).
				read(succeeds, 2, 2).check(hasItems("1", "2"))},
		{"a record that comes twice",
			servingPages(scripted.Pages{"": {Items: []string{"1", "1"}, Meta: scripted.MetaBefore("b")},
				"b": {Items: []string{"1"}, Meta: scripted.MetaOfLastPage}}).
				read(succeeds, 2, 2).check(hasItems("1", "1", "1"))},
		{"an error in the middle of a range", custom(testResumingARange)},
		{"ids that are numbers", join(
			responds200(`{"success":true,"data":[{"customer_id":42}]}`).check(hasItems(messaging.Customer{CustomerID: "42"})).read(succeeds, 1, 1),
			responds200(`{"success":true,"data":[{"id":42}]}`).reading(listEvents).check(hasItems(messaging.Event{ID: "42"})).read(succeeds, 1, 1),
			responds200(`{"success":true,"data":{"id":42}}`).sending(createEvent).check(hasEvent("42")).send(succeeds, 1, 1),
		)},
		{"counts in other spellings, and none at all", join(
			responds200(`{"success":true,"data":[{"total_sent":"3","total_delivered":3.0,"total_failed":1e2,`+
				`"total_complained":null,"total_bounced":-1}]}`).reading(listMessages).read(succeeds, 1, 1).check(
				hasItems(messaging.TransactionalMessage{TotalSent: 3, TotalDelivered: 3, TotalFailed: 100, TotalBounced: -1})),
			responds200(`{"success":true,"data":[{"total_sent":1e30}]}`).reading(listMessages).
				read(succeeds, 1, 1),
		)},
		{"providers in every form", join(
			responds200(`{"success":true,"data":[{"providers":null}]}`,
				`{"success":true,"data":[{"providers":""}]}`).check(hasItems(messaging.Customer{})),
			responds200(`{"success":true,"data":[{"providers":"a, b,,c"}]}`, `{"success":true,"data":[{"providers":["a","b","c"]}]}`).
				check(hasItems(messaging.Customer{Providers: []string{"a", "b", "c"}})),
		).read(succeeds, 1, 1)},
		{"timestamps in each form of the service", timestamps(messaging.TransactionalMessage{CreatedAt: oneSecond},
			`"2026-05-01T10:20:30.000000Z"`, `"2026-05-01T10:20:30Z"`, `"2026-05-01 10:20:30"`)},
		{"timestamps in forms that leave no doubt", timestamps(messaging.TransactionalMessage{CreatedAt: oneSecond},
			`"2026-05-01T12:20:30+02:00"`, `"2026-05-01T10:20:30+0000"`, `"2026-05-01T10:20:30"`, `"2026-05-01t10:20:30z"`,
			`"2026-05-01T10:20:30,000Z"`)},
		{"timestamps that are none", join(
			timestamps(messaging.TransactionalMessage{}, `null`),
			forEach([]string{`""`, `"0000-00-00 00:00:00"`, `"2026-05-01T24:00:00Z"`, `"2026-02-30T00:00:00Z"`, `"2026-05-01T10:20:60Z"`,
				`1777630830`},
				func(raw string) hostileCases {
					return timestamps(messaging.TransactionalMessage{Extra: map[string]json.RawMessage{"created_at": json.RawMessage(raw)}}, raw)
				}),
		)},
		{"kinds that nobody has announced", join(
			responds200(`{"success":true,"data":[{"channel":"Pigeon","message_type":"NEWS"}]}`).reading(listMessages).
				read(succeeds, 1, 1).check(hasItems(messaging.TransactionalMessage{Channel: "Pigeon", MessageType: new("NEWS")})),
			responds200(`{"success":true,"data":[{"parameters":[{"name":"size","type":"Colour"}]}]}`).reading(listEvents).
				read(succeeds, 1, 1).check(hasItems(messaging.Event{Parameters: []messaging.EventParameter{{Name: "size", Type: "colour"}}})),
		)},
	}
}

// servingPages ranges over the customers of a service that serves the pages.
func servingPages(pages scripted.Pages) hostileCases {
	return afterActing(faultserver.Choose(func(r faultserver.Request) faultserver.Step {
		page, known := pages[cursorIn(r)]
		if !known {
			return faultserver.Respond(http.StatusNotFound, "")
		}
		return faultserver.Respond(http.StatusOK, customersKind.Response(page))
	})).reading(allCustomers)
}

var oneSecond = time.Date(2026, 5, 1, 10, 20, 30, 0, time.UTC)

var customersKind = scripted.ListOf(service.ListCustomers)

func cursorIn(r faultserver.Request) string {
	target, _ := url.ParseRequestURI(r.Target)
	return target.Query().Get("cursor")
}

// emptyPagesBefore is a number of empty pages followed by an item.
func emptyPagesBefore(n int) scripted.Pages {
	pages := scripted.Pages{"": {Meta: scripted.MetaBefore("1")}}
	for i := 1; i < n; i++ {
		pages[strconv.Itoa(i)] = scripted.Page{Meta: scripted.MetaBefore(strconv.Itoa(i + 1))}
	}
	pages[strconv.Itoa(n)] = scripted.Page{Items: []string{"1"}, Meta: scripted.MetaOfLastPage}
	return pages
}

// timestamps is a case for each form of created_at.
func timestamps(want messaging.TransactionalMessage, forms ...string) hostileCases {
	return forEach(forms, func(form string) hostileCases {
		return responds200(`{"success":true,"data":[{"created_at":`+form+`}]}`).reading(listMessages).
			read(succeeds, 1, 1).check(hasItems(want))
	})
}

func hasMeta(want messaging.PageMeta) hostileCheck {
	return func(t *testing.T, o callResult) {
		switch page := o.value.(type) {
		case *messaging.Page[messaging.Customer]:
			assert.Equal(t, want, page.Meta)
		case *messaging.Page[messaging.Event]:
			assert.Equal(t, want, page.Meta)
		default:
			assert.Fail(t, "no page")
		}
	}
}

// hasNoCustomer requires a page without customers of a call that returns a page.
func hasNoCustomer(t *testing.T, o callResult) {
	if page, isPage := o.value.(*messaging.Page[messaging.Customer]); isPage {
		assert.Empty(t, page.Items)
	}
}

func hasEvent(id string) hostileCheck {
	return func(t *testing.T, o callResult) { assert.Equal(t, &messaging.Event{ID: id}, o.value) }
}

func listFiveCustomers(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Customers.List(ctx, messaging.CustomerListParams{PerPage: 5})
}

// testResumingARange fails at the seventh of twenty pages and resumes there.
func testResumingARange(t *testing.T) {
	const pages, bad = 20, 6
	var healed atomic.Bool
	server := faultserver.Start(t, acting(faultserver.Choose(func(r faultserver.Request) faultserver.Step {
		number, _ := strconv.Atoi(cursorIn(r))
		page := scripted.Page{Items: []string{strconv.Itoa(number)}, Meta: scripted.MetaBefore(strconv.Itoa(number + 1))}
		switch {
		case number == bad && !healed.Load():
			return faultserver.Respond(http.StatusServiceUnavailable, "")
		case number == pages-1:
			page.Meta = scripted.MetaOfLastPage
		}
		return faultserver.Respond(http.StatusOK, customersKind.Response(page))
	})))
	client := newHostileClient(t, server)
	before, err := messaging.Collect(customersKind.All(t.Context(), client, ""))
	requireOutcome(t, rangeFailed, err)
	assert.ErrorIs(t, err, messaging.ErrServer)
	requireCounts(t, server, bad+3, bad+3)

	healed.Store(true)
	var broken *messaging.PageError
	require.ErrorAs(t, err, &broken)
	after, err := messaging.Collect(customersKind.All(t.Context(), client, broken.Cursor))
	requireOutcome(t, succeeds, err)
	requireCounts(t, server, pages+3, pages+3)
	all := append(before, after...)
	require.Len(t, all, pages)
	for i, id := range all {
		assert.Equal(t, strconv.Itoa(i), id)
	}
}
