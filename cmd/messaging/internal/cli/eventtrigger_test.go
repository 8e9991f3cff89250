package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
)

func TestATriggerIsNotComparedByAParameterThatItsEventNoLongerHas(t *testing.T) {
	event := &messaging.Event{ID: "ev_1", Name: "order shipped", Parameters: []messaging.EventParameter{
		{Name: "order", Type: messaging.ParameterText, Required: true}, {Name: "carrier", Type: messaging.ParameterText}}}
	trigger := triggerOf(messaging.EventTriggerParams{Definition: event, Email: "ada@example.com", Values: map[string]any{"order": "A-1"}})
	assert.Equal(t, alike.ShapeOf(event), trigger.Shape)
	for name, want := range map[string]bool{"order": true, "carrier": true, "number": false} {
		_, ok := trigger.In(alike.Shape{{Name: name, Type: messaging.ParameterText}})
		assert.Equal(t, want, ok, name)
	}
}
