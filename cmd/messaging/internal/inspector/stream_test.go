package inspector_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// event is a server-sent event.
type event struct{ Name, ID, Data string }

// batch is the data of an event with requests.
type batch struct {
	Items  []struct{ Number int }
	Left   int
	Last   int
	Counts struct{ Requests int }
}

func (e event) batch(t *testing.T) (b batch) {
	t.Helper()
	require.Equal(t, "requests", e.Name)
	require.NoError(t, json.Unmarshal([]byte(e.Data), &b))
	require.True(t, strings.HasSuffix(e.ID, fmt.Sprintf("-%d", b.Last)), e.ID)
	return b
}

// follow opens a stream, and returns a function that reads its next event.
func (f *fixture) follow(path string, change ...func(*http.Request)) (next func() event) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.ui+path, nil)
	require.NoError(f.t, err)
	for _, c := range change {
		c(r)
	}
	response, err := f.client.Do(r)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(f.t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return func() (e event) {
		f.t.Helper()
		for lines.Scan() && lines.Text() != "" {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "event":
				e.Name = value
			case "id":
				e.ID = value
			case "data":
				e.Data = value
			}
		}
		require.NoError(f.t, lines.Err())
		return e
	}
}

// sendMany sends requests that are served.
func (f *fixture) sendMany(n int) {
	for range n {
		assert.Equal(f.t, 200, f.read())
	}
}

func TestStreamSendsWhatIsMissingAndThenWhatIsNew(t *testing.T) {
	f := start(t, records.Demo())
	f.sendMany(3)
	next := f.follow("/api/stream?after=1")
	missing := next().batch(t)
	assert.Equal(t, []struct{ Number int }{{3}, {2}}, missing.Items, "newest first")
	assert.Equal(t, 3, missing.Counts.Requests)
	f.read()
	assert.Equal(t, []struct{ Number int }{{4}}, next().batch(t).Items)

	resumed := f.follow("/api/stream?after=1", header("Last-Event-ID", f.box.History.Epoch()+"-3"))
	assert.Equal(t, []struct{ Number int }{{4}}, resumed().batch(t).Items, "a browser resumes by the id")
	assert.Equal(t, 400, f.get("/api/stream?after=x").Status)
	for _, id := range []string{"x", "-1", "a--1"} {
		assert.Equal(t, 400, f.do("GET", f.ui+"/api/stream", "", header("Last-Event-ID", id)).Status, id)
	}
}

func TestStreamSendsBatchesAtAModestRate(t *testing.T) {
	const total = 600
	f := start(t, records.Demo())
	next := f.follow("/api/stream")
	began := time.Now()
	go f.sendMany(total)
	messages, seen := 0, 0
	for seen < total {
		b := next().batch(t)
		messages++
		assert.LessOrEqual(t, len(b.Items), 100)
		seen += len(b.Items) + b.Left
		assert.Equal(t, b.Last, seen, "every request is sent or counted")
	}
	assert.LessOrEqual(t, messages, 2+int(time.Since(began)/(100*time.Millisecond)))
}

func TestStreamThatIsNotReadDelaysNoRequest(t *testing.T) {
	f := start(t, records.Demo())
	for range 3 {
		f.follow("/api/stream") // and never reads
	}
	f.sendMany(1500)
}

func TestStreamReportsAResetAndAGap(t *testing.T) {
	f := start(t, records.Demo()) // it keeps 1,000 requests
	f.sendMany(3)
	next := f.follow("/api/stream?after=3")
	f.post("/api/reset?what=history", "")
	assert.Equal(t, "reset", next().Name)
	f.read()
	assert.Equal(t, 4, next().batch(t).Last)

	f.sendMany(1001)
	behind := f.follow("/api/stream?after=4")
	assert.Equal(t, "gap", behind().Name)
	id := behind()
	assert.Equal(t, 1005, id.batch(t).Last)
	assert.Equal(t, "gap", f.follow("/api/stream?after=5000")().Name, "a number of an earlier sandbox")

	f.post("/api/reset", "")
	for name, open := range map[string]func() func() event{
		"after a reset":   func() func() event { return f.follow("/api/stream", header("Last-Event-ID", id.ID)) },
		"after a restart": func() func() event { return f.follow("/api/stream?after=2&epoch=another.0") },
		"from the start":  func() func() event { return f.follow("/api/stream?after=0") },
	} {
		resumed := open()
		assert.Equal(t, "gap", resumed().Name, name)
		f.read()
		assert.Equal(t, f.box.History.State().Last, resumed().batch(t).Last, name) // and reports it once
		f.post("/api/reset?what=history", "")
	}
}

func TestStreamReportsFaultsSeedsAndOutages(t *testing.T) {
	f := start(t, records.Demo())
	next := f.follow("/api/stream")
	f.fault(`{"fault":{"kind":"answer_lost"}}`)
	added := next()
	assert.Equal(t, "state", added.Name)
	assert.Contains(t, added.Data, `"faults":1`)
	f.post("/api/seed", `{"customers":[{"email":"seed@example.com"}]}`)
	assert.Contains(t, next().Data, `"customers":25`)
	f.post("/api/reset?what=faults", "")
	assert.Contains(t, next().Data, `"faults":0`)
	f.steps([]string{"outage 300ms"})
	assert.Equal(t, "state", next().Name)
	assert.Equal(t, "state", next().Name, "it is over")
	f.shows("/faults", "!Outage until")
}
