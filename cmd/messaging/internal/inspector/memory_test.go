package inspector_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

// liveHeap returns the bytes that are still in use after collections that free no more.
func liveHeap() int64 {
	var stats runtime.MemStats
	for last := uint64(math.MaxUint64); ; last = stats.HeapAlloc {
		runtime.GC()
		runtime.ReadMemStats(&stats)
		if stats.HeapAlloc >= last-last/1000 {
			return int64(stats.HeapAlloc)
		}
	}
}

const smallKeep = 16 << 20

func smallSandbox(t *testing.T, maxRecords int) *fixture {
	return startWith(t, records.Demo(), "", func(c *sandbox.Config) { c.KeepBytes, c.MaxRecords, c.Keep = smallKeep, maxRecords, 10_000 })
}

// variablesOf returns the body of an email with variables.
func variablesOf(value string) string {
	return strings.Replace(emailBody, `"variables":{"name":"Ada"}`, `"variables":{"name":`+value+`}`, 1)
}

func TestHeapStaysWithinItsLimit(t *testing.T) {
	nested := "[" + strings.Repeat("[],", 40_000) + "[]]"
	for name, attack := range map[string]func(f *fixture){
		"emails with nested arrays": func(f *fixture) {
			for range 20 {
				require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", variablesOf(nested)))
			}
		},
		"triggers with nested arrays": func(f *fixture) {
			for range 20 {
				require.Equal(t, 200, f.send("POST", "/v1/events/trigger",
					strings.Replace(skippedBody, `"A-1001"`, nested, 1)))
			}
		},
		"many problems": func(f *fixture) {
			body := `{"recipients":[` + strings.Repeat("0,", 30_000) + `0]}`
			for range 3 {
				require.Equal(t, 422, f.send("POST", "/v1/broadcast/send/push-notification", body))
			}
		},
		"more customers than are allowed": func(f *fixture) {
			require.Equal(t, 507, f.send("POST", "/v1/broadcast/send/push-notification", pushTo(0, 120_000)))
			assert.Len(t, f.box.Records.All(records.Customers), 24, "none was added")
			assert.Contains(t, f.get("/requests/1").Body, "a limit of the sandbox", "the page says whose limit it is")
		},
		"customers in many requests": func(f *fixture) {
			for i := range 12 {
				f.send("POST", "/v1/broadcast/send/push-notification", pushTo(i*10_000, 10_000))
			}
			assert.LessOrEqual(t, f.box.Records.Count(records.Customers), 100_000)
		},
		"events with long descriptions": func(f *fixture) {
			body := `{"name":"n","description":"` + strings.Repeat("x", 1<<20) + `","parameters":[]}`
			for f.send("POST", "/v1/events", body) == 200 {
				require.Less(t, f.box.Records.Count(records.Events), 100, "it ends")
			}
			assert.Equal(t, 507, f.send("POST", "/v1/events", body))
			f.post("/api/reset", "")
			assert.Equal(t, 200, f.send("POST", "/v1/events", body), "a reset makes room")
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := liveHeap()
			f := smallSandbox(t, 100_000)
			attack(f)
			f.client.CloseIdleConnections()
			assert.LessOrEqual(t, liveHeap()-before, int64(smallKeep+smallKeep/10+(32<<20)))
		})
	}
}

// pushTo returns a broadcast to customers with consecutive numbers.
func pushTo(first, n int) string {
	var b strings.Builder
	b.WriteString(`{"subject":"s","message":"m","schedule_type":"send-now","recipients":{"type":"customer","customers":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		_, _ = fmt.Fprintf(&b, `{"email":"c%d@x.test"}`, first+i)
	}
	b.WriteString(`]}}`)
	return b.String()
}

func TestRecordsTakeWhatTheyAreCountedAs(t *testing.T) {
	before := liveHeap()
	f := startWith(t, records.Seed{}, "", func(c *sandbox.Config) { c.Keep, c.MaxRecords = 1, 0 })
	for i := range 10 {
		require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/push-notification", pushTo(i*5_000, 5_000)))
	}
	f.post("/api/reset?what=history", "")
	f.client.CloseIdleConnections()
	grown := liveHeap() - before
	assert.GreaterOrEqual(t, f.box.Records.Bytes()*12/10, grown, "%d bytes each", grown/50_000)
	assert.Less(t, f.box.Records.Bytes()/50_000, int64(400), "bytes each; they take about 300")
}

// held sends the header and a part of a body, and returns a function that ends the request
// and returns the status of its response.
func (f *fixture) held(length int64) (end func() int) {
	reader, writer := io.Pipe()
	r, err := http.NewRequestWithContext(f.t.Context(), "POST", f.api+"/v1/events", reader)
	require.NoError(f.t, err)
	r.ContentLength = length
	r.Header.Set("X-Authorization", testKey)
	status := make(chan int, 1)
	go func() {
		response, err := f.client.Do(r)
		if err != nil {
			status <- 0
			return
		}
		_ = response.Body.Close()
		status <- response.StatusCode
	}()
	_, err = writer.Write([]byte("{"))
	require.NoError(f.t, err)
	return func() int {
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
		return <-status
	}
}

func TestBodiesInFlightShareALimit(t *testing.T) {
	f := start(t, records.Demo())
	var ends []func() int
	for range 4 {
		ends = append(ends, f.held(15<<20))
	}
	body := strings.Repeat(" ", 5<<20)
	chunked := func(r *http.Request) { r.ContentLength = -1; r.Header.Set("X-Authorization", testKey) }
	require.Eventually(t, func() bool { return f.send("POST", "/v1/events", body) == 503 }, 5*time.Minute, time.Millisecond)
	got := f.do("POST", f.api+"/v1/events", body, chunked)
	assert.Equal(t, 503, got.Status)
	assert.Equal(t, "1", got.Header.Get("Retry-After"))
	assert.Contains(t, got.Body, "this is a limit of the sandbox, not of the real service")
	assert.Equal(t, 200, f.send("GET", "/v1/events", ""), "small requests are served")
	for _, end := range ends {
		end()
	}
	require.Eventually(t, func() bool { return f.send("POST", "/v1/events", body) == 400 }, 5*time.Minute, time.Millisecond)
	assert.Equal(t, 415, f.do("POST", f.api+"/v1/events", body, chunked).Status, "a body of unknown length arrives")
	chunkedJSON := func(r *http.Request) { chunked(r); r.Header.Set("Content-Type", "application/json") }
	assert.Equal(t, 200, f.do("POST", f.api+"/v1/events/trigger", skippedBody, chunkedJSON).Status)
	assert.Contains(t, f.get("/api/requests?q=op:trigger").Body, "21.11.2026")
}

func TestBodiesOverTheLimitOfTheServiceAreNotRead(t *testing.T) {
	f := start(t, records.Demo())
	before := liveHeap()
	end := f.held(1 << 40)
	require.Eventually(t, func() bool { return f.box.History.State().Requests == 1 }, 5*time.Minute, time.Millisecond)
	end()
	assert.Less(t, liveHeap()-before, int64(16<<20))
	e, _ := f.box.History.Get(1)
	assert.Equal(t, 413, e.Status)
}
