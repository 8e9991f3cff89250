package messagingtest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

const transactionalPath = "/v1/messaging/transactional"

// rawPage is a list response of transactional messages or events.
type rawPage struct {
	Data []struct{ ID string }
	Meta struct {
		HasNextPage    *bool   `json:"has_next_page"`
		HasPrevPage    *bool   `json:"has_prev_page"`
		NextPageCursor *string `json:"next_page_cursor"`
		PrevPageCursor *string `json:"prev_page_cursor"`
		PerPage        int     `json:"per_page"`
	}
}

func (p rawPage) ids() []string {
	var ids []string
	for _, row := range p.Data {
		ids = append(ids, row.ID)
	}
	return ids
}

// getPage fetches a page, and checks that its meta is consistent.
func getPage(t *testing.T, s *messagingtest.Server, perPage int, cursor string) rawPage {
	t.Helper()
	query := url.Values{"per_page": {strconv.Itoa(perPage)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	response := get(t, s, transactionalPath+"?"+query.Encode())
	require.Equal(t, 200, response.StatusCode, response.Body)
	var page rawPage
	require.NoError(t, json.Unmarshal([]byte(response.Body), &page))
	require.Equal(t, perPage, page.Meta.PerPage)
	require.Equal(t, *page.Meta.HasNextPage, page.Meta.NextPageCursor != nil)
	require.Equal(t, *page.Meta.HasPrevPage, page.Meta.PrevPageCursor != nil)
	return page
}

func addMessages(s *messagingtest.Server, ids ...string) {
	for _, id := range ids {
		s.AddTransactional(messaging.TransactionalMessage{ID: id})
	}
}

func numbers(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}

func TestPagesCanBeWalkedForwardAndBackward(t *testing.T) {
	for length := range 8 {
		for perPage := 1; perPage <= 4; perPage++ {
			s := messagingtest.NewServer(t)
			ids := numbers(length)
			addMessages(s, ids...)
			want := slices.Collect(slices.Chunk(ids, perPage))
			if length == 0 {
				want = [][]string{nil}
			}
			page := getPage(t, s, perPage, "")
			assert.False(t, *page.Meta.HasPrevPage)
			forward := [][]string{page.ids()}
			for page.Meta.NextPageCursor != nil {
				page = getPage(t, s, perPage, *page.Meta.NextPageCursor)
				forward = append(forward, page.ids())
			}
			assert.Equal(t, want, forward, "%d records, %d per page", length, perPage)
			backward := [][]string{page.ids()}
			for page.Meta.PrevPageCursor != nil {
				page = getPage(t, s, perPage, *page.Meta.PrevPageCursor)
				backward = append(backward, page.ids())
			}
			slices.Reverse(backward)
			assert.Equal(t, want, backward, "%d records, %d per page", length, perPage)
		}
	}
}

func TestPagesAreStableWhileRecordsAreAdded(t *testing.T) {
	s := messagingtest.NewServer(t)
	addMessages(s, "a", "b", "c", "d")
	first := getPage(t, s, 2, "")
	addMessages(s, "e")
	second := getPage(t, s, 2, *first.Meta.NextPageCursor)
	assert.Equal(t, []string{"c", "d"}, second.ids())
	require.True(t, *second.Meta.HasNextPage)
	addMessages(s, "f")
	assert.Equal(t, []string{"e", "f"}, getPage(t, s, 2, *second.Meta.NextPageCursor).ids())
	assert.Equal(t, []string{"a", "b"}, getPage(t, s, 2, *second.Meta.PrevPageCursor).ids())
	assert.Equal(t, []string{"c", "d"}, getPage(t, s, 2, *first.Meta.NextPageCursor).ids(), "a cursor can be used again")
}

func TestPagesOfAFilteredListSkipOtherRecords(t *testing.T) {
	s := messagingtest.NewServer(t)
	var selected []string
	for i := range 13 {
		id := fmt.Sprintf("c-%d", i)
		s.AddCustomers(messaging.Customer{CustomerID: id})
		if i%2 == 1 {
			selected = append(selected, id)
		}
	}
	params := messaging.CustomerListParams{CustomerIDs: messaging.Only(selected...), PerPage: 2}
	var pages [][]string
	var last messaging.PageMeta
	for page, err := range s.Client().Customers.Pages(t.Context(), params) {
		require.NoError(t, err)
		var ids []string
		for _, c := range page.Items {
			ids = append(ids, c.CustomerID)
		}
		pages, last = append(pages, ids), page.Meta
	}
	assert.Equal(t, [][]string{{"c-1", "c-3"}, {"c-5", "c-7"}, {"c-9", "c-11"}}, pages)

	assert.False(t, last.HasNextPage, "the filter does not select the next customer")
	params.Cursor = last.PrevPageCursor
	middle, err := s.Client().Customers.List(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, "c-5", middle.Items[0].CustomerID)
	params.Cursor = middle.Meta.PrevPageCursor
	first, err := s.Client().Customers.List(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, "c-1", first.Items[0].CustomerID)
	assert.False(t, first.Meta.HasPrevPage, "the filter does not select the previous customer")
}

func TestPagesAreServedForEveryList(t *testing.T) {
	const n = 45
	s := messagingtest.NewServer(t)
	for list := range service.Lists() {
		assert.Contains(t, get(t, s, list.Path).Body, `"data":[]`, list.Name)
	}
	for range n {
		addOneOfEach(s)
	}
	for list := range service.Lists() {
		rows := make(map[string]bool)
		requests, cursor := 0, ""
		for requests == 0 || cursor != "" {
			requests++
			page := parsePage(t, get(t, s, list.Path+"?cursor="+cursor).Body)
			for _, row := range page.Data {
				rows[string(row)] = true
			}
			cursor = page.Meta.NextPageCursor
		}
		assert.Len(t, rows, n, list.Name)
		assert.Equal(t, 3, requests, list.Name)
	}
}

// anyPage is a page of any list.
type anyPage struct {
	Data []json.RawMessage
	Meta struct {
		NextPageCursor string `json:"next_page_cursor"`
	}
}

// parsePage parses a list response. Customers are one level deeper than other records.
func parsePage(t *testing.T, body string) (page anyPage) {
	t.Helper()
	var outer struct{ Data json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(body), &outer))
	if outer.Data[0] == '{' {
		body = string(outer.Data)
	}
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	return page
}

func TestPagesRefuseInvalidQueries(t *testing.T) {
	s, longer := messagingtest.NewServer(t), messagingtest.NewServer(t)
	addMessages(s, numbers(30)...)
	addMessages(longer, numbers(70)...)
	cursor := *getPage(t, s, 20, "").Meta.NextPageCursor
	for range 30 {
		s.AddEvents(messaging.Event{})
	}
	decoded, err := base64.RawURLEncoding.DecodeString(cursor)
	require.NoError(t, err)
	tampered := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(decoded), "20", "10", 1)))
	for target, want := range map[string]string{
		transactionalPath + "?per_page=0":                                                "per_page",
		transactionalPath + "?per_page=-1":                                               "per_page",
		transactionalPath + "?per_page=1.5":                                              "per_page",
		"/v1/events?per_page=all":                                                        "per_page",
		"/v1/customers?per_page=":                                                        "per_page",
		"/v1/customers?per_page=99999999999999999999":                                    "per_page",
		transactionalPath + "?cursor=page-2":                                             "cursor",
		"/v1/customers?cursor=%ff":                                                       "cursor",
		transactionalPath + "?cursor=" + cursor[:len(cursor)-2]:                          "cursor",
		transactionalPath + "?cursor=" + cursor + "MQ":                                   "cursor",
		transactionalPath + "?cursor=" + tampered:                                        "cursor",
		"/v1/events?cursor=" + cursor:                                                    "cursor", // of another list
		transactionalPath + "?cursor=" + *getPage(t, longer, 60, "").Meta.NextPageCursor: "cursor", // of another server
		transactionalPath + "?cursor=" + *getPage(t, longer, 30, "").Meta.NextPageCursor: "cursor", // after the last record
		"/v1/events?per_page=0&cursor=x":                                                 "cursor per_page",
	} {
		var fields []string
		for problem := range strings.SplitSeq(get(t, s, target).problems(t), "; ") {
			field, _, _ := strings.Cut(problem, ": ")
			fields = append(fields, field)
		}
		assert.Equal(t, want, strings.Join(fields, " "), target)
	}
	assert.Equal(t, 200, get(t, s, transactionalPath+"?cursor="+cursor).StatusCode, "the unchanged cursor is valid")
	assert.Equal(t, 200, get(t, s, transactionalPath+"?cursor=").StatusCode, "an empty cursor is the start of the list")
}

func TestTransactionalMessagesAreListedInTheFormOfTheService(t *testing.T) {
	s := messagingtest.NewServer(t)
	at := time.Date(2030, 5, 1, 11, 30, 5, 999_999_999, time.FixedZone("CEST", 2*60*60))
	s.AddTransactional(
		messaging.TransactionalMessage{ID: "m-1", Channel: messaging.ChannelEmail, Subject: "Hello", Title: "Welcome",
			Message: "Hello, Ada.", MessageType: "otp", CreatedAt: at,
			TotalSent: 5, TotalDelivered: 4, TotalFailed: 3, TotalComplained: 2, TotalBounced: 1},
		messaging.TransactionalMessage{ID: "m-2", Channel: messaging.ChannelSMS,
			Extra: map[string]json.RawMessage{"created_at": json.RawMessage(`"0000-00-00 00:00:00"`), "cost": json.RawMessage(`0.05`)}},
	)
	assert.JSONEq(t, `{"success":true,"message":"Transactional Messages fetched successfully","data":[
			{"id":"m-1","channel":"email","subject":"Hello","title":"Welcome","message":"Hello, Ada.","message_type":"otp",
			 "created_at":"2030-05-01 09:30:05","total_sent":5,"total_delivered":4,"total_failed":3,"total_complained":2,"total_bounced":1},
			{"id":"m-2","channel":"sms","subject":"","title":"","message":"","message_type":null,
			 "created_at":"0000-00-00 00:00:00","total_sent":0,"total_delivered":0,"total_failed":0,"total_complained":0,"total_bounced":0,
			 "cost":0.05}],
		"meta":{"has_next_page":false,"has_prev_page":false,"next_page_cursor":null,"prev_page_cursor":null,"per_page":20}}`,
		get(t, s, "/v1/messaging/transactional").Body)
}

func TestTransactionalMessagesThatWereAddedGetDefaults(t *testing.T) {
	s := messagingtest.NewServer(t)
	before := time.Now().Truncate(time.Second)
	extra := map[string]json.RawMessage{"cost": json.RawMessage(`1`)}
	s.AddTransactional(messaging.TransactionalMessage{Title: "first", Extra: extra}, messaging.TransactionalMessage{Title: "second"})
	extra["cost"][0] = '2'
	listed, err := messaging.Collect(s.Client().Transactional.All(t.Context(), messaging.TransactionalListParams{}))
	require.NoError(t, err)
	require.Len(t, listed, 2)
	assert.Len(t, listed[0].ID, 36)
	assert.NotEqual(t, listed[0].ID, listed[1].ID)
	assert.Empty(t, listed[0].MessageType)
	assert.WithinRange(t, listed[0].CreatedAt, before, time.Now())
	assert.Equal(t, "1", string(listed[0].Extra["cost"]))
}
