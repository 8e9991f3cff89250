package orms_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	outboxpostgres "github.com/messaging-go/messaging/outbox/postgres"
)

// behindPgBouncer is the setting of the README.
const behindPgBouncer = "&default_query_exec_mode=exec"

// openBehindPgBouncer opens an outbox whose connections all go through PgBouncer.
func openBehindPgBouncer(t *testing.T, url string, service *messagingtest.Server) (*outbox.Outbox[pgx.Tx], *pgxpool.Pool) {
	pool, err := pgxpool.New(t.Context(), url+behindPgBouncer+"&pool_max_conns=16")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, outboxpostgres.Migrate(t.Context(), pool))
	store, err := outboxpostgres.New(t.Context(), pool)
	require.NoError(t, err)
	return newSendingOutbox(t, store, service), pool
}

func TestPgxWorksBehindPgBouncer(t *testing.T) {
	url := startBouncer(t, pgtest.URL(t))
	service := messagingtest.NewServer(t)
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
			_, err := o.Enqueue(t.Context(), outbox.Item{Key: fmt.Sprint("alone ", i), Prepared: request(t)})
			assert.NoError(t, err)
			assert.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				_, err := o.EnqueueTx(t.Context(), tx, outbox.Item{Key: fmt.Sprint("with others ", i), Prepared: request(t)})
				return err
			}))
		})
	}
	group.Wait()
	eventually := func(accepted, rejected int) {
		require.Eventually(t, func() bool {
			counts, err := o.Counts(t.Context())
			return assert.NoError(t, err) && counts.Accepted == accepted && counts.Rejected == rejected
		}, 5*time.Minute, 10*time.Millisecond)
	}
	eventually(2*n, 0)
	service.Fail("", 1, messagingtest.Status(http.StatusUnprocessableEntity))
	_, err := o.Enqueue(t.Context(), outbox.Item{Key: "rejected", Prepared: request(t)})
	require.NoError(t, err)
	eventually(2*n, 1)

	require.NoError(t, o.PauseAll(t.Context()))
	decisions, err := o.Resend(t.Context(), "rejected")
	require.NoError(t, err)
	assert.True(t, decisions[0].Changed)
	require.NoError(t, o.ResumeAll(t.Context()))
	eventually(2*n+1, 0)
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	assert.Len(t, service.PushBroadcasts(), 2*n+1)
}
