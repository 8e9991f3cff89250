package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/outboxriver"
)

// workerFlags configure a worker process.
type workerFlags struct {
	Database    string        // the path of a SQLite file, or the URL of Postgres
	Service     string        // the URL of the service; "" sends nowhere
	SendDelay   time.Duration // of a send that goes nowhere
	FailDials   float64       // the part of the connections that fail
	Slow        string        // the part of the client that takes 50 ms
	DownFile    string        // while this file exists, every connection fails and writes a byte to it
	Slots       int
	SendTimeout time.Duration
	Migrate     bool          // only create the tables
	River       bool          // deliver from jobs of River instead of Run
	Enqueue     int           // add this many entries instead of delivering
	BodySize    int           // of these entries, in bytes
	UntilEmpty  bool          // end when nothing is pending
	SDK         time.Duration // send without an outbox for this long, and print the rate
	Profile     string        // the file for a CPU profile
}

func (f *workerFlags) args() []string {
	encoded, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return []string{"worker", string(encoded)}
}

// measured is what a worker prints when it ends.
type measured struct {
	Seconds float64
	Count   int
	RSS     int64 // the largest resident memory, in bytes
}

// work is the main function of a worker process. It prints "ready" when it is ready, and
// what it measured when it is done.
func work(args []string) error {
	var f workerFlags
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &f) != nil {
		return flag.ErrHelp
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	endProfile, err := f.profile()
	if err != nil {
		return err
	}
	defer endProfile()
	client, err := f.client()
	if err != nil {
		return err
	}
	if f.SDK > 0 {
		fmt.Println("ready")
		return f.sdkAlone(ctx, client)
	}
	if f.Migrate {
		fmt.Println("ready")
		return migrate(ctx, f.Database)
	}
	return f.useOutbox(ctx, client)
}

// useOutbox does what the flags say with an outbox.
func (f *workerFlags) useOutbox(ctx context.Context, client *messaging.Client) error {
	db, err := openDatabase(ctx, f.Database)
	if err != nil {
		return err
	}
	defer db.close()
	o, err := db.outbox(client, outbox.WithInFlight(f.Slots), outbox.WithSendTimeout(f.SendTimeout),
		outbox.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	start := time.Now()
	switch {
	case f.Enqueue > 0:
		if _, _, err := o.EnqueueAll(ctx, itemsOf(f.Enqueue, f.BodySize)); err != nil {
			return err
		}
		return printMeasured(start, f.Enqueue)
	case f.UntilEmpty:
		return f.untilEmpty(ctx, o, db, start)
	case f.River:
		return db.runRiver(ctx, o.(*outbox.Outbox[pgx.Tx]))
	}
	return o.Run(ctx)
}

// profile begins to profile the process, if that is wanted.
func (f *workerFlags) profile() (end func(), err error) {
	if f.Profile == "" {
		return func() {}, nil
	}
	file, err := os.Create(f.Profile)
	if err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, pprof.StartCPUProfile(file)
}

// client returns a client for the service, or one that sends nowhere.
func (f *workerFlags) client() (*messaging.Client, error) {
	if f.Service == "" {
		return messaging.NewClient("https://nowhere.test", "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: nowhere(f.SendDelay)}))
	}
	var opts []messaging.Option
	switch f.Slow {
	case slowHook:
		opts = append(opts, messaging.WithHooks(messaging.Hooks{AttemptStart: waitInHook}))
	case slowLimiter:
		opts = append(opts, messaging.WithRateLimiter(slowRate{}))
	}
	if f.FailDials > 0 || f.DownFile != "" || f.Slow == slowDialer {
		transport := messaging.NewTransport()
		transport.DisableKeepAlives = f.DownFile != "" || f.Slow == slowDialer // so that each request needs a connection
		transport.DialContext = f.dial
		opts = append(opts, messaging.WithHTTPClient(&http.Client{Transport: transport}))
	}
	return messaging.NewClient(f.Service, "test-key-1", opts...)
}

// dial connects to the service, or fails.
func (f *workerFlags) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if rand.Float64() < f.FailDials || f.isDown() {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	if f.Slow == slowDialer {
		time.Sleep(slowness)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func waitInHook(ctx context.Context, _ messaging.AttemptInfo) context.Context {
	time.Sleep(slowness)
	return ctx
}

// slowRate is a limiter that takes its time for each request.
type slowRate struct{}

func (slowRate) Wait(context.Context) error {
	time.Sleep(slowness)
	return nil
}

// isDown reports whether the service is out of reach.
func (f *workerFlags) isDown() bool {
	file, err := os.OpenFile(f.DownFile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_, _ = file.Write([]byte{'.'})
	_ = file.Close()
	return true
}

// nowhere accepts every request after a delay.
type nowhere time.Duration

func (n nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	if n > 0 {
		time.Sleep(time.Duration(n))
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"success":true,"data":true}`))}, nil
}

// sdkAlone sends as fast as it can, with one goroutine for each slot of an outbox.
func (f *workerFlags) sdkAlone(ctx context.Context, client *messaging.Client) error {
	ctx, cancel := context.WithTimeout(ctx, f.SDK)
	defer cancel()
	start := time.Now()
	var sent atomic.Int64
	var group sync.WaitGroup
	for range f.Slots {
		group.Go(func() {
			for ctx.Err() == nil {
				if _, err := client.Send(context.Background(), request(keyOf(int(sent.Load()))), messaging.WithoutRetries()); err == nil {
					sent.Add(1)
				}
			}
		})
	}
	group.Wait()
	return printMeasured(start, int(sent.Load()))
}

// untilEmpty delivers the pending entries and prints how long that took.
func (f *workerFlags) untilEmpty(ctx context.Context, o box, db *database, start time.Time) error {
	before, err := o.Counts(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		if f.River {
			ended <- db.runRiver(ctx, o.(*outbox.Outbox[pgx.Tx]))
			return
		}
		ended <- o.Run(ctx)
	}()
	for {
		select {
		case err := <-ended:
			return errors.Join(errors.New("ended with entries pending"), err)
		case <-time.After(20 * time.Millisecond):
		}
		if counts, err := o.Counts(ctx); err == nil && counts.Pending+counts.Sending == 0 {
			break
		}
	}
	elapsed := start.Add(time.Since(start))
	_ = printMeasured(time.Now().Add(-elapsed.Sub(start)), before.Pending)
	cancel()
	return <-ended
}

func printMeasured(start time.Time, count int) error {
	return json.NewEncoder(os.Stdout).Encode(measured{Seconds: time.Since(start).Seconds(), Count: count, RSS: largestRSS()})
}

// largestRSS returns the largest resident memory of this process, or 0 if the system does
// not report it.
func largestRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kilobytes int64
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			_, _ = fmt.Sscan(value, &kilobytes)
		}
	}
	return kilobytes << 10
}

// runRiver works River's queue until ctx ends.
func (db *database) runRiver(ctx context.Context, o *outbox.Outbox[pgx.Tx]) error {
	config := &river.Config{
		Logger: slog.New(slog.DiscardHandler),
	}
	outboxriver.Register(river.NewWorkers(), config, o)
	client, err := river.NewClient(riverpgxv5.New(db.pool), config)
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return client.Stop(context.WithoutCancel(ctx))
}

func keyOf(i int) string { return fmt.Sprintf("order-%07d", i) }

func request(key string) *messaging.Prepared { return requestOf(key, 0) }

// requestOf returns a request whose body has about the size, and at least what a request
// needs.
func requestOf(key string, size int) *messaging.Prepared {
	values := map[string]any{"key": key, "carrier": "post", "shipped_at": time.Unix(1_800_000_000, 0)}
	if size > 0 {
		values["text"] = strings.Repeat("x", size)
	}
	p, err := messaging.EventTriggerParams{EventID: "0197c7f5-order-shipped", Email: "ada@example.com", Values: values}.Prepare()
	if err != nil {
		panic(err)
	}
	return p
}

func items(n int) iter.Seq2[outbox.Item, error] { return itemsOf(n, 0) }

func itemsOf(n, size int) iter.Seq2[outbox.Item, error] {
	return func(yield func(outbox.Item, error) bool) {
		for i := range n {
			if key := keyOf(i); !yield(outbox.Item{Key: key, Prepared: requestOf(key, size)}, nil) {
				return
			}
		}
	}
}
