package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
)

// version1 makes the tables of version 0.2 with an entry in each state, and more that are
// pending.
func version1(t *testing.T, pool *pgxpool.Pool, more int) {
	for _, statement := range []string{
		`CREATE TABLE outbox_meta (id integer PRIMARY KEY CHECK (id = 1), version integer NOT NULL, digest_key bytea NOT NULL)`,
		`CREATE TABLE outbox_entry (
			id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text COLLATE "C" NOT NULL UNIQUE, digest bytea NOT NULL,
			operation text NOT NULL, body bytea, sealed boolean NOT NULL, state smallint NOT NULL DEFAULT 0, token bytea,
			attempts integer NOT NULL DEFAULT 0, refusals integer NOT NULL DEFAULT 0, owner text NOT NULL DEFAULT '',
			not_before timestamptz NOT NULL, claimed_at timestamptz, lease_until timestamptz, settled_at timestamptz,
			delivery smallint NOT NULL DEFAULT 1, error text NOT NULL DEFAULT '', created_at timestamptz NOT NULL
		) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)`,
		`CREATE INDEX outbox_entry_due ON outbox_entry (not_before, id) WHERE state = 0`,
		`CREATE INDEX outbox_entry_lease ON outbox_entry (lease_until) WHERE state = 1`,
		`CREATE INDEX outbox_entry_accepted ON outbox_entry (settled_at) WHERE state = 2`,
		`CREATE INDEX outbox_entry_rejected ON outbox_entry (id) WHERE state = 3`,
		`CREATE INDEX outbox_entry_unclear ON outbox_entry (id) WHERE state = 4`,
		`CREATE INDEX outbox_entry_dismissed ON outbox_entry (settled_at) WHERE state = 5`,
		`INSERT INTO outbox_meta VALUES (1, 1, '\x00')`,
		`INSERT INTO outbox_entry (key, digest, operation, body, sealed, state, token, not_before, claimed_at, lease_until, settled_at,
			delivery, created_at)
			SELECT 'state ' || s, '', 'trigger event', '{}', false, s, CASE WHEN s > 0 THEN '\x01'::bytea END, now() - interval '1 minute',
				CASE WHEN s = 1 THEN now() - interval '2 hours' END, CASE WHEN s = 1 THEN now() - interval '1 hour' END,
				CASE WHEN s > 1 THEN now() END, CASE WHEN s IN (1, 4) THEN 0 ELSE 1 END, now() - interval '1 hour'
			FROM generate_series(0, 5) AS s`,
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
	version1(t, pool, 1000)
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
	assert.Equal(t, [6]int{1001, 1, 1, 1, 1, 1}, counts.ByState)
	assert.InDelta(t, time.Minute, counts.OldestDue, float64(30*time.Second), "from when it was due")
	claimed, err := l.Claim(t.Context(), ledger.Claim{Lease: time.Minute, Limit: 1, Operation: "trigger event", MaxBytes: 100})
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	assert.Equal(t, "state 0", claimed[0].Key)
	swept, err := l.Sweep(t.Context(), 10)
	require.NoError(t, err)
	assert.Len(t, swept, 1)
	decisions, err := l.Resend(t.Context(), []string{"state 3", "state 4"})
	require.NoError(t, err)
	for _, d := range decisions {
		assert.True(t, d.Changed, d.Key)
	}
	var valid int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = 'outbox_entry'::regclass AND indisvalid
			AND relname <> 'outbox_entry_due' AND relname <> 'outbox_entry_accepted'`).Scan(&valid))
	assert.Equal(t, 10, valid)
}

func TestMigrateLocksNobodyOutForLong(t *testing.T) {
	pool := pgtest.Pool(t)
	version1(t, pool, 1000)
	held, err := pool.Begin(t.Context()) // which the upgrade of the table has to wait for
	require.NoError(t, err)
	_, err = held.Exec(t.Context(), `UPDATE outbox_entry SET attempts = 1 WHERE key = 'state 0'`)
	require.NoError(t, err)
	migrated := make(chan error, 1)
	go func() { migrated <- postgres.Migrate(t.Context(), pool) }()
	longest := time.Duration(0)
	for begin := time.Now(); time.Since(begin) < 3*time.Second; {
		start := time.Now()
		_, err := pool.Exec(t.Context(), `UPDATE outbox_entry SET attempts = 1 WHERE key = 'more 1'`)
		require.NoError(t, err)
		longest = max(longest, time.Since(start))
		time.Sleep(10 * time.Millisecond)
	}
	assert.Greater(t, longest, time.Second, "the upgrade has waited for the lock")
	assert.Less(t, longest, 5*time.Second/2)
	require.NoError(t, held.Commit(t.Context()))
	require.NoError(t, <-migrated)
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
				_, err := store.Ledger().Insert(context.Background(), []ledger.NewEntry{{Key: key, Operation: "trigger event"}})
				assert.NoError(t, err)
				_, err = store.Ledger().Claim(context.Background(), ledger.Claim{Token: ledger.Token{byte(i + 1)}, Lease: time.Minute, Limit: 3,
					Operation: "trigger event", MaxBytes: 100})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
}
