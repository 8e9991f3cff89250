package messaging_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func ExampleNewClient() {
	client, err := messaging.NewClient("https://api.example.com", "your-api-key",
		messaging.WithAttemptTimeout(10*time.Second),
		messaging.WithUserAgent("billing/1.4"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client != nil)

	// Every bad argument is reported at once.
	_, err = messaging.NewClient("api.example.com", "")
	fmt.Println(err)
	// Output:
	// true
	// new client: invalid arguments: baseURL must begin with https://, such as https://api.example.com; apiKey is required
}

func ExampleBroadcastsService_SendEmail() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()

	response, err := client.Broadcasts.SendEmail(ctx, messaging.EmailBroadcastParams{
		SenderEmail: "news@acme.test",
		SenderName:  "Acme",
		Email:       "ada@example.com", // the recipient address that the service requires in addition to To
		Subject:     "We have moved",
		Message:     "<p>Our new address is …</p>",
		MessageType: "announcement",
		To:          messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com", FirstName: "Ada"}),
	})
	if err != nil {
		log.Fatal(err) // NextStepOf(err) tells you what to do
	}
	fmt.Println(response.Message)
	// Output: Email Broadcast sent successfully
}

func ExampleBroadcastsService_SendPush() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()

	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		log.Fatal(err)
	}
	response, err := client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{
		Subject:  "Breakfast is ready",
		Message:  "Come before it is cold.",
		To:       messaging.ToSegments("early-birds"),
		Schedule: messaging.ScheduleAt(time.Date(2030, time.May, 1, 7, 30, 0, 0, paris)),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Message)
	fmt.Println(*service.PushBroadcasts()[0].Params.Schedule)
	// Output:
	// Push notification broadcast sent successfully
	// {2030-05-01 05:30:00 UTC}
}

func ExampleEventsService_Trigger() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()
	event, err := client.Events.Create(ctx, messaging.EventCreateParams{
		Name:        "order shipped",
		Description: "An order has left the warehouse",
		Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText, Required: true},
			{Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true},
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	response, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{
		Definition: event, // checks the values before anything is sent
		Email:      "ada@example.com",
		Values: map[string]any{
			"order":      "A-1001",
			"shipped_at": time.Date(2030, time.May, 1, 9, 0, 0, 0, time.UTC),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Message)
	// Output: Event successfully triggered
}

func ExampleEventTriggerParams_Prepare() {
	event := messaging.Event{
		ID: "8f4b1f0e-8d0c-4f0e-9a53-0f4a3f5f7b11",
		Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText, Required: true},
			{Name: "shipped_at", Type: messaging.ParameterTimestamp},
		},
	}
	_, err := messaging.EventTriggerParams{ // checks and encodes, and sends nothing
		Definition: &event,
		Email:      "ada@example.com",
		Values:     map[string]any{"shipped_at": "2030-05-01T09:00:00+02:00", "oder": "A-1001"},
	}.Prepare()
	var invalid *messaging.ValidationError
	if errors.As(err, &invalid) {
		for _, field := range invalid.Fields {
			fmt.Println(field)
		}
	}
	// Output:
	// payload.order is required by the event
	// payload.shipped_at must be a time.Time, or a string in the form 2006-01-02T15:04:05Z, since the service ignores any other form
	// payload.oder is not a parameter of the event
}

func ExampleCustomersService_All() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.AddCustomers(messaging.Customer{Email: "ada@example.com"}, messaging.Customer{Email: "grace@example.com"})
	ctx, client := context.Background(), service.Client()

	for customer, err := range client.Customers.All(ctx, messaging.CustomerListParams{PerPage: 100}) {
		if err != nil {
			log.Fatal(err) // a *messaging.PageError, whose Cursor lets you resume at this page
		}
		fmt.Println(customer.Email)
	}
	// Output:
	// ada@example.com
	// grace@example.com
}

func ExampleCustomersService_GetByEmail() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.AddCustomers(messaging.Customer{Email: "ada@example.com", FirstName: "Ada"})
	ctx, client := context.Background(), service.Client()

	customer, err := client.Customers.GetByEmail(ctx, "ada@example.com")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(customer.FirstName)

	_, err = client.Customers.GetByEmail(ctx, "nobody@example.com")
	fmt.Println(errors.Is(err, messaging.ErrCustomerNotFound))
	// Output:
	// Ada
	// true
}

func ExampleTransactionalService_All() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.AddTransactional(messaging.TransactionalMessage{Channel: messaging.ChannelSMS, Title: "Your code", TotalSent: 3,
		TotalDelivered: 2})
	ctx, client := context.Background(), service.Client()

	for message, err := range client.Transactional.All(ctx, messaging.TransactionalListParams{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %q: %d of %d delivered\n", message.Channel, message.Title, message.TotalDelivered, message.TotalSent)
	}
	// Output: sms "Your code": 2 of 3 delivered
}

func ExampleNextStepOf() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.Fail("", 1, messagingtest.AnswerLost())
	ctx, client := context.Background(), service.Client()
	broadcast := messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello, everyone.", To: messaging.AllCustomers()}

	_, err = client.Broadcasts.SendPush(ctx, broadcast)
	switch messaging.NextStepOf(err) {
	case messaging.NextNone:
		fmt.Println("done, even if the response could not be read:", err)
	case messaging.NextRetry:
		fmt.Println("make the same call again later:", err)
	case messaging.NextFixRequest:
		fmt.Println("fix this request, and go on with others:", err)
	case messaging.NextFixSetup:
		fmt.Println("keep it, and check the API key, the base URL and the host:", err)
	case messaging.NextCheck:
		fmt.Println("find out whether it was carried out:", err)
	}
	// Output: find out whether it was carried out: send push broadcast: POST /v1/broadcast/send/push-notification: EOF; the broadcast may have been sent
}

func ExampleNewTransport() {
	transport := messaging.NewTransport()
	transport.Protocols.SetHTTP2(true) // pings then detect a silent connection
	client, err := messaging.NewClient("https://api.example.com", "your-api-key",
		messaging.WithHTTPClient(&http.Client{Transport: transport}))
	fmt.Println(client != nil, err)
	// Output: true <nil>
}

func ExampleDeliveryOf() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	client := service.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	for _, fault := range []messagingtest.Fault{messagingtest.NotReached(), messagingtest.AnswerLost(), messagingtest.Status(401)} {
		service.Fail("", 1, fault)
		_, err := client.Broadcasts.SendPush(context.Background(),
			messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello.", To: messaging.AllCustomers()})
		fmt.Printf("%v: %v\n", messaging.DeliveryOf(err), messaging.NextStepOf(err))
	}
	// Output:
	// not sent: try again
	// unknown: check what happened
	// rejected: fix the setup
}

func ExampleAPIError() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()

	_, err = client.Events.Trigger(ctx, messaging.EventTriggerParams{
		EventID: "no-such-event",
		Email:   "ada@example.com",
	})
	var refused *messaging.APIError
	if errors.As(err, &refused) && errors.Is(err, messaging.ErrValidation) {
		for _, field := range refused.Fields {
			fmt.Println(field.Field)
		}
	}
	// Output: event_id
}

func ExamplePageError() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	for i := range 5 {
		service.AddCustomers(messaging.Customer{Email: fmt.Sprintf("customer-%d@example.com", i)})
	}
	ctx, client := context.Background(), service.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))

	params := messaging.CustomerListParams{PerPage: 2}
	for page, err := range client.Customers.Pages(ctx, params) {
		var stopped *messaging.PageError
		if errors.As(err, &stopped) {
			params.Cursor = stopped.Cursor // go on from here later
			break
		}
		fmt.Println("read", len(page.Items))
		service.Fail("", 1, messagingtest.Status(503)) // the next page fails
	}
	rest, err := messaging.Collect(client.Customers.All(ctx, params))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("resumed, and read", len(rest))
	// Output:
	// read 2
	// resumed, and read 3
}

func ExampleClient_Do() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.AddEvents(messaging.Event{Name: "order placed"})
	ctx, client := context.Background(), service.Client()

	var events []struct {
		Name string `json:"name"`
	}
	response, err := client.Do(ctx, messaging.Request{
		Operation: "list event names", Method: "GET", Path: "/v1/events", Into: &events,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Message, events)
	// Output: Company events fetched successfully [{order placed}]
}

func ExampleEventsService_Ensure() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()

	for range 2 { // as each start of a program does
		event, err := client.Events.Ensure(ctx, messaging.EventCreateParams{
			Name:        "order shipped",
			Description: "An order has left the warehouse",
			Parameters: []messaging.EventParameter{
				{Name: "order", Type: messaging.ParameterText, Required: true},
			},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.ID)
	}
	// Output:
	// 00000000-0000-4000-8000-000000000001
	// 00000000-0000-4000-8000-000000000001
}

// A send can be prepared in one place, shown, stored, and sent in another place.
func ExampleClient_Send() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	ctx, client := context.Background(), service.Client()
	service.AddEvents(messaging.Event{ID: "event-1", Name: "order shipped"})
	params := messaging.EventTriggerParams{EventID: "event-1", Email: "ada@example.com"}

	prepared, err := params.Prepare() // checks and encodes, and sends nothing
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n", prepared.Operation(), prepared.Body()) // a dry run
	operation, body := prepared.Operation(), prepared.Body()      // for a database or a queue

	later, err := messaging.ParsePrepared(operation, body)
	if err != nil {
		log.Fatal(err)
	}
	response, err := client.Send(ctx, later) // the same bytes, delivery and errors
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Message)
	// Output:
	// trigger event: {"event_id":"event-1","payload":{"email":"ada@example.com"}}
	// Event successfully triggered
}

// A staging system that cannot mail a customer, however it sends.
func ExampleWithGuard() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	baseURL, apiKey := service.URL(), service.APIKey()

	client, err := messaging.NewClient(baseURL, apiKey,
		messaging.WithAllowOnly("@acme.test", "qa@example.com", "id:qa-7"),
		messaging.WithMaxRecipients(10))
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	_, err = client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello.",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@acme.test"}, messaging.CustomerParams{CustomerID: "qa-7"})})
	fmt.Println(err)
	_, err = client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello.", To: messaging.AllCustomers()})
	fmt.Println(err)
	_, err = client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "event-1", Email: "ada@acme.test.example.com"})
	fmt.Println(err)
	_, err = client.Do(ctx, messaging.Request{Method: "POST", Path: "/v1/campaigns"})
	fmt.Println(err)
	fmt.Println(len(service.Requests()), "request was sent")
	// Output:
	// <nil>
	// send push broadcast: refused by a guard: WithAllowOnly: all_customers is not allowed; nothing was sent
	// trigger event: refused by a guard: WithAllowOnly: payload.email is not allowed; nothing was sent
	// POST request: refused by a guard: WithAllowOnly: cannot tell who would receive this request; nothing was sent
	// 1 request was sent
}

// A counter of sends whose delivery is unknown, without a metrics library.
func ExampleWithHooks() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.Fail("", 1, messagingtest.AnswerLost())

	unknown := expvar.NewInt("messaging_unknown_deliveries")
	client := service.Client(messaging.WithHooks(messaging.Hooks{
		CallDone: func(_ context.Context, call messaging.CallInfo, result messaging.CallResult) {
			if call.Send && result.Delivery == messaging.DeliveryUnknown {
				unknown.Add(1)
			}
		},
	}))
	_, _ = client.Broadcasts.SendPush(context.Background(),
		messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello.", To: messaging.AllCustomers()})
	fmt.Println(unknown)
	// Output: 1
}

// The options of a client that runs for months.
func ExampleWithKeySource() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	baseURL, limiter := service.URL(), unlimited{}
	currentKey := func(context.Context) (string, error) { return service.APIKey(), nil }

	client, err := messaging.NewClient(baseURL, "",
		messaging.WithKeySource(currentKey),      // called before each attempt, so a new key needs no restart
		messaging.WithRateLimiter(limiter),       // such as rate.NewLimiter(50, 10) from golang.org/x/time/rate
		messaging.WithLogger(slog.Default()),     // one record for each attempt, without personal data
		messaging.WithUserAgent("billing/1.4.0"), // identifies your program to the service
	)
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Events.List(context.Background(), messaging.EventListParams{})
	fmt.Println(err)
	// Output: <nil>
}

type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

// progress is what a program stores, in one transaction with what it does with a page. The
// cursor "" is the beginning as well as the end, so that done is stored too.
type progress struct {
	cursor string
	done   bool
}

// A walk that goes on after a crash. A page that was read before the crash may come again, so
// that what you do with it must be harmless twice, or in the transaction with the progress.
func ExampleCustomersService_Pages() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	for i := range 5 {
		service.AddCustomers(messaging.Customer{Email: fmt.Sprintf("customer-%d@example.com", i)})
	}
	ctx, client := context.Background(), service.Client()
	var stored progress // in a database

	walk := func(crash bool) {
		if stored.done {
			return
		}
		params := messaging.CustomerListParams{PerPage: 2, Cursor: stored.cursor}
		for page, err := range client.Customers.Pages(ctx, params) {
			if err != nil {
				fmt.Println(err)
				return // the next run goes on at the same page
			}
			fmt.Println(len(page.Items), "customers")
			if crash {
				return
			}
			stored = progress{cursor: page.Meta.NextPageCursor, done: !page.Meta.HasNextPage}
		}
	}
	walk(true)
	walk(false)
	fmt.Println("done:", stored.done)
	// Output:
	// 2 customers
	// 2 customers
	// 2 customers
	// 1 customers
	// done: true
}

// A one-time password that nobody waits for any more must not be sent.
func ExampleWithNotAfter() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.AddEvents(messaging.Event{ID: "event-1", Name: "password requested"})
	service.Fail("", 1, messagingtest.RateLimited(time.Minute)) // too long to wait

	_, err = service.Client().Events.Trigger(context.Background(),
		messaging.EventTriggerParams{EventID: "event-1", Email: "ada@example.com"},
		messaging.WithNotAfter(time.Now().Add(10*time.Second)),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxRetryAfter: 2 * time.Minute}))
	fmt.Println(err)
	fmt.Println(messaging.NextStepOf(err))
	// Output:
	// trigger event: POST /v1/events/trigger: the time set by WithNotAfter was reached while waiting to retry; the request was refused
	// fix the request
}

func ExampleToEach() {
	push := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: messaging.ToEach(
		messaging.ToCustomers(messaging.CustomerParams{CustomerID: "c-1"}),
		messaging.ToSegments("vip"))}
	prepared, err := push.Prepare()
	if err != nil {
		log.Fatal(err)
	}
	to, err := prepared.Recipients()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(to.CustomerIDs, to.Segments, to.Count)
	// Output: [c-1] [vip] 1
}

func ExampleScheduleAt() {
	at := time.Date(2099, time.March, 1, 9, 0, 0, 0, time.FixedZone("CET", 60*60))
	fmt.Println(*messaging.ScheduleAt(at))

	// At nine on the clocks of Amsterdam, whatever the offset is on that day:
	fmt.Println(messaging.Schedule{Date: "2099-07-01 09:00:00", Timezone: "Europe/Amsterdam"})
	// Output:
	// {2099-03-01 08:00:00 UTC}
	// {2099-07-01 09:00:00 Europe/Amsterdam}
}

// What a guard would refuse is found out before the request is stored.
func ExampleClient_Check() {
	client, err := messaging.NewClient("https://api.example.com", "your-api-key", messaging.WithAllowOnly("@acme.test"))
	if err != nil {
		log.Fatal(err)
	}
	prepared, err := messaging.EventTriggerParams{EventID: "event-1", Email: "ada@example.com"}.Prepare()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Check(context.Background(), prepared))
	// Output: trigger event: refused by a guard: WithAllowOnly: payload.email is not allowed; nothing was sent
}
