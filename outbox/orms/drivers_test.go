package orms_test

import (
	"context"
	"testing"
	"time"

	_ "github.com/lib/pq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
)

func newSendingOutbox[Tx any](t *testing.T, store outbox.Store[Tx], service *messagingtest.Server) *outbox.Outbox[Tx] {
	o, err := outbox.New(store, service.Client())
	require.NoError(t, err)
	return o
}

// sendAndDecide calls the methods whose statements pass times.
func sendAndDecide(t *testing.T, o *outbox.Outbox[outbox.SQLTx]) {
	start := time.Now()
	_, err := o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: request(t), NotBefore: start.Add(-time.Hour),
		NotAfter: start.Add(time.Hour)})
	require.NoError(t, err)
	later, err := o.Enqueue(t.Context(), outbox.Item{Key: "later", Prepared: request(t), NotBefore: start.Add(100 * 24 * time.Hour)})
	require.NoError(t, err)
	assert.WithinDuration(t, start.Add(100*24*time.Hour), later.NotBefore, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.Run(ctx) }()
	var entry outbox.Entry
	require.Eventually(t, func() bool {
		entry, err = o.Get(t.Context(), "order")
		require.NoError(t, err)
		return entry.State == outbox.Accepted
	}, 5*time.Minute, 5*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	assert.WithinDuration(t, start.Add(time.Hour), entry.NotAfter, time.Second)
	assert.WithinDuration(t, start, entry.SettledAt, time.Minute)
	n, err := o.Quarantine(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	filter := outbox.Filter{State: outbox.Unclear, EnqueuedAfter: start.Add(-time.Minute), EnqueuedBefore: start.Add(time.Minute)}
	decided, err := o.ResendAll(t.Context(), filter)
	require.NoError(t, err)
	assert.Equal(t, 1, decided.Changed)
	counts, err := o.Counts(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, counts.Pending)
	assert.Less(t, counts.OldestPending, time.Minute)
}

func TestEveryDriverAndDateStyleSends(t *testing.T) {
	for _, test := range []struct{ name, driver, parameters string }{
		{"lib/pq", "postgres", ""},
		{"pgx with the simple protocol", "pgx", "&default_query_exec_mode=simple_protocol"},
		{"pgx", "pgx", ""},
	} {
		for _, style := range []string{"ISO, MDY", "German, DMY", "SQL, DMY", "Postgres, YMD"} {
			t.Run(test.name+" "+style, func(t *testing.T) {
				db := open(t, test.driver, pgtest.URL(t)+test.parameters)
				db.SetMaxOpenConns(1)
				for name, value := range map[string]string{"DateStyle": style, "TimeZone": "Asia/Kathmandu", "IntervalStyle": "sql_standard"} {
					_, err := db.ExecContext(t.Context(), `SET `+name+` = '`+value+`'`)
					require.NoError(t, err)
				}
				sendAndDecide(t, newOutbox(t, db))
			})
		}
	}
}
