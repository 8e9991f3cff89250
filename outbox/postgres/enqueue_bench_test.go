package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
)

// BenchmarkEnqueueTx compares EnqueueTx with an INSERT of the same bytes.
func BenchmarkEnqueueTx(b *testing.B) {
	pool := pgtest.WidePool(b)
	require.NoError(b, postgres.Migrate(b.Context(), pool))
	store, err := postgres.New(b.Context(), pool)
	require.NoError(b, err)
	o, err := outbox.New(store, messagingtest.NewServer(b).Client())
	require.NoError(b, err)
	prepared, err := messaging.PushBroadcastParams{Subject: "Reminder", Message: strings.Repeat("Doors open at eight. ", 20),
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	require.NoError(b, err)
	nothing := func(context.Context, pgx.Tx, string) error { return nil }
	pgtest.CompareInserts(b, pool, prepared.Body(), nothing, func(ctx context.Context, tx pgx.Tx, key string) error {
		_, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: prepared})
		return err
	})
}
