package messagingtest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/internal/service"
)

func TestServerHasAHandlerForEveryOperation(t *testing.T) {
	for o := range service.Served() {
		assert.Contains(t, handlers, o, "add a handler for %q in messagingtest, in the file of its resource: "+
			"declare a list with serveList, and register any other operation with handle", o.Name)
	}
}
