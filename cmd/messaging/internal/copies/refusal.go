package copies

import (
	"bytes"
	"encoding/json"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

// params are the parameters of package messaging for a send.
type params interface {
	Prepare() (*messaging.Prepared, error)
}

var parsers = map[*service.Operation]func(body []byte) params{
	service.SendEmailBroadcast: emailSend, service.SendPushBroadcast: pushSend,
	service.CreateEvent: createSend, service.TriggerEvent: triggerSend,
}

// Refusal returns the error with which package messaging refuses the body of a send before
// it sends anything, or nil. What its parameters cannot express is not refused, because it
// can only be sent as it is.
func Refusal(op string, body []byte) error {
	parse := parsers[service.Named(op)]
	if parse == nil {
		return nil
	}
	_, err := parse(body).Prepare()
	return err
}

// decode decodes a body, with its numbers as they were sent. What does not fit is left
// out.
func decode(body []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	_ = decoder.Decode(into)
}

// broadcastBody is what the bodies of both broadcasts have.
type broadcastBody struct {
	All        bool            `json:"all_customers"`
	Recipients json.RawMessage `json:"recipients"`
	Schedule   *struct {
		Date     string `json:"schedule_date"`
		Timezone string `json:"timezone"`
	} `json:"schedule_date"`
}

// recipient is a group of customers of a broadcast.
type recipient struct {
	Type      string                     `json:"type"`
	Customers []messaging.CustomerParams `json:"customers"`
	Segments  []string                   `json:"segments"`
}

func (b broadcastBody) recipients() []recipient {
	var many []recipient
	if decode(b.Recipients, &many); many == nil {
		many = make([]recipient, 1)
		decode(b.Recipients, &many[0])
	}
	return many
}

func (b broadcastBody) audience() messaging.Audience {
	if b.All {
		return messaging.AllCustomers()
	}
	var audiences []messaging.Audience
	for _, r := range b.recipients() {
		if r.Type == "segment" {
			audiences = append(audiences, messaging.ToSegments(r.Segments...))
		} else {
			audiences = append(audiences, messaging.ToCustomers(r.Customers...))
		}
	}
	if len(audiences) == 1 {
		return audiences[0]
	}
	return messaging.ToEach(audiences...)
}

func (b broadcastBody) schedule() *messaging.Schedule {
	if b.Schedule == nil {
		return nil
	}
	return &messaging.Schedule{Date: b.Schedule.Date, Timezone: b.Schedule.Timezone}
}

func emailSend(body []byte) params {
	var b struct {
		broadcastBody
		SenderEmail     string         `json:"sender_email"`
		SenderName      string         `json:"sender_name"`
		Email           string         `json:"email"`
		Subject         string         `json:"subject"`
		CC              []string       `json:"cc"`
		BCC             []string       `json:"bcc"`
		ReplyTo         []string       `json:"reply_to"`
		Message         string         `json:"message"`
		TemplateID      string         `json:"template_id"`
		EmailTemplateID string         `json:"email_template_id"`
		Variables       map[string]any `json:"variables"`
		MessageType     string         `json:"message_type"`
	}
	decode(body, &b)
	return messaging.EmailBroadcastParams{SenderEmail: b.SenderEmail, SenderName: b.SenderName,
		Email: b.Email, Subject: b.Subject, CC: b.CC, BCC: b.BCC, ReplyTo: b.ReplyTo, Message: b.Message, TemplateID: b.TemplateID,
		EmailTemplateID: b.EmailTemplateID, Variables: b.Variables, MessageType: b.MessageType, To: b.audience(), Schedule: b.schedule()}
}

func pushSend(body []byte) params {
	var b struct {
		broadcastBody
		Subject            string `json:"subject"`
		Message            string `json:"message"`
		WhatsAppTemplateID string `json:"whatsapp_template_id"`
	}
	decode(body, &b)
	return messaging.PushBroadcastParams{Subject: b.Subject, Message: b.Message,
		WhatsAppTemplateID: b.WhatsAppTemplateID, To: b.audience(), Schedule: b.schedule()}
}

func createSend(body []byte) params {
	var b struct {
		Name        string                     `json:"name"`
		Description string                     `json:"description"`
		Parameters  []messaging.EventParameter `json:"parameters"`
	}
	decode(body, &b)
	return messaging.EventCreateParams{Name: b.Name, Description: b.Description, Parameters: b.Parameters}
}

func triggerSend(body []byte) params {
	var b struct {
		EventID string         `json:"event_id"`
		Payload map[string]any `json:"payload"`
	}
	decode(body, &b)
	var identity struct {
		Payload struct {
			Email    string                    `json:"email"`
			Customer *messaging.CustomerParams `json:"customer"`
		} `json:"payload"`
	}
	decode(body, &identity)
	delete(b.Payload, "email")
	delete(b.Payload, "customer")
	return messaging.EventTriggerParams{EventID: b.EventID, Email: identity.Payload.Email,
		Customer: identity.Payload.Customer, Values: b.Payload}
}
