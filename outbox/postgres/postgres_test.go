package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
)

func TestNewSaysToCallMigrate(t *testing.T) {
	pool := pgtest.Pool(t)
	_, err := postgres.New(t.Context(), pool)
	require.EqualError(t, err, "outbox: postgres: the tables are missing: call postgres.Migrate(ctx, db)")
	db := open(t, pgtest.URL(t))
	_, err = postgres.NewSQL(t.Context(), db)
	require.EqualError(t, err, "outbox: postgres: the tables are missing: call postgres.Migrate(ctx, db)")
	require.NoError(t, postgres.Migrate(t.Context(), db))
	_, err = postgres.NewSQL(t.Context(), db)
	require.NoError(t, err)

	_, err = postgres.New(t.Context(), nil)
	require.EqualError(t, err, "outbox: postgres: pool must not be nil")
	_, err = postgres.NewSQL(t.Context(), nil)
	require.EqualError(t, err, "outbox: postgres: db must not be nil")
	require.EqualError(t, postgres.Migrate(t.Context(), (*sql.DB)(nil)), "outbox: postgres: migrate: db must not be nil")
	require.EqualError(t, postgres.Migrate(t.Context(), (*pgxpool.Pool)(nil)), "outbox: postgres: migrate: db must not be nil")
}

// migrated returns a pool of connections with runtime parameters, as name and value by turns,
// and a store in its database.
func migrated(t *testing.T, parameters ...string) (*pgxpool.Pool, *postgres.Store) {
	config, err := pgxpool.ParseConfig(pgtest.URL(t))
	require.NoError(t, err)
	for i := 0; i < len(parameters); i += 2 {
		config.ConnConfig.RuntimeParams[parameters[i]] = parameters[i+1]
	}
	config.MaxConns = 8
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	store, err := postgres.New(t.Context(), pool)
	require.NoError(t, err)
	return pool, store
}

// entry is an entry to insert.
func entry(key string) ledger.NewEntry {
	return ledger.NewEntry{Key: key, Operation: "trigger event", Digest: []byte{1}, Priority: ledger.Normal}
}

func TestTheTablesStayInTheirSchemaWhateverTheSearchPath(t *testing.T) {
	pool, store := migrated(t)
	schema := pool.Config().ConnConfig.RuntimeParams["search_path"]
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SET LOCAL search_path = pg_catalog`)
	require.NoError(t, err)
	_, err = ledger.Open(store.Ledger()).InsertTx(t.Context(), tx, []ledger.NewEntry{entry("order")})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM `+schema+`.outbox_entry`).Scan(&n))
	assert.Equal(t, 1, n)

	nowhere := strings.Replace(pool.Config().ConnString(), schema, "no_such_schema", 1)
	_, err = postgres.NewSQL(t.Context(), open(t, nowhere))
	require.EqualError(t, err, "outbox: postgres: no schema of the search path exists")
}

// TestOwnTransactionsAreDurable records the setting that the commit of a statement obeys, in
// a session with the opposite setting.
func TestOwnTransactionsAreDurable(t *testing.T) {
	pool, store := migrated(t, "synchronous_commit", "off")
	_, err := pool.Exec(t.Context(), `
		CREATE TABLE settings (id bigserial, value text);
		CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO settings (value) VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
		CREATE TRIGGER record AFTER INSERT OR UPDATE ON outbox_entry FOR EACH ROW EXECUTE FUNCTION record();
		CREATE TRIGGER record AFTER INSERT OR DELETE ON outbox_pause FOR EACH ROW EXECUTE FUNCTION record()`)
	require.NoError(t, err)
	lastSetting := func() (value string) {
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT value FROM settings ORDER BY id DESC LIMIT 1`).Scan(&value))
		return value
	}
	l, ctx := ledger.Open(store.Ledger()), t.Context()
	insert := func(key string) error {
		_, err := l.Insert(ctx, []ledger.NewEntry{entry(key)})
		return err
	}
	claim := func(keys ...string) error {
		_, err := l.Claim(ctx, ledger.Claim{Look: triggers, MaxBytes: 1, Lease: time.Minute, Limit: 1, Keys: keys})
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"insert", func() error { return insert("a") }},
		{"claim", func() error { return claim() }},
		{"insert", func() error { return insert("b") }},
		{"claim by key", func() error { return claim("b") }},
		{"quarantine", func() error { _, err := l.Quarantine(ctx); return err }},
		{"dismiss", func() error { _, err := l.Dismiss(ctx, []string{"a"}); return err }},
		{"pause", func() error { return l.Pause(ctx, []string{"trigger event"}) }},
		{"resume", func() error { return l.Resume(ctx, []string{"trigger event"}) }},
	} {
		_, err := pool.Exec(ctx, `DELETE FROM settings`)
		require.NoError(t, err)
		require.NoError(t, step.do(), step.name)
		assert.Equal(t, "on", lastSetting(), step.name)
	}

	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	_, err = l.InsertTx(ctx, tx, []ledger.NewEntry{entry("of the program")})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))
	assert.Equal(t, "off", lastSetting(), "a transaction of the program keeps its setting")
}

// triggers are entries that wait for no time.
var triggers = ledger.Look{Class: ledger.Class{Operation: "trigger event", Lane: ledger.Normal}}

func TestOwnTransactionsAreReadCommitted(t *testing.T) {
	_, store := migrated(t, "default_transaction_isolation", "serializable", "DateStyle", "German, DMY", "TimeZone", "Asia/Kathmandu")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 50 {
				_, err := ledger.Open(store.Ledger()).Insert(context.Background(), []ledger.NewEntry{entry(fmt.Sprintf("%d %d", i, n))})
				assert.NoError(t, err)
				_, err = ledger.Open(store.Ledger()).Claim(context.Background(), ledger.Claim{Token: ledger.Token{byte(i + 1)},
					Lease: time.Minute, Limit: 3, Look: triggers, MaxBytes: 100})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
}

func TestMigrateFromManyProcessesAtOnceAndAgainAndWithAShortStatementTimeout(t *testing.T) {
	source := pgtest.URL(t)
	config, err := pgxpool.ParseConfig(source)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["statement_timeout"] = "200"
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			pool, err := pgxpool.NewWithConfig(t.Context(), config.Copy())
			if assert.NoError(t, err) {
				defer pool.Close()
				assert.NoError(t, postgres.Migrate(t.Context(), pool))
			}
		})
	}
	group.Wait()
	pool, err := pgxpool.New(t.Context(), source)
	require.NoError(t, err)
	defer pool.Close()
	store, err := postgres.New(t.Context(), pool)
	require.NoError(t, err)
	key := ledger.Open(store.Ledger()).DigestKey()
	assert.Len(t, key, 32)
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	store, err = postgres.New(t.Context(), pool)
	require.NoError(t, err)
	assert.Equal(t, key, ledger.Open(store.Ledger()).DigestKey())
	_, err = pool.Exec(t.Context(), `UPDATE outbox_meta SET version = 7; ALTER TABLE outbox_entry ADD COLUMN later text`)
	require.NoError(t, err)
	require.NoError(t, postgres.Migrate(t.Context(), pool), "programs of version 1 can use these tables")
	store, err = postgres.New(t.Context(), pool)
	require.NoError(t, err)
	_, err = ledger.Open(store.Ledger()).Insert(t.Context(), []ledger.NewEntry{entry("order")})
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `UPDATE outbox_meta SET compatible = 6`)
	require.NoError(t, err)
	_, err = postgres.New(t.Context(), pool)
	const newer = "schema version 7 needs a program for version 6 or later, and this one is for 1"
	require.ErrorContains(t, err, newer)
	require.ErrorContains(t, postgres.Migrate(t.Context(), pool), newer)
}

func open(t *testing.T, source string) *sql.DB {
	db, err := sql.Open("pgx", source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}
