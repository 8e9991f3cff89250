package cli

import (
	"encoding/json"
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

func TestTermsOfATriggerAreThoseThatASearchCanHave(t *testing.T) {
	event := &messaging.Event{Name: `the "big" order`, Parameters: []messaging.EventParameter{{Name: "order", Required: true},
		{Name: "order.no", Required: true}, {Name: "payload.no", Required: true}, {Name: "parcels", Required: true}, {Name: "note"}}}
	params := messaging.EventTriggerParams{Definition: event, Customer: &messaging.CustomerParams{CustomerID: "c-1"},
		Values: map[string]any{"order": "A 1\nB", "order.no": "1", "payload.no": "1", "parcels": json.Number("2"), "note": "none"}}
	assert.Equal(t, []string{"op:trigger", "event:order", "to:c-1", "value:order=A 1", "value:parcels==2"}, termsOfTrigger(params))
	event.Parameters = event.Parameters[4:]
	assert.Equal(t, []string{"op:trigger", "event:order", "to:c-1", "value:note==none"}, termsOfTrigger(params))
}
