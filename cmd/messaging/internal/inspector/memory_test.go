package inspector_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

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
		"customers in many requests": func(f *fixture) {
			for i := range 12 {
				f.send("POST", "/v1/broadcast/send/push-notification", pushTo(i*10_000, 10_000))
			}
			assert.LessOrEqual(t, f.box.Records.Count(records.Customers), 100_000)
			assert.Contains(t, f.get("/requests/12").Body, "a limit of the sandbox", "the page says whose limit it is")
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
