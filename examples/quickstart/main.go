// Quickstart shows the main job of the messaging package in one run: it defines
// and triggers an event, sends two broadcasts, walks all customers and prints
// what the service knows.
//
// Without settings it talks to a service in memory. With MESSAGING_BASE_URL and
// MESSAGING_API_KEY set it talks to that one, where it only reads, unless -send
// and -email are given.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func main() {
	send := flag.Bool("send", false, "send to the service that MESSAGING_BASE_URL names, too")
	email := flag.String("email", "", "with -send: your own address, which everything is sent to")
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
		return tryInMemory(ctx, out)
	}
	client, err := messaging.NewClient(baseURL, apiKey)
	if err != nil {
		return err
	}
	t := tour{out: out, client: client, recipients: []messaging.CustomerParams{{Email: email}}}
	t.say("Talking to %v.", client)
	if !send {
		t.say("Nothing is sent: give -send and -email you@example.com to send to yourself.")
		return t.read(ctx)
	}
	if email == "" {
		return fmt.Errorf("-send needs -email, the address that everything is sent to")
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	return t.read(ctx)
}

// tryInMemory runs the whole tour against a service of its own, which has a few
// customers and can be made to fail.
func tryInMemory(ctx context.Context, out io.Writer) error {
	service, err := messagingtest.Start()
	if err != nil {
		return err
	}
	defer service.Close()
	furnish(service)
	t := tour{out: out, client: service.Client(), recipients: []messaging.CustomerParams{
		{Email: "ada@example.com", FirstName: "Ada"},
		{Email: "grace@example.com", FirstName: "Grace", Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "token-1"}}},
	}}
	t.say("Talking to a service in memory: MESSAGING_BASE_URL and MESSAGING_API_KEY are not set.")
	if err := t.write(ctx); err != nil {
		return err
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	return t.fail(ctx, service)
}

// furnish gives the service something to list.
func furnish(service *messagingtest.Server) {
	for i := range 48 {
		service.AddCustomers(messaging.Customer{Email: fmt.Sprintf("customer-%02d@example.com", i)})
	}
	service.AddTransactional(
		messaging.TransactionalMessage{Channel: messaging.ChannelEmail, Subject: "Your receipt", TotalSent: 120, TotalDelivered: 118, TotalBounced: 2},
		messaging.TransactionalMessage{Channel: messaging.ChannelSMS, Title: "Your code", TotalSent: 75, TotalDelivered: 75},
		messaging.TransactionalMessage{Channel: messaging.ChannelWhatsApp, Title: "Your parcel", TotalSent: 12, TotalDelivered: 11, TotalFailed: 1},
	)
}
