package messagingtest_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// In a test, NewServer(t) starts a server and closes it when the test ends.
func Example() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()

	_, err = client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{
		Subject: "Welcome",
		Message: "Good to have you with us.",
		To: messaging.ToCustomers(messaging.CustomerParams{
			Email:   "ada@example.com",
			Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "token-1"}},
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, sent := range service.PushBroadcasts() {
		fmt.Println("sent:", sent.Subject)
	}
	for _, customer := range service.Customers() {
		fmt.Println("created:", customer.Email, customer.Devices)
	}
	// Output:
	// sent: Welcome
	// created: ada@example.com [{ios token-1}]
}

func ExampleServer_FailNext() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()
	broadcast := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: messaging.AllCustomers()}

	service.FailNext(1, messagingtest.Status(422))
	service.FailNext(1, messagingtest.AnswerLost())
	for range 3 {
		_, err := client.Broadcasts.SendPush(ctx, broadcast)
		fmt.Println(messaging.DeliveryOf(err))
	}
	fmt.Println(len(service.PushBroadcasts()), "sent")
	// Output:
	// rejected
	// unknown
	// accepted
	// 2 sent
}

// A rule for triggers does not affect other operations.
func ExampleServer_AddFaultRule() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.AddEvents(messaging.Event{ID: "order-shipped"})
	ctx, client := context.Background(), service.Client()

	service.AddFaultRule(messagingtest.Rule{Op: "trigger event", Count: 1, Fault: messagingtest.AnswerLost()})

	_, err = client.Events.List(ctx, messaging.EventListParams{})
	fmt.Println("list:", err)
	trigger := messaging.EventTriggerParams{EventID: "order-shipped", Email: "ada@example.com"}
	for range 2 {
		_, err = client.Events.Trigger(ctx, trigger)
		fmt.Println("trigger:", messaging.DeliveryOf(err))
	}
	// Output:
	// list: <nil>
	// trigger: unknown
	// trigger: accepted
}

func ExampleWithObserver() {
	service, err := messagingtest.Start(messagingtest.WithObserver(func(e *messagingtest.Exchange) {
		fmt.Println(e.Number, e.Op, e.Status, e.Problems)
		if broadcast, ok := e.Effect.(*messagingtest.PushBroadcast); ok {
			fmt.Println("sent:", broadcast.Subject)
		}
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()
	broadcast := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: messaging.AllCustomers()}

	_, _ = client.Broadcasts.SendPush(ctx, broadcast)
	broadcast.Message = ""
	_, _ = client.Broadcasts.SendPush(ctx, broadcast, messaging.WithoutValidation())
	// Output:
	// 1 send push broadcast 200 map[]
	// sent: Sale
	// 2 send push broadcast 422 map[message:[is required]]
}

func ExampleAnswerLost() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()

	service.FailNext(1, messagingtest.AnswerLost())
	_, err = service.Client().Broadcasts.SendPush(context.Background(), messaging.PushBroadcastParams{
		Subject: "Sale", Message: "Today only.", To: messaging.AllCustomers(),
	})
	fmt.Println("delivery:", messaging.DeliveryOf(err))
	fmt.Println("sent:", len(service.PushBroadcasts()))
	// Output:
	// delivery: unknown
	// sent: 1
}

func ExampleServer_Triggers() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.AddEvents(messaging.Event{ID: "order-shipped", Parameters: []messaging.EventParameter{
		{Name: "order", Type: messaging.ParameterText, Required: true},
		{Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true},
	}})

	// The service reports success, but silently ignores a timestamp that is not in its
	// form. Use a time.Time instead of a string: the client writes it in that form.
	_, err = service.Client().Events.Trigger(context.Background(), messaging.EventTriggerParams{
		EventID: "order-shipped",
		Email:   "ada@example.com",
		Values:  map[string]any{"order": "A-1001", "shipped_at": "2030-05-01 09:00"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, trigger := range service.Triggers() {
		fmt.Println("values:", trigger.Values)
		fmt.Println("skipped:", trigger.Skipped)
	}
	// Output:
	// values: map[order:A-1001]
	// skipped: [shipped_at]
}

func ExampleWithIdentifier() {
	service, err := messagingtest.Start(messagingtest.WithIdentifier(messagingtest.CustomerID))
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()

	_, err = service.Client().Broadcasts.SendPush(context.Background(), messaging.PushBroadcastParams{
		Subject: "Sale", Message: "Today only.",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"}),
	})
	var refused *messaging.APIError
	if errors.As(err, &refused) {
		fmt.Println(refused.StatusCode, refused.Fields[0])
	}
	// Output: 422 recipients.0.customers.0.customer_id is required as the customer identifier
}
