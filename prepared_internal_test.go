package messaging

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/service"
)

func TestSendsAreReadByTheMembersThatTheyWrite(t *testing.T) {
	for op := range service.Sends() {
		send := preparables[op]
		if assert.NotNil(t, send, "%q: declare it with declareSend, beside its params", op.Name) {
			requireSameMembers(t, bodies[op], send.members, "the members in its declareSend")
		}
	}
	requireSameMembers(t, reflect.TypeFor[broadcastBody](), broadcastMembers, "broadcastMembers in prepared.go")
	requireSameMembers(t, reflect.TypeFor[recipient](), recipientMembers, "recipientMembers in prepared.go")
	requireSameMembers(t, reflect.TypeFor[CustomerParams](), customerMembers, "customerMembers in prepared.go")
}

// requireSameMembers compares the members of a struct with those of the table by which
// guards read them.
func requireSameMembers(t *testing.T, body reflect.Type, read members, table string) {
	t.Helper()
	assert.ElementsMatch(t, slices.Collect(maps.Keys(membersOf(body))), slices.Collect(maps.Keys(read)),
		"the JSON members of the struct %s, and %s: a member that guards do not know makes every request unmodelled", body.Name(), table)
}

func TestSendsReadEveryKeyThatATriggerReserves(t *testing.T) {
	p := EventTriggerParams{EventID: "e", Email: "ada@example.com", Customer: &CustomerParams{CustomerID: "c"}}
	written := p.wire(new(arguments.Problems)).(*eventTriggerBody).Payload
	fixed := slices.Collect(maps.Keys(payloadMembers))
	assert.ElementsMatch(t, slices.Collect(maps.Keys(written)), fixed,
		"what EventTriggerParams writes for a customer, and payloadMembers in events.go")
	assert.ElementsMatch(t, reservedKeys, fixed, "reservedKeys and payloadMembers in events.go")
}
