// Package sidebyside sends the same requests to the same service with this outbox, River, and
// a loop that locks rows. It kills the processes that send, and shows which requests were
// carried out twice.
package sidebyside

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// contender is one way to send requests after the transaction that they belong to.
type contender interface {
	// create creates the tables.
	create(context.Context) error
	// commit enqueues a request in a transaction that also makes a change. The change is
	// a row in the table "orders".
	commit(ctx context.Context, key string) error
	// fill enqueues the requests of many keys.
	fill(ctx context.Context, keys []string) error
	// work sends requests until ctx ends.
	work(context.Context) error
	// left returns how many requests are still to be sent.
	left(context.Context) (int, error)
	// unknown returns the keys of the requests that it lists as neither sent nor to be
	// sent.
	unknown(context.Context) (map[string]bool, error)
	close()
}

// way is a contender before it is opened.
type way struct {
	name string
	// module is its module, whose version is shown, or "".
	module string
	onFile bool // in SQLite, and not on Postgres
	// ours is true for this outbox.
	ours bool
	open func(ctx context.Context, database string, client *messaging.Client) (contender, error)
}

var ways = []way{
	{name: "this outbox, SQLite", ours: true, onFile: true, open: openOurs},
	{name: "this outbox, Postgres", ours: true, open: openOurs},
	{name: "River", module: "github.com/riverqueue/river", open: openRiver},
	{name: "SKIP LOCKED loop", open: openLoop},
}

// inFlight is how many requests each way sends at a time.
const inFlight = 32

// String returns the name with the version.
func (w way) String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return w.name
	}
	for _, module := range info.Deps {
		if module.Path == w.module {
			return w.name + " " + strings.TrimPrefix(module.Version, "v")
		}
	}
	return w.name
}

// Name is the name of the process that sends among the child processes of this program.
const Name = "sidebyside"

// task is what that process does.
type task struct {
	Way           int
	Database, URL string
}

// Work is the main function of the process that sends.
func Work(ctx context.Context, encoded string) error {
	var t task
	if err := json.Unmarshal([]byte(encoded), &t); err != nil {
		return err
	}
	client, err := messaging.NewClient(t.URL, "test-key-1")
	if err != nil {
		return err
	}
	c, err := ways[t.Way].open(ctx, t.Database, client)
	if err != nil {
		return err
	}
	defer c.close()
	process.Ready()
	return c.work(ctx)
}

const createOrders = `CREATE TABLE orders (id text PRIMARY KEY, total bigint NOT NULL)`

func createOn(ctx context.Context, pool *pgxpool.Pool, statements ...string) error {
	for _, statement := range statements {
		if _, err := pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// order makes a change and enqueues its request, in one transaction.
func order(ctx context.Context, pool *pgxpool.Pool, key string, enqueue func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, 4711)`, key); err != nil {
			return err
		}
		return enqueue(tx)
	})
}

// stored is a request as the ways other than this outbox store it.
type stored struct {
	Key       string `json:"key"`
	Operation string `json:"operation"`
	Body      []byte `json:"body"`
}

func storedOf(key string) stored {
	p := worker.Request(key)
	return stored{key, p.Operation(), p.Body()}
}

// send sends the request with the default settings of the client.
func (s stored) send(ctx context.Context, client *messaging.Client) error {
	p, err := messaging.ParsePrepared(s.Operation, s.Body)
	if err != nil {
		return fmt.Errorf("stored request: %w", err)
	}
	_, err = client.Send(ctx, p)
	return err
}
