package fake_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/fake"
)

// statuses returns the statuses of the next n requests that list events.
func statuses(t *testing.T, s *served, n int) []int {
	t.Helper()
	list := make([]int, n)
	for i := range list {
		list[i], _ = s.get(t, eventsPath)
	}
	return list
}

func TestRulesSelectRequests(t *testing.T) {
	tests := []struct {
		name string
		rule fake.Rule
		want []int
	}{
		{"every request", fake.Rule{}, []int{500, 500, 500, 500}},
		{"the operation", fake.Rule{Op: "list events"}, []int{500, 500, 500, 500}},
		{"another operation", fake.Rule{Op: "create event"}, []int{200, 200, 200, 200}},
		{"the first two", fake.Rule{Count: 2}, []int{500, 500, 200, 200}},
		{"all but the first two", fake.Rule{Skip: 2}, []int{200, 200, 500, 500}},
		{"the second", fake.Rule{Skip: 1, Count: 1}, []int{200, 500, 200, 200}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, fake.Config{})
			test.rule.Probability, test.rule.Fault = 1, always(500).Fault
			s.AddRule(test.rule)
			assert.Equal(t, test.want, statuses(t, s, 4))
		})
	}
}

func TestRulesAreTriedInOrder(t *testing.T) {
	s := serve(t, fake.Config{})
	add := func(op string, skip, count, status int) {
		s.AddRule(fake.Rule{Op: op, Skip: skip, Count: count, Probability: 1, Fault: always(status).Fault})
	}
	add("create event", 0, 0, 501)
	add("list events", 1, 1, 502)
	add("", 0, 2, 503)
	assert.Equal(t, []int{503, 502, 503, 200}, statuses(t, s, 4))
}

func TestRulesWithASearchCountWhatItFindsAndReadABodyOnce(t *testing.T) {
	s := serve(t, fake.Config{})
	var read []any
	search := func(subject string, rule fake.Rule) {
		rule.Matches = func(e *fake.Exchange, sent any) bool {
			read = append(read, sent)
			s.Rules() // no lock is held
			push, ok := sent.(*fake.PushBroadcast)
			return ok && push.Params.Subject == subject && e.Request.Path == pushPath
		}
		s.AddRule(rule)
	}
	failing := once(always(502).Fault)
	failing.Skip = 1
	search("a", failing)
	search("b", once(always(503).Fault))
	failing.Op, failing.Skip = "list events", 0
	search("a", failing)
	push := func(subject string) int {
		status, _ := s.post(t, pushPath, strings.Replace(pushBody, `"s"`, `"`+subject+`"`, 1))
		return status
	}
	assert.Equal(t, []int{200, 200, 503, 502, 200, 200}, []int{push("a"), push("c"), push("b"), push("a"), push("a"), push("b")})
	require.Len(t, read, 7, "neither the rule for another operation nor those that are used up are asked")
	assert.Same(t, read[0], read[1])
	assert.Equal(t, []int{200, 200}, statuses(t, s, 2))
	assert.Len(t, s.Rules(), 1)
}

func TestRulesWithTheSameSeedGiveTheSameSequence(t *testing.T) {
	sequence := func(seed uint64) []int {
		s := serve(t, fake.Config{})
		rule := always(500)
		rule.Probability, rule.Seed = 0.5, seed
		s.AddRule(rule)
		return statuses(t, s, 40)
	}
	assert.Equal(t, sequence(7), sequence(7))
	assert.NotEqual(t, sequence(7), sequence(8))
	assert.Contains(t, sequence(7), 200)
	assert.Contains(t, sequence(7), 500)
}

func TestRulesCanBeReadBackAndRemoved(t *testing.T) {
	s := serve(t, fake.Config{})
	slow := fake.Rule{Op: "list events", Skip: 1, Count: 3, Probability: 1,
		Fault: fake.Fault{Kind: fake.Slow, After: fake.Duration(time.Millisecond)}}
	malformed := fake.Rule{Probability: 1, Fault: fake.Fault{Kind: fake.Malformed, Body: "half"}}
	first, second := s.AddRule(slow), s.AddRule(malformed)
	statuses(t, s, 3)

	assert.Equal(t, []fake.ActiveRule{{ID: first, Rule: slow, Failed: 2, LetThrough: 1}, {ID: second, Rule: malformed, Failed: 1}}, s.Rules())
	assert.True(t, s.RemoveRule(first))
	assert.False(t, s.RemoveRule(first))
	assert.Len(t, s.Rules(), 1)
	_, body := s.get(t, eventsPath)
	assert.Equal(t, "half", body)
	s.RemoveRules()
	assert.Empty(t, s.Rules())
	assert.Equal(t, second+1, s.AddRule(slow), "ids do not restart")
}

func TestRulesAreNotAppliedToARequestWithAFault(t *testing.T) {
	s := serve(t, fake.Config{})
	s.AddRule(once(always(http.StatusBadGateway).Fault))
	replay := func(fault fake.Fault) *fake.Exchange {
		r := s.request(t, http.MethodGet, eventsPath, "")
		r.URL.Host, r.URL.Scheme = "", ""
		return s.Replay(r.WithContext(fake.WithFault(r.Context(), fault)), 7)
	}
	assert.Equal(t, http.StatusOK, replay(fake.Fault{}).Status)
	assert.Equal(t, http.StatusConflict, replay(always(http.StatusConflict).Fault).Status)
	lost := replay(fake.Fault{Kind: fake.AnswerLost})
	assert.Zero(t, lost.Status)
	assert.Equal(t, []any{3, 7, "answer_lost"}, []any{lost.Number, lost.ReplayOf, lost.Fault})
	assert.Equal(t, lost, s.last(t))
	assert.Equal(t, []int{http.StatusBadGateway, http.StatusOK}, statuses(t, s, 2), "the rule is still there")
	assert.Zero(t, s.last(t).ReplayOf)
}

func TestRulesHaveTheJSONOfTheSandbox(t *testing.T) {
	for text, want := range map[string]fake.Rule{
		`{"op":"trigger event","match":"to:ada@example.com","skip":0,"count":1,"probability":1,"seed":0,"fault":{"kind":"answer_lost"}}`: {
			Op: "trigger event", Match: "to:ada@example.com", Count: 1, Probability: 1, Fault: fake.Fault{Kind: fake.AnswerLost}},
		`{"op":"","match":"","skip":1,"count":0,"probability":0.5,"seed":7,"fault":{"kind":"rate_limited","after":"1m30s"}}`: {
			Skip: 1, Probability: 0.5, Seed: 7, Fault: fake.Fault{Kind: fake.RateLimited, After: fake.Duration(90 * time.Second)}},
		`{"op":"","match":"","skip":0,"count":1,"probability":1,"seed":0,"fault":{"kind":"status","status":502,"body":"x"}}`: {
			Count: 1, Probability: 1, Fault: fake.Fault{Kind: fake.Status, Status: 502, Body: "x"}},
	} {
		rule := fake.NewRule()
		require.NoError(t, json.Unmarshal([]byte(text), &rule))
		assert.Equal(t, want, rule)
		assert.NoError(t, rule.Check())
		written, err := json.Marshal(rule)
		require.NoError(t, err)
		assert.Equal(t, text, string(written))
	}
	rule := fake.NewRule()
	require.NoError(t, json.Unmarshal([]byte(`{"fault":{"kind":"answer_lost"}}`), &rule))
	assert.Equal(t, once(fake.Fault{Kind: fake.AnswerLost}), rule, "what is left out has its default")
	assert.ErrorContains(t, json.Unmarshal([]byte(`{"fault":{"after":"soon"}}`), &rule), `"soon" is not a duration such as 7s or 1m30s`)
}

func TestRulesThatAreInvalidSayWhichFieldIs(t *testing.T) {
	with := func(change func(*fake.Rule)) fake.Rule {
		rule := once(fake.Fault{Kind: fake.AnswerLost})
		change(&rule)
		return rule
	}
	fault := func(f fake.Fault) fake.Rule { return once(f) }
	for want, rule := range map[string]fake.Rule{
		`op: unknown operation "get event"; must be empty or one of send email broadcast, `: with(func(r *fake.Rule) { r.Op = "get event" }),
		"skip: must not be negative":                         with(func(r *fake.Rule) { r.Skip = -1 }),
		"count: must not be negative":                        with(func(r *fake.Rule) { r.Count = -1 }),
		"probability: must be more than 0 and at most 1":     with(func(r *fake.Rule) { r.Probability = math.NaN() }),
		"seed: has no effect without a probability below 1":  with(func(r *fake.Rule) { r.Seed = 1 }),
		`fault.kind: unknown kind ""; must be one of answer`: fault(fake.Fault{}),
		`fault.kind: unknown kind "not_reached"`:             fault(fake.Fault{Kind: fake.NotReached}),
		"fault.status: has no effect on slow":                fault(fake.Fault{Kind: fake.Slow, Status: 500, After: 1}),
		"fault.body: has no effect on answer_lost":           fault(fake.Fault{Kind: fake.AnswerLost, Body: "b"}),
		"fault.after: has no effect on malformed":            fault(fake.Fault{Kind: fake.Malformed, After: 1}),
		"fault.status: must be from 200 to 599":              fault(fake.Fault{Kind: fake.Status, Status: 199}),
		"fault.after: must not be negative":                  fault(fake.Fault{Kind: fake.RateLimited, After: -1}),
		"fault.after: must be more than 0 and at most 1h":    fault(fake.Fault{Kind: fake.Slow, After: fake.Duration(2 * time.Hour)}),
	} {
		err := rule.Check()
		require.ErrorContains(t, err, want)
		var wrong *fake.RuleError
		assert.ErrorAs(t, err, &wrong)
	}
}
