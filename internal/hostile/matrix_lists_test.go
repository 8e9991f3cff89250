package hostile_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messaging-go/messaging/internal/scripted"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/faultserver"
)

// hostileLists are lists in another form than expected, and pages that lead
// nowhere, in circles, or on without end.
func hostileLists() []hostileRow {
	const nextIsB = `{"has_next_page":true,"next_page_cursor":"b","per_page":20}`
	bIsNext := messaging.PageMeta{HasNextPage: true, NextPageCursor: "b", PerPage: 20}
	const oddCursor = "+/=&%2B é☃"
	return []hostileRow{
		{33, "a list whose data is null", answered200(`{"success":true,"data":null}`, `{"success":true,"data":{"data":null}}`).
			both(succeeds, 1, 1).where(givesNobody)},
		{34, "a list that is an object", together(
			answered200(`{"success":true,"data":{"data":{"customer_id":"1"}}}`).where(tells("data.data is an object, want an array")),
			answered200(`{"success":true,"data":{"id":"1"}}`).reading(listingEventsPage).where(tells("data.data is missing")),
		).read(doneButGarbled, 1, 1)},
		{35, "customers that are not nested", answered200(`{"success":true,"data":[{"customer_id":"1"}],"meta":`+nextIsB+`}`).
			read(succeeds, 1, 1).where(gives(messaging.Customer{CustomerID: "1"}), hasMeta(bIsNext))},
		{36, "events that are nested", answered200(`{"success":true,"data":{"data":[{"id":"1"}],"meta":`+nextIsB+`}}`).reading(listingEventsPage).
			read(succeeds, 1, 1).where(gives(messaging.Event{ID: "1"}), hasMeta(bIsNext))},
		{37, "meta in both places", together(
			answered200(`{"success":true,"data":{"data":[],"meta":{"has_next_page":false}},"meta":`+nextIsB+`}`).
				read(doneButGarbled, 1, 1).where(tells("meta is duplicated, and the copies differ")),
			answered200(`{"success":true,"data":{"data":[],"meta":`+nextIsB+`},"meta":`+nextIsB+`}`).
				read(succeeds, 1, 1).where(hasMeta(bIsNext)),
		)},
		{38, "no meta, or an empty one", eachOf([]string{"", `null`, `[]`, `{}`}, func(meta string) hostileCases {
			return walked(scripted.Pages{"": {Items: []string{"1"}, Meta: meta}}).read(succeeds, 1, 1).where(gives("1"))
		})},
		{39, "a next page without a cursor", eachOf([]string{`null`, `""`}, func(cursor string) hostileCases {
			return walked(scripted.Pages{"": {Items: []string{"1"}, Meta: `{"has_next_page":true,"next_page_cursor":` + cursor + `}`}}).
				read(ledAstray, 1, 1).where(is(messaging.ErrBadCursor), tells("has a next page without a cursor"), gives("1"))
		})},
		{40, "a cursor without a next page", walked(scripted.Pages{"": {Items: []string{"1"}, Meta: `{"has_next_page":false,"next_page_cursor":"b"}`}}).
			read(succeeds, 1, 1).where(gives("1"))},
		{41, "a cursor, and no word on whether there is a next page", walked(scripted.Pages{"": {Items: []string{"1"}, Meta: `{"next_page_cursor":"b"}`}, "b": {Items: []string{"2"}}}).
			read(succeeds, 2, 2).where(gives("1", "2"))},
		{42, "a page that leads to itself", walked(scripted.Pages{"": {Items: []string{"1"}, Meta: scripted.MetaBefore("b")}, "b": {Items: []string{"2"}, Meta: scripted.MetaBefore("b")}}).
			read(ledAstray, 2, 2).where(is(messaging.ErrBadCursor), gives("1", "2"))},
		{43, "pages that lead in a circle", walked(scripted.Pages{
			"":  {Items: []string{"1"}, Meta: scripted.MetaBefore("a")},
			"a": {Items: []string{"2"}, Meta: scripted.MetaBefore("b")},
			"b": {Items: []string{"3"}, Meta: scripted.MetaBefore("a")},
		}).read(ledAstray, 3, 3).where(is(messaging.ErrBadCursor), gives("1", "2", "3"))},
		{44, "pages without end", together(
			tested(testLeavingEndlessPages),
			servedBy(endlessPages).reading(walkingUntilTheThirdCustomer).read(upshot{new(messaging.PageError), messaging.DeliveryNotSent}, 3, 3).where(is(context.Canceled), gives("1", "2", "3")),
		)},
		{45, "empty pages that lead on", together(
			walked(emptyPagesBefore(100)).read(succeeds, 101, 101).where(gives("1")),
			walked(emptyPagesBefore(101)).read(ledAstray, 101, 101).where(is(messaging.ErrBadCursor), gives[string]()),
		)},
		{46, "a page size that was not asked for", together(
			answered200(`{"success":true,"data":[],"meta":{"per_page":20}}`, `{"success":true,"data":[],"meta":{"per_page":"20"}}`).where(hasMeta(messaging.PageMeta{PerPage: 20})),
			answered200(`{"success":true,"data":[],"meta":{"per_page":0}}`).where(hasMeta(messaging.PageMeta{})),
		).reading(listingFiveCustomers).read(succeeds, 1, 1)},
		{47, "a million rows", answered200(`{"success":true,"data":[`+strings.Repeat(`{},`, 1e6-1)+`{}]}`).
			read(doneButGarbled, 1, 1).where(is(messaging.ErrTooLarge), tells("data.10000 is one row too many")).costing(32 << 20)},
		{48, "a cursor of signs that mean something in a URL", walked(scripted.Pages{"": {Items: []string{"1"}, Meta: scripted.MetaBefore(oddCursor)}, oddCursor: {Items: []string{"2"}, Meta: scripted.MetaOfLastPage}}).
			read(succeeds, 2, 2).where(gives("1", "2"))},
		{49, "a record that comes twice", walked(scripted.Pages{"": {Items: []string{"1", "1"}, Meta: scripted.MetaBefore("b")}, "b": {Items: []string{"1"}, Meta: scripted.MetaOfLastPage}}).
			read(succeeds, 2, 2).where(gives("1", "1", "1"))},
		{50, "an error in the middle of a range", tested(testResumingARange)},
		{51, "ids that are numbers", together(
			answered200(`{"success":true,"data":[{"customer_id":42}]}`).where(gives(messaging.Customer{CustomerID: "42"})).read(succeeds, 1, 1),
			answered200(`{"success":true,"data":[{"id":42}]}`).reading(listingEventsPage).where(gives(messaging.Event{ID: "42"})).read(succeeds, 1, 1),
			answered200(`{"success":true,"data":{"id":42}}`).sending(creating).where(givesEvent("42")).send(succeeds, 1, 1),
		)},
		{52, "counts in other spellings, and none at all", together(
			answered200(`{"success":true,"data":[{"total_sent":"3","total_delivered":3.0,"total_failed":1e2,"total_complained":null,"total_bounced":-1}]}`).reading(listingMessagesPage).
				read(succeeds, 1, 1).where(gives(messaging.TransactionalMessage{TotalSent: 3, TotalDelivered: 3, TotalFailed: 100, TotalBounced: -1})),
			answered200(`{"success":true,"data":[{"total_sent":1e30}]}`).reading(listingMessagesPage).
				read(doneButGarbled, 1, 1).where(tells("data.0.total_sent is not an integer")),
		)},
		{53, "providers in every form", together(
			answered200(`{"success":true,"data":[{"providers":null}]}`, `{"success":true,"data":[{"providers":""}]}`).where(gives(messaging.Customer{})),
			answered200(`{"success":true,"data":[{"providers":"a, b,,c"}]}`, `{"success":true,"data":[{"providers":["a","b","c"]}]}`).
				where(gives(messaging.Customer{Providers: []string{"a", "b", "c"}})),
		).read(succeeds, 1, 1)},
		{54, "timestamps in each form of the service", timestamps(messaging.TransactionalMessage{CreatedAt: oneSecond},
			`"2026-05-01T10:20:30.000000Z"`, `"2026-05-01T10:20:30Z"`, `"2026-05-01 10:20:30"`)},
		{55, "timestamps in forms that leave no doubt", timestamps(messaging.TransactionalMessage{CreatedAt: oneSecond},
			`"2026-05-01T12:20:30+02:00"`, `"2026-05-01T10:20:30+0000"`, `"2026-05-01T10:20:30"`, `"2026-05-01t10:20:30z"`, `"2026-05-01T10:20:30,000Z"`)},
		{56, "timestamps that are none", together(
			timestamps(messaging.TransactionalMessage{}, `null`),
			eachOf([]string{`""`, `"0000-00-00 00:00:00"`, `"2026-05-01T24:00:00Z"`, `"2026-02-30T00:00:00Z"`, `"2026-05-01T10:20:60Z"`, `1777630830`},
				func(raw string) hostileCases {
					return timestamps(messaging.TransactionalMessage{Extra: messaging.Extra{"created_at": json.RawMessage(raw)}}, raw)
				}),
		)},
		{57, "kinds that nobody has announced", together(
			answered200(`{"success":true,"data":[{"channel":"Pigeon","message_type":"NEWS"}]}`).reading(listingMessagesPage).
				read(succeeds, 1, 1).where(gives(messaging.TransactionalMessage{Channel: "Pigeon", MessageType: new("NEWS")})),
			answered200(`{"success":true,"data":[{"parameters":[{"name":"size","type":"Colour"}]}]}`).reading(listingEventsPage).
				read(succeeds, 1, 1).where(gives(messaging.Event{Parameters: []messaging.EventParameter{{Name: "size", Type: "colour"}}})),
		)},
	}
}

// walked ranges over the customers of a service that answers by its script.
func walked(pages scripted.Pages) hostileCases {
	return afterActing(faultserver.Choose(func(r faultserver.Request) faultserver.Step {
		page, known := pages[cursorIn(r)]
		if !known {
			return faultserver.Answer(http.StatusNotFound, "")
		}
		return faultserver.Answer(http.StatusOK, customersKind.Response(page))
	})).reading(walkingCustomers)
}

var oneSecond = time.Date(2026, 5, 1, 10, 20, 30, 0, time.UTC)

var customersKind = scripted.Lists[1]

func cursorIn(r faultserver.Request) string {
	target, _ := url.ParseRequestURI(r.Target)
	return target.Query().Get("cursor")
}

// emptyPagesBefore is a number of empty pages, and an item after them.
func emptyPagesBefore(n int) scripted.Pages {
	pages := scripted.Pages{"": {Meta: scripted.MetaBefore("1")}}
	for i := 1; i < n; i++ {
		pages[strconv.Itoa(i)] = scripted.Page{Meta: scripted.MetaBefore(strconv.Itoa(i + 1))}
	}
	pages[strconv.Itoa(n)] = scripted.Page{Items: []string{"1"}, Meta: scripted.MetaOfLastPage}
	return pages
}

// timestamps reads a message for each form of its created_at.
func timestamps(want messaging.TransactionalMessage, forms ...string) hostileCases {
	return eachOf(forms, func(form string) hostileCases {
		return answered200(`{"success":true,"data":[{"created_at":`+form+`}]}`).reading(listingMessagesPage).
			read(succeeds, 1, 1).where(gives(want))
	})
}

func hasMeta(want messaging.PageMeta) hostileCheck {
	return func(t *testing.T, o hostileOutcome) {
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

// givesNobody asks for a page without customers, of a call that gives a page.
func givesNobody(t *testing.T, o hostileOutcome) {
	if page, isPage := o.value.(*messaging.Page[messaging.Customer]); isPage {
		assert.Empty(t, page.Items)
	}
}

func givesEvent(id string) hostileCheck {
	return func(t *testing.T, o hostileOutcome) { assert.Equal(t, &messaging.Event{ID: id}, o.value) }
}

func listingFiveCustomers(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Customers.List(ctx, messaging.CustomerListParams{PerPage: 5})
}

// endlessPages has one customer on each page, and always a page after it.
func endlessPages(tb testing.TB) *faultserver.Server {
	return faultserver.Start(tb, acting(faultserver.Choose(func(r faultserver.Request) faultserver.Step {
		number, _ := strconv.Atoi(cursorIn(r))
		page := scripted.Page{Items: []string{strconv.Itoa(number + 1)}, Meta: scripted.MetaBefore(strconv.Itoa(number + 1))}
		return faultserver.Answer(http.StatusOK, customersKind.Response(page))
	})))
}

// walkingUntilTheThirdCustomer gives up at the third customer, but not the range.
func walkingUntilTheThirdCustomer(ctx context.Context, client *messaging.Client) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var seen []string
	for customer, err := range client.Customers.All(ctx, messaging.CustomerListParams{}, messaging.WithoutReadAhead()) {
		if err != nil {
			return seen, err
		}
		if seen = append(seen, customer.CustomerID); len(seen) == 3 {
			cancel()
		}
	}
	return seen, nil
}

func testLeavingEndlessPages(t *testing.T) {
	server := endlessPages(t)
	client := newHostileClient(t, server)
	var items int
	for _, err := range client.Customers.All(t.Context(), messaging.CustomerListParams{}, messaging.WithoutReadAhead()) {
		requireUpshot(t, succeeds, err)
		if items++; items == 50 {
			break
		}
	}
	requireCounts(t, server, 50, 50)
}

// testResumingARange fails at the seventh of twenty pages, and goes on there.
func testResumingARange(t *testing.T) {
	const pages, bad = 20, 6
	var healed atomic.Bool
	server := faultserver.Start(t, acting(faultserver.Choose(func(r faultserver.Request) faultserver.Step {
		number, _ := strconv.Atoi(cursorIn(r))
		page := scripted.Page{Items: []string{strconv.Itoa(number)}, Meta: scripted.MetaBefore(strconv.Itoa(number + 1))}
		switch {
		case number == bad && !healed.Load():
			return faultserver.Answer(http.StatusServiceUnavailable, "")
		case number == pages-1:
			page.Meta = scripted.MetaOfLastPage
		}
		return faultserver.Answer(http.StatusOK, customersKind.Response(page))
	})))
	client := newHostileClient(t, server)
	before, err := messaging.Collect(customersKind.All(t.Context(), client, ""))
	requireUpshot(t, brokenOff, err)
	assert.ErrorIs(t, err, messaging.ErrServer)
	requireCounts(t, server, bad+3, bad+3)

	healed.Store(true)
	var broken *messaging.PageError
	require.ErrorAs(t, err, &broken)
	after, err := messaging.Collect(customersKind.All(t.Context(), client, broken.Cursor))
	requireUpshot(t, succeeds, err)
	requireCounts(t, server, pages+3, pages+3)
	all := append(before, after...)
	require.Len(t, all, pages)
	for i, id := range all {
		assert.Equal(t, strconv.Itoa(i), id)
	}
}
