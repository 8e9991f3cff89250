package benchmarks

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// calling makes the small call of a client in each iteration.
func calling(c client) func(*testing.B) {
	return func(b *testing.B) {
		require.NoError(b, c.call(b.Context())) // connects
		b.ReportAllocs()
		for b.Loop() {
			if err := c.call(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkCall(b *testing.B) {
	clients := connect(b)
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		b.Run("client="+name, calling(clients[name]))
	}
}

// BenchmarkTrigger triggers an event with a response from memory.
func BenchmarkTrigger(b *testing.B) {
	accepted := memory{http.StatusOK, sdkContender.written("response", newPerson(0))}
	sdk, err := newSDKInMemory(accepted.status, accepted.body)
	require.NoError(b, err)
	b.Run("client=messaging", calling(sdk))
	b.Run("client=leanest", calling(newLeanest(accepted, "https://api.example.com")))
	params := messaging.EventTriggerParams{Email: "ada@example.com", Values: map[string]any{"order": "A-1001", "amount": 125},
		Definition: &messaging.Event{ID: eventID, Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText, Required: true},
			{Name: "amount", Type: messaging.ParameterNumeric},
		}}}
	b.Run("client=messaging/definition", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := sdk.Events.Trigger(b.Context(), params); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRefusal triggers an event, and gets a 422 with errors for some fields from memory.
func BenchmarkRefusal(b *testing.B) {
	for _, fields := range []int{4, 500} {
		b.Run(fmt.Sprintf("fields=%d", fields), func(b *testing.B) {
			errs := make([]string, fields)
			for i := range errs {
				errs[i] = fmt.Sprintf(`"recipients.0.customers.%d.email":["must be an email address","must be a known customer"]`, i)
			}
			body := `{"success":false,"message":"The given data was invalid.","errors":{` + strings.Join(errs, ",") + `}}`
			sdk, err := newSDKInMemory(http.StatusUnprocessableEntity, body)
			require.NoError(b, err)
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if sdk.call(b.Context()) == nil {
					b.Fatal("call succeeded")
				}
			}
		})
	}
}

// BenchmarkInFlight triggers 256 events at a time, over TLS. The server takes 20 ms. The loop by hand keeps 256
// idle connections.
func BenchmarkInFlight(b *testing.B) {
	const inFlight = 256
	sdk, err := newSDK(server.Slow)
	require.NoError(b, err)
	transport := newHTTPClient().Transport.(*http.Transport)
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, inFlight
	for name, c := range map[string]client{"messaging": sdk, "leanest": newLeanest(transport, server.Slow)} {
		before := dialed.Load()
		b.Run("client="+name, func(b *testing.B) {
			b.SetParallelism(inFlight / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := c.call(b.Context()); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(dialed.Load()-before), "connections")
		})
	}
}
