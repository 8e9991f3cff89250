package inspector_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

// message is one of a stream.
type message struct {
	Last   int
	Epoch  string
	Counts struct {
		Requests, Customers, Faults int
		Outage                      *time.Time `json:"outage_until"`
	}
}

// follow opens a stream, and returns a function that reads its next message.
func (f *fixture) follow() (next func() message) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.ui+"/api/stream", nil)
	require.NoError(f.t, err)
	response, err := f.client.Do(r)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(f.t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	return func() (m message) {
		f.t.Helper()
		require.True(f.t, lines.Scan(), lines.Err())
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		require.True(f.t, ok)
		require.NoError(f.t, json.Unmarshal([]byte(data), &m))
		require.True(f.t, lines.Scan(), lines.Err()) // the blank line
		return m
	}
}

// sendMany sends requests that are served.
func (f *fixture) sendMany(n int) {
	for range n {
		assert.Equal(f.t, 200, f.read())
	}
}

func TestStreamSendsTheStateAndThenEachChange(t *testing.T) {
	f := start(t)
	f.sendMany(3)
	next := f.follow()
	first := next()
	assert.Equal(t, []int{3, 3}, []int{first.Last, first.Counts.Requests})
	f.read()
	assert.Equal(t, 4, next().Last)
	f.fault(`{"fault":{"kind":"answer_lost"}}`)
	assert.Equal(t, 1, next().Counts.Faults)
	f.post("/api/seed", `{"customers":[{"email":"seed@example.com"}]}`)
	assert.Equal(t, 25, next().Counts.Customers)
	f.post("/api/reset?what=faults", "")
	assert.Zero(t, next().Counts.Faults)
	f.steps([]string{"outage 300ms"})
	assert.NotNil(t, next().Counts.Outage)
	assert.Nil(t, next().Counts.Outage, "it is over")
	f.shows("/faults", "!Outage until")
	f.post("/api/reset?what=history", "")
	cleared := next()
	assert.NotEqual(t, first.Epoch, cleared.Epoch)
	assert.Equal(t, []int{4, 0}, []int{cleared.Last, cleared.Counts.Requests})
	f.shows("/", `data-last="4" data-epoch="`+cleared.Epoch+`"`)
}

func TestStreamHasAModestRateAndDelaysNoRequest(t *testing.T) {
	const total = 1500
	f := start(t)
	for range 3 {
		f.follow() // and never reads
	}
	next := f.follow()
	began := time.Now()
	go f.sendMany(total)
	messages := 0
	for last := 0; last < total; messages++ {
		m := next()
		assert.GreaterOrEqual(t, m.Last, last)
		last = m.Last
	}
	assert.LessOrEqual(t, messages, 2+int(time.Since(began)/(100*time.Millisecond)))
}

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
		inspector.Server(ending, box, guard.Config{Address: listener.Addr()}).Handler.ServeHTTP(response,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/api/stream", nil))
		assert.Equal(t, 3, strings.Count(response.Body.String(), ": heartbeat\n\n"))
	})
}
