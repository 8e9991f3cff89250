package messagingtest_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestHistoryKeepsTheLatestRecords(t *testing.T) {
	tests := []struct {
		name            string
		opts            []messagingtest.Option
		count, requests int
	}{
		{"all by default", nil, 5, 15},
		{"fewer requests than there are", []messagingtest.Option{messagingtest.WithHistory(9)}, 5, 9},
		{"fewer of each than there are", []messagingtest.Option{messagingtest.WithHistory(2)}, 2, 2},
		{"none", []messagingtest.Option{messagingtest.WithHistory(0)}, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, o := newObserved(t, test.opts...)
			s.AddEvents(messaging.Event{ID: "e", Name: "n"})
			for i := range 5 {
				email := fmt.Sprintf("c%d@example.com", i)
				post(t, s, "/v1/broadcast/send/email", changed(t, emailBody, `{"subject":"`+email+`"}`))
				post(t, s, pushPath, `{"subject":"`+email+`","message":"m","all_customers":true,"schedule_type":"send-now"}`)
				post(t, s, "/v1/events/trigger", `{"event_id":"e","payload":{"email":"`+email+`"}}`)
			}
			require.Len(t, s.EmailBroadcasts(), test.count)
			require.Len(t, s.PushBroadcasts(), test.count)
			require.Len(t, s.Triggers(), test.count)
			require.Len(t, s.Requests(), test.requests)
			if test.count > 0 {
				assert.Equal(t, "c4@example.com", s.EmailBroadcasts()[test.count-1].Subject)
				assert.Equal(t, "c4@example.com", s.PushBroadcasts()[test.count-1].Subject)
				assert.Equal(t, "c4@example.com", s.Triggers()[test.count-1].Email)
				assert.Equal(t, "/v1/events/trigger", s.Requests()[len(s.Requests())-1].Path)
			}
			assert.Len(t, s.Customers(), 7, "customers are not history")
			assert.Len(t, o.all(), 15, "every exchange is observed")
		})
	}
}

func TestResetRemovesEverythingAndRestartsNoID(t *testing.T) {
	s, o := newObserved(t, messagingtest.WithIdentifier(messagingtest.Email))
	fill := func() (event messaging.Event) {
		s.AddTransactional(messaging.TransactionalMessage{Channel: messaging.ChannelSMS})
		post(t, s, "/v1/broadcast/send/email", emailBody)
		post(t, s, pushPath, `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`)
		post(t, s, "/v1/events", eventBody)
		event = s.Events()[0]
		post(t, s, "/v1/events/trigger",
			`{"event_id":"`+event.ID+`","payload":{"email":"eve@example.com","shipped_at":"2030-01-01T00:00:00Z"}}`)
		return event
	}
	before := fill()
	message, customers := s.Transactional()[0], s.Customers()
	s.FailNext(1, messagingtest.Status(500))
	rule := s.AddFaultRule(messagingtest.Rule{Fault: messagingtest.Status(500)})

	s.Reset()

	assert.Empty(t, s.Requests())
	assert.Empty(t, s.EmailBroadcasts())
	assert.Empty(t, s.PushBroadcasts())
	assert.Empty(t, s.Triggers())
	assert.Empty(t, s.Customers())
	assert.Empty(t, s.Events())
	assert.Empty(t, s.Transactional())
	assert.Empty(t, s.FaultRules())
	assert.Contains(t, get(t, s, "/v1/customers").Body, `"data":[]`, "no fault is left")
	assert.Equal(t, 422, post(t, s, "/v1/events/trigger", `{"event_id":"`+before.ID+`","payload":{"email":"eve@example.com"}}`).StatusCode)

	after := fill()
	assert.NotEqual(t, before.ID, after.ID)
	assert.NotEqual(t, message.ID, s.Transactional()[0].ID)
	require.Len(t, s.Customers(), len(customers))
	assert.Equal(t, customers[len(customers)-1].Number+1, s.Customers()[0].Number)
	assert.Greater(t, s.AddFaultRule(messagingtest.Rule{Fault: messagingtest.Status(500)}), rule)
	assert.Equal(t, len(o.all()), o.last(t).Number)
	refused := post(t, s, "/v1/events/trigger", `{"event_id":"`+after.ID+`","payload":{"customer":{"customer_id":"1"}}}`)
	assert.Equal(t, 500, refused.StatusCode)
}

// validBodies are bodies with which the service accepts each send.
var validBodies = map[*service.Operation]string{
	service.SendEmailBroadcast: validEmail,
	service.SendPushBroadcast:  validPush,
	service.CreateEvent:        validEvent,
	service.TriggerEvent:       validTrigger,
}

func TestResetRemovesWhateverAMethodReturns(t *testing.T) {
	s := newTriggerServer(t)
	for o := range service.Sends() {
		require.Contains(t, validBodies, o, "add a valid body for %q to validBodies in messagingtest/state_test.go", o.Name)
		require.Equal(t, http.StatusOK, post(t, s, o.Path, validBodies[o]).StatusCode, o.Name)
	}
	s.AddFaultRule(messagingtest.Rule{Fault: messagingtest.Status(500)})
	addOneOfEach(s)
	for name, returned := range returnedSlices(s) {
		require.NotZero(t, returned.Len(), "this test must add what Server.%s returns", name)
	}

	s.Reset()

	for name, returned := range returnedSlices(s) {
		assert.Zero(t, returned.Len(), "Server.Reset does not remove what Server.%s returns: keep it in a state that is declared "+
			"with keep, in the file of its resource in messagingtest", name)
	}
}

// addOneOfEach adds an empty record to each list, such as an event with AddEvents.
func addOneOfEach(s *messagingtest.Server) {
	for name, method := range methods(s) {
		if strings.HasPrefix(name, "Add") && method.Type().IsVariadic() {
			method.Call([]reflect.Value{reflect.Zero(method.Type().In(0).Elem())})
		}
	}
}

// methods returns the exported methods of a server by their names.
func methods(s *messagingtest.Server) map[string]reflect.Value {
	all := make(map[string]reflect.Value)
	for method, value := range reflect.ValueOf(s).Methods() {
		all[method.Name] = value
	}
	return all
}

// returnedSlices calls the methods of a server that only return a slice.
func returnedSlices(s *messagingtest.Server) map[string]reflect.Value {
	slices := make(map[string]reflect.Value)
	for name, method := range methods(s) {
		if f := method.Type(); f.NumIn() == 0 && f.NumOut() == 1 && f.Out(0).Kind() == reflect.Slice {
			slices[name] = method.Call(nil)[0]
		}
	}
	return slices
}

func TestResetIsSafeWithARequestInFlight(t *testing.T) {
	s, o := newObserved(t)
	err := sendAndThen(t, s, func(cancel context.CancelFunc) {
		s.Reset()
		require.Empty(t, s.Requests())
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	s.Close()
	assert.Empty(t, s.Requests())
	assert.Len(t, s.PushBroadcasts(), 1, "it was carried out after the reset")
	assert.Len(t, o.all(), 1)
}

func TestResetWhileTheServerIsInUse(t *testing.T) {
	s, _ := newObserved(t, messagingtest.WithHistory(10))
	client := s.Client()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for round := range 20 {
				s.AddFaultRule(messagingtest.Rule{Op: "list events", Count: 1, Fault: messagingtest.AnswerLost()})
				assert.NoError(t, pushToAll(t, client))
				if i == 0 && round%5 == 0 {
					s.Reset()
				}
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, len(s.Requests()), 10)
}

func TestResetWhileCustomersAreNamedInBroadcasts(t *testing.T) {
	s := messagingtest.NewServer(t, messagingtest.WithIdentifier(messagingtest.Email))
	client := s.Client()
	broadcast := toEveryone
	broadcast.To = messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range 50 {
			_, err := client.Broadcasts.SendPush(t.Context(), broadcast)
			assert.NoError(t, err)
		}
	}()
	for {
		select {
		case <-sent:
			return
		default:
			s.Reset()
		}
	}
}
