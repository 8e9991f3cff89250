package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/fake"
)

func exchange(number int) *fake.Exchange {
	return &fake.Exchange{Number: number, Op: "list events", At: time.Now(), Status: 200,
		Request: fake.Request{Method: "GET", Path: "/v1/events"}}
}

func numbers(entries []*history.Entry) []int {
	list := []int{}
	for _, e := range entries {
		list = append(list, e.Number)
	}
	return list
}

func filled(max, n int) *history.Store {
	s := history.New(max, 1<<30)
	for i := 1; i <= n; i++ {
		s.Add(exchange(i))
	}
	return s
}

func TestStoreKeepsTheLatestAndFindsThemInPages(t *testing.T) {
	s := filled(3, 5)
	assert.Equal(t, []int{5, 4, 3}, find(t, s, ""))
	assert.Equal(t, history.State{Last: 5, Dropped: 2, Requests: 3}, s.State())
	for number, kept := range map[int]bool{2: false, 3: true, 6: false} {
		_, ok := s.Get(number)
		assert.Equal(t, kept, ok, number)
	}
	s = filled(100, 10)
	even := history.Query{}.And(func(e *history.Entry) bool { return e.Number%2 == 0 })
	assert.Equal(t, 5, s.Count(even))
	found, more := s.Find(even, 9, 2)
	assert.Equal(t, []int{8, 6}, numbers(found))
	assert.True(t, more)
	found, more = s.Find(even, 5, 2)
	assert.Equal(t, []int{4, 2}, numbers(found))
	assert.False(t, more)
}

func TestStoreKeepsItsBytesAndAlwaysTheLatest(t *testing.T) {
	s := history.New(100, 200_000)
	for i, size := range []int{90_000, 90_000, 90_000, 90_000, 1_000_000} {
		e := exchange(i + 1)
		e.Request.Body, e.ResponseBody = make([]byte, size/2), make([]byte, size/2)
		s.Add(e)
		assert.Equal(t, []int{1, 2, 2, 2, 1}[i], s.State().Requests)
	}
	entry, _ := s.Get(5)
	assert.Len(t, entry.ResponseBody, 500_000)
}

func TestAnEntryCountsAsWhatItTakes(t *testing.T) {
	const customers, limit = 1_000, 4 << 20
	var list []fake.CustomerParams
	for i := range customers {
		list = append(list, fake.CustomerParams{Email: fmt.Sprintf("customer-%d@example.com", i)})
	}
	body, err := json.Marshal(map[string]any{"subject": "s", "message": "m", "schedule_type": "send-now",
		"recipients": []any{map[string]any{"type": "customer", "customers": list}}})
	require.NoError(t, err)
	for name, body := range map[string]string{
		"a broadcast": string(body), "problems": `{"recipients":[` + strings.Repeat("0,", customers) + `0]}`,
	} {
		s, _, send := served(10_000, limit)
		send("push-notification", body)
		before := heap()
		for range 60 {
			send("push-notification", body)
		}
		assert.Less(t, heap()-before, int64(limit*12/10), name)
		assert.Less(t, s.State().Requests, 61, "%s: the limit was reached", name)
		runtime.KeepAlive(send)
	}
}

// served returns a store with the exchanges of a service, and a function that sends a broadcast to that.
func served(max int, maxBytes int64) (s *history.Store, service *fake.Server, send func(channel, body string)) {
	s = history.New(max, maxBytes)
	service = fake.New(fake.Config{NoHistory: true, Observe: s.Add})
	return s, service, func(channel, body string) {
		r := httptest.NewRequest("POST", "/v1/broadcast/send/"+channel, strings.NewReader(body))
		r.Header = http.Header{"X-Authorization": {service.APIKey()}, "Content-Type": {"application/json"}}
		service.Replay(r, 0)
	}
}

// heap returns the bytes that are in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestAnEntryKeepsWhatARowShowsAndReadsTheRestAgain(t *testing.T) {
	s, service, send := served(10, 1<<30)
	customers := strings.Repeat(`{"customer_id":"c-1"},`, 600)
	body := `{"sender_email":"a@acme.test","sender_name":"Acme","email":"b@acme.test","message_type":"marketing","message":"Hi",` +
		`"subject":"` + strings.Repeat("é", 400) + `","schedule_type":"send-now","recipients":[{"type":"segment","segments":["vip","new"]},` +
		`{"type":"customer","customers":[` + customers + `{"email":"ada@example.com"}]}]}`
	for range 2 {
		send("email", body)
		service.AddRule(fake.Rule{Probability: 1, Fault: fake.Fault{Kind: fake.Status, Status: 502}})
	}
	sent, _ := s.Get(1)
	refused, _ := s.Get(2)
	for _, e := range []*history.Entry{sent, refused} {
		assert.Equal(t, strings.Repeat("é", 250), e.Subject, "its beginning")
		assert.Equal(t, []any{[]string{"c-1", "c-1", "c-1", "c-1", "c-1"}, 601, []string{"vip", "new"}, 2},
			[]any{e.Names, e.Named, e.Segments, e.SegmentCount})
	}
	assert.Len(t, sent.Changes, history.MaxChanges)
	assert.Equal(t, []int{2, 599}, []int{sent.Created, sent.Updated})
	email, push := sent.Broadcast()
	assert.Equal(t, "Acme", email.SenderName)
	assert.Len(t, email.Recipients[1].Customers, 601)
	assert.Nil(t, push)
	email, _ = refused.Broadcast()
	assert.Nil(t, email)
	assert.Empty(t, refused.Changes)
}

func TestSearchReadsEscapesAndCapitals(t *testing.T) {
	s := history.New(10, 1<<30)
	e := exchange(1)
	e.Request.Body = []byte(`{"a":"\u00e9t\u00e9 \ud83d\ude00 Tom \u0026 Jerry","b":"École Größe","c":"\"quoted\""}`)
	s.Add(e)
	for _, word := range []string{"été", "ÉTÉ", "école", "École", "GRÖSSE", "größe", "😀", `"tom & jerry"`, "jerry"} {
		assert.Equal(t, word != "GRÖSSE", len(find(t, s, word)) == 1, word)
	}
}

func TestStoreDoesNotRestartItsNumbersAfterAClear(t *testing.T) {
	s := filled(10, 4)
	s.Clear()
	assert.Equal(t, history.State{Last: 4, Cleared: 1, Begin: 4}, s.State())
	entries, complete := s.After(2)
	assert.Empty(t, entries)
	assert.False(t, complete, "3 and 4 are gone")
	s.Add(exchange(5))
	entries, complete = s.After(4)
	assert.Equal(t, []int{5}, numbers(entries))
	assert.True(t, complete)
}

func TestWaitFindsTheFirstMatchAfterANumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := filled(100, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var all sync.WaitGroup
		for name, test := range map[string]struct {
			query       string
			after, want int // 0 if the time is over
		}{
			"what has arrived before":     {"", 2, 3},
			"what arrives later":          {"status:422", 1, 5},
			"what comes after a clear":    {"", 3, 4},
			"a number that is far away":   {"", 5, 6},
			"a number that never arrives": {"", 1000, 0},
			"nothing matches":             {"status:422", 6, 0},
		} {
			query, err := history.Parse(test.query)
			require.NoError(t, err)
			all.Go(func() {
				found := 0
				err := s.Wait(ctx, query, test.after, func(e *history.Entry) bool { found = e.Number; return false })
				assert.Equal(t, test.want == 0, errors.Is(err, context.DeadlineExceeded), name)
				assert.Equal(t, test.want, found, name)
			})
		}
		for number := 4; number <= 6; number++ {
			synctest.Wait()
			s.Clear()
			e := exchange(number)
			if number > 4 {
				e.Status = 422
			}
			s.Add(e)
		}
		all.Wait()
	})
}

func TestQueryTerms(t *testing.T) {
	now := time.Now()
	s := history.New(10, 1<<30)
	s.EventName = func(id string) string { return map[string]string{"e-2": "Invoice paid"}[id] }
	s.Notes = func(e *history.Entry) []history.Note {
		return []history.Note{{Code: map[int]string{3: "skipped", 5: "foreign_key"}[e.Number]}}
	}
	names := []string{"email", "push", "trigger", "refused", "foreign"}
	for i, e := range []*fake.Exchange{
		{Op: "send email broadcast", Status: 200, At: now, Effect: &fake.EmailBroadcast{Subject: "We have Moved"},
			Request: fake.Request{Method: "POST", Path: "/v1/broadcast/send/email", Body: []byte(`{"subject":"We have Moved",` +
				`"sender_email":"sam@acme.test","email":"news@acme.test","bcc":["audit@acme.test"],"recipients":[{"customers":[` +
				`{"email":"Ada@Example.com","customer_id":"c-7","phone_no":"+4930"}]}]}`)}},
		{Op: "send push broadcast", Fault: "answer_lost", At: now, Effect: &fake.PushBroadcast{Subject: "Hi", AllCustomers: true}},
		{Op: "trigger event", Status: 200, At: now.Add(-time.Hour), Effect: &fake.Trigger{EventID: "e-1", EventName: "Order shipped"},
			Request: fake.Request{Body: []byte(`{"payload":{"at":"today","email":"grace@example.com"}}`)}},
		{Op: "trigger event", Status: 422, At: now, Problems: map[string][]string{"payload.order": {"is required"}},
			Request: fake.Request{Body: []byte(`{"event_id":"e-2","payload":{"email":"eve@example.com"}}`)}},
		{Op: "list customers", Status: 401, At: now, ForeignKey: true,
			Request: fake.Request{Path: "/v1/customers", Method: "GET", Query: url.Values{"emails": {"bob@example.com"}},
				Header: http.Header{"User-Agent": {"acme/1.0"}, "X-Authorization": {"REDACTED"}}}, ResponseHeader: http.Header{"Retry-After": {"77"}}},
	} {
		e.Number = i + 1
		s.Add(e)
	}
	for want, texts := range map[string][]string{
		"email push trigger refused foreign": {""},
		"email push trigger foreign":         {"-value:email=eve", "!eve@example.com"},
		"email push refused foreign":         {"since:5m"},
		"email push foreign":                 {"-op:trigger"},
		"email push":                         {"to:ada@example.com", "to:c-7", "to:+4930", "to:audit@"},
		"email":                              {"subject:moved", "moved", `"have moved"`},
		"push trigger":                       {"to:grace"},
		"push refused":                       {"to:eve@example.com"},
		"push":                               {"to:sam@acme.test", "status:none", "status:unknown", "fault:answer", "fault:any"},
		"trigger refused":                    {"op:trigger", "op:TRIGGER"},
		"trigger": {"event:e-1", "event:shipped", "has:skipped", "value:at=TOD", "value:payload.at=",
			"op:trigger status:200"},
		"refused foreign": {"status:4xx", "status:rejected"},
		"refused":         {"status:422", "event:e-2", "event:invoice"},
		"foreign":         {"has:foreign_key", "bob@example.com", "acme/1", "77"},
		"":                {`quoted \"`, "have nothing", "http://nowhere", `"-op:trigger"`, "redacted"},
	} {
		for _, text := range texts {
			found := []string{}
			for _, number := range slices.Backward(find(t, s, text)) {
				found = append(found, names[number-1])
			}
			assert.Equal(t, want, strings.Join(found, " "), text)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"status:many": "status:many: must be", "status:6xx": "status:6xx: must be", "has:everything": "has:everything: must be",
		"since:yesterday": "since:yesterday: must be", "status:>400": "status:>400: must be", "-since:x": "since:x: must be",
		"value:":      "must be the name of a value of the body, =, and a part of the value",
		"value:order": "must be the name of a value", "value:=x": "must be the name of a value",
		"op:trigger Status:422": `unknown key "Status"`,
		`op:"trigger event`:     "a quotation mark has no other one",
		"satus:422":             `satus:422: unknown key "satus"; did you mean status:422? The keys are op, status, to, `,
		`-"evnt:order lost"`:    `unknown key "evnt"; did you mean -event:"order lost"? The keys are op, `,
		"campaign:7":            `unknown key "campaign"; must be one of op, status, to, `,
	} {
		_, err := history.Parse("word " + text)
		assert.ErrorContains(t, err, want, text)
	}
	for _, text := range []string{"https://acme.test", "Note:", "09:00:00", ":"} {
		_, err := history.Parse(text)
		assert.NoError(t, err, text)
	}
}

func TestAValueIsFoundByTheEndOfItsPath(t *testing.T) {
	body := `{"recipients":[{"customers":[{"email":"ada@example.com"},{"email":"grace@example.com","vip":true}]}],` +
		`"parcels":12345678901234567890}`
	s, e := stored(1, send(200, 0, func(e *fake.Exchange) { e.Request.Body = []byte(body) }))
	for text, want := range map[string]bool{
		"value:email=GRACE": true, "value:customers.email=ada@": true, "value:recipients.customers.email=ada": true,
		"value:recipients.email=ada": false, "value:vip=true": true, "value:parcels=12345678901234567890": true,
		"value:parcels==12345678901234567890": true, "value:parcels==1234567890123456789": false, "value:email==GRACE": false,
		"value:email==Grace@example.com": true, "value:mail=ada": false,
	} {
		assert.Equal(t, want, len(find(t, s, text)) == 1, text)
	}
	e.Request.Body = []byte(`{"email":"ada"`)
	assert.Empty(t, find(t, s, "value:email=ada"), "it is not JSON")

	e.Request.Body = []byte(`{"to":[` + strings.Repeat(`{"email":"ada@example.com"},`, 10_000) + `"x"]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	assert.Empty(t, find(t, s, "value:x=ada"))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(14*len(e.Request.Body)), "it is never decoded as a whole")
}
