package copies

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

// Go returns statements that send a request again with package messaging. They use the
// variables ctx and client. A body that the parameters of the operation cannot express is
// sent as it is.
func Go(op string, r messagingtest.Request) string {
	operation := service.Named(op)
	var code string
	switch {
	case len(r.Body) > maxCommand:
		return "// The body is too large to be shown as code."
	case operation == nil:
		code = doCode(r)
	case operation.IsRead():
		code = listCode(operation, r)
	default:
		code = sendCode(operation, r)
	}
	formatted, err := format.Source([]byte(code))
	if err != nil {
		return code
	}
	return string(formatted)
}

// doCode is for a request that is no operation.
func doCode(r messagingtest.Request) string {
	body := ""
	if len(r.Body) > 0 && json.Valid(r.Body) {
		body = fmt.Sprintf("\nBody: json.RawMessage(%s),", stringCode(string(r.Body)))
	}
	query := ""
	if len(r.Query) > 0 {
		query = fmt.Sprintf("\nQuery: %#v,", r.Query)
	}
	return fmt.Sprintf("_, err := client.Do(ctx, messaging.Request{\nOp: \"request\", Method: %q, Path: %s,%s%s\n})",
		r.Method, stringCode((&url.URL{Path: r.Path}).EscapedPath()), query, body)
}

// send is a send in the parameters of package messaging.
type send struct {
	call   string // such as client.Events.Trigger
	params interface {
		Prepare() (*messaging.Prepared, error)
	}
	audience string // of a broadcast, as code
}

var sends = map[*service.Operation]func(body []byte) send{
	service.SendEmailBroadcast: emailSend, service.SendPushBroadcast: pushSend,
	service.CreateEvent: createSend, service.TriggerEvent: triggerSend,
}

func sendCode(op *service.Operation, r messagingtest.Request) string {
	s := sends[op](r.Body)
	if prepared, err := s.params.Prepare(); err == nil && sameJSON(prepared.Body(), r.Body) {
		return fmt.Sprintf("_, err := %s(ctx, %s)", s.call, structCode(reflect.ValueOf(s.params), s.audience))
	}
	return fmt.Sprintf("prepared, err := messaging.ParsePrepared(%q, []byte(%s))\nif err == nil {\n_, err = client.Send(ctx, prepared)\n}",
		op.Name, stringCode(string(r.Body)))
}

// Refusal returns the error with which package messaging refuses the body of a send before
// it sends anything, or nil. What its parameters cannot express is not refused, because it
// can only be sent as it is.
func Refusal(op string, body []byte) error {
	parse := sends[service.Named(op)]
	if parse == nil {
		return nil
	}
	_, err := parse(body).params.Prepare()
	return err
}

// decode decodes a body, with its numbers as they were sent. What does not fit is left
// out: the comparison with the body finds it.
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

func (b broadcastBody) recipients() []messagingtest.Recipient {
	var many []messagingtest.Recipient
	if decode(b.Recipients, &many); many == nil {
		many = make([]messagingtest.Recipient, 1)
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
		if r.Type == messagingtest.RecipientSegment {
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

func emailSend(body []byte) send {
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
	return send{"client.Broadcasts.SendEmail", messaging.EmailBroadcastParams{SenderEmail: b.SenderEmail, SenderName: b.SenderName,
		Email: b.Email, Subject: b.Subject, CC: b.CC, BCC: b.BCC, ReplyTo: b.ReplyTo, Message: b.Message, TemplateID: b.TemplateID,
		EmailTemplateID: b.EmailTemplateID, Variables: b.Variables, MessageType: b.MessageType, To: b.audience(), Schedule: b.schedule()},
		audienceCode(b.All, b.recipients())}
}

func pushSend(body []byte) send {
	var b struct {
		broadcastBody
		Subject            string `json:"subject"`
		Message            string `json:"message"`
		WhatsAppTemplateID string `json:"whatsapp_template_id"`
	}
	decode(body, &b)
	return send{"client.Broadcasts.SendPush", messaging.PushBroadcastParams{Subject: b.Subject, Message: b.Message,
		WhatsAppTemplateID: b.WhatsAppTemplateID, To: b.audience(), Schedule: b.schedule()},
		audienceCode(b.All, b.recipients())}
}

func createSend(body []byte) send {
	var b struct {
		Name        string                     `json:"name"`
		Description string                     `json:"description"`
		Parameters  []messaging.EventParameter `json:"parameters"`
	}
	decode(body, &b)
	return send{"client.Events.Create",
		messaging.EventCreateParams{Name: b.Name, Description: b.Description, Parameters: b.Parameters}, ""}
}

func triggerSend(body []byte) send {
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
	return send{"client.Events.Trigger", messaging.EventTriggerParams{EventID: b.EventID, Email: identity.Payload.Email,
		Customer: identity.Payload.Customer, Values: b.Payload}, ""}
}

// listCode is for a read. A query that the parameters cannot express is sent as it is.
func listCode(op *service.Operation, r messagingtest.Request) string {
	calls := map[*service.Operation][2]string{service.ListEvents: {"Events", "EventListParams"},
		service.ListCustomers: {"Customers", "CustomerListParams"}, service.ListTransactional: {"Transactional", "TransactionalListParams"}}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(r.Query)) {
		values := r.Query[name]
		field := listField(op, name, values[0])
		if field == "" || len(values) > 1 {
			return doCode(r)
		}
		fields = append(fields, field)
	}
	return fmt.Sprintf("_, err := client.%s.List(ctx, messaging.%s{%s})", calls[op][0], calls[op][1], strings.Join(fields, ", "))
}

// listField returns a field of the parameters of a list, "" if there is none.
func listField(op *service.Operation, name, value string) string {
	switch n, err := strconv.Atoi(value); {
	case name == "per_page" && err == nil && n > 0 && strconv.Itoa(n) == value:
		return "PerPage: " + value
	case name == "cursor" && value != "":
		return "Cursor: " + stringCode(value)
	case op == service.ListCustomers && (name == "customer_ids" || name == "emails"):
		ids := strings.Split(value, ",")
		if slices.ContainsFunc(ids, func(id string) bool { return id == "" || strings.TrimSpace(id) != id }) {
			return ""
		}
		return map[string]string{"customer_ids": "CustomerIDs", "emails": "Emails"}[name] + ": " + literal(reflect.ValueOf(ids))
	default:
		return ""
	}
}

// sameJSON reports whether two texts have the same JSON value, with the same numbers.
func sameJSON(a, b []byte) bool {
	var first, second any
	decode(a, &first)
	decode(b, &second)
	return reflect.DeepEqual(first, second)
}

// stringCode returns a string as Go code, in backquotes where that is easier to read.
func stringCode(s string) string {
	if strings.ContainsAny(s, "\"\n") && strconv.CanBackquote(strings.ReplaceAll(s, "\n", "")) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
