package inspector_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestOutageClosesThePortAndOpensItAgain(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 200, f.send("GET", "/v1/events", ""))
	require.Equal(t, 204, f.post("/api/outage", `{"for":"300ms"}`).Status)
	_, err := net.Dial("tcp", strings.TrimPrefix(f.api, "http://"))
	require.Error(t, err, "the port is closed")
	assert.Contains(t, f.get("/api/faults").Body, `"outage_until":"`)
	assert.Contains(t, f.get("/faults").Body, "Outage until")
	require.Eventually(t, func() bool { return f.send("GET", "/v1/events", "") == 200 }, 5*time.Minute, 5*time.Millisecond)
	assert.Contains(t, f.get("/api/faults").Body, `"outage_until":null`)
}

func TestOutageWhosePortIsTakenFailsTheSandbox(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 204, f.post("/api/outage", `{"for":"200ms"}`).Status)
	other, err := net.Listen("tcp", strings.TrimPrefix(f.api, "http://"))
	require.NoError(t, err)
	defer other.Close()
	select {
	case err := <-f.box.Failed():
		assert.ErrorContains(t, err, "after the outage")
	case <-time.After(5 * time.Minute):
		t.Fatal("the sandbox continues without its port")
	}
}

func TestOutagesThatFollowEachOtherClosely(t *testing.T) {
	f := start(t, records.Demo())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 30 {
				assert.NoError(t, f.box.Outage(1))
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return f.send("GET", "/v1/events", "") == 200 }, 5*time.Minute, 5*time.Millisecond)
	select {
	case err := <-f.box.Failed():
		t.Fatal(err)
	default:
	}
}

func TestResetEndsAnOutage(t *testing.T) {
	f := start(t, records.Demo())
	for _, what := range []string{"all", "faults"} {
		require.Equal(t, 204, f.post("/api/outage", `{"for":"1h"}`).Status)
		require.Equal(t, 204, f.post("/api/reset?what="+what, "").Status)
		assert.Equal(t, 200, f.send("GET", "/v1/events", ""))
	}
}

func TestOutageReplacesTheOneBefore(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 204, f.post("/api/outage", `{"for":"1h"}`).Status)
	require.Equal(t, 204, f.post("/api/outage", `{"for":"1ms"}`).Status)
	require.Eventually(t, func() bool { return f.send("GET", "/v1/events", "") == 200 }, 5*time.Minute, 5*time.Millisecond)
}

func TestPagesSayThatThereIsAnOutage(t *testing.T) {
	f := start(t, records.Demo())
	assert.NotContains(t, f.get("/").Body, "data-outage")
	require.Equal(t, 204, f.post("/api/outage", `{"for":"1h"}`).Status)
	assert.Regexp(t, `data-left="3[56]\d\d s" .*<span role="status">outage</span>`, f.get("/").Body)
	faults := f.get("/faults").Body
	assert.Contains(t, faults, "None is active: after the outage, every request is served.")
	assert.NotContains(t, faults, "None is active: every request is served.")
}
