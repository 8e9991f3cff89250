package messagingtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

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
		require.Contains(t, validBodies, o, "add a valid body for %q to validBodies in messagingtest/reset_test.go", o.Name)
		require.Equal(t, http.StatusOK, post(t, s, o.Path, validBodies[o]).StatusCode, o.Name)
	}
	addOneOfEach(s)
	for name, returned := range returnedSlices(s) {
		require.NotZero(t, returned.Len(), "this test must add what Server.%s returns", name)
	}

	s.Reset()

	for name, returned := range returnedSlices(s) {
		assert.Zero(t, returned.Len(), "Server.Reset does not remove what Server.%s returns", name)
	}
}

// textOf returns everything that can be reached from v, including what is behind pointers.
func textOf(v reflect.Value) string {
	var text strings.Builder
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return textOf(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			break
		}
		for field, value := range v.Fields() {
			text.WriteString(field.Name + ":" + textOf(value) + " ")
		}
		return "{" + text.String() + "}"
	case reflect.Slice:
		for i := range v.Len() {
			text.WriteString(textOf(v.Index(i)) + " ")
		}
		return "[" + text.String() + "]"
	case reflect.Map:
		var members []string
		for iter := v.MapRange(); iter.Next(); {
			members = append(members, textOf(iter.Key())+":"+textOf(iter.Value()))
		}
		slices.Sort(members)
		return fmt.Sprint(members)
	}
	return fmt.Sprint(v)
}

func TestWhateverAMethodReturnsIsACopy(t *testing.T) {
	s := newTriggerServer(t)
	added := messaging.Customer{CustomerID: "c-2", Providers: []string{"apns"},
		Extra: map[string]json.RawMessage{"score": json.RawMessage(`1`)}}
	s.AddCustomers(added)
	const audience = `{"all_customers":null,"schedule_type":"send-later","schedule_date":{"schedule_date":"2099-05-01","timezone":"UTC"},
		"recipients":[{"type":"customer","customers":[{"email":"ada@example.com","devices":[{"device_token":"t"}]}]},
			{"type":"segment","segments":["vip"]}]}`
	post(t, s, pushPath, changed(t, validPush, audience))
	post(t, s, emailPath+"?a=b", changed(t, changed(t, validEmail, audience), `{"cc":["a@example.com"],"bcc":["a@example.com"],
		"reply_to":["a@example.com"],"variables":{"name":"Ada","items":[{"title":"book"}]}}`))
	post(t, s, triggerPath, `{"event_id":"shipped","payload":{"customer":{"customer_id":"c-1","devices":[{"device_token":"t"}]},
		"order":{"items":["book"]},"at":"now"}}`)
	snapshots := func() map[string]string {
		all := make(map[string]string)
		for name, returned := range returnedSlices(s) {
			all[name] = textOf(returned)
		}
		return all
	}
	want := snapshots()

	spoil(reflect.ValueOf(&added))
	for name, returned := range returnedSlices(s) {
		require.NotZero(t, returned.Len(), "this test must add what Server.%s returns", name)
		spoil(returned)
	}

	assert.Equal(t, want, snapshots())
}

// spoil changes every text, byte and map that a value leads to.
func spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			spoil(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			spoil(field)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if v.CanInterface() {
				spoil(v.MapIndex(key))
				v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
			}
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("changed")
		}
	case reflect.Uint8:
		if v.CanSet() {
			v.SetUint('!')
		}
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
	s := messagingtest.NewServer(t)
	err := sendAndThen(t, s, func(cancel context.CancelFunc) {
		s.Reset()
		require.Empty(t, s.Requests())
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
	s.Close()
	assert.Empty(t, s.Requests())
	assert.Len(t, s.PushBroadcasts(), 1, "it was carried out after the reset")
}
