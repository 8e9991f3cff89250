package scripted

import (
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
	sendOf(service.SendEmailBroadcast, "BroadcastsService.SendEmail", Success,
		reaches([]string{Canary}, "to."+CanaryEmail, "cc."+CanaryEmail, "bcc."+CanaryEmail, CanaryEmail), emailToSome, emailToAll),
	sendOf(service.SendPushBroadcast, "BroadcastsService.SendPush", Success,
		reaches([]string{Canary}, CanaryEmail), pushToSome, pushToAll, pushWithoutAddress),
	sendOf(service.CreateEvent, "EventsService.Create", `{"success":true,"message":"Done","data":`+eventRow+`}`,
		messaging.Recipients{}, event, eventWithoutParameters).alsoBy("EventsService.Ensure", event()),
	sendOf(service.TriggerEvent, "EventsService.Trigger", `{"success":true,"message":"Done","data":true}`,
		reaches(nil, CanaryEmail, "payload."+CanaryEmail), trigger, triggerByAddress),
	listOf(List{Operation: service.ListEvents, of: "EventsService", Row: eventRow, IDField: "id", model: new(messaging.Event), id: "ID",
		params: func() any { return messaging.EventListParams{} }}),
	Operation{Operation: service.GetEvent, Response: `{"success":true,"message":"Done","data":[` + eventRow + `]}`,
		Calls: by("EventsService.GetByName", Canary)}.alsoBy("EventsService.Ensure", event()),
	listOf(List{Operation: service.ListCustomers, of: "CustomersService", Row: customerRow, IDField: "customer_id", Nested: true,
		model: new(messaging.Customer), id: "CustomerID",
		params: func() any {
			return messaging.CustomerListParams{CustomerIDs: messaging.Only(Canary), Emails: messaging.Only(CanaryEmail)}
		}}),
	Operation{Operation: service.GetCustomer, Response: `{"success":true,"message":"Done","data":{"data":[` + customerRow + `]}}`,
		Calls: by("CustomersService.Get", Canary)}.alsoBy("CustomersService.GetByEmail", CanaryEmail),
	listOf(List{Operation: service.ListTransactional, of: "TransactionalService", Row: messageRow, IDField: "id",
		model: new(messaging.TransactionalMessage), id: "ID",
		params: func() any { return messaging.TransactionalListParams{} }}),
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
		MessageType: Canary, To: someone(), Schedule: &messaging.Schedule{Date: "2099-03-04 05:06:07", Timezone: "UTC"},
	}
}

func emailToAll() messaging.EmailBroadcastParams {
	return messaging.EmailBroadcastParams{SenderEmail: CanaryEmail, SenderName: Canary, Email: CanaryEmail, Subject: Canary,
		Message: Canary, MessageType: Canary, To: messaging.AllCustomers()}
}

func pushToSome() messaging.PushBroadcastParams {
	return messaging.PushBroadcastParams{Subject: Canary, Message: oddText, WhatsAppTemplateID: Canary, To: someone(),
		Schedule: &messaging.Schedule{Date: "2099-03-04 05:06:07", Timezone: "UTC"}}
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
		Parameters: spare(canaryParameter())}
}

func eventWithoutParameters() messaging.EventCreateParams {
	return messaging.EventCreateParams{Name: Canary, Description: Canary, Parameters: []messaging.EventParameter{}}
}

func trigger() messaging.EventTriggerParams {
	return messaging.EventTriggerParams{EventID: Canary, Email: "payload." + CanaryEmail, Customer: new(customer()), Values: freeValues(),
		Definition: &messaging.Event{ID: Canary, Name: Canary, Description: Canary, CreatedAt: anInstant,
			Extra: map[string]json.RawMessage{Canary: nil},
			Parameters: spare(canaryParameter(), messaging.EventParameter{Name: "at", Type: "TIMESTAMP", Required: true, Extra: extra()},
				messaging.EventParameter{Name: "order", Type: "OBJECT", Required: true, Extra: extra()})}}
}

func canaryParameter() messaging.EventParameter {
	return messaging.EventParameter{Name: Canary, Type: "TEXT", Required: true, Extra: extra()}
}

func extra() map[string]json.RawMessage {
	return map[string]json.RawMessage{Canary: json.RawMessage(`"` + Canary + `"`)}
}

func triggerByAddress() messaging.EventTriggerParams {
	return messaging.EventTriggerParams{EventID: Canary, Email: CanaryEmail}
}

func customer() messaging.CustomerParams {
	return messaging.CustomerParams{CustomerID: Canary, Email: CanaryEmail, FirstName: Canary, LastName: Canary, PhoneNo: "+" + Canary,
		Devices: spare(messaging.Device{Type: Canary, Token: Canary})}
}

func someone() messaging.Audience {
	return messaging.ToEach(messaging.ToCustomers(spare(customer())...), messaging.ToSegments(spare(Canary)...))
}

// reaches is whom a request reaches: the customer of someone, segments and addresses, one of
// which is that of the customer.
func reaches(segments []string, addresses ...string) messaging.Recipients {
	return messaging.Recipients{Segments: segments, CustomerCount: 1, CustomerIDs: []string{Canary}, Emails: addresses,
		Phones: []string{"+" + Canary}, DeviceTokens: []string{Canary}, Count: len(addresses)}
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
