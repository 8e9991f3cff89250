package messagingtest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"reflect"

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
			Devices: []messaging.Device{{Type: "ios", Token: "token-1"}},
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, sent := range service.PushBroadcasts() {
		fmt.Println("sent:", sent.Params.Subject)
	}
	for _, customer := range service.Customers() {
		fmt.Println("created:", customer.Email, customer.Devices)
	}
	// Output:
	// sent: Welcome
	// created: ada@example.com [{ios token-1}]
}

func ExampleServer_Fail() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()
	broadcast := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: messaging.AllCustomers()}

	service.Fail("", 1, messagingtest.Status(422))
	service.Fail("", 1, messagingtest.AnswerLost())
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
		fmt.Println("values:", trigger.Params.Values)
		fmt.Println("skipped:", trigger.Skipped)
	}
	// Output:
	// values: map[order:A-1001]
	// skipped: [shipped_at]
}

func ExampleIdentifyByCustomerID() {
	service, err := messagingtest.Start(messagingtest.IdentifyByCustomerID())
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

// The params of a record can be compared with what should have been sent.
func ExampleServer_EmailBroadcasts() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	want := messaging.EmailBroadcastParams{
		SenderEmail: "orders@acme.example", SenderName: "Acme", Email: "ada@example.com",
		Subject: "Order A-1001", Message: "Thank you, {{name}}.", MessageType: "confirmation",
		Variables: map[string]any{"name": "Ada", "total": 19.5},
		To:        messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"}),
	}

	if _, err := service.Client().Broadcasts.SendEmail(context.Background(), want); err != nil {
		log.Fatal(err)
	}
	sent := service.EmailBroadcasts()[0]
	fmt.Println(reflect.DeepEqual(want, sent.Params)) // in a test: assert.Equal(t, want, sent.Params)
	fmt.Println(sent.Everyone, sent.Customers[0].Email)
	// Output:
	// true
	// false ada@example.com
}

func ExampleServer_Requests() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	client := service.Client(messaging.WithHeader("Authorization", "Basic of-the-gateway"))
	_, _ = client.Customers.Get(context.Background(), "c-1")

	for _, request := range service.Requests() {
		fmt.Println(request.Method, request.Path, request.Query.Encode(), request.StatusCode)
		fmt.Println(request.Header["Authorization"], request.Header["X-Authorization"])
	}
	// Output:
	// GET /v1/customers customer_ids=c-1 200
	// [Basic of-the-gateway] [[API key]]
}
