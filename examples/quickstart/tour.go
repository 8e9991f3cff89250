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

// tour calls the operations of the service and prints each step.
type tour struct {
	out        io.Writer
	client     *messaging.Client
	recipients []messaging.CustomerParams
}

// printf prints a line.
func (t tour) printf(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// write defines an event, triggers it, and sends broadcasts.
func (t tour) write(ctx context.Context) error {
	if err := t.triggerEvent(ctx); err != nil {
		return err
	}
	return t.sendBroadcasts(ctx)
}

func (t tour) triggerEvent(ctx context.Context) error {
	t.printf("\nDefining the event %q, unless it is there.", "order shipped")
	event, err := t.client.Events.Ensure(ctx, messaging.EventCreateParams{
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

	t.printf("Preparing an invalid payload, without sending it:")
	_, err = messaging.EventTriggerParams{
		Definition: event,
		Email:      t.recipients[0].Email,
		Values:     map[string]any{"shipped_at": "tomorrow"},
	}.Prepare()
	t.printf("  %v", err)

	t.printf("Triggering the event with a valid payload.")
	response, err := t.client.Events.Trigger(ctx, messaging.EventTriggerParams{
		Definition: event,
		Email:      t.recipients[0].Email,
		Values:     map[string]any{"order": "A-1001", "shipped_at": time.Now()},
	})
	if err != nil {
		return err
	}
	t.printf("  %s", response.Message)
	return nil
}

func (t tour) sendBroadcasts(ctx context.Context) error {
	to := messaging.ToCustomers(t.recipients...)

	t.printf("\nSending an email broadcast to %d customer(s).", len(t.recipients))
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
	t.printf("  %s", response.Message)

	t.printf("Scheduling a push broadcast for tomorrow.")
	response, err = t.client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{
		Subject:  "Come and see us",
		Message:  "The doors open at nine.",
		To:       to,
		Schedule: messaging.ScheduleAt(time.Now().Add(24 * time.Hour)),
	})
	if err != nil {
		return err
	}
	t.printf("  %s", response.Message)
	return nil
}

// read lists customers, events and transactional messages.
func (t tour) read(ctx context.Context) error {
	if err := t.printCustomers(ctx); err != nil {
		return err
	}
	if err := t.printEvents(ctx); err != nil {
		return err
	}
	return t.printTransactional(ctx)
}

// maxPages keeps the output short if the service has many customers.
const maxPages = 5

func (t tour) printCustomers(ctx context.Context) error {
	t.printf("\nListing the customers, 20 per page:")
	pages := 0
	for page, err := range t.client.Customers.Pages(ctx, messaging.CustomerListParams{PerPage: 20}) {
		if err != nil {
			return err
		}
		pages++
		t.printf("  page %d: %d customer(s)", pages, len(page.Items))
		if pages == maxPages {
			t.printf("  This tour stops after %d pages.", maxPages)
			break
		}
	}
	return nil
}

// maxRows is the number of events and transactional messages to print.
const maxRows = 5

func (t tour) printEvents(ctx context.Context) error {
	page, err := t.client.Events.List(ctx, messaging.EventListParams{PerPage: maxRows})
	if err != nil {
		return err
	}
	t.printf("\nEvents:")
	return t.printTable("NAME\tPARAMETERS", len(page.Items), func(row io.Writer, i int) {
		event := page.Items[i]
		fmt.Fprintf(row, "%s\t%d\n", event.Name, len(event.Parameters))
	})
}

func (t tour) printTransactional(ctx context.Context) error {
	page, err := t.client.Transactional.List(ctx, messaging.TransactionalListParams{PerPage: maxRows})
	if err != nil {
		return err
	}
	t.printf("\nTransactional messages:")
	return t.printTable("CHANNEL\tSENT\tDELIVERED\tFAILED\tBOUNCED", len(page.Items), func(row io.Writer, i int) {
		m := page.Items[i]
		fmt.Fprintf(row, "%s\t%d\t%d\t%d\t%d\n",
			m.Channel, m.TotalSent, m.TotalDelivered, m.TotalFailed, m.TotalBounced)
	})
}

// printTable prints a table. The function write prints row i.
func (t tour) printTable(header string, rows int, write func(row io.Writer, i int)) error {
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  "+header)
	for i := range rows {
		fmt.Fprint(table, "  ")
		write(table, i)
	}
	return table.Flush()
}

// fail shows the errors for a refused request and for a lost response.
func (t tour) fail(ctx context.Context, service *messagingtest.Server) error {
	t.printf("\nTriggering an event that does not exist:")
	_, err := t.client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "no-such-event", Email: t.recipients[0].Email})
	t.explain(err)

	t.printf("Sending a broadcast whose response is lost:")
	service.Fail("", 1, messagingtest.AnswerLost())
	_, err = t.client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{
		Subject: "Hello", Message: "Hello, everyone.", To: messaging.AllCustomers(),
	})
	t.explain(err)
	t.printf("The client did not retry it. The service received %d push broadcasts: this one and the scheduled one.",
		len(service.PushBroadcasts()))
	return nil
}

// explain prints an error and what the caller should do about it.
func (t tour) explain(err error) {
	t.printf("  error:    %v", err)
	var apiErr *messaging.APIError
	if errors.As(err, &apiErr) {
		for _, field := range apiErr.Fields {
			t.printf("  field:    %v", field)
		}
	}
	t.printf("  delivery: %v; next: %v", messaging.DeliveryOf(err), messaging.NextStepOf(err))
}
