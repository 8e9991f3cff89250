package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/internal/version02"
	"github.com/messaging-go/messaging/outbox/postgres"
)

// newVersion02 makes the tables of version 0.2 with an entry in each state, and more that are
// pending.
func newVersion02(t *testing.T, pool *pgxpool.Pool, more int) {
	var schema string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT current_schema()`).Scan(&schema))
	for _, statement := range []string{
		version02.Postgres(schema),
		fmt.Sprintf(`UPDATE outbox_entry SET lease_until = now() + interval '1 hour' WHERE key = '%s'`, version02.Alive),
		fmt.Sprintf(`INSERT INTO outbox_entry (key, digest, operation, body, sealed, not_before, created_at)
			SELECT 'more ' || n, '', 'trigger event', '{}', false, now(), now() FROM generate_series(1, %d) AS n`, more),
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

func TestMigrateUpgradesATableOfVersion02FromManyProcessesAtOnce(t *testing.T) {
	source := pgtest.URL(t)
	pool, err := pgxpool.New(t.Context(), source)
	require.NoError(t, err)
	defer pool.Close()
	newVersion02(t, pool, 1000)
	_, err = postgres.New(t.Context(), pool)
	require.ErrorContains(t, err, "call postgres.Migrate(ctx, db)")
	// An index that an interrupted call has left behind.
	_, err = pool.Exec(t.Context(), `CREATE INDEX outbox_entry_next ON outbox_entry (id)`)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'outbox_entry_next'::regclass`)
	require.NoError(t, err)

	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			own, err := pgxpool.New(t.Context(), source)
			if assert.NoError(t, err) {
				defer own.Close()
				assert.NoError(t, postgres.Migrate(t.Context(), own))
			}
		})
	}
	group.Wait()
	store, err := postgres.New(t.Context(), pool)
	require.NoError(t, err)
	l := store.Ledger()
	counts, err := l.Counts(t.Context())
	require.NoError(t, err)
	assert.Equal(t, [6]int{1004, 2, 1, 1, 3, 1}, counts.ByState)
	assert.Greater(t, counts.OldestDue, 24*time.Hour, "from when it was due")
	claimed, err := l.Claim(t.Context(), ledger.Claim{Lease: time.Minute, Limit: 3, Operation: "trigger event", MaxBytes: 1 << 20})
	require.NoError(t, err)
	var keys []string
	for _, c := range claimed {
		keys = append(keys, c.Key)
	}
	assert.ElementsMatch(t, []string{"pending", "pending, denied once", "pending, resent"}, keys, "those that have been due for longest")
	swept, err := l.Sweep(t.Context(), 10)
	require.NoError(t, err)
	assert.Len(t, swept, 1, "whose process is gone")
	decisions, err := l.Resend(t.Context(), []string{"rejected", "unclear, quarantined", "unclear, response lost", "unclear, swept"})
	require.NoError(t, err)
	for _, d := range decisions {
		assert.True(t, d.Changed, d.Key)
	}
	fresh := pgtest.Pool(t)
	require.NoError(t, postgres.Migrate(t.Context(), fresh))
	assert.Equal(t, indexesOf(t, fresh), indexesOf(t, pool))
}

// indexesOf returns the names of the indexes that can be used.
func indexesOf(t *testing.T, pool *pgxpool.Pool) []string {
	rows, err := pool.Query(t.Context(), `SELECT relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = 'outbox_entry'::regclass AND indisvalid ORDER BY 1`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

// TestMigrateLocksNobodyOutForLong lets the upgrade wait for a transaction, so that others
// wait behind it. What they wait at most is the lock_timeout of the upgrade, which is
// measured with a million entries in the module torture.
func TestMigrateLocksNobodyOutForLong(t *testing.T) {
	pool := pgtest.Pool(t)
	newVersion02(t, pool, 1000)
	held, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = held.Exec(t.Context(), `UPDATE outbox_entry SET attempts = 1 WHERE key = 'pending'`)
	require.NoError(t, err)
	defer func() { _ = held.Rollback(context.Background()) }() // for what waits for it
	migrated := make(chan error, 1)
	go func() { migrated <- postgres.Migrate(t.Context(), pool) }()
	for range 2 { // it waits, gives up and tries again
		var statement string
		require.Eventually(t, func() bool {
			statement = waitingUpgrade(t, pool)
			return statement != ""
		}, 5*time.Minute, time.Millisecond)
		require.Contains(t, statement, `set_config('lock_timeout', '2s', true)`)
		limited, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		_, err := pool.Exec(limited, `UPDATE outbox_entry SET attempts = 1 WHERE key = 'more 1'`)
		cancel()
		require.NoError(t, err, "while the transaction is open")
	}
	require.NoError(t, held.Commit(t.Context()))
	require.NoError(t, <-migrated)
}

// waitingUpgrade returns the statement that waits for a lock that locks out everybody, or "".
func waitingUpgrade(t *testing.T, pool *pgxpool.Pool) (statement string) {
	err := pool.QueryRow(t.Context(), `SELECT query FROM pg_locks JOIN pg_stat_activity USING (pid)
		WHERE relation = 'outbox_entry'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted`).Scan(&statement)
	if !errors.Is(err, pgx.ErrNoRows) {
		assert.NoError(t, err)
	}
	return statement
}

func TestMigrateNeedsTwoConnectionsForAnUpgrade(t *testing.T) {
	db := open(t, pgtest.URL(t))
	db.SetMaxOpenConns(1)
	require.NoError(t, postgres.Migrate(t.Context(), db))
	_, err := db.ExecContext(t.Context(), `UPDATE outbox_meta SET version = 1`)
	require.NoError(t, err)
	require.ErrorContains(t, postgres.Migrate(t.Context(), db), "at least 2 connections")
}

func TestOwnTransactionsAreReadCommitted(t *testing.T) {
	config, err := pgxpool.ParseConfig(pgtest.URL(t))
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	config.ConnConfig.RuntimeParams["DateStyle"] = "German, DMY"
	config.ConnConfig.RuntimeParams["TimeZone"] = "Asia/Kathmandu"
	config.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	store, err := postgres.New(t.Context(), pool)
	require.NoError(t, err)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 50 {
				key := fmt.Sprintf("%d %d", i, n)
				_, err := store.Ledger().Insert(context.Background(), []ledger.NewEntry{{Key: key, Operation: "trigger event", Digest: []byte{1}}})
				assert.NoError(t, err)
				_, err = store.Ledger().Claim(context.Background(), ledger.Claim{Token: ledger.Token{byte(i + 1)}, Lease: time.Minute, Limit: 3,
					Operation: "trigger event", MaxBytes: 100})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
}
