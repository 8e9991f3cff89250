package exchange

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// answered is an attempt that got a response of the service with a status other than 2xx.
func answered(status int) *Result {
	delivery, failure := classifyStatus(status, wire.FromService, service.TriggerEvent)
	return &Result{Stage: Rejected, StatusCode: status, Delivery: delivery, failure: failure}
}

// asking is an attempt that was told to wait.
func asking(status int, wait time.Duration) *Result {
	did := answered(status)
	did.RetryAfter, did.asksToWait = wait, true
	return did
}

// failing is an attempt that got no response.
func failing(delivery Delivery, failure failure) *Result {
	return &Result{Stage: NoResponse, Delivery: delivery, failure: failure}
}

func TestDecisionAfterAnAttempt(t *testing.T) {
	accepted := &Result{Stage: Succeeded, Delivery: DeliveryAccepted}
	const read, send, repeatable = "read", "send", "repeatable send"
	type ends struct {
		delivery Delivery
		step     Step
	}
	type retries struct{ after time.Duration }
	const none = DeliveryNotSent // what is known before the first attempt

	tests := []struct {
		name     string
		call     string
		before   Delivery // in the attempts before
		attempts int
		did      *Result
		want     any
	}{
		{"a send that is accepted is done", send, none, 1, accepted, ends{DeliveryAccepted, StepNone}},
		{"a send that is refused needs another request", send, none, 1, answered(422), ends{DeliveryRejected, StepFixRequest}},
		{"a key that is refused needs another key", send, none, 1, answered(401), ends{DeliveryRejected, StepFixSetup}},
		{"a 429 means that the service did nothing", send, none, 1, answered(429), retries{500 * time.Millisecond}},
		{"a 503 may mean that the send was carried out", send, none, 1, answered(503), ends{DeliveryUnknown, StepCheck}},
		{"a send that may take effect twice is retried", repeatable, none, 1, answered(503), retries{500 * time.Millisecond}},
		{"a read is retried", read, none, 1, answered(503), retries{500 * time.Millisecond}},
		{"a read that is refused is not", read, none, 1, answered(422), ends{DeliveryRejected, StepFixRequest}},

		{"without a connection nothing was sent", send, none, 1, failing(DeliveryNotSent, temporary), retries{500 * time.Millisecond}},
		{"a lost response tells nothing", send, none, 1, failing(DeliveryUnknown, lost), ends{DeliveryUnknown, StepCheck}},
		{"a response that is cut short may be a success", repeatable, none, 1, failing(DeliveryUnknown, cutShort),
			ends{DeliveryUnknown, StepCheck}},
		{"a bad certificate stays bad", send, none, 1, failing(DeliveryNotSent, badSetup), ends{DeliveryNotSent, StepFixSetup}},

		{"the service asks for a wait", send, none, 1, asking(429, 10*time.Second), retries{10 * time.Second}},
		{"a wait of nothing is the shortest one", send, none, 1, asking(429, 0), retries{500 * time.Millisecond}},
		{"a wait that is too long is left to the caller", send, none, 1, asking(429, 31*time.Second), ends{DeliveryRejected, StepRetry}},
		{"the last attempt is the last", send, none, 3, answered(429), ends{DeliveryRejected, StepRetry}},

		{"what was unknown stays unknown after a refusal", repeatable, DeliveryUnknown, 2, answered(422), ends{DeliveryUnknown, StepCheck}},
		{"and if nothing more was sent", repeatable, DeliveryUnknown, 3, failing(DeliveryNotSent, temporary), ends{DeliveryUnknown, StepRetry}},
		{"but an acceptance is a proof", repeatable, DeliveryUnknown, 2, accepted, ends{DeliveryAccepted, StepNone}},
		{"what was rejected stays rejected if nothing more was sent", send, DeliveryRejected, 3, failing(DeliveryNotSent, temporary),
			ends{DeliveryRejected, StepRetry}},
		{"what may have been sent is unknown after all", send, DeliveryRejected, 2, failing(DeliveryUnknown, lost),
			ends{DeliveryUnknown, StepCheck}},

		{"a panic tells nothing", repeatable, none, 1, new(Result), ends{DeliveryUnknown, StepCheck}},
		{"a refusal of the limiter ends the call", send, none, 0, refuse(errors.New("full"), temporary, ReasonLimiter),
			ends{DeliveryNotSent, StepRetry}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			call := &Call{Operation: service.TriggerEvent, RepeatableSend: test.call == repeatable, Retry: RetryPolicy{}.WithDefaults()}
			if test.call == read {
				call.Operation = service.ListEvents
			}
			before := &Outcome{Delivery: test.before, Attempts: test.attempts}
			d := call.decide(before, test.did, situation{left: time.Hour})
			if d.again {
				assert.Equal(t, test.want, retries{d.wait})
			} else {
				assert.Equal(t, test.want, ends{d.Delivery, d.Step})
				assert.Zero(t, d.wait)
			}
			assert.Same(t, test.did, d.Result)
			assert.Equal(t, test.attempts, d.Attempts)
		})
	}
}

func TestDecisionDependsOnTheSituation(t *testing.T) {
	now, wait := time.Now(), 500*time.Millisecond
	limited := func(within time.Duration) TimeLimit {
		return TimeLimit{wall: now.Add(within).Round(0), monotonic: now.Add(within)}
	}
	tests := []struct {
		name      string
		did       *Result
		situation situation
		notAfter  TimeLimit
		again     bool
		wait      time.Duration
	}{
		{"a context that outlasts the wait", answered(429), situation{left: wait + 1}, TimeLimit{}, true, wait},
		{"a context that ends with the wait", answered(429), situation{left: wait}, TimeLimit{}, false, 0},
		{"a context that has ended", answered(429), situation{}, TimeLimit{}, false, 0},
		{"clients that wait for different times", answered(429), situation{left: time.Hour, random: 1}, TimeLimit{}, true, 2 * wait},
		{"a time limit at the end of the wait", answered(429), situation{left: time.Hour}, limited(wait), true, wait},
		{"another key", answered(401), situation{left: time.Hour, otherKey: true}, TimeLimit{}, true, 0},
		{"another key within the time limit", answered(401), situation{left: time.Hour, otherKey: true}, limited(0), true, 0},
		{"another key, but no refusal of the first", answered(422), situation{left: time.Hour, otherKey: true}, TimeLimit{}, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			call := &Call{Operation: service.TriggerEvent, Retry: RetryPolicy{}.WithDefaults(), NotAfter: test.notAfter}
			test.situation.now = now
			d := call.decide(&Outcome{Delivery: DeliveryNotSent, Attempts: 1}, test.did, test.situation)
			assert.Equal(t, test.again, d.again)
			assert.Equal(t, test.wait, d.wait)
		})
	}
}

// The time limit of a request is no failure of the attempt before, which is still told.
func TestDecisionThatARetryWouldBeLateKeepsTheFailure(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		did      *Result
		otherKey bool
		within   time.Duration
	}{"a wait": {answered(429), false, 499 * time.Millisecond}, "another key": {answered(401), true, -1}} {
		t.Run(name, func(t *testing.T) {
			limit := TimeLimit{wall: now.Add(test.within), monotonic: now.Add(test.within)}
			call := &Call{Operation: service.TriggerEvent, Retry: RetryPolicy{}.WithDefaults(), NotAfter: limit}
			d := call.decide(&Outcome{Delivery: DeliveryNotSent, Attempts: 1}, test.did,
				situation{now: now, left: time.Hour, otherKey: test.otherKey})
			assert.False(t, d.again)
			assert.Zero(t, d.wait)
			assert.Equal(t, ErrNotAfter, d.Err)
			assert.Equal(t, DeliveryRejected, d.Delivery)
			assert.Equal(t, StepFixRequest, d.Step)
			require.NotNil(t, d.Earlier)
			assert.Same(t, test.did, d.Earlier.Result)
			assert.Equal(t, DeliveryRejected, d.Earlier.Delivery)
		})
	}
}
