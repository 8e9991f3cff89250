// Example lists customers from an in-memory service that is unavailable once, and prints
// the trace to standard output. It consists of the span of the call and its two children,
// one for each attempt.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/otelmessaging"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(out), stdouttrace.WithPrettyPrint())
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))
	defer provider.Shutdown(ctx)

	hooks, err := otelmessaging.New(otelmessaging.WithTracerProvider(provider))
	if err != nil {
		return err
	}
	service, err := messagingtest.Start()
	if err != nil {
		return err
	}
	defer service.Close()
	client := service.Client(messaging.WithHooks(hooks))

	service.Fail("", 1, messagingtest.Status(503))
	_, err = client.Customers.List(ctx,
		messaging.CustomerListParams{Emails: messaging.Only("ada@example.com")}) // no span contains the address
	return err
}
