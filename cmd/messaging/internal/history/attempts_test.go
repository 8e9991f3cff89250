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

// attempt is a read with a status, some time after the first one.
func attempt(number, status int, after time.Duration, change ...func(*fake.Exchange)) *fake.Exchange {
	e := exchange(number)
	e.At = time.Unix(1_000_000, 0).Add(after)
	e.Status = status
	e.ResponseBody = []byte(`{"success":false}`)
	for _, c := range change {
		c(e)
	}
	return e
}

func TestTheSameRequestsAfterFailuresAreOneGroup(t *testing.T) {
	s := history.New(100, 1<<30)
	s.Add(attempt(1, 502, 0))
	s.Add(attempt(2, 429, time.Second))
	s.Add(attempt(3, 200, 2*time.Second))
	s.Add(attempt(4, 200, 3*time.Second))
	found, _ := s.Find(s.Grouped(history.Query{}), 0, 10)
	assert.Equal(t, []int{4, 3}, numbers(found), "what follows a success is another call")
	e, _ := s.Get(3)
	assert.Equal(t, 3, e.Attempt)
	assert.Equal(t, []int{2, 1}, numbers(s.Attempts(e)))
	query, err := history.Parse("status:5xx")
	require.NoError(t, err)
	found, _ = s.Find(s.Grouped(query), 0, 10)
	assert.Equal(t, []int{1}, numbers(found), "a search still finds an attempt whose successor does not match")
}

func TestALoopThatAlwaysFailsIsMoreThanOneGroup(t *testing.T) {
	s := history.New(100, 1<<30)
	for number := 1; number <= 11; number++ {
		s.Add(attempt(number, 500, time.Duration(number)*time.Second))
	}
	s.Add(attempt(12, 200, 12*time.Second))
	found, _ := s.Find(s.Grouped(history.Query{}), 0, 10)
	assert.Equal(t, []int{12, 10}, numbers(found))
	e, _ := s.Get(12)
	assert.Equal(t, []int{11}, numbers(s.Attempts(e)))
}

func TestAttemptsAreThoseThatTheClientRetries(t *testing.T) {
	body := func(text string) func(*fake.Exchange) {
		return func(e *fake.Exchange) {
			e.Op, e.Request.Method, e.Request.Body = "trigger event", "POST", []byte(text)
		}
	}
	for name, test := range map[string]struct {
		second *fake.Exchange
		first  *fake.Exchange
		want   int
	}{
		"a retry":                    {first: attempt(1, 429, 0, body("{}")), second: attempt(2, 200, time.Second, body("{}")), want: 2},
		"another body":               {first: attempt(1, 429, 0, body("{}")), second: attempt(2, 200, time.Second, body("[]")), want: 1},
		"a send that is not retried": {first: attempt(1, 502, 0, body("{}")), second: attempt(2, 200, time.Second, body("{}")), want: 1},
		"an invalid request":         {first: attempt(1, 422, 0, body("{}")), second: attempt(2, 422, time.Second, body("{}")), want: 1},
		"a later call":               {first: attempt(1, 429, 0, body("{}")), second: attempt(2, 200, time.Minute, body("{}")), want: 1},
		"a long Retry-After": {first: attempt(1, 429, 0, body("{}"), func(e *fake.Exchange) {
			e.ResponseHeader = http.Header{"Retry-After": {"40"}}
		}), second: attempt(2, 200, time.Second, body("{}")), want: 1},
	} {
		s := history.New(100, 1<<30)
		s.Add(test.first)
		s.Add(test.second)
		e, _ := s.Get(2)
		assert.Equal(t, test.want, e.Attempt, name)
	}
}

func TestDuplicatesAreSendsWhoseTwinWasCarriedOut(t *testing.T) {
	send := func(number, status int, after time.Duration, change ...func(*fake.Exchange)) *fake.Exchange {
		return attempt(number, status, after, append([]func(*fake.Exchange){func(e *fake.Exchange) {
			e.Op, e.Request.Method, e.Request.Body = "trigger event", "POST", []byte("{}")
			if status == 200 {
				e.Effect = &fake.Trigger{}
			}
		}}, change...)...)
	}
	lost := func(e *fake.Exchange) { e.Status, e.Fault = 0, "answer_lost" }
	other := func(e *fake.Exchange) { e.Request.Body = []byte("[]") }
	client := func(e *fake.Exchange) { e.Request.Header = http.Header{"User-Agent": {"curl/8"}} }
	replay := func(e *fake.Exchange) {
		e.ReplayOf = 1
	}
	for name, test := range map[string]struct {
		sends []*fake.Exchange
		want  int // what the last one is a duplicate of
	}{
		"carried out twice":           {[]*fake.Exchange{send(1, 200, 0), send(2, 200, time.Second)}, 1},
		"the first response was lost": {[]*fake.Exchange{send(1, 200, 0, lost), send(2, 200, time.Second)}, 1},
		"a refusal between":           {[]*fake.Exchange{send(1, 200, 0), send(2, 429, time.Second), send(3, 200, time.Minute)}, 1},
		"a retry":                     {[]*fake.Exchange{send(1, 429, 0), send(2, 200, time.Second)}, 0},
		"refused the second time":     {[]*fake.Exchange{send(1, 200, 0), send(2, 429, time.Second)}, 0},
		"another body":                {[]*fake.Exchange{send(1, 200, 0), send(2, 200, time.Second, other)}, 0},
		"another client":              {[]*fake.Exchange{send(1, 200, 0), send(2, 200, time.Second, client)}, 1},
		"a replay":                    {[]*fake.Exchange{send(1, 200, 0), send(2, 200, time.Second, replay)}, 0},
		"much later":                  {[]*fake.Exchange{send(1, 200, 0), send(2, 200, time.Hour)}, 0},
	} {
		s := history.New(100, 1<<30)
		for _, e := range test.sends {
			s.Add(e)
		}
		last, _ := s.Get(len(test.sends))
		duplicate, _ := last.DuplicateOf()
		assert.Equal(t, test.want, duplicate, name)
		for _, e := range test.sends {
			sent, _ := s.Get(e.Number)
			want := 0
			if e.Number == duplicate {
				want = last.Number
			}
			assert.Equal(t, want, sent.Duplicate(), name)
		}
	}
}

func TestWhatComesAfterAMarkIsNoDuplicateAndNoAttempt(t *testing.T) {
	s := history.New(100, 1<<30)
	send := func(number, status int, effect any) *history.Entry {
		s.Add(attempt(number, status, time.Duration(number)*time.Second, func(e *fake.Exchange) {
			e.Op, e.Request.Method, e.Request.Body, e.Effect = "trigger event", "POST", []byte("{}"), effect
		}))
		e, _ := s.Get(number)
		return e
	}
	send(1, 200, &fake.Trigger{})
	s.Mark("a test")
	duplicate, _ := send(2, 200, &fake.Trigger{}).DuplicateOf()
	assert.Zero(t, duplicate)
	duplicate, _ = send(3, 200, &fake.Trigger{}).DuplicateOf()
	assert.Equal(t, 2, duplicate)
	send(4, 429, nil)
	s.Mark("another")
	assert.Equal(t, 1, send(5, 200, &fake.Trigger{}).Attempt)
}

func TestADuplicateIsLinkedFromTheLatestSendThatIsStillKept(t *testing.T) {
	s := history.New(2, 1<<30)
	send := func(number int, effect any) {
		s.Add(attempt(number, 200, time.Duration(number)*time.Second, func(e *fake.Exchange) {
			e.Op, e.Request.Method, e.Request.Body, e.Effect = "trigger event", "POST", []byte("{}"), effect
		}))
	}
	for number := range 4 {
		send(number+1, &fake.Trigger{})
	}
	third, _ := s.Get(3)
	assert.Equal(t, 4, third.Duplicate())
	send(5, nil) // refused
	send(6, nil)
	send(7, &fake.Trigger{}) // a duplicate of one that is gone
	for number := 6; number <= 7; number++ {
		e, _ := s.Get(number)
		assert.Zero(t, e.Duplicate())
	}
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
	second, _ := s.Get(2)
	assert.Empty(t, asked, "nobody asks yet")
	for text, want := range map[string][]int{"has:duplicate": {2}, "-has:duplicate": {1}, "has:skipped": {}} {
		query, err := history.Parse(text)
		require.NoError(t, err)
		found, _ := s.Find(query, 0, 10)
		assert.ElementsMatch(t, want, numbers(found), text)
	}
	assert.Equal(t, []history.Note{{Code: "duplicate"}}, second.Notes())
	assert.ElementsMatch(t, []int{1, 2}, asked)
}
