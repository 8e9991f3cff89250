package outboxriver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/outboxriver"
	"github.com/messaging-go/messaging/outbox/postgres"
)

// plainJob is a job without arguments, like those of outboxriver.
type plainJob struct{}

func (plainJob) Kind() string { return "plain" }

// BenchmarkEnqueueTx compares EnqueueTx with an INSERT of the same bytes and InsertTx of
// River.
func BenchmarkEnqueueTx(b *testing.B) {
	pool := pgtest.WidePool(b)
	require.NoError(b, postgres.Migrate(b.Context(), pool))
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	require.NoError(b, err)
	_, err = migrator.Migrate(b.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(b, err)
	store, err := postgres.New(b.Context(), pool)
	require.NoError(b, err)
	o, err := outbox.New(store, messagingtest.NewServer(b).Client())
	require.NoError(b, err)
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	require.NoError(b, err)
	prepared, err := messaging.PushBroadcastParams{Subject: "Reminder", Message: strings.Repeat("Doors open at eight. ", 20),
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	require.NoError(b, err)
	insertJob := func(ctx context.Context, tx pgx.Tx, key string) error {
		_, err := jobs.InsertTx(ctx, tx, plainJob{}, nil)
		return err
	}
	pgtest.CompareInserts(b, pool, prepared.Body(), insertJob, func(ctx context.Context, tx pgx.Tx, key string) error {
		_, err := outboxriver.EnqueueTx(ctx, jobs, o, tx, outbox.Item{Key: key, Prepared: prepared})
		return err
	})
}
