package openapi

import (
	"maps"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

// description is what the catalog does not have of an operation.
type description struct {
	tag     string
	query   []parameter
	request *schema // nil for a read
	data    *schema // of a successful response, with its envelope
}

var descriptions = map[*service.Operation]description{
	service.SendEmailBroadcast: {tag: "broadcasts", request: broadcast(map[string]*schema{
		"sender_email": email, "sender_name": text, "email": email, "cc": arrayOf(email), "bcc": arrayOf(email), "reply_to": arrayOf(email),
		"template_id": textOrNull, "email_template_id": textOrNull, "variables": {Type: types{"object", "null"}}, "message_type": text},
		"sender_email", "sender_name", "email", "message_type"), data: envelope(null, nil)},
	service.SendPushBroadcast: {tag: "broadcasts", request: broadcast(map[string]*schema{
		"whatsapp_template_id": textOrNull.about("Documented as required; the samples of the service leave it out.")}),
		data: envelope(null, nil)},
	service.CreateEvent: {tag: "events", request: object(map[string]*schema{"name": text, "description": text,
		"parameters": arrayOf(ref("EventParameter"))}, "name", "description", "parameters"), data: envelope(ref("Event"), nil)},
	service.TriggerEvent: {tag: "events", data: envelope(boolean, nil),
		request: object(map[string]*schema{"event_id": text, "payload": payload()}, "event_id", "payload")},
	service.ListEvents: {tag: "events", query: paging(), data: page("Event")},
	service.ListCustomers: {tag: "customers", query: append(paging(), query("customer_ids", "Ids, separated by commas.", text),
		query("emails", "Email addresses, separated by commas.", text)),
		data: envelope(object(map[string]*schema{"data": arrayOf(ref("ListedCustomer")), "meta": ref("PageMeta")}, "data"), nil)},
	service.ListTransactional: {tag: "transactional", query: paging(), data: page("TransactionalMessage")},
}

// broadcast is the body of a broadcast, with what is different for a channel.
func broadcast(more map[string]*schema, required ...string) *schema {
	properties := map[string]*schema{"subject": text, "message": text,
		"all_customers": {Type: types{"boolean", "null"}, Description: "True sends to all customers."}, "recipients": oneOrMany(ref("Recipient")),
		"schedule_type": {Type: types{"string"}, Enum: []string{"send-now", "send-later"}},
		"schedule_date": oneOrMany(ref("ScheduleDate")).about("Required for send-later. Documented as an array; the samples send an object."),
	}
	maps.Copy(properties, more)
	return object(properties, append([]string{"subject", "message", "schedule_type"}, required...)...)
}

// payload is the payload of a trigger: the customer, and a member for each parameter.
func payload() *schema {
	s := object(map[string]*schema{"email": {Type: types{"string", "null"}, Format: "email"}, "customer": ref("Customer")})
	s.AnyOf = []*schema{{Required: []string{"email"}}, {Required: []string{"customer"}}}
	return s.about("The customer, and the values of the event's parameters. A timestamp in another form than YYYY-MM-DDThh:mm:ssZ is ignored.")
}

func query(name, about string, s *schema) parameter {
	return parameter{Name: name, In: "query", Description: about, Schema: s}
}

func paging() []parameter {
	return []parameter{query("per_page", "The size of a page; the default is 20.", &schema{Type: types{"integer"}, Minimum: new(1)}),
		query("cursor", "A cursor of an earlier page.", text)}
}

// Describe returns the description of the service at an address.
func Describe(url string) Document {
	d := Document{OpenAPI: "3.1.0",
		Info: info{Title: "Messaging and events service", Version: messaging.Version, Description: "As the messaging sandbox understands it. " +
			"The form of errors, and every status but 200 and 422, are guesses of the sandbox."},
		Servers:  []server{{URL: url, Description: "This sandbox: nothing leaves the machine."}},
		Security: []map[string][]string{{"key": {}}},
		Paths:    make(map[string]pathItem),
		Components: components{Schemas: schemas, SecuritySchemes: map[string]securityScheme{
			"key": {Type: "apiKey", In: "header", Name: "X-Authorization", Description: "The API key."}}},
	}
	for op := range service.Served() {
		if d.Paths[op.Path] == nil {
			d.Paths[op.Path] = make(pathItem)
		}
		d.Paths[op.Path][strings.ToLower(op.Method)] = describe(op)
	}
	return d
}

func describe(op *service.Operation) operation {
	about := descriptions[op]
	o := operation{OperationID: strings.ReplaceAll(op.Name, " ", "_"), Summary: strings.ToUpper(op.Name[:1]) + op.Name[1:],
		Tags: []string{about.tag}, Parameters: about.query, Responses: map[string]response{
			"200":     {Description: "Success", Content: jsonContent(about.data)},
			"default": {Description: "The request was refused, or failed", Content: jsonContent(ref("Error"))},
		}}
	if about.request != nil {
		o.RequestBody = &requestBody{Required: true, Content: jsonContent(about.request)}
		o.Responses["422"] = response{Description: "The request is invalid", Content: jsonContent(ref("Error"))}
	}
	return o
}
