package fake

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/internal/service"
)

func TestServerHasAHandlerForEveryOperation(t *testing.T) {
	for o := range service.Served() {
		assert.Contains(t, handlers, o, "add a handler for %q to handlers in internal/fake/server.go", o.Name)
	}
}
