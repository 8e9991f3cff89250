// Package worker is a process that sends the entries of an outbox until it is stopped or
// killed.
package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/outboxriver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

// Name is the name of a worker among the child processes of this program.
const Name = "worker"

// Task is what a worker does.
type Task struct {
	Database string // the path of a SQLite file or the URL of Postgres
	InFlight int
	// SendTimeout and KeepSettled are those of the outbox, if they are not 0.
	SendTimeout, KeepSettled time.Duration
	// Service is the URL of the service. Without it, requests go nowhere and take SendDelay,
	// and the worker prints again and again how many it has sent.
	Service   string
	SendDelay time.Duration
	// FailDials is the part of the connections to the service that fail.
	FailDials float64
	// SlowDials makes each request need a connection, which takes 50 ms: that much time
	// passes between the check of the send timeout and the network.
	SlowDials bool
	River     bool // deliver from jobs of River instead of Run
	Alone     bool // send without an outbox, as fast as possible
}

// Start starts a worker, which is ready when this returns.
func (t Task) Start() (*process.Process, error) { return process.Start(Name, t) }

// Work is the main function of a worker process.
func Work(ctx context.Context, task string) error {
	var t Task
	if err := json.Unmarshal([]byte(task), &t); err != nil {
		return err
	}
	client, err := t.client()
	if err != nil {
		return err
	}
	if t.Alone {
		process.Ready()
		t.sendAlone(ctx, client)
		return nil
	}
	opts := []outbox.Option{outbox.WithInFlight(t.InFlight), outbox.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil)))}
	if t.SendTimeout > 0 {
		opts = append(opts, outbox.WithSendTimeout(t.SendTimeout))
	}
	if t.KeepSettled > 0 {
		opts = append(opts, outbox.WithKeepSettled(t.KeepSettled))
	}
	db, err := Open(ctx, t.Database, client, opts...)
	if err != nil {
		return err
	}
	defer db.Close()
	process.Ready()
	if t.River {
		return db.runRiver(ctx)
	}
	return db.Run(ctx)
}

// client returns a client for the service, or one that sends nowhere.
func (t Task) client() (*messaging.Client, error) {
	if t.Service == "" {
		nowhere := &Nowhere{Delay: t.SendDelay}
		go func() {
			for range time.Tick(50 * time.Millisecond) {
				if sent := nowhere.sent.Load(); sent > 0 {
					process.Print(sent)
				}
			}
		}()
		return nowhere.Client()
	}
	if t.FailDials == 0 && !t.SlowDials {
		return messaging.NewClient(t.Service, "test-key-1")
	}
	transport := messaging.NewTransport()
	transport.DisableKeepAlives = t.SlowDials
	transport.DialContext = t.dial
	return messaging.NewClient(t.Service, "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: transport}))
}

// Slowness is how long a slow connection takes.
const Slowness = 50 * time.Millisecond

// dial connects to the service, or fails.
func (t Task) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if rand.Float64() < t.FailDials {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	if t.SlowDials {
		time.Sleep(Slowness)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// sendAlone sends with one goroutine for each request in flight of an outbox.
func (t Task) sendAlone(ctx context.Context, client *messaging.Client) {
	request := Request(Key(0))
	var group sync.WaitGroup
	for range t.InFlight {
		group.Go(func() {
			for ctx.Err() == nil {
				_, _ = client.Send(ctx, request, messaging.WithoutRetries())
			}
		})
	}
	group.Wait()
}

// runRiver works River's queue until ctx ends.
func (db *Database) runRiver(ctx context.Context) error {
	config := &river.Config{Logger: slog.New(slog.DiscardHandler)}
	outboxriver.Register(config, db.Postgres)
	client, err := river.NewClient(riverpgxv5.New(db.Pool), config)
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return client.Stop(context.WithoutCancel(ctx))
}
