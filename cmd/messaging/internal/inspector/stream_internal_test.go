package inspector

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

func TestStreamSendsHeartbeatsAndEndsWithTheServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close()) // nobody connects
	synctest.Test(t, func(t *testing.T) {
		box, err := sandbox.Start(sandbox.Config{Listener: listener, Wrap: func(h http.Handler) http.Handler { return h }, Keep: 1})
		require.NoError(t, err)
		defer box.Close()
		ending, end := context.WithTimeout(t.Context(), 50*time.Second)
		defer end()
		response := httptest.NewRecorder()
		(&Inspector{box, ending}).stream(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/stream", nil))
		assert.Equal(t, 3, strings.Count(response.Body.String(), ": heartbeat\n\n"))
	})
}
