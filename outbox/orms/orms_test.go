package orms_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	_ "modernc.org/sqlite"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	outboxpostgres "github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

var errRollback = errors.New("roll back")

// transaction calls fn with what the library has for a transaction, and commits it if fn
// returns nil.
type transaction func(t *testing.T, db *sql.DB, fn func(outbox.SQLTx) error) error

var transactions = map[string]transaction{
	"database sql": func(t *testing.T, db *sql.DB, fn func(outbox.SQLTx) error) error {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		return end(fn(tx), tx)
	},
	"sqlx": func(t *testing.T, db *sql.DB, fn func(outbox.SQLTx) error) error {
		tx, err := sqlx.NewDb(db, "pgx").BeginTxx(t.Context(), nil)
		require.NoError(t, err)
		return end(fn(tx), tx)
	},
	"Bun": func(t *testing.T, db *sql.DB, fn func(outbox.SQLTx) error) error {
		return bun.NewDB(db, pgdialect.New()).RunInTx(t.Context(), nil, func(_ context.Context, tx bun.Tx) error { return fn(tx.Tx) })
	},
	"GORM": func(t *testing.T, db *sql.DB, fn func(outbox.SQLTx) error) error {
		return openGORM(t, db, false).Transaction(func(tx *gorm.DB) error { return fn(tx.Statement.ConnPool) })
	},
	"GORM with prepared statements": func(t *testing.T, db *sql.DB, fn func(outbox.SQLTx) error) error {
		return openGORM(t, db, true).Transaction(func(tx *gorm.DB) error { return fn(tx.Statement.ConnPool) })
	},
	"ent": func(t *testing.T, db *sql.DB, fn func(outbox.SQLTx) error) error {
		tx, err := entsql.OpenDB(dialect.Postgres, db).BeginTx(t.Context(), nil)
		require.NoError(t, err)
		return end(fn(tx.(*entsql.Tx)), tx)
	},
}

func openGORM(t *testing.T, db *sql.DB, prepared bool) *gorm.DB {
	opened, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{PrepareStmt: prepared})
	require.NoError(t, err)
	return opened
}

func end(err error, tx interface {
	Commit() error
	Rollback() error
}) error {
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func request(t *testing.T) *messaging.Prepared {
	p, err := messaging.PushBroadcastParams{Subject: "Shipped", Message: "An order has shipped",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	require.NoError(t, err)
	return p
}

func TestEveryLibraryEnqueuesAndDismissesInItsTransactions(t *testing.T) {
	for name, transaction := range transactions {
		t.Run(name, func(t *testing.T) {
			db := open(t, "pgx", pgtest.URL(t))
			enqueueAndDismiss(t, db, newOutbox(t, db), transaction)
		})
	}
	t.Run("sqlx on SQLite", func(t *testing.T) {
		db := open(t, "sqlite", filepath.Join(t.TempDir(), "shop.db")+"?_txlock=immediate")
		store, err := sqlite.New(t.Context(), db)
		require.NoError(t, err)
		enqueueAndDismiss(t, db, newSendingOutbox(t, store, messagingtest.NewServer(t)), transactions["sqlx"])
	})
}

func enqueueAndDismiss(t *testing.T, db *sql.DB, o *outbox.Outbox[outbox.SQLTx], transaction transaction) {
	require.ErrorIs(t, transaction(t, db, func(tx outbox.SQLTx) error {
		_, err := o.EnqueueTx(t.Context(), tx, outbox.Item{Key: "rolled back", Prepared: request(t)})
		require.NoError(t, err)
		return errRollback
	}), errRollback)
	require.NoError(t, transaction(t, db, func(tx outbox.SQLTx) error {
		_, err := o.EnqueueAllTx(t.Context(), tx, outbox.Item{Key: "committed", Prepared: request(t)},
			outbox.Item{Key: "withdrawn", Prepared: request(t)})
		require.NoError(t, err)
		decisions, err := o.DismissTx(t.Context(), tx, "withdrawn")
		require.NoError(t, err)
		assert.True(t, decisions[0].Changed)
		return nil
	}))
	_, err := o.Get(t.Context(), "rolled back")
	require.ErrorIs(t, err, outbox.ErrNoEntry)
	for key, state := range map[string]outbox.State{"committed": outbox.Pending, "withdrawn": outbox.Dismissed} {
		entry, err := o.Get(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, state, entry.State)
	}
}

func TestWhatIsNoTransactionOfALibraryIsRejected(t *testing.T) {
	db := open(t, "pgx", pgtest.URL(t))
	o := newOutbox(t, db)
	require.NoError(t, bun.NewDB(db, pgdialect.New()).RunInTx(t.Context(), nil, func(_ context.Context, tx bun.Tx) error {
		_, err := o.EnqueueTx(t.Context(), tx, outbox.Item{Key: "order", Prepared: request(t)})
		require.ErrorIs(t, err, outbox.ErrNoTransaction)
		require.ErrorContains(t, err, "the field Tx")
		return nil
	}))
	for name, tx := range map[string]outbox.SQLTx{
		"sqlx": sqlx.NewDb(db, "pgx"), "GORM": openGORM(t, db, false).Statement.ConnPool,
		"GORM with prepared statements": openGORM(t, db, true).Statement.ConnPool,
	} {
		_, err := o.EnqueueTx(t.Context(), tx, outbox.Item{Key: "order", Prepared: request(t)})
		require.ErrorIs(t, err, outbox.ErrNoTransaction, name)
	}
}

func open(t *testing.T, driver, source string) *sql.DB {
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// newOutbox returns an outbox in a new schema of Postgres.
func newOutbox(t *testing.T, db *sql.DB) *outbox.Outbox[outbox.SQLTx] {
	require.NoError(t, outboxpostgres.Migrate(t.Context(), db))
	store, err := outboxpostgres.NewSQL(t.Context(), db)
	require.NoError(t, err)
	return newSendingOutbox(t, store, messagingtest.NewServer(t))
}

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
	assert.WithinDuration(t, start.Add(100*24*time.Hour), later.DueAt, time.Minute)
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
