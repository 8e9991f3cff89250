package scripted

import (
	"context"

	"github.com/messaging-go/messaging"
)

// SecretKey and PersonalEmail are sent in requests and must appear nowhere else.
const (
	SecretKey     = "sk_live_CANARY_0123456789"
	PersonalEmail = "ada@canary.example"
)

// Call is one call of a client, reduced to its error.
type Call func(context.Context, *messaging.Client, ...messaging.RequestOption) error

// ReadCustomers lists the customers: a read.
func ReadCustomers(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Customers.List(ctx, messaging.CustomerListParams{}, opts...)
	return err
}

// SendBroadcast sends an email broadcast: a send whose response has no data.
func SendBroadcast(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Broadcasts.SendEmail(ctx, BroadcastTo(PersonalEmail), opts...)
	return err
}

// BroadcastTo returns valid parameters of an email broadcast.
func BroadcastTo(email string) messaging.EmailBroadcastParams {
	return messaging.EmailBroadcastParams{
		SenderEmail: "billing@example.com", SenderName: "Billing", Email: email,
		Subject: "Invoice", Message: "Your invoice is ready.", MessageType: "invoice", To: messaging.AllCustomers(),
	}
}

// CreateEvent creates an event: a send whose response has data.
func CreateEvent(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	params := messaging.EventCreateParams{Name: "order_paid", Description: "An order was paid", Parameters: []messaging.EventParameter{}}
	_, err := client.Events.Create(ctx, params, opts...)
	return err
}

// TriggerEvent triggers an event: a send that data of false refuses.
func TriggerEvent(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "order_paid", Email: PersonalEmail}, opts...)
	return err
}

// Do sends a request of the caller's own.
func Do(req messaging.Request) Call {
	return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := client.Do(ctx, req, opts...)
		return err
	}
}
