package messaging

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/service"
)

func TestSendsReadEveryKeyThatATriggerReserves(t *testing.T) {
	p := EventTriggerParams{EventID: "e", Email: "ada@example.com", Customer: &CustomerParams{CustomerID: "c"}}
	written := p.wire(new(arguments.Problems)).(*eventTriggerBody).payload
	var fixed []string
	for _, m := range service.Payload.Members {
		fixed = append(fixed, m.Name)
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(written)), fixed, "what EventTriggerParams writes for a customer, and the catalog")
	assert.ElementsMatch(t, reservedKeys, fixed, "reservedKeys in events.go, and the catalog")
}
