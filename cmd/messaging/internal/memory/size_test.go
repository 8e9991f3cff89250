package memory_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/memory"
)

// TestSizeOfIsCloseToTheHeap compares the sum of the sizes with what the heap grows by.
func TestSizeOfIsCloseToTheHeap(t *testing.T) {
	const many = 20_000
	for name, create := range map[string]func(i int) any{
		"a string":      func(i int) any { return strings.Repeat("x", i%200) },
		"a long string": func(int) any { return strings.Repeat("x", 3000) },
		"a header": func(i int) any {
			return http.Header{"Content-Type": {"application/json"}, "User-Agent": {fmt.Sprint("agent-", i)}}
		},
		"a large map": func(i int) any {
			values := make(map[string]any)
			for j := range 20 {
				values[fmt.Sprint("key-", i, j)] = []any{float64(j), "text"}
			}
			return values
		},
		"nested arrays": func(int) any { return []any{[]any{[]any{}, []any{}}, []any{[]any{[]any{1.5}}}} },
		"a customer": func(i int) any {
			return &messaging.CustomerParams{Email: fmt.Sprintf("customer-%d@example.com", i),
				Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: fmt.Sprint("token-", i)}}}
		},
		"a time": func(int) any { return &struct{ At time.Time }{time.Now()} },
	} {
		t.Run(name, func(t *testing.T) {
			values := make([]any, many)
			before := heap()
			for i := range values {
				values[i] = create(i)
			}
			grown := heap() - before
			var counted int64
			for i := range values {
				counted += memory.SizeOf(&values[i]) - 16
			}
			assert.InEpsilon(t, grown, counted, 0.15, "%d bytes each, counted as %d", grown/many, counted/many)
			runtime.KeepAlive(values)
		})
	}
}

func TestSizeOfNothingIsZero(t *testing.T) {
	var pointer *string
	var list []string
	var object map[string]string
	for _, v := range []any{nil, pointer, list, object, 1, ""} {
		assert.Zero(t, memory.SizeOf(v))
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
