package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/outboxriver"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// box is an Outbox without the type of its transactions.
type box interface {
	Enqueue(context.Context, outbox.Item) (outbox.Entry, error)
	EnqueueAll(context.Context, iter.Seq2[outbox.Item, error]) (int, int, error)
	Run(context.Context) error
	Get(context.Context, string) (outbox.Entry, error)
	Counts(context.Context) (outbox.Counts, error)
	List(context.Context, outbox.Filter) iter.Seq2[outbox.Entry, error]
	Resend(context.Context, ...string) ([]outbox.Decision, error)
	Quarantine(context.Context) (int, error)
	PauseAll(context.Context) error
	ResumeAll(context.Context) error
}

// database is an open database with its store.
type database struct {
	file   *sqlitefile.Store // one of these two
	pg     *postgres.Store
	pool   *pgxpool.Pool
	ledger ledger.Ledger
}

func isPostgres(name string) bool { return strings.HasPrefix(name, "postgres") }

// openDatabase opens the path of a SQLite file or the URL of Postgres.
func openDatabase(ctx context.Context, name string) (*database, error) {
	if !isPostgres(name) {
		store, err := sqlitefile.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		return &database{file: store, ledger: store.Ledger()}, nil
	}
	pool, err := pgxpool.New(ctx, name)
	if err != nil {
		return nil, err
	}
	store, err := postgres.New(ctx, pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &database{pg: store, pool: pool, ledger: store.Ledger()}, nil
}

// migrate creates the tables.
func migrate(ctx context.Context, name string) error {
	if !isPostgres(name) {
		store, err := sqlitefile.Open(ctx, name)
		if err != nil {
			return err
		}
		return store.Close()
	}
	pool, err := pgxpool.New(ctx, name)
	if err != nil {
		return err
	}
	defer pool.Close()
	return postgres.Migrate(ctx, pool)
}

func (db *database) close() {
	if db.file != nil {
		_ = db.file.Close()
		return
	}
	db.pool.Close()
}

func (db *database) outbox(client *messaging.Client, opts ...outbox.Option) (box, error) {
	if db.file != nil {
		return outbox.New(db.file, client, opts...)
	}
	return outbox.New(db.pg, client, opts...)
}

// newFile returns the path of a SQLite file that does not exist.
func newFile(dir string) string { return filepath.Join(dir, strings.ToLower(rand.Text())+".db") }

// newSchema returns the URL of a new schema of a server, with the tables of the outbox
// and of River.
func newSchema(ctx context.Context, server string) (string, error) {
	name, err := newEmptySchema(ctx, server)
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

// newEmptySchema returns the URL of a new schema of a server.
func newEmptySchema(ctx context.Context, server string) (string, error) {
	schema := "torture_" + strings.ToLower(rand.Text())
	if err := execute(ctx, server, "CREATE SCHEMA "+schema); err != nil {
		return "", err
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("search_path", schema)
	query.Set("pool_max_conns", "8")
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// dropSchema removes what newSchema created.
func dropSchema(ctx context.Context, name string) error {
	u, err := url.Parse(name)
	if err != nil {
		return err
	}
	return execute(ctx, name, "DROP SCHEMA "+pgx.Identifier{u.Query().Get("search_path")}.Sanitize()+" CASCADE")
}

// connect opens a connection to a server, whose URL may contain settings of a pool.
func connect(ctx context.Context, server string) (*pgx.Conn, error) {
	config, err := pgxpool.ParseConfig(server)
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}

// execute runs statements on a server, each in a transaction.
func execute(ctx context.Context, server string, statements ...string) error {
	conn, err := connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// enqueueRiver adds n entries with their permits, in transactions of 1000.
func (db *database) enqueueRiver(ctx context.Context, o *outbox.Outbox[pgx.Tx], n int) error {
	client, err := river.NewClient(riverpgxv5.New(db.pool), &river.Config{})
	if err != nil {
		return err
	}
	var batch []outbox.Item
	flush := func() error {
		err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
			_, err := outboxriver.EnqueueAllTx(ctx, client, o, tx, batch...)
			return err
		})
		batch = batch[:0]
		return err
	}
	for item := range items(n) {
		if batch = append(batch, item); len(batch) == 1000 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// inTransactions enqueues n entries, each in a transaction of this program. It rolls
// every second transaction back.
func (db *database) inTransactions(ctx context.Context, path string, o box, n int) error {
	for i := range n {
		key := keyOf(i)
		var err error
		if db.file != nil {
			err = inFileTransaction(ctx, path, o.(*outbox.Outbox[outbox.SQLTx]), key, i%2 == 0)
		} else {
			err = db.inPostgresTransaction(ctx, o.(*outbox.Outbox[pgx.Tx]), key, i%2 == 0)
		}
		if err != nil {
			return fmt.Errorf("transaction %d: %w", i, err)
		}
	}
	return nil
}

func inFileTransaction(ctx context.Context, path string, o *outbox.Outbox[outbox.SQLTx], key string, commit bool) error {
	own, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	tx, err := own.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: request(key)}); err != nil || !commit {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (db *database) inPostgresTransaction(ctx context.Context, o *outbox.Outbox[pgx.Tx], key string, commit bool) error {
	tx, err := db.pool.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: request(key)}); err != nil || !commit {
		return errors.Join(err, tx.Rollback(ctx))
	}
	return tx.Commit(ctx)
}
