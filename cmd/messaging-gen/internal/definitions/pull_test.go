package definitions

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestPullReturnsTheDefinitionsWithoutIDs(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(
		messaging.Event{Name: "B", Description: "<b> & \u202e", Parameters: []messaging.EventParameter{
			{Name: "b", Type: "text", Required: true}, {Name: "a", Type: "numeric"}}},
		messaging.Event{Name: "A"})
	pulled, err := Pull(t.Context(), service.Client(), nil)
	require.NoError(t, err)
	assert.Equal(t, canonical, pulled.JSON())
}

func TestPullReportsEveryDefinitionThatIsUnusable(t *testing.T) {
	text := func(name string) messaging.EventParameter { return messaging.EventParameter{Name: name, Type: "text"} }
	service := messagingtest.NewServer(t)
	service.AddEvents(
		messaging.Event{ID: "1", Name: "C", Parameters: []messaging.EventParameter{text("a"), text("a"), text("a")}},
		messaging.Event{ID: "4", Name: "A"}, messaging.Event{ID: "2", Name: "B"}, messaging.Event{ID: "3", Name: "A"},
		messaging.Event{ID: "5", Name: ""}, messaging.Event{ID: "2", Name: "B"},
		messaging.Event{ID: "6", Name: "D", Parameters: []messaging.EventParameter{{Name: "x"}}})

	_, err := Pull(t.Context(), service.Client(), nil)

	invalid := new(AccountError)
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, []string{"", "A", "C", "D"}, invalid.Events)
	assert.EqualError(t, err, `event with the id "5": has no name`+"\n"+
		"event \"A\": is defined 2 times in the account, with the ids \"3, 4\"\n"+
		"event \"C\": parameter \"a\" is defined several times\n"+
		"event \"D\": parameter \"x\" has no type")
	list, err := Pull(t.Context(), service.Client(), invalid.Events)
	require.NoError(t, err)
	require.Len(t, list, 1, "an event that is listed twice with one id is one event")
	assert.Equal(t, "B", list[0].Name)
}
