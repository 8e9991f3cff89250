package golden

import (
	"reflect"
	"slices"
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
	bound := reflect.ValueOf(events)
	for i := range bound.NumMethod() {
		trigger := bound.Method(i)
		if trigger.Type().NumIn() == 2 {
			continue // it only returns what would be triggered
		}
		values := reflect.New(trigger.Type().In(2)).Elem()
		for _, field := range values.Fields() {
			fill(field)
		}
		out := trigger.Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(names.To("ann@example.com")), values})
		assert.Nil(t, out[1].Interface(), bound.Type().Method(i).Name)
	}

	values := make(map[string]map[string]any)
	for _, trigger := range service.Triggers() {
		values[trigger.Params.EventID] = trigger.Params.Values
	}
	assert.Len(t, service.Triggers(), len(values), "each was triggered once")
	for _, event := range service.Events() {
		require.Contains(t, values, event.ID, event.Name)
		assert.Len(t, values[event.ID], len(event.Parameters), event.Name)
		for _, p := range event.Parameters {
			assert.Contains(t, values[event.ID], p.Name, event.Name)
		}
	}
}

// fill sets a field of any type.
func fill(field reflect.Value) {
	switch field.Interface().(type) {
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
	definitions := slices.DeleteFunc(names.Definitions(), func(e messaging.Event) bool { return e.Name == "Range" })
	find(definitions, "defs").Parameters = []messaging.EventParameter{
		{Name: "ctx", Type: "text", Required: true}, {Name: "new", Type: "text", Required: true}, {Name: "e", Type: "a\nb"},
		{Name: "new optional", Type: "text"}, {Name: "a new one", Type: "text", Required: true}, {Name: "who", Type: "numeric"},
	}
	find(definitions, "Service").Parameters[0].Required = true
	service := messagingtest.NewServer(t)
	service.AddEvents(append(definitions, messaging.Event{Name: "any", Parameters: find(definitions, "defs").Parameters})...)

	events, err := names.Bind(t.Context(), service.Client())

	assert.Nil(t, events)
	require.EqualError(t, err, `bind events: the account differs from the generated code: event "Range" does not exist; `+
		`event "Service": parameter "service" is now required; event "any" exists several times, with different parameters; `+
		`event "defs": parameter "ctx" is now "text", was "numeric"; event "defs": parameter "e" is now "a\nb", was "numeric"; `+
		`event "defs": parameter "values" is gone; event "defs": required parameter "a new one" is new; `+
		`event "defs": required parameter "new" is new`)
	for _, kind := range []error{messaging.ErrEventNotFound, messaging.ErrEventAmbiguous, messaging.ErrEventDiffers} {
		assert.ErrorIs(t, err, kind)
	}
}

func find(events []messaging.Event, name string) *messaging.Event {
	i := slices.IndexFunc(events, func(e messaging.Event) bool { return e.Name == name })
	return &events[i]
}

func TestBindAcceptsWhatChangesNothingAndTakesTheOldestOfEqualEvents(t *testing.T) {
	at := time.Date(2020, time.May, 1, 9, 0, 0, 0, time.UTC)
	service := messagingtest.NewServer(t)
	service.AddEvents(messaging.Event{ID: "1", Name: "of another program"}, messaging.Event{ID: "2", Name: "of another program"})
	for age, id := range []string{"newest", "newer", "oldest"} {
		for _, event := range names.Definitions() {
			event.ID, event.CreatedAt, event.Description = id+" "+event.Name, at.AddDate(-age, 0, 0), "another"
			event.Parameters = append(event.Parameters, messaging.EventParameter{Name: "zip", Type: "text"},
				messaging.EventParameter{Name: "email", Type: "text", Required: true})
			if id == "oldest" {
				slices.Reverse(event.Parameters)
			}
			service.AddEvents(event)
		}
	}
	service.AddEvents(service.Events()[0]) // in a list that shifts between two pages

	events, err := names.Bind(t.Context(), service.Client())

	require.NoError(t, err)
	params := events.DefsParams(names.To("ann@example.com"), names.Defs{})
	assert.Equal(t, "oldest defs", params.Definition.ID)
}

func TestBindReportsAListThatCannotBeRead(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.Fail("", 1, messagingtest.Status(401))
	_, err := names.Bind(t.Context(), service.Client())
	require.ErrorIs(t, err, messaging.ErrUnauthorized)
	assert.ErrorContains(t, err, "bind events: list events: ")
}
