// Shop is an example of a program with an outbox. It records each order together with the
// notification of its customer in one transaction. It is killed while notifying a
// customer, starts again, and notifies each customer once.
//
// By default it uses a SQLite file in a temporary folder; -database selects a Postgres
// server. The service runs in memory. The example takes about 20 seconds, because the
// outbox gives the killed process that long to report what it did.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if encoded, ok := os.LookupEnv(workerVariable); ok {
		err = work(ctx, encoded)
	} else {
		database := flag.String("database", "", "URL of a Postgres server; without it, a SQLite file is used")
		flag.Parse()
		err = demonstrate(ctx, os.Stdout, *database)
	}
	if err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// workerVariable makes this program the process that delivers.
const workerVariable = "SHOP_WORKER"

// worker configures that process.
type worker struct{ Database, URL, APIKey, Event string }

// work delivers until it is killed.
func work(ctx context.Context, encoded string) error {
	var w worker
	if err := json.Unmarshal([]byte(encoded), &w); err != nil {
		return err
	}
	client, err := messaging.NewClient(w.URL, w.APIKey)
	if err != nil {
		return err
	}
	shop, err := openShop(ctx, w.Database, client, w.Event, outbox.WithSendTimeout(time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = shop.Close() }()
	return shop.outbox.Run(ctx)
}

// demonstrate runs the example.
func demonstrate(ctx context.Context, out io.Writer, database string) error {
	printf := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	if database == "" {
		dir, err := os.MkdirTemp("", "shop-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		database = filepath.Join(dir, "shop.db")
	}
	service, err := messagingtest.Start()
	if err != nil {
		return err
	}
	defer service.Close()
	event, err := service.Client().Events.Create(ctx, messaging.EventCreateParams{
		Name:        "order shipped",
		Description: "An order has left the warehouse",
		Parameters:  []messaging.EventParameter{{Name: "order", Type: messaging.ParameterText, Required: true}},
	})
	if err != nil {
		return err
	}
	shop, err := openShop(ctx, database, service.Client(), event.ID)
	if err != nil {
		return err
	}
	defer func() { _ = shop.Close() }()

	day := time.Now().Format("20060102-150405")
	orders := []Order{{day + "-1", "ada@example.com"}, {day + "-2", "grace@example.com"}, {day + "-3", "edsger@example.com"}}
	printf("Shipping %d orders. Each is recorded in one transaction with the notification of its customer.", len(orders))
	for _, order := range orders {
		if err := shop.Ship(ctx, order); err != nil {
			return err
		}
	}
	if err := shop.Ship(ctx, Order{orders[0].Number, "ada@example.net"}); !errors.Is(err, outbox.ErrKeyConflict) {
		return fmt.Errorf("the first order again: %w", err)
	}
	printf("Shipping the first one again, to another address, is a key conflict. Its transaction is rolled back.")

	w := worker{database, service.URL(), service.APIKey(), event.ID}
	printf("\nStarting a process that delivers. The service is slow, and the process is killed while waiting for it.")
	service.Fail("", 1, messagingtest.Slow(700*time.Millisecond))
	first, err := startWorker(w)
	if err != nil {
		return err
	}
	if err := waitFor(ctx, func() (bool, error) { return len(service.Requests()) > 1, nil }); err != nil {
		return err
	}
	if err := first.Process.Kill(); err != nil {
		return err
	}
	_ = first.Wait() // returns that it was killed
	if err := printStates(ctx, printf, shop, orders); err != nil {
		return err
	}

	printf("\nStarting it again. It sends the other entries now, but none that may have been sent.")
	printf("The killed process had 16 s to report. Entries without a report then become unclear.")
	second, err := startWorker(w)
	if err != nil {
		return err
	}
	defer func() {
		_ = second.Process.Signal(os.Interrupt)
		_ = second.Wait()
	}()
	if err := waitFor(ctx, func() (bool, error) {
		counts, err := shop.outbox.Counts(ctx)
		return counts.Pending+counts.Sending == 0, err
	}); err != nil {
		return err
	}
	if err := printStates(ctx, printf, shop, orders); err != nil {
		return err
	}
	if err := decide(ctx, printf, shop, service); err != nil {
		return err
	}
	printf("\nThe customers were notified:")
	for _, order := range orders {
		printf("  %-20s %d time", order.Email, notified(service, order))
	}
	return nil
}

// decide finds out at the service whether unclear entries were carried out, as a person
// would.
func decide(ctx context.Context, printf func(string, ...any), shop *Shop, service *messagingtest.Server) error {
	for entry, err := range shop.outbox.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			return err
		}
		p, err := shop.outbox.Prepared(ctx, entry.Key)
		if err != nil {
			return err
		}
		to, err := p.Recipients()
		if err != nil {
			return err
		}
		carriedOut := false
		for _, trigger := range service.Triggers() {
			carriedOut = carriedOut || trigger.Params.Email == to.Emails[0]
		}
		if carriedOut {
			printf("\n%s is unclear. The service has carried it out: dismissing it.", entry.Key)
			_, err = shop.outbox.Dismiss(ctx, entry.Key)
		} else {
			printf("\n%s is unclear. The service has not carried it out: sending it again.", entry.Key)
			err = resend(ctx, shop, entry.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resend sends an unclear entry again, as soon as its process can no longer be alive.
func resend(ctx context.Context, shop *Shop, key string) error {
	if err := waitFor(ctx, func() (bool, error) {
		decisions, err := shop.outbox.Resend(ctx, key)
		return err == nil && decisions[0].Changed, err
	}); err != nil {
		return err
	}
	return waitFor(ctx, func() (bool, error) {
		entry, err := shop.outbox.Get(ctx, key)
		return entry.State == outbox.Accepted, err
	})
}

func printStates(ctx context.Context, printf func(string, ...any), shop *Shop, orders []Order) error {
	for _, order := range orders {
		entry, err := shop.outbox.Get(ctx, keyOf(order))
		if err != nil {
			return err
		}
		printf("  %-30s %s", entry.Key, entry.State)
	}
	return nil
}

// notified returns how often the service notified a customer.
func notified(service *messagingtest.Server, order Order) (n int) {
	for _, trigger := range service.Triggers() {
		if trigger.Params.Email == order.Email && trigger.Params.Values["order"] == order.Number {
			n++
		}
	}
	return n
}

func startWorker(w worker) (*exec.Cmd, error) {
	encoded, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerVariable+"="+string(encoded))
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

// waitFor polls a condition.
func waitFor(ctx context.Context, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		if ok, err := condition(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
