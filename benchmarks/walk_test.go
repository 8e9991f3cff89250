package benchmarks

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// walking walks a list in each iteration.
func walking(c client, perPage, length int) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rows, err := c.walk(b.Context(), perPage)
			if err != nil || rows != length {
				b.Fatalf("walked %d rows of %d: %v", rows, length, err)
			}
		}
		b.ReportMetric(float64(b.N*length)/b.Elapsed().Seconds(), "rows/s")
	}
}

func BenchmarkWalk(b *testing.B) {
	clients := connect(b)
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		b.Run("per_page=100/client="+name, walking(clients[name], 100, listLength))
	}
	for _, name := range []string{"messaging", "messaging-Pages", "by-hand", "leanest", "messaging-floor"} {
		b.Run("per_page=1000/client="+name, walking(clients[name], 1000, listLength))
	}
}

// BenchmarkListPage reads one page from memory, so its profile shows almost only the SDK.
func BenchmarkListPage(b *testing.B) {
	for _, rows := range []int{20, 100, 1000} {
		body := string(newBook(sdkContender, rows, 0).write(page{perPage: rows, total: rows}, http.Header{}))
		b.Run(fmt.Sprintf("rows=%d", rows), listing(body, false))
		last := strings.LastIndex(body, `{"customer_id"`)
		end := last + strings.Index(body[last:], "}") + 1
		b.Run(fmt.Sprintf("rows=%d/invalid", rows), listing(body[:last]+"0"+body[end:], true))
	}
}

func listing(body string, fails bool) func(*testing.B) {
	return func(b *testing.B) {
		sdk, err := newSDKInMemory(http.StatusOK, body)
		require.NoError(b, err)
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := sdk.Customers.List(b.Context(), messaging.CustomerListParams{}); (err != nil) != fails {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkReadAhead takes as long for a page as the server takes to send one.
func BenchmarkReadAhead(b *testing.B) {
	const perPage = 500
	sdk, err := newSDK(server.Slow)
	require.NoError(b, err)
	for _, variant := range []struct {
		name    string
		options []messaging.RequestOption
	}{{"on", nil}, {"off", []messaging.RequestOption{messaging.WithoutReadAhead()}}} {
		b.Run("read_ahead="+variant.name, func(b *testing.B) {
			for b.Loop() {
				for _, err := range sdk.Customers.Pages(b.Context(), messaging.CustomerListParams{PerPage: perPage}, variant.options...) {
					if err != nil {
						b.Fatal(err)
					}
					time.Sleep(delay)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*listLength/perPage), "ms/page")
		})
	}
}

// BenchmarkPeakMemory reports the most memory that a walk has in use, without garbage. It grows by some bytes for
// each page, because a walk remembers a hash of each cursor.
func BenchmarkPeakMemory(b *testing.B) {
	for _, list := range []struct {
		rows int
		base string
	}{{listLength, server.Services["messaging"]}, {longListLength, server.Long}} {
		b.Run(fmt.Sprintf("rows=%d", list.rows), func(b *testing.B) {
			sdk, err := newSDK(list.base)
			require.NoError(b, err)
			before, peak := heap(), uint64(0)
			for b.Loop() {
				walked := 0
				for _, err := range sdk.Customers.All(b.Context(), messaging.CustomerListParams{PerPage: 100}) {
					if err != nil {
						b.Fatal(err)
					}
					if walked++; walked%5000 == 50 { // within a page
						peak = max(peak, heap())
					}
				}
			}
			b.ReportMetric(float64(peak)-float64(before), "peak-B")
		})
	}
}

// heap returns how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
