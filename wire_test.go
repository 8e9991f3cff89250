package messaging_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/internal/service"
)

var updateGoldens = flag.Bool("update", false, "rewrite the golden files in testdata, except for those that are written by hand")

// Each call puts exactly the request of its golden file on the wire, and makes
// exactly the wanted value of the response in the other.
func TestWire(t *testing.T) {
	for _, exchange := range wireExchanges() {
		t.Run(exchange.name, func(t *testing.T) {
			answer, err := os.ReadFile(exchange.responsePath())
			require.NoError(t, err)
			rec := &recorder{response: string(answer)}

			got, err := exchange.call(t.Context(), rec.dial(t, exchange.base, exchange.options...))
			require.NoError(t, err)

			requests := rec.recorded()
			require.Len(t, requests, 1, "requests for one call")
			if *updateGoldens {
				require.NoError(t, os.WriteFile(exchange.requestPath(), []byte(requests[0]), 0o644))
			}
			golden, err := os.ReadFile(exchange.requestPath())
			require.NoError(t, err, "run the test with -update to write it")
			sent := parseWireRequest(t, requests[0])
			assert.Equal(t, parseWireRequest(t, string(golden)), sent)
			assertNothingUnset(t, "the body", sent.Body)

			if response := responseOf(got); response != nil {
				assert.Positive(t, response.Duration)
				response.Duration = 0
			}
			assert.Equal(t, exchange.want, got)
		})
	}
}

func TestWireGoldenFilesBelongToAnExchange(t *testing.T) {
	var wanted []string
	for _, exchange := range wireExchanges() {
		wanted = append(wanted, exchange.requestPath(), exchange.responsePath())
	}
	found, err := filepath.Glob("testdata/wire/*")
	require.NoError(t, err)
	assert.ElementsMatch(t, wanted, found)
}

func TestWireGoldenFilesCoverEveryOperation(t *testing.T) {
	covered := make(map[string]bool)
	for _, exchange := range wireExchanges() {
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(404, "")},
			messaging.WithHooks(messaging.Hooks{CallDone: func(_ context.Context, call messaging.CallInfo, _ messaging.CallResult) {
				covered[call.Operation] = true
			}}))
		_, _ = exchange.call(t.Context(), client)
	}
	for op := range service.All() {
		assert.True(t, covered[op.Name], "no golden request of %q: write its response to testdata/wire/%s.response.http, "+
			"add an exchange to wireExchanges, and run the test with -update", op.Name, strings.ReplaceAll(op.Name, " ", "_"))
	}
}

// Two base URLs: the service at the root of its host, and below a path, one
// segment of which holds an escaped slash.
const (
	atTheRoot     = "https://api.example.com"
	behindGateway = "https://gateway.example.com/tenants/acme%2Feu/"
)

type wireExchange struct {
	name    string // of the test, and with underscores of its two golden files
	base    string
	options []messaging.Option
	call    wireCall
	want    any
}

type wireCall func(context.Context, *messaging.Client) (any, error)

func (e wireExchange) requestPath() string  { return e.path(".request.http") }
func (e wireExchange) responsePath() string { return e.path(".response.http") }
func (e wireExchange) path(suffix string) string {
	return filepath.Join("testdata", "wire", strings.ReplaceAll(e.name, " ", "_")+suffix)
}

func wireExchanges() []wireExchange {
	return slices.Concat(emailExchanges(), pushExchanges(), createExchanges(), triggerExchanges(),
		eventListExchanges(), customerExchanges(), transactionalExchanges())
}

func emailExchanges() []wireExchange {
	send := func(to messaging.Audience, at *messaging.Schedule) wireCall {
		return func(ctx context.Context, client *messaging.Client) (any, error) {
			return client.Broadcasts.SendEmail(ctx, messaging.EmailBroadcastParams{
				SenderEmail: "billing@acme.example", SenderName: "Acme Billing", Email: "ada@example.com",
				Subject: "Your receipt", Message: "<p>Thank you & goodbye</p>", MessageType: "receipt",
				To: to, Schedule: at,
			})
		}
	}
	ada := messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})
	grace := messaging.ToCustomers(messaging.CustomerParams{CustomerID: "customer-2"}, messaging.CustomerParams{CustomerID: "customer-3"})
	sent := goldenResponse("Email Broadcast sent successfully", "null")
	return []wireExchange{
		{name: "send an email to one customer", base: atTheRoot, call: send(ada, nil), want: sent},
		{name: "send an email to a segment", base: behindGateway, call: send(messaging.ToSegments("segment-1"), nil), want: sent},
		{name: "send an email to customers and segments", base: behindGateway, want: sent,
			call: send(messaging.ToEach(ada, grace, messaging.ToSegments("segment-1", "segment-2")), nil)},
		{name: "send an email to all customers", base: atTheRoot, call: send(messaging.AllCustomers(), nil), want: sent},
		{name: "send an email later", base: behindGateway, want: sent,
			call: send(ada, &messaging.Schedule{Date: "2099-03-04 09:30:00", Timezone: "Europe/Paris"})},
		{name: "send an email with every field", base: behindGateway, call: sendEmailWithEveryField, want: sent},
	}
}

func sendEmailWithEveryField(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Broadcasts.SendEmail(ctx, messaging.EmailBroadcastParams{
		SenderEmail: "billing@acme.example", SenderName: "Acme Billing", Email: "ada@example.com",
		Subject: "Your receipt — Ünïcode", CC: []string{"archive@acme.example", "audit@acme.example"},
		BCC: []string{"legal@acme.example"}, ReplyTo: []string{"support@acme.example"},
		Message: "Thank you\nand goodbye", TemplateID: "template-7", EmailTemplateID: "email-template-9",
		Variables: map[string]any{
			"order":   map[string]any{"number": int64(math.MaxInt64), "lines": []string{"tea", "milk"}, "paid": true},
			"expires": time.Date(2031, 3, 4, 9, 30, 0, 0, time.UTC),
		},
		MessageType: "receipt", To: messaging.ToCustomers(goldenRecipient),
		Schedule: &messaging.Schedule{Date: "2099-03-04 09:30:00", Timezone: "Africa/Lagos"},
	})
}

func pushExchanges() []wireExchange {
	send := func(p messaging.PushBroadcastParams) wireCall {
		return func(ctx context.Context, client *messaging.Client) (any, error) {
			return client.Broadcasts.SendPush(ctx, p)
		}
	}
	reminder := messaging.PushBroadcastParams{Subject: "Reminder", Message: "Doors open at eight"}
	to := func(audience messaging.Audience) messaging.PushBroadcastParams {
		p := reminder
		p.To = audience
		return p
	}
	full := to(messaging.ToEach(messaging.ToCustomers(goldenRecipient), messaging.ToSegments("segment-1")))
	full.WhatsAppTemplateID = "whatsapp-template-3"
	full.Schedule = messaging.ScheduleAt(time.Date(2031, 3, 4, 9, 30, 0, 999, time.UTC))
	sent := goldenResponse("Push notification broadcast sent successfully", "null")
	return []wireExchange{
		{name: "send a push to one customer", base: behindGateway, want: sent,
			call: send(to(messaging.ToCustomers(messaging.CustomerParams{CustomerID: "customer-1",
				Devices: []messaging.Device{{Type: "ios", Token: "token-1"}}})))},
		{name: "send a push to segments", base: atTheRoot, call: send(to(messaging.ToSegments("segment-1", "segment-2"))), want: sent},
		{name: "send a push to all customers", base: behindGateway, call: send(to(messaging.AllCustomers())), want: sent},
		{name: "send a push with every field", base: atTheRoot, call: send(full), want: sent},
	}
}

func createExchanges() []wireExchange {
	create := func(p messaging.EventCreateParams) wireCall {
		return func(ctx context.Context, client *messaging.Client) (any, error) { return client.Events.Create(ctx, p) }
	}
	return []wireExchange{
		{name: "create an event", base: behindGateway, want: &goldenEvent,
			call: create(messaging.EventCreateParams{Name: "order placed", Description: "An order was paid for",
				Parameters: []messaging.EventParameter{
					{Name: "sku", Type: messaging.ParameterText, Required: true},
					{Name: "amount", Type: "Numeric", Required: true},
					{Name: "placed_at", Type: "TIMESTAMP"},
				}})},
		{name: "create an event without parameters", base: atTheRoot,
			call: create(messaging.EventCreateParams{Name: "ping", Description: "Nothing to add", Parameters: []messaging.EventParameter{}}),
			want: &messaging.Event{ID: "0d5f1e0c-41c5-4ea0-9f0e-6b1f3f1c9a02", Name: "ping", Description: "Nothing to add",
				CreatedAt: time.Date(2031, 1, 2, 3, 4, 5, 6000, time.UTC)}},
	}
}

func triggerExchanges() []wireExchange {
	trigger := func(p messaging.EventTriggerParams) wireCall {
		return func(ctx context.Context, client *messaging.Client) (any, error) { return client.Events.Trigger(ctx, p) }
	}
	placedAt := time.Date(2031, 3, 4, 10, 30, 0, 987654321, time.FixedZone("two hours east", 2*60*60))
	triggered := goldenResponse("Event successfully triggered", "true")
	return []wireExchange{
		{name: "trigger an event by email", base: atTheRoot, want: triggered,
			call: trigger(messaging.EventTriggerParams{EventID: goldenEvent.ID, Email: "ada@example.com"})},
		{name: "trigger an event by customer", base: behindGateway, want: triggered,
			call: trigger(messaging.EventTriggerParams{EventID: goldenEvent.ID, Customer: &messaging.CustomerParams{CustomerID: "customer-1"}})},
		{name: "trigger an event by its definition", base: behindGateway, want: triggered,
			call: trigger(messaging.EventTriggerParams{Definition: &goldenEvent, Email: "ada@example.com",
				Values: map[string]any{"sku": "TEA-1", "amount": 12.5, "placed_at": placedAt}})},
		{name: "trigger an event with every field", base: behindGateway, want: triggered,
			call: trigger(messaging.EventTriggerParams{EventID: goldenEvent.ID, Email: "ada@example.com", Customer: &goldenRecipient,
				Values: map[string]any{
					"amount":    int64(math.MaxInt64),
					"gift":      false,
					"placed_at": placedAt,
					"shipments": []any{map[string]any{"left_at": &placedAt, "carrier": "post"}},
				}})},
	}
}

func eventListExchanges() []wireExchange {
	list := func(p messaging.EventListParams) wireCall {
		return func(ctx context.Context, client *messaging.Client) (any, error) { return client.Events.List(ctx, p) }
	}
	const message = "Company events fetched successfully"
	return []wireExchange{
		{name: "list events", base: atTheRoot, call: list(messaging.EventListParams{}),
			want: &messaging.Page[messaging.Event]{
				Items: []messaging.Event{goldenEvent, {
					ID: "7c0b8a55-2f0e-4a53-8f2d-0c7de7a1b003", Name: "order sent",
					Parameters: []messaging.EventParameter{{Name: "carrier", Type: "colour"}},
					CreatedAt:  time.Date(2031, 1, 3, 3, 4, 5, 0, time.UTC),
					Extra:      map[string]json.RawMessage{"archived": json.RawMessage("false"), "owner": json.RawMessage(`{"id": 7}`)},
				}},
				Meta:     messaging.PageMeta{HasNextPage: true, NextPageCursor: "eyJpZCI6Mn0=", PerPage: 20},
				Response: goldenResponse(message, ""),
			}},
		{name: "list events with every query parameter", base: behindGateway,
			options: []messaging.Option{messaging.WithUserAgent("billing/1.4 (+https://acme.example)"),
				messaging.WithHeader("X-Request-Id", "request-1")},
			call: list(messaging.EventListParams{PerPage: 2, Cursor: "eyJpZCI6Mn0=+/ &?"}),
			want: &messaging.Page[messaging.Event]{
				Cursor:   "eyJpZCI6Mn0=+/ &?",
				Items:    []messaging.Event{goldenEvent},
				Meta:     messaging.PageMeta{HasPrevPage: true, PrevPageCursor: "eyJpZCI6MH0=", PerPage: 2},
				Response: goldenResponse(message, ""),
			}},
		{name: "list events where there are none", base: behindGateway, call: list(messaging.EventListParams{}),
			want: &messaging.Page[messaging.Event]{Meta: messaging.PageMeta{PerPage: 20}, Response: goldenResponse(message, "")}},
		{name: "get an event by name", base: behindGateway, want: &goldenEvent,
			call: func(ctx context.Context, client *messaging.Client) (any, error) {
				return client.Events.GetByName(ctx, goldenEvent.Name)
			}},
	}
}

func customerExchanges() []wireExchange {
	list := func(p messaging.CustomerListParams) wireCall {
		return func(ctx context.Context, client *messaging.Client) (any, error) { return client.Customers.List(ctx, p) }
	}
	const message = "Customers fetched successfully"
	return []wireExchange{
		{name: "list customers", base: behindGateway, call: list(messaging.CustomerListParams{}),
			want: &messaging.Page[messaging.Customer]{
				Items: []messaging.Customer{goldenCustomer, {CustomerID: "customer-2", Email: "grace@example.com",
					CreatedAt: time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)}},
				Meta:     messaging.PageMeta{HasNextPage: true, NextPageCursor: "customer-cursor-2", PerPage: 20},
				Response: goldenResponse(message, ""),
			}},
		{name: "list customers with every query parameter", base: behindGateway,
			call: list(messaging.CustomerListParams{PerPage: 2, Cursor: "customer cursor/2", CustomerIDs: messaging.Only("customer-1", "a&b=c"),
				Emails: messaging.Only("ada+news@example.com", "grace@example.com")}),
			want: &messaging.Page[messaging.Customer]{
				Cursor:   "customer cursor/2",
				Items:    []messaging.Customer{goldenCustomer},
				Meta:     messaging.PageMeta{HasPrevPage: true, PrevPageCursor: "customer-cursor-0", PerPage: 2},
				Response: goldenResponse(message, ""),
			}},
		{name: "list customers where there are none", base: atTheRoot, call: list(messaging.CustomerListParams{}),
			want: &messaging.Page[messaging.Customer]{Meta: messaging.PageMeta{PerPage: 20}, Response: goldenResponse(message, "")}},
		{name: "get a customer", base: atTheRoot, want: &goldenCustomer,
			call: func(ctx context.Context, client *messaging.Client) (any, error) {
				return client.Customers.Get(ctx, "customer-1")
			}},
		{name: "get a customer by email", base: behindGateway, want: &goldenCustomer,
			call: func(ctx context.Context, client *messaging.Client) (any, error) {
				return client.Customers.GetByEmail(ctx, "Ada@Example.com")
			}},
	}
}

func transactionalExchanges() []wireExchange {
	list := func(p messaging.TransactionalListParams) wireCall {
		return func(ctx context.Context, client *messaging.Client) (any, error) {
			return client.Transactional.List(ctx, p)
		}
	}
	const message = "Transactional Messages fetched successfully"
	sentAt := time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)
	return []wireExchange{
		{name: "list transactional messages", base: behindGateway, call: list(messaging.TransactionalListParams{}),
			want: &messaging.Page[messaging.TransactionalMessage]{
				Items: []messaging.TransactionalMessage{
					{ID: "e1a0c7de-0001-4a53-8f2d-0c7de7a1b001", Channel: messaging.ChannelEmail, Subject: "Welcome", Title: "Hello",
						Message: "Good to see you", CreatedAt: sentAt,
						TotalSent: 5, TotalDelivered: 4, TotalFailed: 3, TotalComplained: 2, TotalBounced: 1},
					{ID: "e1a0c7de-0002-4a53-8f2d-0c7de7a1b002", Channel: messaging.ChannelSMS, Message: "Your code is 1234",
						CreatedAt: sentAt, TotalSent: 1, TotalDelivered: 1},
					{ID: "e1a0c7de-0003-4a53-8f2d-0c7de7a1b003", Channel: messaging.ChannelWhatsApp, Message: "Your code is 5678",
						MessageType: "OTP", CreatedAt: sentAt},
				},
				Meta:     messaging.PageMeta{HasNextPage: true, NextPageCursor: "message-cursor-2", PerPage: 20},
				Response: goldenResponse(message, ""),
			}},
		{name: "list transactional messages with every query parameter", base: atTheRoot,
			call: list(messaging.TransactionalListParams{PerPage: 3, Cursor: "message-cursor-2"}),
			want: &messaging.Page[messaging.TransactionalMessage]{
				Cursor:   "message-cursor-2",
				Items:    []messaging.TransactionalMessage{{ID: "e1a0c7de-0004-4a53-8f2d-0c7de7a1b004", Channel: "carrier-pigeon", CreatedAt: sentAt}},
				Meta:     messaging.PageMeta{HasPrevPage: true, PrevPageCursor: "message-cursor-0", PerPage: 3},
				Response: goldenResponse(message, ""),
			}},
		{name: "list transactional messages where there are none", base: behindGateway, call: list(messaging.TransactionalListParams{}),
			want: &messaging.Page[messaging.TransactionalMessage]{Meta: messaging.PageMeta{PerPage: 20}, Response: goldenResponse(message, "")}},
	}
}

var (
	goldenRecipient = messaging.CustomerParams{
		CustomerID: "customer-1", Email: "ada@example.com", FirstName: "Ada", LastName: "Lovelace", PhoneNo: "+441234567890",
		Devices: []messaging.Device{{Type: "ios", Token: "token-1"}, {Type: "android", Token: "token-2"}},
	}
	goldenEvent = messaging.Event{
		ID: "3f2b8a55-2f0e-4a53-8f2d-0c7de7a1b001", Name: "order placed", Description: "An order was paid for",
		Parameters: []messaging.EventParameter{
			{Name: "sku", Type: messaging.ParameterText, Required: true},
			{Name: "amount", Type: messaging.ParameterNumeric, Required: true},
			{Name: "placed_at", Type: messaging.ParameterTimestamp},
		},
		CreatedAt: time.Date(2031, 1, 2, 3, 4, 5, 678901000, time.UTC),
	}
	goldenCustomer = messaging.Customer{
		CustomerID: "customer-1", FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.com", PhoneNo: "+441234567890",
		CreatedAt: time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC), UpdatedAt: time.Date(2031, 1, 3, 3, 4, 5, 0, time.UTC),
		Providers: []string{"mail", "push"}, LastInteraction: time.Date(2031, 1, 4, 3, 4, 5, 0, time.UTC),
	}
)

// goldenResponse is an answer as every golden response gives it. Lists keep no data.
func goldenResponse(message, data string) *messaging.Response {
	response := &messaging.Response{StatusCode: http.StatusOK, Message: message, Attempts: 1,
		Header: http.Header{"Content-Type": {"application/json"}, "X-Answer": {"golden"}}}
	if data != "" {
		response.Data = json.RawMessage(data)
	}
	return response
}

// responseOf is the part of a result that tells about the answer, nil where the
// result is a model alone.
func responseOf(result any) *messaging.Response {
	if response, ok := result.(*messaging.Response); ok {
		return response
	}
	page := reflect.ValueOf(result).Elem().FieldByName("Response")
	if !page.IsValid() {
		return nil
	}
	return page.Interface().(*messaging.Response)
}

type wireRequest struct {
	Method, Target, Host string
	Header               http.Header
	Body                 any // of JSON, with every number as it is written
}

func parseWireRequest(t *testing.T, text string) wireRequest {
	rest := bufio.NewReader(strings.NewReader(text))
	request, err := http.ReadRequest(rest)
	require.NoError(t, err)
	parsed := wireRequest{request.Method, request.RequestURI, request.Host, request.Header, nil}
	body := json.NewDecoder(rest)
	body.UseNumber()
	if err := body.Decode(&parsed.Body); err != io.EOF {
		require.NoError(t, err)
		require.ErrorIs(t, body.Decode(new(any)), io.EOF, "one JSON value and no more")
	}
	return parsed
}

// assertNothingUnset refuses null and "" anywhere in a body: what is not set is
// not sent.
func assertNothingUnset(t *testing.T, path string, value any) {
	switch value := value.(type) {
	case string:
		assert.NotEmpty(t, value, path)
	case map[string]any:
		for key, member := range value {
			assert.NotNil(t, member, path+"."+key)
			assertNothingUnset(t, path+"."+key, member)
		}
	case []any:
		for i, element := range value {
			assert.NotNil(t, element, "%s.%d", path, i)
			assertNothingUnset(t, fmt.Sprintf("%s.%d", path, i), element)
		}
	}
}
