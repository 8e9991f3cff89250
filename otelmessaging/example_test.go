package otelmessaging_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/otelmessaging"
)

func ExampleNew() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	baseURL, apiKey := service.URL(), service.APIKey()

	hooks, err := otelmessaging.New() // the global providers; see the options
	if err != nil {
		log.Fatal(err)
	}
	client, err := messaging.NewClient(baseURL, apiKey, messaging.WithHooks(hooks))
	if err != nil {
		log.Fatal(err)
	}

	_, err = client.Events.List(context.Background(), messaging.EventListParams{})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleWithTracerProvider() {
	provider := trace.NewTracerProvider() // with the exporter of your choice
	defer provider.Shutdown(context.Background())
	hooks, err := otelmessaging.New(otelmessaging.WithTracerProvider(provider))
	fmt.Println(hooks.CallStart != nil, err)
	// Output: true <nil>
}
