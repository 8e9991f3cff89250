package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// tour goes through the operations of the service and tells what it does.
type tour struct {
	out        io.Writer
	client     *messaging.Client
	recipients []messaging.CustomerParams
}

func (t tour) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// write does everything that changes the world.
func (t tour) write(ctx context.Context) error {
	if err := t.triggerEvent(ctx); err != nil {
		return err
	}
	return t.sendBroadcasts(ctx)
}

func (t tour) triggerEvent(ctx context.Context) error {
	t.say("\nDefining the event %q.", "order shipped")
	event, err := t.client.Events.Create(ctx, messaging.EventCreateParams{
		Name:        "order shipped",
		Description: "An order has left the warehouse",
		Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText, Required: true},
			{Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true},
		},
	})
	if err != nil {
		return err
	}

	t.say("Checking a payload against it, without sending anything:")
	hasty := messaging.EventTriggerParams{
		Email:  t.recipients[0].Email,
		Values: map[string]any{"shipped_at": "tomorrow"},
	}
	t.say("  %v", event.Validate(hasty))

	t.say("Triggering it with a payload that fits.")
	response, err := t.client.Events.Trigger(ctx, messaging.EventTriggerParams{
		Definition: event,
		Email:      t.recipients[0].Email,
		Values:     map[string]any{"order": "A-1001", "shipped_at": time.Now()},
	})
	if err != nil {
		return err
	}
	t.say("  %s", response.Message)
	return nil
}

func (t tour) sendBroadcasts(ctx context.Context) error {
	to := messaging.ToCustomers(t.recipients...)

	t.say("\nSending an e-mail broadcast to %d named customers.", len(t.recipients))
	response, err := t.client.Broadcasts.SendEmail(ctx, messaging.EmailBroadcastParams{
		SenderEmail: "news@acme.test",
		SenderName:  "Acme",
		Email:       t.recipients[0].Email,
		Subject:     "We have moved",
		Message:     "<p>Our new address is 1 Main Street.</p>",
		MessageType: "announcement",
		To:          to,
	})
	if err != nil {
		return err
	}
	t.say("  %s", response.Message)

	t.say("Scheduling a push broadcast for tomorrow.")
	response, err = t.client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{
		Subject:  "Come and see us",
		Message:  "The doors open at nine.",
		To:       to,
		Schedule: messaging.ScheduleAt(time.Now().Add(24 * time.Hour)),
	})
	if err != nil {
		return err
	}
	t.say("  %s", response.Message)
	return nil
}

// read lists what the service knows.
func (t tour) read(ctx context.Context) error {
	if err := t.walkCustomers(ctx); err != nil {
		return err
	}
	if err := t.printEvents(ctx); err != nil {
		return err
	}
	return t.printTransactional(ctx)
}

// mostPages keeps the tour short where the service has a million customers.
const mostPages = 5

func (t tour) walkCustomers(ctx context.Context) error {
	t.say("\nWalking the customers, 20 a page:")
	pages := 0
	for page, err := range t.client.Customers.Pages(ctx, messaging.CustomerListParams{PerPage: 20}) {
		if err != nil {
			return err
		}
		pages++
		t.say("  page %d: %d customers", pages, len(page.Items))
		if pages == mostPages {
			t.say("  … and so on; this tour stops here.")
			break
		}
	}
	return nil
}

// mostRows keeps the tables small.
const mostRows = 5

func (t tour) printEvents(ctx context.Context) error {
	page, err := t.client.Events.List(ctx, messaging.EventListParams{PerPage: mostRows})
	if err != nil {
		return err
	}
	t.say("\nEvents:")
	return t.table("NAME\tPARAMETERS", len(page.Items), func(row io.Writer, i int) {
		event := page.Items[i]
		fmt.Fprintf(row, "%s\t%d\n", event.Name, len(event.Parameters))
	})
}

func (t tour) printTransactional(ctx context.Context) error {
	page, err := t.client.Transactional.List(ctx, messaging.TransactionalListParams{PerPage: mostRows})
	if err != nil {
		return err
	}
	t.say("\nTransactional messages:")
	return t.table("CHANNEL\tSENT\tDELIVERED\tFAILED\tBOUNCED", len(page.Items), func(row io.Writer, i int) {
		m := page.Items[i]
		fmt.Fprintf(row, "%s\t%d\t%d\t%d\t%d\n", m.Channel, m.TotalSent, m.TotalDelivered, m.TotalFailed, m.TotalBounced)
	})
}

func (t tour) table(header string, rows int, write func(row io.Writer, i int)) error {
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  "+header)
	for i := range rows {
		fmt.Fprint(table, "  ")
		write(table, i)
	}
	return table.Flush()
}

// fail shows what a caller sees when things go wrong.
func (t tour) fail(ctx context.Context, service *messagingtest.Server) error {
	t.say("\nTriggering an event that does not exist:")
	_, err := t.client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "no-such-event", Email: t.recipients[0].Email})
	t.explain(err)

	t.say("Sending a broadcast whose answer gets lost on the way:")
	service.FailNext(1, messagingtest.AnswerLost())
	_, err = t.client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{
		Subject: "Hello", Message: "Hello, everyone.", To: messaging.AllCustomers(),
	})
	t.explain(err)
	t.say("It was not sent a second time: the service carried out %d push broadcasts, this one and the one for tomorrow.",
		len(service.PushBroadcasts()))
	return nil
}

// explain tells what an error says, and what it means for the caller.
func (t tour) explain(err error) {
	t.say("  error:    %v", err)
	var refused *messaging.APIError
	if errors.As(err, &refused) {
		for _, field := range refused.Fields {
			t.say("  field:    %v", field)
		}
	}
	t.say("  delivery: %v, %s", messaging.DeliveryOf(err), advice(err))
}

// advice says what to do about a send that failed.
func advice(err error) string {
	switch delivery := messaging.DeliveryOf(err); {
	case delivery == messaging.DeliveryAccepted:
		return "it was carried out: do not send it again"
	case messaging.Retryable(err):
		return "nothing was done: send it again later"
	case delivery == messaging.DeliveryUnknown:
		return "it may have been carried out: find out before sending it again"
	case errors.Is(err, messaging.ErrValidation):
		return "nothing was done: fix the request first"
	default:
		return "nothing was done: fix the API key, the base URL or the host first"
	}
}
