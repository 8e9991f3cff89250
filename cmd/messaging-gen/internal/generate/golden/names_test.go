package golden

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/generate/golden/names"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestEventsOfAnyNameCanBeTriggered(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(names.Definitions()...)
	events, err := names.Bind(t.Context(), service.Client())
	require.NoError(t, err)
	want := make(map[string][]string)
	for _, event := range service.Events() {
		want[event.ID] = []string{}
		for _, p := range event.Parameters {
			want[event.ID] = append(want[event.ID], p.Name)
		}
		slices.Sort(want[event.ID])
	}

	bound := reflect.ValueOf(events)
	for i := range bound.NumMethod() {
		if strings.HasSuffix(bound.Type().Method(i).Name, "Params") && bound.Method(i).Type().NumIn() == 2 {
			continue
		}
		trigger := bound.Method(i)
		values := reflect.New(trigger.Type().In(2)).Elem()
		for _, field := range values.Fields() {
			fill(field)
		}
		out := trigger.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(names.To("ann@example.com")), values})
		assert.Nil(t, out[1].Interface(), bound.Type().Method(i).Name)
	}

	got := make(map[string][]string)
	for _, trigger := range service.Triggers() {
		got[trigger.Params.EventID] = slices.Sorted(maps.Keys(trigger.Params.Values))
		if got[trigger.Params.EventID] == nil {
			got[trigger.Params.EventID] = []string{}
		}
	}
	assert.Equal(t, want, got, "every event with each of its parameters")
}

// fill sets a field of any type.
func fill(field reflect.Value) {
	switch field.Interface().(type) {
	case string:
		field.SetString("x")
	case names.Number:
		field.Set(reflect.ValueOf(names.Int(1)))
	case time.Time:
		field.Set(reflect.ValueOf(time.Now()))
	case *string:
		field.Set(reflect.ValueOf(new("x")))
	default:
		field.Set(reflect.ValueOf("x"))
	}
}

func TestBindReportsEverythingThatDiffers(t *testing.T) {
	tests := []struct {
		name   string
		change func([]messaging.Event) []messaging.Event
		want   string
		kind   error
	}{
		{"gone, retyped, newly required", func(events []messaging.Event) []messaging.Event {
			find(events, "defs").Parameters = []messaging.EventParameter{
				{Name: "ctx", Type: "text", Required: true}, {Name: "new", Type: "text", Required: true}, {Name: "e", Type: "a\nb"},
				{Name: "new optional", Type: "text"}, {Name: "a new one", Type: "text", Required: true}, {Name: "who", Type: "numeric"},
			}
			find(events, "Service").Parameters[0].Required = true
			return events
		}, `event "Service": parameter "service" is now required; event "defs": parameter "ctx" is now "text", was "numeric"; ` +
			`event "defs": parameter "e" is now "a\nb", was "numeric"; ` +
			`event "defs": parameter "values" is gone; event "defs": required parameter "a new one" is new; ` +
			`event "defs": required parameter "new" is new`, messaging.ErrEventDiffers},
		{"missing", func(events []messaging.Event) []messaging.Event {
			return slices.DeleteFunc(events, func(e messaging.Event) bool { return e.Name == "Range" || e.Name == "any" })
		}, `event "Range" does not exist; event "any" does not exist`, messaging.ErrEventNotFound},
		{"defined twice", func(events []messaging.Event) []messaging.Event {
			return append(events, messaging.Event{Name: "Range"})
		}, `event "Range" exists 2 times`, messaging.ErrEventAmbiguous},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service := messagingtest.NewServer(t)
			service.AddEvents(test.change(names.Definitions())...)

			events, err := names.Bind(t.Context(), service.Client())

			assert.Nil(t, events)
			require.EqualError(t, err, "bind events: the account differs from the generated code: "+test.want)
			assert.ErrorIs(t, err, test.kind)
		})
	}
}

func find(events []messaging.Event, name string) *messaging.Event {
	i := slices.IndexFunc(events, func(e messaging.Event) bool { return e.Name == name })
	return &events[i]
}

func TestBindAcceptsWhatChangesNothing(t *testing.T) {
	events := names.Definitions()
	slices.Reverse(events)
	for i := range events {
		events[i].Description = "another"
		events[i].Parameters = append(events[i].Parameters, messaging.EventParameter{Name: "zip", Type: "text"},
			messaging.EventParameter{Name: "email", Type: "text", Required: true})
		slices.Reverse(events[i].Parameters)
	}
	events = append(events, messaging.Event{ID: "1", Name: "of another program"}, messaging.Event{ID: "2", Name: "of another program"})
	service := messagingtest.NewServer(t)
	service.AddEvents(events...)
	again := service.Events()[0] // in a list that shifts between two pages
	service.AddEvents(again)
	_, err := names.Bind(t.Context(), service.Client())
	assert.NoError(t, err)
}

func TestBindReportsAListThatCannotBeRead(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.Fail("", 1, messagingtest.Status(401))
	_, err := names.Bind(t.Context(), service.Client())
	require.ErrorIs(t, err, messaging.ErrUnauthorized)
	assert.ErrorContains(t, err, "bind events: list events: ")
}
