package messaging_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/jarcoal/httpmock"

	"github.com/messaging-go/messaging"
)

func newMockedClient() (*messaging.Client, *httpmock.MockTransport) {
	mock := httpmock.NewMockTransport()
	client, err := messaging.NewClient("https://api.example.com", "test-key-1",
		messaging.WithHTTPClient(&http.Client{Transport: mock}))
	if err != nil {
		log.Fatal(err)
	}
	return client, mock
}

// A response is a success only if it is 2xx and says so: a mock has to respond with
// "success": true.
func Example_httpmock() {
	client, mock := newMockedClient()
	mock.RegisterResponder("POST", "https://api.example.com/v1/events/trigger",
		httpmock.NewStringResponder(200, `{"success": true, "data": true}`))

	_, err := client.Events.Trigger(context.Background(), messaging.EventTriggerParams{EventID: "e-1", Email: "ada@example.com"})
	fmt.Println(messaging.DeliveryOf(err), mock.GetTotalCallCount())

	mock.RegisterResponder("POST", "https://api.example.com/v1/events/trigger", httpmock.NewStringResponder(200, `{}`))
	_, err = client.Events.Trigger(context.Background(), messaging.EventTriggerParams{EventID: "e-1", Email: "ada@example.com"})
	fmt.Println(messaging.DeliveryOf(err))
	// Output:
	// accepted 1
	// unknown
}

func Example_httpmockInvalid() {
	client, mock := newMockedClient()
	mock.RegisterResponder("POST", "https://api.example.com/v1/events/trigger",
		httpmock.NewStringResponder(422, `{"message": "Invalid", "errors": {"event_id": ["does not exist"]}}`))

	_, err := client.Events.Trigger(context.Background(), messaging.EventTriggerParams{EventID: "e-1", Email: "ada@example.com"})
	fmt.Println(errors.Is(err, messaging.ErrValidation))
	fmt.Println(err)
	// Output:
	// true
	// trigger event: POST /v1/events/trigger: 422 Unprocessable Entity: Invalid: event_id does not exist; the request was refused
}

func Example_httpmockLookup() {
	client, mock := newMockedClient()
	mock.RegisterResponderWithQuery("GET", "https://api.example.com/v1/customers", "emails=ada@example.com",
		httpmock.NewStringResponder(200, `{"success": true, "data": {"data": [{"customer_id": "c-1", "email": "ada@example.com"}]}}`))

	customer, err := client.Customers.GetByEmail(context.Background(), "ada@example.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(customer.CustomerID)
	// Output: c-1
}

// Without a responder for the request, the error says so. It does not quote the request, as
// the error of the mock does.
func Example_httpmockNoResponder() {
	client, mock := newMockedClient()
	mock.RegisterResponder("POST", "https://api.example.com/v1/event/trigger", httpmock.NewStringResponder(200, `{}`))

	_, err := client.Events.Trigger(context.Background(), messaging.EventTriggerParams{EventID: "e-1", Email: "ada@example.com"})
	fmt.Println(err)
	// Output:
	// trigger event: POST /v1/events/trigger: no responder found; nothing was sent
}

// If the mock returns an error, a send with a body was not sent: the mock has not
// read the body. Nothing is known about a read.
func Example_httpmockNotSent() {
	client, mock := newMockedClient()
	mock.RegisterResponder("POST", "https://api.example.com/v1/events/trigger",
		httpmock.NewErrorResponder(errors.New("no network")))

	_, err := client.Events.Trigger(context.Background(), messaging.EventTriggerParams{EventID: "e-1", Email: "ada@example.com"})
	fmt.Println(messaging.DeliveryOf(err))
	// Output: not sent
}
