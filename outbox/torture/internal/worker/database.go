package worker

import (
	"context"
	"crypto/rand"
	"iter"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
)

// Box is an Outbox without the type of its transactions.
type Box interface {
	Enqueue(context.Context, outbox.Item) (outbox.Entry, error)
	EnqueueAll(context.Context, iter.Seq2[outbox.Item, error]) (outbox.Enqueued, error)
	Run(context.Context) error
	Get(context.Context, string) (outbox.Entry, error)
	Counts(context.Context) (outbox.Counts, error)
	List(context.Context, outbox.Filter) iter.Seq2[outbox.Entry, error]
	Resend(context.Context, ...string) ([]outbox.Decision, error)
	Quarantine(context.Context) (int, error)
}

// Database is an open database with an outbox.
type Database struct {
	Box
	Ledger ledger.Ledger

	// The outbox and the pool of a Postgres, or nil.
	Postgres *outbox.Outbox[pgx.Tx]
	Pool     *pgxpool.Pool

	file *sqlitefile.Store
}

// Create creates the tables of the outbox and of River in a new schema of a server, or in a
// new SQLite file in a folder if there is no server. It returns the name for [Open].
func Create(ctx context.Context, server, dir string, parameters ...string) (string, error) {
	if server == "" {
		return filepath.Join(dir, strings.ToLower(rand.Text())+".db"), nil
	}
	name, err := pgserver.NewSchema(ctx, server, parameters...)
	if err != nil {
		return "", err
	}
	pool, err := pgxpool.New(ctx, name)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool); err != nil {
		return "", err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return "", err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return name, err
}

// Open opens a database. The client may be nil, and then sends nowhere.
func Open(ctx context.Context, name string, client *messaging.Client, opts ...outbox.Option) (db *Database, err error) {
	if client == nil {
		if client, err = new(Nowhere).Client(); err != nil {
			return nil, err
		}
	}
	db = &Database{}
	if !strings.HasPrefix(name, "postgres") {
		err = db.openFile(ctx, name, client, opts)
	} else {
		err = db.connect(ctx, name, client, opts)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func (db *Database) openFile(ctx context.Context, name string, client *messaging.Client, opts []outbox.Option) (err error) {
	if db.file, err = sqlitefile.Open(ctx, name); err != nil {
		return err
	}
	db.Ledger = ledger.Open(db.file.Ledger())
	db.Box, err = outbox.New(db.file, client, opts...)
	return err
}

func (db *Database) connect(ctx context.Context, name string, client *messaging.Client, opts []outbox.Option) error {
	var err error
	if db.Pool, err = pgxpool.New(ctx, name); err != nil {
		return err
	}
	store, err := postgres.New(ctx, db.Pool)
	if err != nil {
		return err
	}
	db.Ledger = ledger.Open(store.Ledger())
	db.Postgres, err = outbox.New(store, client, opts...)
	db.Box = db.Postgres
	return err
}

// Close closes the database.
func (db *Database) Close() {
	if db.file != nil {
		_ = db.file.Close()
	}
	if db.Pool != nil {
		db.Pool.Close()
	}
}
