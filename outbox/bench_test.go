package outbox_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
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
			client, err := messaging.NewClient("https://service.test", "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: free{}}))
			require.NoError(b, err)
			db := kind.open(b)
			o := db.new(b, client)
			_, _, err = o.EnqueueAll(b.Context(), items(b, keysOf(b.N)))
			require.NoError(b, err)
			b.ResetTimer()
			stop := run(b, o)
			for pending := 1; pending > 0; time.Sleep(20 * time.Millisecond) {
				due, err := db.ledger.Due(b.Context(), []ledger.Look{triggers})
				require.NoError(b, err)
				pending = len(due)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delivered/s")
			stop()
		})
	}
}

// BenchmarkCounts counts a million pending entries.
func BenchmarkCounts(b *testing.B) {
	for _, kind := range []struct {
		name, fill, vacuum string
		open               func(testing.TB) *database
	}{
		{"SQLite", `WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 1000000)
			INSERT INTO outbox_entry (key, digest, operation, body, sealed, urgent, created_at, not_before, due_since)
			SELECT 'order-' || n, randomblob(32), %s, randomblob(150), 0, 0, n, n, n FROM i`, ``, openFile},
		{"Postgres", `INSERT INTO outbox_entry (key, digest, operation, body, sealed, urgent, created_at, not_before, due_since)
			SELECT 'order-' || n, decode(repeat(md5(n::text), 2), 'hex'), %s, decode(repeat(md5(n::text), 5), 'hex'), false, false, at, at, at
			FROM (SELECT n, 'epoch'::timestamptz + n * interval '1 second' AS at FROM generate_series(1, 1000000) AS n) AS input`,
			`VACUUM ANALYZE outbox_entry`, openPgx}, // as autovacuum does within about a minute
	} {
		b.Run(kind.name, func(b *testing.B) {
			db := kind.open(b)
			o := db.new(b, newService().client(b))
			db.exec(b, fmt.Sprintf(kind.fill, `CASE n % 2 WHEN 0 THEN 'trigger event' ELSE 'send broadcast' END`))
			db.exec(b, kind.vacuum)
			for b.Loop() {
				counts, err := o.Counts(b.Context())
				require.NoError(b, err)
				require.Equal(b, 1_000_000, counts.Pending)
			}
		})
	}
}
