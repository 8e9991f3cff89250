package scripted

import (
	"context"
	"encoding/json"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

// Operations has one entry for each operation of the catalog in internal/service, in
// the same order. The tests of this module range over it: a new operation is added here,
// and to no list of a test.
//
// Every argument but a cursor holds the [Canary], so that a test can find out where it
// shows. A list is given a row with every member of its model, and a send params with
// every field. Whom those params reach is stated by hand, from the documentation of the
// service, because guards depend on it.
var Operations = []Operation{
	sendOf(service.SendEmailBroadcast, "BroadcastsService.SendEmail",
		func(c *messaging.Client) sendMethod[messaging.EmailBroadcastParams, messaging.Response] {
			return c.Broadcasts.SendEmail
		},
		Success, reaches([]string{Canary}, "to."+CanaryEmail, "cc."+CanaryEmail, "bcc."+CanaryEmail, CanaryEmail), emailToSome, emailToAll),
	sendOf(service.SendPushBroadcast, "BroadcastsService.SendPush",
		func(c *messaging.Client) sendMethod[messaging.PushBroadcastParams, messaging.Response] {
			return c.Broadcasts.SendPush
		},
		Success, reaches([]string{Canary}, CanaryEmail), pushToSome, pushToAll, pushWithoutAddress),
	sendOf(service.CreateEvent, "EventsService.Create",
		func(c *messaging.Client) sendMethod[messaging.EventCreateParams, messaging.Event] {
			return c.Events.Create
		},
		`{"success":true,"message":"Done","data":`+eventRow+`}`, messaging.Recipients{}, event, eventWithoutParameters).
		alsoBy("EventsService.Ensure", ensureEvent),
	sendOf(service.TriggerEvent, "EventsService.Trigger",
		func(c *messaging.Client) sendMethod[messaging.EventTriggerParams, messaging.Response] {
			return c.Events.Trigger
		},
		`{"success":true,"message":"Done","data":true}`, reaches(nil, CanaryEmail, "payload."+CanaryEmail), trigger, triggerByAddress),
	listOf(service.ListEvents, list[messaging.Event, messaging.EventListParams]{
		of: func(c *messaging.Client) lister[messaging.Event, messaging.EventListParams] { return c.Events },
		params: func(perPage int, cursor string) messaging.EventListParams {
			return messaging.EventListParams{PerPage: perPage, Cursor: cursor}
		},
		row: eventRow, idField: "id", id: func(e messaging.Event) string { return e.ID },
	}),
	{Operation: service.GetEvent, Response: `{"success":true,"message":"Done","data":[` + eventRow + `]}`, Calls: map[string]Call{
		"EventsService.GetByName": func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Events.GetByName(ctx, Canary, opts...)
			return err
		},
		"EventsService.Ensure": ensureEvent,
	}},
	listOf(service.ListCustomers, list[messaging.Customer, messaging.CustomerListParams]{
		of: func(c *messaging.Client) lister[messaging.Customer, messaging.CustomerListParams] { return c.Customers },
		params: func(perPage int, cursor string) messaging.CustomerListParams {
			return messaging.CustomerListParams{PerPage: perPage, Cursor: cursor, CustomerIDs: spare(Canary), Emails: spare(CanaryEmail)}
		},
		row: customerRow, idField: "customer_id", id: func(c messaging.Customer) string { return c.CustomerID }, nested: true,
	}),
	{Operation: service.GetCustomer, Response: `{"success":true,"message":"Done","data":{"data":[` + customerRow + `]}}`,
		Calls: map[string]Call{
			"CustomersService.Get": func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
				_, err := c.Customers.Get(ctx, Canary, opts...)
				return err
			},
			"CustomersService.GetByEmail": func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
				_, err := c.Customers.GetByEmail(ctx, CanaryEmail, opts...)
				return err
			},
		}},
	listOf(service.ListTransactional, list[messaging.TransactionalMessage, messaging.TransactionalListParams]{
		of: func(c *messaging.Client) lister[messaging.TransactionalMessage, messaging.TransactionalListParams] {
			return c.Transactional
		},
		params: func(perPage int, cursor string) messaging.TransactionalListParams {
			return messaging.TransactionalListParams{PerPage: perPage, Cursor: cursor}
		},
		row: messageRow, idField: "id", id: func(m messaging.TransactionalMessage) string { return m.ID },
	}),
}

// The rows of the lists.
const (
	eventRow = `{"id":"canary","name":"canary","description":"canary","created_at":"2026-05-01T10:20:30.123456Z",` +
		`"parameters":[{"name":"canary","type":"text","required":true}]}`
	customerRow = `{"customer_id":"canary","first_name":"canary","last_name":"canary","email":"canary@example.com","phone_no":"+canary",` +
		`"customer_created_at":"2026-05-01T10:20:30Z","updated_at":"2026-05-02T10:20:30Z","providers":"canary,mail",` +
		`"last_interaction":"2026-05-03T10:20:30Z"}`
	messageRow = `{"id":"canary","channel":"sms","subject":"canary","title":"canary","message":"canary","message_type":"canary",` +
		`"created_at":"2026-05-01 10:20:30","total_sent":1,"total_delivered":2,"total_failed":3,"total_complained":4,"total_bounced":5}`
)

// oddText is hard to store: jsonb has no NUL, and some writers escape the others.
const oddText = "<p>a\u2028b \\u0000 \x00 é 😀</p> & " + Canary

// Every address of a request is different, so that a test can tell which are recipients.
func emailToSome() messaging.EmailBroadcastParams {
	return messaging.EmailBroadcastParams{
		SenderEmail: "sender." + CanaryEmail, SenderName: Canary, Email: "to." + CanaryEmail, Subject: Canary,
		CC: spare("cc." + CanaryEmail), BCC: spare("bcc." + CanaryEmail), ReplyTo: spare("reply." + CanaryEmail),
		Message: oddText, TemplateID: Canary, EmailTemplateID: Canary, Variables: freeValues(),
		MessageType: Canary, To: someone(), Schedule: &messaging.Schedule{Date: "2031-03-04 05:06:07", Timezone: "UTC"},
	}
}

func emailToAll() messaging.EmailBroadcastParams {
	return messaging.EmailBroadcastParams{SenderEmail: CanaryEmail, SenderName: Canary, Email: CanaryEmail, Subject: Canary,
		Message: Canary, MessageType: Canary, To: messaging.AllCustomers()}
}

func pushToSome() messaging.PushBroadcastParams {
	return messaging.PushBroadcastParams{Subject: Canary, Message: oddText, WhatsAppTemplateID: Canary, To: someone(),
		Schedule: &messaging.Schedule{Date: "2031-03-04 05:06:07", Timezone: "UTC"}}
}

func pushToAll() messaging.PushBroadcastParams {
	return messaging.PushBroadcastParams{Subject: Canary, Message: Canary, To: messaging.AllCustomers()}
}

// pushWithoutAddress has no value that looks like an email address.
func pushWithoutAddress() messaging.PushBroadcastParams {
	return messaging.PushBroadcastParams{Subject: Canary, Message: Canary,
		To: messaging.ToCustomers(messaging.CustomerParams{CustomerID: Canary, FirstName: Canary})}
}

func event() messaging.EventCreateParams {
	return messaging.EventCreateParams{Name: Canary, Description: Canary,
		Parameters: spare(messaging.EventParameter{Name: Canary, Type: "TEXT", Required: true})}
}

func eventWithoutParameters() messaging.EventCreateParams {
	return messaging.EventCreateParams{Name: Canary, Description: Canary, Parameters: []messaging.EventParameter{}}
}

func ensureEvent(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := c.Events.Ensure(ctx, event(), opts...)
	return err
}

func trigger() messaging.EventTriggerParams {
	return messaging.EventTriggerParams{EventID: Canary, Email: "payload." + CanaryEmail, Customer: new(customer()), Values: freeValues(),
		Definition: &messaging.Event{ID: Canary, Name: Canary, Description: Canary, CreatedAt: anInstant,
			Extra: map[string]json.RawMessage{Canary: nil},
			Parameters: spare(
				messaging.EventParameter{Name: Canary, Type: "TEXT", Required: true},
				messaging.EventParameter{Name: "at", Type: "TIMESTAMP", Required: true},
				messaging.EventParameter{Name: "order", Type: "OBJECT", Required: true})}}
}

func triggerByAddress() messaging.EventTriggerParams {
	return messaging.EventTriggerParams{EventID: Canary, Email: CanaryEmail}
}

func customer() messaging.CustomerParams {
	return messaging.CustomerParams{CustomerID: Canary, Email: CanaryEmail, FirstName: Canary, LastName: Canary, PhoneNo: "+" + Canary,
		Devices: spare(messaging.Device{DeviceType: Canary, DeviceToken: Canary})}
}

func someone() messaging.Audience {
	return messaging.ToEach(messaging.ToCustomers(spare(customer())...), messaging.ToSegments(spare(Canary)...))
}

// reaches is whom a request reaches: the customer of someone, segments and addresses.
func reaches(segments []string, addresses ...string) messaging.Recipients {
	return messaging.Recipients{Segments: segments, Customers: 1, CustomerIDs: []string{Canary}, Emails: addresses,
		Phones: []string{"+" + Canary}, Devices: 1}
}

var anInstant = time.Date(2031, 3, 4, 5, 6, 7, 8, time.FixedZone("one hour east", 60*60))

// freeValues are values that the service or the user gives a meaning.
func freeValues() map[string]any {
	at := anInstant
	return map[string]any{Canary: Canary, "at": at, "order": map[string]any{
		"lines": []any{Canary, &at, map[string]time.Time{"packed": at}}, "raw": json.RawMessage(`{ "a": 1.50 }`)}}
}

// spare returns a slice with room behind it, where an append to it would write.
func spare[T any](elements ...T) []T { return append(make([]T, 0, len(elements)+1), elements...) }
