package messagingtest_test

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

// statuses returns the statuses of the next n requests that list events.
func statuses(t *testing.T, s *messagingtest.Server, n int) []int {
	t.Helper()
	list := make([]int, n)
	for i := range list {
		list[i] = get(t, s, "/v1/events").StatusCode
	}
	return list
}

func TestFaultRulesSelectRequests(t *testing.T) {
	fault := messagingtest.Status(500)
	tests := []struct {
		name string
		rule messagingtest.Rule
		want []int
	}{
		{"every request", messagingtest.Rule{Fault: fault}, []int{500, 500, 500, 500}},
		{"the operation", messagingtest.Rule{Op: "list events", Fault: fault}, []int{500, 500, 500, 500}},
		{"another operation", messagingtest.Rule{Op: "create event", Fault: fault}, []int{200, 200, 200, 200}},
		{"the first two", messagingtest.Rule{Count: 2, Fault: fault}, []int{500, 500, 200, 200}},
		{"all but the first two", messagingtest.Rule{Skip: 2, Fault: fault}, []int{200, 200, 500, 500}},
		{"the second", messagingtest.Rule{Skip: 1, Count: 1, Fault: fault}, []int{200, 500, 200, 200}},
		{"with certainty", messagingtest.Rule{Probability: 1, Fault: fault}, []int{500, 500, 500, 500}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			s.AddFaultRule(test.rule)
			assert.Equal(t, test.want, statuses(t, s, 4))
		})
	}
}

func TestFaultRulesApplyToEveryOperation(t *testing.T) {
	s := messagingtest.NewServer(t)
	unknown := panicOf(func() { s.AddFaultRule(messagingtest.Rule{Op: "delete event", Fault: messagingtest.AnswerLost()}) })
	for o := range service.Served() {
		s.AddFaultRule(messagingtest.Rule{Op: o.Name, Count: 1, Fault: messagingtest.Status(http.StatusTeapot)})
		for other := range service.Served() {
			if other != o {
				require.NotEqual(t, http.StatusTeapot, send(t, newRequest(t, s, other.Method, other.Path, "{}")).StatusCode, other.Name)
			}
		}
		require.Equal(t, http.StatusTeapot, send(t, newRequest(t, s, o.Method, o.Path, "{}")).StatusCode, o.Name)
		require.Empty(t, s.FaultRules())
		assert.Contains(t, unknown, o.Name)
	}
}

func TestFaultRulesAreTriedInOrderAfterFailNext(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.AddFaultRule(messagingtest.Rule{Op: "create event", Fault: messagingtest.Status(501)})
	s.AddFaultRule(messagingtest.Rule{Op: "list events", Skip: 1, Count: 1, Fault: messagingtest.Status(502)})
	s.AddFaultRule(messagingtest.Rule{Count: 2, Fault: messagingtest.Status(503)})
	s.FailNext(1, messagingtest.Status(429))
	s.FailNext(1, messagingtest.Fault{})
	assert.Equal(t, []int{429, 200, 503, 502, 503, 200}, statuses(t, s, 6))
}

func TestFaultRulesWithTheSameSeedGiveTheSameSequence(t *testing.T) {
	sequence := func(seed uint64) []int {
		s := messagingtest.NewServer(t)
		s.AddFaultRule(messagingtest.Rule{Probability: 0.5, Seed: seed, Fault: messagingtest.Status(500)})
		return statuses(t, s, 40)
	}
	assert.Equal(t, sequence(7), sequence(7))
	assert.NotEqual(t, sequence(7), sequence(8))
	assert.Contains(t, sequence(7), 200)
	assert.Contains(t, sequence(7), 500)
}

func TestFaultRulesCanBeReadBackAndRemoved(t *testing.T) {
	s := messagingtest.NewServer(t)
	slow := messagingtest.Rule{Op: "list events", Skip: 1, Count: 3, Probability: 1, Seed: 4, Fault: messagingtest.Slow(time.Millisecond)}
	first := s.AddFaultRule(slow)
	second := s.AddFaultRule(messagingtest.Rule{Fault: messagingtest.Malformed("half")})
	statuses(t, s, 3)

	rules := s.FaultRules()
	assert.Equal(t, []messagingtest.FaultRule{
		{ID: first, Rule: slow, Failed: 2, LetThrough: 1},
		{ID: second, Rule: messagingtest.Rule{Fault: rules[1].Rule.Fault}, Failed: 1},
	}, rules)

	assert.True(t, s.RemoveFaultRule(first))
	assert.False(t, s.RemoveFaultRule(first))
	assert.Len(t, s.FaultRules(), 1)
	assert.Contains(t, get(t, s, "/v1/events").Body, "half")
}

func TestFaultRulesThatAreInvalidPanic(t *testing.T) {
	fault := messagingtest.AnswerLost()
	tests := []struct {
		rule messagingtest.Rule
		want string
	}{
		{messagingtest.Rule{Op: "Trigger event", Fault: fault}, `unknown operation "Trigger event": must be one of send email broadcast, `},
		{messagingtest.Rule{Op: "get event", Fault: fault}, `unknown operation "get event"`},
		{messagingtest.Rule{Skip: -1, Fault: fault}, "Skip is -1"},
		{messagingtest.Rule{Count: -1, Fault: fault}, "Count is -1"},
		{messagingtest.Rule{Probability: 1.1, Fault: fault}, "Probability is 1.1"},
		{messagingtest.Rule{Probability: -0.1, Fault: fault}, "Probability is -0.1"},
		{messagingtest.Rule{Probability: math.NaN(), Fault: fault}, "Probability is NaN"},
		{messagingtest.Rule{Op: "list events"}, "Fault is missing"},
	}
	s := messagingtest.NewServer(t)
	for _, test := range tests {
		assert.Contains(t, panicOf(func() { s.AddFaultRule(test.rule) }), "messagingtest: AddFaultRule: "+test.want)
	}
	assert.Empty(t, s.FaultRules())
}

// panicOf returns the text of the panic of a call.
func panicOf(call func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	call()
	return ""
}

// A range reads ahead: its next page may be requested before or after a trigger that the
// loop body sends.
func TestFaultRulesAreNotTakenByAnotherOperation(t *testing.T) {
	s := newTriggerServer(t)
	for i := range 9 {
		s.AddCustomers(messaging.Customer{Email: fmt.Sprintf("c%d@example.com", i)})
	}
	client := s.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	for range 20 {
		s.AddFaultRule(messagingtest.Rule{Op: "trigger event", Count: 1, Fault: messagingtest.AnswerLost()})
		var calls sync.WaitGroup
		calls.Go(func() {
			for _, err := range client.Customers.All(t.Context(), messaging.CustomerListParams{PerPage: 2}) {
				assert.NoError(t, err)
			}
		})
		var err error
		calls.Go(func() {
			_, err = client.Events.Trigger(t.Context(), messaging.EventTriggerParams{EventID: s.Events()[0].ID, Email: "ada@example.com",
				Values: map[string]any{"order": "A-1", "shipped_at": time.Now()}})
		})
		calls.Wait()
		require.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	}
}

func TestFaultRulesAreTakenWhenTheRequestIsSent(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.AddFaultRule(messagingtest.Rule{Op: "send push broadcast", Count: 3, Fault: messagingtest.NotReached()})
	err := pushToAll(t, s.Client())
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.Empty(t, s.Requests(), "a fault that is taken on arrival would be too late")
	assert.NoError(t, pushToAll(t, s.Client()))
}

func TestFaultsCanBeReadBack(t *testing.T) {
	tests := []struct {
		fault        messagingtest.Fault
		kind         string
		status       int
		body         string
		afterSeconds float64
	}{
		{messagingtest.Fault{}, "", 0, "", 0},
		{messagingtest.Status(502, "<html>", "x"), "status", 502, "<html>x", 0},
		{messagingtest.RateLimited(1500 * time.Millisecond), "rate_limited", 429, `{"success":false,"message":"Too Many Requests"}`, 2},
		{messagingtest.RateLimited(0), "rate_limited", 429, `{"success":false,"message":"Too Many Requests"}`, 0},
		{messagingtest.NotReached(), "not_reached", 0, "", 0},
		{messagingtest.AnswerLost(), "answer_lost", 0, "", 0},
		{messagingtest.Malformed(`{"succ`), "malformed", 200, `{"succ`, 0},
		{messagingtest.Slow(250 * time.Millisecond), "slow", 0, "", 0.25},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			assert.Equal(t, test.kind, test.fault.Kind())
			assert.Equal(t, test.status, test.fault.Status())
			assert.Equal(t, test.body, test.fault.Body())
			assert.InDelta(t, test.afterSeconds, test.fault.After().Seconds(), 0)
		})
	}
}
