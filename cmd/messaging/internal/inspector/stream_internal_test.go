package inspector

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

func TestStreamSendsHeartbeatsAndEndsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ending, end := context.WithTimeout(t.Context(), 50*time.Second)
		defer end()
		in := &Inspector{box: &sandbox.Sandbox{History: history.New(10, 1<<20)}, ending: ending}
		response := httptest.NewRecorder()
		in.stream(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/stream", nil))
		assert.Equal(t, 3, strings.Count(response.Body.String(), ": heartbeat\n\n"))
	})
}
