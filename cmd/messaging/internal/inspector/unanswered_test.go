package inspector_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestARequestThatWaitsForItsResponseIsOnThePage(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 200, f.send("GET", "/v1/events", ""))
	require.Equal(t, 200, f.post("/api/faults", `{"op":"list events","count":1,"fault":{"kind":"slow","after":"1h"}}`).Status)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	ended := make(chan error)
	go func() {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.api+"/v1/events", nil)
		if err == nil {
			request.Header.Set("X-Authorization", testKey)
			_, err = f.client.Do(request) // it has no response
		}
		ended <- err
	}()
	const waits = "<b>List events</b> <span class=\"tag \">no response yet</span>"
	eventually := func(path string, want bool) {
		require.Eventually(t, func() bool { return strings.Contains(f.get(path).Body, waits) == want }, 5*time.Minute, 5*time.Millisecond)
	}
	eventually("/", true)
	assert.Contains(t, f.get("/rows?section=requests&after=1").Body, waits, "the script adds it to a page that is open")
	assert.NotContains(t, f.get("/broadcasts").Body, waits)

	hangUp()
	require.ErrorIs(t, <-ended, context.Canceled)
	eventually("/rows?section=requests&after=1", false)
}
