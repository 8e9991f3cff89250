package definitions

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestPullReportsEveryDefinitionThatIsUnusable(t *testing.T) {
	text := func(name string) messaging.EventParameter { return messaging.EventParameter{Name: name, Type: "text"} }
	b := messaging.Event{ID: "2", Name: "B", Description: "<b> & \u202e", Parameters: []messaging.EventParameter{
		{Name: "b", Type: "text", Required: true}, {Name: "a", Type: "numeric"}}}
	service := messagingtest.NewServer(t)
	service.AddEvents(
		messaging.Event{ID: "1", Name: "C", Parameters: []messaging.EventParameter{text("a"), text("a"), text("a")}},
		messaging.Event{ID: "4", Name: "A"}, b, messaging.Event{ID: "3", Name: "A"}, messaging.Event{ID: "5", Name: ""}, b,
		messaging.Event{ID: "7", Name: "AA"},
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
	assert.Equal(t, strings.Replace(canonical, `"A"`, `"AA"`, 1), list.JSON(), "an event that is listed twice with one id is one event")
}
