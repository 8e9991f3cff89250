package definitions

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

func TestWhatIdentifiesTheCustomerIsNoParameterThatIsMissing(t *testing.T) {
	account := messaging.Event{Name: "order kept", Parameters: []messaging.EventParameter{
		{Name: "email", Type: "text", Required: true}, {Name: "order", Type: "TEXT"}}}
	wanted := []messaging.EventCreateParams{{Name: "order kept", Parameters: []messaging.EventParameter{{Name: "order", Type: "text"}}}}
	compared, err := Compare(wanted, func(yield func(messaging.Event, error) bool) { yield(account, nil) })
	require.NoError(t, err)
	assert.Len(t, With(compared, Current), 1, "%+v", compared)
}
