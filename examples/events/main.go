// Events is an example of a program that triggers events through generated code. The
// package internal/events was generated from the definitions in its events.json.
//
// By default the program uses an in-memory service. If MESSAGING_BASE_URL and
// MESSAGING_API_KEY are set, it uses the service at that URL. There it only checks the
// definitions, unless -email is given.
package main

//go:generate go run -C ../../cmd/messaging-gen . --out ../../examples/events/internal/events

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/examples/events/internal/events"
	"github.com/messaging-go/messaging/messagingtest"
)

func main() {
	email := flag.String("email", "", "your own email address, to trigger an event at the service at MESSAGING_BASE_URL")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv, *email); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, getenv func(string) string, email string) error {
	baseURL, apiKey := getenv("MESSAGING_BASE_URL"), getenv("MESSAGING_API_KEY")
	if baseURL != "" || apiKey != "" {
		client, err := messaging.NewClient(baseURL, apiKey)
		if err != nil {
			return err
		}
		return ship(ctx, out, client, email)
	}
	service, err := messagingtest.Start()
	if err != nil {
		return err
	}
	defer service.Close()
	service.AddEvents(events.Definitions()...)
	return ship(ctx, out, service.Client(), "ada@example.com")
}

// ship checks that the events of the account are those of the generated code, and
// notifies a customer about one order.
func ship(ctx context.Context, out io.Writer, client *messaging.Client, email string) error {
	bound, err := events.Bind(ctx, client)
	if err != nil {
		return err
	}
	if email == "" {
		_, err := fmt.Fprintln(out, "the events are as expected; to trigger one, add -email you@example.com")
		return err
	}
	shop := Shop{bound}
	order := Order{ID: "A-1001", Email: email, Parcels: 2, Shipped: time.Now(), Carrier: "DHL", Weight: "12.30"}
	if err := shop.Ship(ctx, order); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "notified %s about order %s\n", order.Email, order.ID)
	return err
}
