package oddity_test

import (
	"testing"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/oddity"
)

// BenchmarkValues looks at the values of a row, as an import does a million times.
func BenchmarkValues(b *testing.B) {
	event := &messaging.Event{Parameters: []messaging.EventParameter{
		{Name: "order", Type: messaging.ParameterText, Required: true},
		{Name: "address", Type: messaging.ParameterText, Required: true},
		{Name: "city", Type: messaging.ParameterText, Required: true}}}
	values := map[string]any{"order": "A-1001", "address": "12 Main Street", "city": "Berlin"}
	for b.Loop() {
		oddity.Values(event, values)
	}
}
