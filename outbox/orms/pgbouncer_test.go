package orms_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	outboxpostgres "github.com/messaging-go/messaging/outbox/postgres"
)

// behindPgBouncer is the setting of the README.
const behindPgBouncer = "&default_query_exec_mode=exec"

// counting is a service that counts what it has carried out, and rejects what contains
// "rejected" once.
type counting struct {
	mu       sync.Mutex
	carried  int
	rejected bool
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"success": true, "data": true}`))}
	if strings.Contains(string(body), "rejected") && !c.rejected {
		c.rejected = true
		response.StatusCode = http.StatusUnprocessableEntity
		response.Body = io.NopCloser(strings.NewReader(`{"success": false}`))
		return response, nil
	}
	c.carried++
	return response, nil
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.carried
}

// openBehindPgBouncer opens an outbox whose connections all go through PgBouncer.
func openBehindPgBouncer(t *testing.T, url string, service *counting) (*outbox.Outbox[pgx.Tx], *pgxpool.Pool) {
	pool, err := pgxpool.New(t.Context(), url+behindPgBouncer+"&pool_max_conns=16")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, outboxpostgres.Migrate(t.Context(), pool))
	store, err := outboxpostgres.New(t.Context(), pool)
	require.NoError(t, err)
	client, err := messaging.NewClient("https://service.test", "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: service}))
	require.NoError(t, err)
	o, err := outbox.New(store, client)
	require.NoError(t, err)
	return o, pool
}

func namedRequest(t *testing.T, name string) *messaging.Prepared {
	p, err := messaging.EventTriggerParams{EventID: "event", Email: "ada@example.com", Values: map[string]any{"name": name}}.Prepare()
	require.NoError(t, err)
	return p
}

func TestPgxWorksBehindPgBouncer(t *testing.T) {
	url := startBouncer(t, pgtest.URL(t))
	service := new(counting)
	o, pool := openBehindPgBouncer(t, url, service)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 2)
	for range 2 {
		other, _ := openBehindPgBouncer(t, url, service)
		go func() { ended <- other.Run(ctx) }()
	}
	const n = 100
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			_, err := o.Enqueue(t.Context(), outbox.Item{Key: fmt.Sprint("alone ", i), Prepared: namedRequest(t, "alone")})
			assert.NoError(t, err)
			assert.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				_, err := o.EnqueueTx(t.Context(), tx, outbox.Item{Key: fmt.Sprint("with others ", i), Prepared: namedRequest(t, "with others")})
				return err
			}))
		})
	}
	group.Wait()
	_, err := o.Enqueue(t.Context(), outbox.Item{Key: "rejected", Prepared: namedRequest(t, "rejected")})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		counts, err := o.Counts(t.Context())
		return assert.NoError(t, err) && counts.Accepted == 2*n && counts.Rejected == 1
	}, 5*time.Minute, 10*time.Millisecond)

	require.NoError(t, o.PauseAll(t.Context()))
	decisions, err := o.Resend(t.Context(), "rejected")
	require.NoError(t, err)
	assert.True(t, decisions[0].Changed)
	require.NoError(t, o.ResumeAll(t.Context()))
	require.Eventually(t, func() bool { return service.count() == 2*n+1 }, 5*time.Minute, 10*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	counts, err := o.Counts(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2*n+1, counts.Accepted)
	assert.Equal(t, 2*n+1, service.count())
}
