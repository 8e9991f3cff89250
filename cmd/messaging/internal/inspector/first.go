package inspector

import (
	"encoding/json"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/internal/service"
)

const (
	firstEmail = `{
    "sender_email": "news@acme.test", "sender_name": "Acme", "email": "news@acme.test",
    "subject": "We have moved", "message": "<h1>We have moved</h1><p>See you there.</p>",
    "message_type": "announcement", "schedule_type": "send-now",
    "recipients": {"type": "customer", "customers": [{"email": "ada@example.com"}]}}`
	firstEvent = `{
    "name": "order shipped", "description": "A parcel has left the warehouse.",
    "parameters": [{"name": "order", "type": "text", "required": true}]}`
)

// firstRequest returns a command that sends a request to the list of a page: an email,
// unless the list is an empty one of triggers.
func (in *Inspector) firstRequest(p *page) snippet {
	if p.Section != triggerList.name || len(p.Rows) > 0 {
		return snippet{"Or send an email from a shell", firstCurl(p, service.SendEmailBroadcast, firstEmail)}
	}
	events, _ := in.box.Records.All(records.Events).Search(nil, 0, 1)
	if len(events) == 0 {
		return snippet{"First create an event; this command then becomes one that triggers it", firstCurl(p, service.CreateEvent, firstEvent)}
	}
	return snippet{"Or trigger an event from a shell", firstCurl(p, service.TriggerEvent, firstTrigger(events[0].Model().(messaging.Event)))}
}

func firstCurl(p *page, op *service.Operation, body string) string {
	return postCode(p.BaseURL+op.Path, copies.ShellQuote("X-Authorization: "+p.APIKey), body)
}

// firstTrigger returns the body of a trigger with the required parameters of an event.
func firstTrigger(e messaging.Event) string {
	payload := map[string]any{"email": "ada@example.com"}
	for _, p := range e.Parameters {
		switch {
		case !p.Required:
		case p.Type == messaging.ParameterNumeric:
			payload[p.Name] = 1
		case p.Type == messaging.ParameterTimestamp:
			payload[p.Name] = time.Now().UTC().Format(time.RFC3339)
		default:
			payload[p.Name] = "text"
		}
	}
	body, _ := json.MarshalIndent(map[string]any{"event_id": e.ID, "payload": payload}, "", "  ") // texts and numbers
	return string(body)
}
