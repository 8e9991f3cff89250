package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/outboxriver"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

// task is what a worker process does until it is killed: it sends the entries of some
// databases to nowhere.
type task struct {
	Databases []string
	InFlight  int
	// SendDelay is how long a send takes, and Distance how long a round trip to the
	// database takes in addition.
	SendDelay, Distance time.Duration
	KeepSettled         time.Duration // 0 for the default
	River               bool
}

// nowhere accepts every request after a delay, and counts.
type nowhere struct {
	delay time.Duration
	sent  atomic.Int64
}

func (n *nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	if n.delay > 0 {
		time.Sleep(n.delay)
	}
	n.sent.Add(1)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"success":true,"data":true}`))}, nil
}

func (n *nowhere) client() (*messaging.Client, error) {
	return messaging.NewClient("https://nowhere.test", "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: n}))
}

// far is a connection to a database far away.
type far struct {
	net.Conn
	distance time.Duration
}

func (f far) Write(b []byte) (int, error) {
	time.Sleep(f.distance)
	return f.Conn.Write(b)
}

// connect opens a pool whose round trips take longer by a distance.
func connect(ctx context.Context, database string, distance time.Duration) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	if dial := config.ConnConfig.DialFunc; distance > 0 {
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return far{conn, distance}, err
		}
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// work is the main function of a worker process. It prints again and again how much it has
// sent.
func (t task) work(ctx context.Context) error {
	to := &nowhere{delay: t.SendDelay}
	client, err := to.client()
	if err != nil {
		return err
	}
	var all shards
	var pool *pgxpool.Pool
	for _, database := range t.Databases {
		if pool, err = connect(ctx, database, t.Distance); err != nil {
			return err
		}
		o, err := t.outbox(ctx, pool, client)
		if err != nil {
			return err
		}
		all = append(all, o)
	}
	process.Ready()
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			process.Print(to.sent.Load())
		}
	}()
	if t.River {
		return t.runRiver(ctx, pool, all[0])
	}
	return all.run(ctx)
}

func (t task) outbox(ctx context.Context, pool *pgxpool.Pool, client *messaging.Client) (*outbox.Outbox[pgx.Tx], error) {
	store, err := postgres.New(ctx, pool)
	if err != nil {
		return nil, err
	}
	opts := []outbox.Option{outbox.WithInFlight(t.InFlight)}
	if t.KeepSettled > 0 {
		opts = append(opts, outbox.WithKeepSettled(t.KeepSettled))
	}
	return outbox.New(store, client, opts...)
}

// runRiver works the jobs until ctx ends.
func (t task) runRiver(ctx context.Context, pool *pgxpool.Pool, o *outbox.Outbox[pgx.Tx]) error {
	config := &river.Config{Logger: slog.New(slog.DiscardHandler)}
	outboxriver.Register(river.NewWorkers(), config, o)
	client, err := river.NewClient(riverpgxv5.New(pool), config)
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return client.Stop(context.WithoutCancel(ctx))
}

// crew is worker processes and what they have sent.
type crew struct {
	workers []*process.Process
	sent    []atomic.Int64
}

// hire starts n worker processes.
func hire(n int, t task) (*crew, error) {
	c := &crew{sent: make([]atomic.Int64, n)}
	for i := range n {
		w, err := process.Start(t)
		if err != nil {
			c.fire()
			return nil, err
		}
		c.workers = append(c.workers, w)
		go func() {
			var sent int64
			for w.Read(&sent) == nil {
				c.sent[i].Store(sent)
			}
		}()
	}
	return c, nil
}

// fire ends all processes.
func (c *crew) fire() {
	for _, w := range c.workers {
		w.Kill()
	}
}

// total returns how much all processes have sent.
func (c *crew) total() (n int64) {
	for i := range c.sent {
		n += c.sent[i].Load()
	}
	return n
}

// rate measures how much n worker processes send in a second, some time after the first
// send.
func (l *lab) rate(n int, t task) (float64, error) {
	c, err := hire(n, t)
	if err != nil {
		return 0, err
	}
	defer c.fire()
	for deadline := time.Now().Add(time.Minute); c.total() == 0; {
		if time.Now().After(deadline) {
			return 0, errors.New("nothing was sent within a minute")
		}
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(l.warm)
	before, start := c.total(), time.Now()
	time.Sleep(l.window)
	return float64(c.total()-before) / time.Since(start).Seconds(), nil
}
