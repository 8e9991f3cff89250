package history_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
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

// change changes an exchange.
type change = func(*fake.Exchange)

// read is a read with a status, some time after the first exchange.
func read(status int, after time.Duration, changes ...change) *fake.Exchange {
	e := exchange(0)
	e.At, e.Status, e.ResponseBody = time.Unix(1_000_000, 0).Add(after), status, []byte(`{"success":false}`)
	for _, c := range changes {
		c(e)
	}
	return e
}

// send is a send with a status, which is carried out if that is 200.
func send(status int, after time.Duration, changes ...change) *fake.Exchange {
	return read(status, after, append([]change{func(e *fake.Exchange) {
		e.Op, e.Request.Method, e.Request.Body = "trigger event", "POST", []byte("{}")
		if status == 200 {
			e.Effect = &fake.Trigger{}
		}
	}}, changes...)...)
}

func lost(e *fake.Exchange)    { e.Status, e.Fault = 0, "answer_lost" }
func another(e *fake.Exchange) { e.Request.Body = []byte("[]") }
func curl(e *fake.Exchange)    { e.Request.Header = http.Header{"User-Agent": {"curl/8"}} }

// stored returns a store of at most max entries to which the exchanges were added. A nil is a mark.
func stored(max int, list ...*fake.Exchange) (s *history.Store, last *history.Entry) {
	s = history.New(max, 1<<30)
	number := 0
	for _, e := range list {
		if e == nil {
			s.Mark("a test")
			continue
		}
		number++
		e.Number = number
		s.Add(e)
	}
	last, _ = s.Get(number)
	return s, last
}

func find(t *testing.T, s *history.Store, query string) []int {
	t.Helper()
	q, err := history.Parse(query)
	require.NoError(t, err)
	found, _ := s.Find(s.Grouped(q), 0, 10)
	return numbers(found)
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
	var list []string
	for i := range customers {
		list = append(list, fmt.Sprintf(`{"email":"customer-%d@example.com"}`, i))
	}
	for name, body := range map[string]string{
		"problems": `{"recipients":[` + strings.Repeat("0,", customers) + `0]}`,
		"a broadcast": `{"subject":"s","message":"m","schedule_type":"send-now","recipients":{"type":"customer","customers":[` +
			strings.Join(list, ",") + `]}}`,
	} {
		s := history.New(10_000, limit)
		service := fake.New(fake.Config{NoHistory: true, Observe: func(e *fake.Exchange) { s.Add(e) }})
		send := func() {
			r := httptest.NewRequest("POST", "/v1/broadcast/send/push-notification", strings.NewReader(body))
			r.Header = http.Header{"X-Authorization": {service.APIKey()}, "Content-Type": {"application/json"}}
			service.Replay(r, 0)
		}
		send()
		before := heap()
		for range 60 {
			send()
		}
		assert.Less(t, heap()-before, int64(limit*12/10), name)
		assert.Less(t, s.State().Requests, 61, "%s: the limit was reached", name)
		runtime.KeepAlive(service)
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

func TestABroadcastIsStillShownWhenItsScheduleIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := history.New(10, 1<<30)
		service := fake.New(fake.Config{NoHistory: true, Observe: func(e *fake.Exchange) { s.Add(e) }})
		r := httptest.NewRequest("POST", "/v1/broadcast/send/push-notification", strings.NewReader(
			`{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-later",
			"schedule_date":{"schedule_date":"2000-01-01 00:30:00","timezone":"UTC"}}`)) // a bubble starts half an hour before
		r.Header = http.Header{"X-Authorization": {service.APIKey()}, "Content-Type": {"application/json"}}
		service.Replay(r, 0)
		time.Sleep(time.Hour)
		entry, _ := s.Get(1)
		_, push := entry.Broadcast()
		require.NotNil(t, push)
		assert.Equal(t, "2000-01-01 00:30:00", push.Params.Schedule.Date)
	})
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

func TestQueryTerms(t *testing.T) {
	now := time.Now()
	s := history.New(10, 1<<30)
	s.EventName = func(id string) string { return map[string]string{"e-1": "Order shipped", "e-2": "Invoice paid"}[id] }
	var asked []int
	s.Notes = func(e *history.Entry) []history.Note {
		asked = append(asked, e.Number)
		return []history.Note{{Code: map[int]string{3: "skipped", 5: "foreign_key"}[e.Number]}}
	}
	email := &fake.EmailBroadcast{Params: messaging.EmailBroadcastParams{Subject: "We have Moved"}}
	trigger := &fake.Trigger{Params: messaging.EventTriggerParams{EventID: "e-1"}}
	names := []string{"email", "push", "trigger", "refused", "foreign"}
	for i, e := range []*fake.Exchange{
		{Op: "send email broadcast", Status: 200, At: now, Effect: email,
			Request: fake.Request{Method: "POST", Path: "/v1/broadcast/send/email", Body: []byte(`{"subject":"We have Moved",` +
				`"sender_email":"sam@acme.test","email":"news@acme.test","bcc":["audit@acme.test"],"recipients":[{"customers":[` +
				`{"email":"Ada@Example.com","customer_id":"c-7","phone_no":"+4930"}]}]}`)}},
		{Op: "send push broadcast", Fault: "answer_lost", At: now, Effect: &fake.PushBroadcast{Everyone: true},
			Request: fake.Request{Body: []byte(`{"email":"ada"`)}}, // not JSON
		{Op: "trigger event", Status: 200, At: now.Add(-time.Hour), Effect: trigger,
			Request: fake.Request{Body: []byte(`{"payload":{"at":"today","email":"grace@example.com","vip":true,"parcels":12345678901234567890}}`)}},
		{Op: "trigger event", Status: 422, At: now, Problems: map[string][]string{"payload.order": {"is required"}},
			Request: fake.Request{Body: []byte(`{"event_id":"e-2","payload":{"email":"eve@example.com"}}`)}},
		{Op: "list customers", Status: 401, At: now, ForeignKey: true,
			Request: fake.Request{Path: "/v1/customers", Method: "GET", Query: url.Values{"emails": {"bob@example.com"}},
				Header: http.Header{"User-Agent": {"acme/1.0"}, "X-Authorization": {"REDACTED"}}}, ResponseHeader: http.Header{"Retry-After": {"77"}}},
	} {
		e.Number = i + 1
		s.Add(e)
	}
	assert.Empty(t, asked, "nobody asks yet")
	for want, texts := range map[string][]string{
		"email push trigger refused foreign": {""},
		"email push trigger foreign":         {"-value:email=eve", "!eve@example.com"},
		"email push refused foreign":         {"since:5m", "-has:skipped"},
		"email push foreign":                 {"-op:trigger"},
		"email push":                         {"to:ada@example.com", "to:c-7", "to:+4930", "to:audit@"},
		"email": {"subject:moved", "moved", `"have moved"`, "value:email=ada", "value:customers.email=ADA@",
			"value:recipients.customers.email=ada", "value:customers.email==ada@example.com"},
		"push trigger":    {"to:grace"},
		"push refused":    {"to:eve@example.com"},
		"push":            {"to:sam@acme.test", "status:none", "status:unknown", "fault:answer", "fault:any"},
		"trigger refused": {"op:trigger", "op:TRIGGER"},
		"trigger": {"event:e-1", "event:shipped", "has:skipped", "value:at=TOD", "value:payload.at=",
			"op:trigger status:200", "value:vip=true", "value:parcels==12345678901234567890", "value:parcels=2345"},
		"refused foreign": {"status:4xx", "status:rejected"},
		"refused":         {"status:422", "event:e-2", "event:invoice"},
		"foreign":         {"has:foreign_key", "bob@example.com", "acme/1", "77"},
		"": {`quoted \"`, "have nothing", "http://nowhere", `"-op:trigger"`, "redacted", "value:parcels==1234567890123456789",
			"value:email==GRACE", "value:mail=ada", "value:recipients.email=ada"},
	} {
		for _, text := range texts {
			found := []string{}
			for _, number := range slices.Backward(find(t, s, text)) {
				found = append(found, names[number-1])
			}
			assert.Equal(t, want, strings.Join(found, " "), text)
		}
	}
	assert.ElementsMatch(t, []int{1, 2, 3, 4, 5}, asked, "what is worth a look is found once")
}

func TestARequestIsFoundBeforeItIsAnswered(t *testing.T) {
	s := history.New(1, 1<<30)
	s.EventName = func(id string) string { return map[string]string{"e-1": "Order shipped"}[id] }
	requests := []*fake.Exchange{
		{Op: "send email broadcast", Request: fake.Request{Body: []byte(`{"subject":"We have moved","message":"Call eve@example.com",` +
			`"recipients":{"type":"customer","customers":[{"email":"ada@example.com"}]}}`)}},
		{Op: "send push broadcast", Request: fake.Request{Body: []byte(`{"all_customers":true}`)}},
		{Op: "trigger event", Request: fake.Request{Body: []byte(`{"event_id":"e-1","payload":{"email":"eve@example.com","order":"A-1"}}`)}},
		{Op: "create event", Request: fake.Request{Body: []byte(`{"name":"Order lost"}`)}},
		{Op: "trigger event", Request: fake.Request{Body: []byte(`{"payload":`)}}, // not JSON
		{Op: "list events"},
		{}, // for no operation
	}
	for query, want := range map[string][]int{
		"": {0, 1, 2, 3, 4, 5, 6}, "to:ada@example.com": {0, 1}, "to:eve@example.com": {1, 2}, "-to:eve op:send": {0}, "event:order": {2, 3},
		"event:e-1": {2}, "subject:moved": {0}, "value:order==A-1": {2}, `op:"trigger event"`: {2, 4}, "-op:e": {6},
	} {
		q, err := history.ParseRequest(query)
		require.NoError(t, err)
		var found []int
		for i, e := range requests {
			if q.Match(s.Unanswered(e, fake.Read(service.Named(e.Op), e.Request.Body))) {
				found = append(found, i)
			}
		}
		assert.Equal(t, want, found, query)
	}
	for _, text := range []string{"word", "status:502", "-has:skipped", "delivery:unknown", "since:5m", "mark:a", "fault:any", "to:",
		`to:""`} {
		_, err := history.ParseRequest("op:trigger " + text)
		assert.ErrorContains(t, err, ": must be op, to, event, subject or value, with a value: a request has no other terms", text)
	}
	for text, want := range map[string]string{"op:nonsense": "unknown operation", `to:"a`: "quotation mark",
		"value:order": "must be the name"} {
		_, err := history.ParseRequest(text)
		assert.ErrorContains(t, err, want)
	}
}

func TestASearchDecodesNoBodyAsAWhole(t *testing.T) {
	s, e := stored(1, send(200, 0))
	e.Request.Body = []byte(`{"to":["ada"` + strings.Repeat(`,{"email":"ada@example.com"}`, 10_000) + `]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	assert.NotEmpty(t, find(t, s, "value:to=ada"))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(e.Request.Body)), "no more is decoded than the first value")
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

// TestAttemptsAreWhatTheClientRetriesAndDuplicatesHaveATwinThatWasCarriedOut has both of the last one.
func TestAttemptsAreWhatTheClientRetriesAndDuplicatesHaveATwinThatWasCarriedOut(t *testing.T) {
	replay := func(e *fake.Exchange) { e.ReplayOf = 1 }
	var loop []*fake.Exchange
	for i := range 11 {
		loop = append(loop, read(500, time.Duration(i)*time.Second))
	}
	for name, test := range map[string]struct {
		sends                []*fake.Exchange
		attempt, duplicateOf int
	}{
		"a retry":                      {[]*fake.Exchange{send(429, 0), send(200, time.Second)}, 2, 0},
		"another client between":       {[]*fake.Exchange{send(429, 0), send(429, time.Second, curl), send(200, 2*time.Second)}, 2, 0},
		"another body after a refusal": {[]*fake.Exchange{send(429, 0), send(200, time.Second, another)}, 1, 0},
		"another client after it":      {[]*fake.Exchange{send(429, 0), send(200, time.Second, curl)}, 1, 0},
		"a send that is not retried":   {[]*fake.Exchange{send(502, 0), send(200, time.Second)}, 1, 0},
		"an invalid request":           {[]*fake.Exchange{send(422, 0), send(422, time.Second)}, 1, 0},
		"a retry of a read":            {[]*fake.Exchange{read(502, 0), read(429, time.Second), read(200, 2*time.Second)}, 3, 0},
		"a read after a success":       {[]*fake.Exchange{read(502, 0), read(200, time.Second), read(200, 2*time.Second)}, 1, 0},
		"a loop that always fails":     {append(loop, read(200, 11*time.Second)), 2, 0}, // is more than one call
		"a later call":                 {[]*fake.Exchange{send(429, 0), send(200, time.Minute)}, 1, 0},
		"a mark after a refusal":       {[]*fake.Exchange{send(429, 0), nil, send(200, time.Second)}, 1, 0},
		"carried out twice":            {[]*fake.Exchange{send(200, 0), send(200, time.Second)}, 1, 1},
		"the first response was lost":  {[]*fake.Exchange{send(200, 0, lost), send(200, time.Second)}, 1, 1},
		"a refusal between":            {[]*fake.Exchange{send(200, 0), send(429, time.Second), send(200, time.Minute)}, 1, 1},
		"refused the second time":      {[]*fake.Exchange{send(200, 0), send(429, time.Second)}, 1, 0},
		"another body":                 {[]*fake.Exchange{send(200, 0), send(200, time.Second, another)}, 1, 0},
		"another client":               {[]*fake.Exchange{send(200, 0), send(200, time.Second, curl)}, 1, 1},
		"a replay":                     {[]*fake.Exchange{send(200, 0), send(200, time.Second, replay)}, 1, 0},
		"much later":                   {[]*fake.Exchange{send(200, 0), send(200, time.Hour)}, 1, 0},
		"after a mark":                 {[]*fake.Exchange{send(200, 0), nil, send(200, time.Second)}, 1, 0},
		"twice after a mark":           {[]*fake.Exchange{send(200, 0), nil, send(200, time.Second), send(200, time.Minute)}, 1, 2},
	} {
		_, last := stored(100, test.sends...)
		assert.Equal(t, []int{test.attempt, test.duplicateOf}, []int{last.Attempt, last.DuplicateOf}, name)
	}
	// A store of two entries forgets a send that it no longer keeps.
	_, last := stored(2, send(200, 0), send(429, 1), send(429, 2), send(200, 3))
	assert.Zero(t, last.DuplicateOf)
	_, last = stored(2, send(200, 0), send(200, 1), send(200, 2))
	assert.Equal(t, 2, last.DuplicateOf)
}
