package outbox_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// free is a service that costs nothing.
type free struct{}

func (free) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"success":true,"data":true}`))}, nil
}

func BenchmarkRun(b *testing.B) {
	for _, kind := range []struct {
		name string
		open func(testing.TB) *database
	}{{"SQLite", openFile}, {"Postgres", openPgx}} {
		b.Run(kind.name, func(b *testing.B) {
			client, err := messaging.NewClient("https://service.test", "key", messaging.WithHTTPClient(&http.Client{Transport: free{}}))
			require.NoError(b, err)
			o := kind.open(b).new(b, client)
			keys := keysOf(b.N)
			b.ResetTimer()
			_, _, err = o.EnqueueAll(b.Context(), items(b, keys))
			require.NoError(b, err)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "enqueued/s")
			b.ResetTimer()
			stop := run(b, o)
			for {
				counts, err := o.Counts(b.Context())
				require.NoError(b, err)
				if counts.Accepted == b.N {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delivered/s")
			stop()
		})
	}
}
