package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/messaging-go/messaging"
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
	work(context.Context, *messaging.Client) error
	// left returns how many requests are still to be sent.
	left(context.Context) (int, error)
	// unknown returns the keys of the requests that it lists as neither sent nor to be
	// sent.
	unknown(context.Context) (map[string]bool, error)
	close()
}

// way is a contender before it is opened.
type way struct {
	// ID names it in the arguments of a worker, and Name in the table.
	ID, Name string
	// Module is its module, whose version is shown, or "".
	Module string
	// Settings are what differs from its defaults.
	Settings string
	// Listed is where a send is listed whose outcome is unknown.
	Listed   string
	Postgres bool
	// Ours is true for this outbox.
	Ours bool
	open func(ctx context.Context, database string, inFlight int) (contender, error)
}

var ways = []way{
	{ID: "sqlite", Name: "this outbox, SQLite", Ours: true,
		Settings: "`WithInFlight(32)`, `WithSendTimeout(2s)`; the callers share a connection, since SQLite has one writer",
		Listed:   "`Counts` and `List`", open: openSQLite},
	{ID: "postgres", Name: "this outbox, Postgres", Ours: true, Settings: "`WithInFlight(32)`, `WithSendTimeout(2s)`", Postgres: true,
		Listed: "`Counts` and `List`", open: openPostgres},
	{ID: "river", Name: "River", Module: "github.com/riverqueue/river", Postgres: true,
		Settings: "`InsertTx` with a unique key, the worker returns the error of the send; 32 workers, `FetchCooldown` 5 ms, " +
			"`JobTimeout` 5 s and `RescueStuckJobsAfter` 10 s instead of an hour, so that the run ends; it records completed jobs in batches",
		Listed: "nowhere: it is sent again", open: openRiver},
	{ID: "loop", Name: "SKIP LOCKED loop", Postgres: true,
		Settings: "32 goroutines, each with one row and one transaction; an error puts the row off for a second",
		Listed:   "nowhere: it is sent again", open: openLoop},
	{ID: "watermill", Name: "Watermill SQL forwarder", Module: "github.com/ThreeDotsLabs/watermill-sql/v4", Postgres: true,
		Settings: "default schema and batch of 100, which is acknowledged as a whole; one message at a time and in order, " +
			"as the forwarder does; `ResendInterval` 100 ms instead of a second",
		Listed: "nowhere: it is sent again", open: openWatermill},
}

func wayOf(id string) (way, error) {
	for _, w := range ways {
		if w.ID == id {
			return w, nil
		}
	}
	return way{}, fmt.Errorf("unknown way %q", id)
}

// version returns the version of the module, or "".
func (w way) version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == w.Module {
			return module.Version
		}
	}
	return ""
}

const createOrders = `CREATE TABLE orders (id text PRIMARY KEY, total bigint NOT NULL)`

// keyOf returns the i-th key.
func keyOf(i int) string { return fmt.Sprintf("order-%07d", i) }

func keysOf(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = keyOf(i)
	}
	return keys
}

// eventID is the ID of the event that the requests trigger.
const eventID = "0197c7f5-order-shipped"

// request returns the request of a key.
func request(key string) *messaging.Prepared {
	p, err := messaging.EventTriggerParams{EventID: eventID, Email: "ada@example.com",
		Values: map[string]any{"key": key, "carrier": "post"}}.Prepare()
	if err != nil {
		panic(err)
	}
	return p
}

// stored is a request as the ways other than this outbox store it.
type stored struct {
	Key       string `json:"key"`
	Operation string `json:"operation"`
	Body      []byte `json:"body"`
}

func storedOf(key string) stored {
	p := request(key)
	return stored{key, p.Operation(), p.Body()}
}

// send sends the request with the default settings of the client.
func (s stored) send(ctx context.Context, client *messaging.Client) error {
	p, err := messaging.ParsePrepared(s.Operation, s.Body)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, p)
	return err
}
