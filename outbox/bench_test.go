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
			db := kind.open(b)
			o := db.new(b, client)
			_, _, err = o.EnqueueAll(b.Context(), items(b, keysOf(b.N)))
			require.NoError(b, err)
			b.ResetTimer()
			stop := run(b, o)
			for pending := 1; pending > 0; time.Sleep(20 * time.Millisecond) {
				due, err := db.ledger.Due(b.Context())
				require.NoError(b, err)
				pending = len(due)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delivered/s")
			stop()
		})
	}
}
