// Quickstart shows the main features of package messaging in one run. It defines
// and triggers an event, sends two broadcasts, lists customers, events and
// transactional messages, and shows two errors.
//
// By default it uses an in-memory service. If MESSAGING_BASE_URL and
// MESSAGING_API_KEY are set, it uses the service at that URL. There it only
// reads, unless -send and -email are given.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func main() {
	send := flag.Bool("send", false, "also send to the service at MESSAGING_BASE_URL")
	email := flag.String("email", "", "with -send: your own email address, the only recipient")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv, *send, *email); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, getenv func(string) string, send bool, email string) error {
	baseURL, apiKey := getenv("MESSAGING_BASE_URL"), getenv("MESSAGING_API_KEY")
	if baseURL == "" && apiKey == "" {
		return runInMemory(ctx, out)
	}
	client, err := messaging.NewClient(baseURL, apiKey)
	if err != nil {
		return err
	}
	t := tour{out: out, client: client, recipients: []messaging.CustomerParams{{Email: email}}}
	t.printf("Using %s.", baseURL)
	if !send {
		t.printf("Nothing is sent. To send to yourself, add -send -email you@example.com.")
		return t.read(ctx)
	}
	if email == "" {
		return errors.New("-send requires -email, the address of the only recipient")
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	return t.read(ctx)
}

// runInMemory runs all steps with an in-memory service, which can also simulate
// failures.
func runInMemory(ctx context.Context, out io.Writer) error {
	service, err := messagingtest.Start()
	if err != nil {
		return err
	}
	defer service.Close()
	addRecords(service)
	t := tour{out: out, client: service.Client(), recipients: []messaging.CustomerParams{
		{Email: "ada@example.com", FirstName: "Ada"},
		{Email: "grace@example.com", FirstName: "Grace", Devices: []messaging.Device{{Type: "ios", Token: "token-1"}}},
	}}
	t.printf("Using an in-memory service, since MESSAGING_BASE_URL and MESSAGING_API_KEY are not set.")
	if err := t.write(ctx); err != nil {
		return err
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	return t.fail(ctx, service)
}

// addRecords adds customers and transactional messages for the tour to list.
func addRecords(service *messagingtest.Server) {
	for i := range 48 {
		service.AddCustomers(messaging.Customer{Email: fmt.Sprintf("customer-%02d@example.com", i)})
	}
	service.AddTransactional(
		messaging.TransactionalMessage{Channel: messaging.ChannelEmail, Subject: "Your receipt",
			TotalSent: 120, TotalDelivered: 118, TotalBounced: 2},
		messaging.TransactionalMessage{Channel: messaging.ChannelSMS, Title: "Your code",
			TotalSent: 75, TotalDelivered: 75},
		messaging.TransactionalMessage{Channel: messaging.ChannelWhatsApp, Title: "Your parcel",
			TotalSent: 12, TotalDelivered: 11, TotalFailed: 1},
	)
}
