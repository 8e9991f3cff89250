package history_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/fake"
)

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

func TestTheSameRequestsAfterFailuresAreOneGroup(t *testing.T) {
	s, _ := stored(100, read(502, 0), read(429, time.Second), read(200, 2*time.Second), read(200, 3*time.Second))
	assert.Equal(t, []int{4, 3}, find(t, s, ""), "what follows a success is another call")
	e, _ := s.Get(3)
	assert.Equal(t, 3, e.Attempt)
	assert.Equal(t, []int{2, 1}, numbers(s.Attempts(e)))
	assert.Equal(t, []int{1}, find(t, s, "status:5xx"), "a search still finds an attempt whose successor does not match")

	var loop []*fake.Exchange
	for i := range 11 {
		loop = append(loop, read(500, time.Duration(i)*time.Second))
	}
	s, last := stored(100, append(loop, read(200, 11*time.Second))...)
	assert.Equal(t, []int{12, 10}, find(t, s, ""), "a loop that always fails is more than one group")
	assert.Equal(t, []int{11}, numbers(s.Attempts(last)))
}

// TestAttemptsAreWhatTheClientRetriesAndDuplicatesHaveATwinThatWasCarriedOut has both of the last send.
func TestAttemptsAreWhatTheClientRetriesAndDuplicatesHaveATwinThatWasCarriedOut(t *testing.T) {
	replay := func(e *fake.Exchange) { e.ReplayOf = 1 }
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

func TestNotesAreFoundOnce(t *testing.T) {
	s := history.New(100, 1<<30)
	var asked []int
	s.Notes = func(e *history.Entry) []history.Note {
		asked = append(asked, e.Number)
		return []history.Note{{Code: "duplicate"}}[:e.Number-1]
	}
	s.Add(exchange(1))
	s.Add(exchange(2))
	assert.Empty(t, asked, "nobody asks yet")
	for text, want := range map[string][]int{"has:duplicate": {2}, "-has:duplicate": {1}, "has:skipped": {}} {
		assert.Equal(t, want, find(t, s, text), text)
	}
	assert.ElementsMatch(t, []int{1, 2}, asked)
}
