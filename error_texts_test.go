package messaging_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// textCause is a way to bring about the text of an error.
type textCause struct {
	name string
	call scripted.Call
}

// TestErrorTextsAreThoseOfTheGoldenFile keeps every text in a file that can be read from
// top to bottom. To add a text, add a line to one of the lists below, or a cause to
// causes_test.go, and run the test with -update.
func TestErrorTextsAreThoseOfTheGoldenFile(t *testing.T) {
	const path = "testdata/error_texts.golden"
	var texts bytes.Buffer
	texts.WriteString("# The texts of all errors, with their causes. Run go test . -run ErrorTexts -update to write it.\n")
	write := func(name string, err error) {
		if err != nil {
			requireOneSeparator(t, err)
			assert.EqualError(t, &messaging.PageError{Cursor: "c1", Next: "c2", Err: err}, err.Error(), "a PageError says no less and no more")
			fmt.Fprintf(&texts, "\n%s\n\t%s\n", name, strings.ReplaceAll(err.Error(), "\n", "\n\t"))
		}
	}
	for _, cause := range causes() {
		for _, kind := range cause.everyKind() {
			err := cause.failIn(t, kind)
			requireTrueText(t, unlessJoined(err))
			if kind != aRepeatableSend || !slices.Contains(cause.everyKind(), aSend) { // which has the same text
				write(cause.name+", "+kind, err)
			}
		}
	}
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
	for _, cause := range slices.Concat(textsOfNewClient(), textsOfOptions(), textsOfBroadcasts(), textsOfAudiences(), textsOfEvents(),
		textsOfValues(), textsOfLists(), textsOfDo(), textsOfGuards(), textsOfPrepared(), textsOfModels()) {
		err := cause.call(t.Context(), client)
		assert.Error(t, err, cause.name)
		write(cause.name, err)
	}
	if *updateGoldens {
		require.NoError(t, os.WriteFile(path, texts.Bytes(), 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	requireSameLines(t, string(golden), texts.String())
}

// requireSameLines shows the lines that differ, and not the rest of a long file.
func requireSameLines(t *testing.T, golden, written string) {
	without := func(all, others string) (lines []string) {
		for line := range strings.Lines(all) {
			if !strings.Contains("\n"+others, "\n"+line) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	assert.Empty(t, without(written, golden), "new: run the test with -update, and read the difference")
	assert.Empty(t, without(golden, written), "gone: run the test with -update, and read the difference")
	assert.True(t, golden == written, "the order of the golden file differs: run the test with -update")
}

// requireOneSeparator requires that no problem with an argument holds what separates it
// from the next.
func requireOneSeparator(t *testing.T, err error) {
	invalid, ok := err.(*messaging.ValidationError)
	if !ok || invalid == nil {
		return
	}
	for _, field := range invalid.Fields {
		assert.NotContains(t, field.String(), ";", "the text of an error separates its problems by semicolons")
	}
}

// unlessJoined returns err, or nil if its text is that of several errors.
func unlessJoined(err error) error {
	if _, joined := err.(interface{ Unwrap() []error }); joined {
		return nil
	}
	return err
}

func textsOfNewClient() []textCause {
	const url, key = "https://api.example.com", "test-key-1"
	with := func(name string, opt messaging.Option) textCause {
		return textCause{name, newClientWith(url, key, opt)}
	}
	none := func(context.Context) (string, error) { return "", nil }
	return []textCause{
		{"a base URL without a scheme", newClientWith("api.example.com", key)},
		{"a base URL of another scheme", newClientWith("ftp://api.example.com", key)},
		{"a base URL without encryption", newClientWith("http://api.example.com", key)},
		{"a base URL that is none", newClientWith("https://api example.com", key)},
		{"a base URL with a line break", newClientWith(url+"\n", key)},
		{"a base URL with a password", newClientWith("https://ada:secret@api.example.com", key)},
		{"a base URL with a query", newClientWith(url+"?a=b", key)},
		{"a base URL with a dot segment", newClientWith(url+"/../v2", key)},
		{"a base URL with an unescaped character", newClientWith(url+"/a\"b", key)},
		{"no API key", newClientWith(url, "")},
		{"an API key with a line break", newClientWith(url, "key\n")},
		{"an API key with a blank", newClientWith(url, "abc def")},
		{"a base URL with a port that is too large", newClientWith("https://api.example.com:99999", key)},
		{"a base URL without a host", newClientWith("https://", key)},
		{"an API key with the name of a scheme", newClientWith(url, "Bearer abc")},
		{"an API key that is not ASCII", newClientWith(url, "clé")},
		{"an API key that is too long", newClientWith(url, strings.Repeat("k", 5000))},
		{"an API key beside a key source", newClientWith(url, key, messaging.WithKeySource(none))},
		with("a nil option of NewClient", nil),
		with("no HTTP client", messaging.WithHTTPClient(nil)),
		with("an attempt timeout of 0", messaging.WithAttemptTimeout(0)),
		with("a negative retry policy", messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: -1})),
		with("a retry policy whose waits contradict each other",
			messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Minute, MaxWait: time.Second})),
		with("no rate limiter", messaging.WithRateLimiter(nil)),
		with("no logger", messaging.WithLogger(nil)),
		with("no guard", messaging.WithGuard(nil)),
		with("an invalid pattern", messaging.WithAllowOnly("acme.test", "@*.acme.test")),
		with("no hooks", messaging.WithHooks(messaging.Hooks{})),
		with("a blank user agent", messaging.WithUserAgent(" ")),
		with("a response size of 0", messaging.WithMaxResponseBytes(0)),
		{"no key source", newClientWith(url, "", messaging.WithKeySource(nil))},
		with("a header without a name", messaging.WithHeader("", "x")),
		with("a reserved header", messaging.WithHeader("host", "x")),
		with("a header with a line break", messaging.WithHeader("X-A", "a\nb")),
		{"everything wrong at once", newClientWith("", "", messaging.WithLogger(nil), messaging.WithGuard(nil), messaging.WithUserAgent(""),
			messaging.WithRateLimiter(nil), messaging.WithHTTPClient(nil), messaging.WithAttemptTimeout(-1),
			messaging.WithMaxResponseBytes(-1), messaging.WithHooks(messaging.Hooks{}))},
	}
}

func newClientWith(baseURL, apiKey string, opts ...messaging.Option) scripted.Call {
	return func(context.Context, *messaging.Client, ...messaging.RequestOption) error {
		_, err := messaging.NewClient(baseURL, apiKey, opts...)
		return err
	}
}

func textsOfOptions() []textCause {
	with := func(name string, opt messaging.RequestOption) textCause {
		return textCause{name, func(ctx context.Context, c *messaging.Client, _ ...messaging.RequestOption) error {
			return scripted.TriggerEvent(ctx, c, opt)
		}}
	}
	return []textCause{
		with("a nil option of a call", nil),
		with("the zero time", messaging.WithNotAfter(time.Time{})),
		with("a reserved header of a call", messaging.WithHeader("X-Authorization", "x")),
		{"a nil context", func(_ context.Context, c *messaging.Client, _ ...messaging.RequestOption) error {
			var none context.Context
			return scripted.TriggerEvent(none, c)
		}},
	}
}

func textsOfBroadcasts() []textCause {
	type params = messaging.EmailBroadcastParams
	type push = messaging.PushBroadcastParams
	return []textCause{
		{"an email broadcast without anything", emailWith(func(p *params) { *p = params{} })},
		{"a malformed sender", emailWith(func(p *params) { p.SenderEmail = "Acme" })},
		{"a malformed recipient", emailWith(func(p *params) { p.Email = "ada@@example.com" })},
		{"an empty cc", emailWith(func(p *params) { p.CC = []string{""} })},
		{"a malformed bcc", emailWith(func(p *params) { p.BCC = []string{"ada"} })},
		{"a malformed reply_to", emailWith(func(p *params) { p.ReplyTo = []string{"ada"} })},
		{"a subject that is not UTF-8", emailWith(func(p *params) { p.Subject = "\xff" })},
		{"a blank subject", emailWith(func(p *params) { p.Subject = " " })},
		{"a subject with a line break", emailWith(func(p *params) { p.Subject = "Hello\nBcc: ada@example.com" })},
		{"a name with a line break", emailWith(func(p *params) { p.SenderName = "Acme\r\n" })},
		{"variables that cannot be written", emailWith(func(p *params) { p.Variables = map[string]any{"total": math.NaN()} })},
		{"a variable whose key is not UTF-8", emailWith(func(p *params) { p.Variables = map[string]any{"\xff": 1} })},
		{"a push broadcast without anything", pushWith(func(p *push) { *p = push{} })},
		{"a schedule without anything", pushWith(func(p *push) { p.Schedule = new(messaging.Schedule) })},
		{"a schedule at the zero time", pushWith(func(p *push) { p.Schedule = messaging.ScheduleAt(time.Time{}) })},
		{"a schedule without a zone", pushWith(func(p *push) { p.Schedule = &messaging.Schedule{Date: "2030-05-01 07:30:00"} })},
		{"a schedule in another form",
			pushWith(func(p *push) { p.Schedule = &messaging.Schedule{Date: "2030-05-01", Timezone: "UTC"} })},
		{"a schedule in an unknown zone",
			pushWith(func(p *push) { p.Schedule = &messaging.Schedule{Date: "2030-05-01 07:30:00", Timezone: "Mars/Olympus"} })},
	}
}

func textsOfAudiences() []textCause {
	to := func(name string, audience messaging.Audience) textCause {
		return textCause{name, pushWith(func(p *messaging.PushBroadcastParams) { p.To = audience })}
	}
	customer := func(name string, p messaging.CustomerParams) textCause { return to(name, messaging.ToCustomers(p)) }
	return []textCause{
		to("no audience", messaging.Audience{}),
		to("an audience of no customers", messaging.ToCustomers()),
		to("an audience of no segments", messaging.ToSegments()),
		to("an empty segment", messaging.ToSegments("s-1", "")),
		to("all customers among others", messaging.ToEach(messaging.AllCustomers(), messaging.ToSegments("s-1"))),
		customer("a customer without an identity", messaging.CustomerParams{FirstName: "Ada"}),
		customer("a customer with a malformed address", messaging.CustomerParams{Email: "ada"}),
		to("an empty audience among others", messaging.ToEach(messaging.Audience{}, messaging.ToSegments("s-1"))),
		customer("a device without anything", messaging.CustomerParams{CustomerID: "c-1", Devices: make([]messaging.Device, 1)}),
		customer("a customer with a national phone number", messaging.CustomerParams{CustomerID: "c-1", PhoneNo: "020 123"}),
	}
}

func textsOfEvents() []textCause {
	type params = messaging.EventTriggerParams
	create := func(name string, p messaging.EventCreateParams) textCause {
		return textCause{name, func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Events.Create(ctx, p, opts...)
			return err
		}}
	}
	parameters := func(all ...messaging.EventParameter) messaging.EventCreateParams {
		return messaging.EventCreateParams{Name: "order paid", Description: "An order was paid", Parameters: all}
	}
	text := messaging.EventParameter{Name: "order", Type: messaging.ParameterText, Required: true}
	defined := &messaging.Event{ID: "e-1", Parameters: []messaging.EventParameter{text, {Name: "at", Type: messaging.ParameterTimestamp},
		{Name: "total", Type: messaging.ParameterNumeric}}}
	by := func(name string, values map[string]any) textCause {
		return textCause{name, triggerWith(func(p *params) { p.EventID, p.Definition, p.Values = "", defined, values })}
	}
	return []textCause{
		create("an event without anything", messaging.EventCreateParams{}),
		create("a parameter without anything", parameters(messaging.EventParameter{})),
		create("a reserved parameter", parameters(messaging.EventParameter{Name: "email", Type: messaging.ParameterText})),
		create("a parameter twice", parameters(text, text)),
		create("a name with a blank at its end", messaging.EventCreateParams{Name: "order paid ", Description: "An order was paid",
			Parameters: []messaging.EventParameter{}}),
		{"a trigger without anything", triggerWith(func(p *params) { *p = params{} })},
		{"a trigger for a malformed address", triggerWith(func(p *params) { p.Email = "ada" })},
		{"a trigger for a customer without an identity", triggerWith(func(p *params) { p.Customer = new(messaging.CustomerParams) })},
		{"a value without a name", triggerWith(func(p *params) { p.Values = map[string]any{"": 1} })},
		{"a reserved value", triggerWith(func(p *params) { p.Values = map[string]any{"email": "ada@example.com"} })},
		{"a definition without an id", triggerWith(func(p *params) { p.EventID, p.Definition = "", new(messaging.Event) })},
		{"an id beside a definition without an id",
			triggerWith(func(p *params) { p.EventID, p.Definition = "e-2", new(messaging.Event) })},
		{"another definition", triggerWith(func(p *params) { p.EventID, p.Definition = "e-2", &messaging.Event{ID: "e-1"} })},
		by("a required value that is missing", nil),
		by("a value of no parameter", map[string]any{"order": "A-1", "oder": "A-1"}),
		by("a number for a text", map[string]any{"order": 1}),
		by("a text for a number", map[string]any{"order": "A-1", "total": "12"}),
		by("a type that writes a text for a number", map[string]any{"order": "A-1", "total": written(`"12"`)}),
		by("a timestamp in another form", map[string]any{"order": "A-1", "at": "2030-05-01"}),
	}
}

func textsOfValues() []textCause {
	value := func(name string, v any) textCause {
		return textCause{name, triggerWith(func(p *messaging.EventTriggerParams) { p.Values = map[string]any{"order": v} })}
	}
	return []textCause{
		value("a value that is not finite", math.Inf(1)),
		value("a value that is the zero time", time.Time{}),
		value("a value that is a time too far away", time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)),
		value("a value that is a duration", time.Minute),
		value("a value that is not UTF-8", "\xff"),
		value("a value that cannot write itself", failingMarshaler{}),
		{"a value with a name that is not UTF-8", triggerWith(func(p *messaging.EventTriggerParams) { p.Values = map[string]any{"\xff": 1} })},
	}
}

// failingMarshaler has a MarshalJSON that fails.
type failingMarshaler struct{}

func (failingMarshaler) MarshalJSON() ([]byte, error) { return nil, errors.New("secret") }

func textsOfLists() []textCause {
	customers := func(name string, p messaging.CustomerListParams) textCause {
		return textCause{name, listingCustomers(p)}
	}
	return []textCause{
		customers("a negative page size", messaging.CustomerListParams{PerPage: -1}),
		customers("a cursor that is not UTF-8", messaging.CustomerListParams{Cursor: "\xff"}),
		customers("a filter of nobody", messaging.CustomerListParams{Emails: messaging.Only()}),
		customers("a filter of an empty id", messaging.CustomerListParams{CustomerIDs: messaging.Only("")}),
		customers("a filter with a comma", messaging.CustomerListParams{CustomerIDs: messaging.Only("1,2")}),
		customers("a filter with a blank at its end", messaging.CustomerListParams{CustomerIDs: messaging.Only("1 ")}),
		customers("a filter that is too long", messaging.CustomerListParams{Emails: messaging.Only(slices.Repeat([]string{"ada@example.com"},
			1000)...)}),
		{"an invalid page of a range", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := messaging.Collect(c.Events.All(ctx, messaging.EventListParams{PerPage: -1}, opts...))
			return err
		}},
		{"a customer without an id", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Customers.Get(ctx, "", opts...)
			return err
		}},
		{"a customer by what is no address", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Customers.GetByEmail(ctx, "ada", opts...)
			return err
		}},
		{"an event without a name", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Events.GetByName(ctx, "", opts...)
			return err
		}},
		{"an invalid event to ensure", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Events.Ensure(ctx, messaging.EventCreateParams{Name: "order paid"}, opts...)
			return err
		}},
	}
}

func textsOfDo() []textCause {
	type request = messaging.Request
	do := func(name string, r request) textCause { return textCause{name, scripted.Do(r)} }
	return []textCause{
		do("a request without anything", request{}),
		do("a method in lower case", request{Method: "get", Path: "/v1/tags"}),
		do("a named request without a path", request{Operation: "list tags", Method: "GET"}),
		do("a path to another host", request{Method: "GET", Path: "//example.com"}),
		do("a path with a query", request{Method: "GET", Path: "/v1/tags?a=b"}),
		do("a path that is not escaped", request{Method: "GET", Path: "/v1/a b"}),
		do("a path with a dot segment", request{Method: "GET", Path: "/v1/../v2"}),
		do("a read with a body", request{Method: "GET", Path: "/v1/tags", Body: 1}),
		do("a body that is a nil pointer", request{Method: "POST", Path: "/v1/tags", Body: (*int)(nil)}),
		do("a HEAD into a value", request{Method: "HEAD", Path: "/v1/tags", Into: new(int)}),
		do("a value that is no pointer", request{Method: "GET", Path: "/v1/tags", Into: 1}),
		do("a body that cannot be written", request{Method: "POST", Path: "/v1/tags", Body: make(chan int)}),
	}
}

func textsOfGuards() []textCause {
	person := func(p messaging.CustomerParams) scripted.Call {
		return pushWith(func(push *messaging.PushBroadcastParams) { push.To = messaging.ToCustomers(p) })
	}
	everyone := pushWith(func(*messaging.PushBroadcastParams) {})
	segment := pushWith(func(p *messaging.PushBroadcastParams) { p.To = messaging.ToSegments("s-1") })
	custom := scripted.Do(messaging.Request{Method: "POST", Path: "/v1/tags"})
	ada := messaging.CustomerParams{Email: "ada@example.com"}
	allowed, one := messaging.WithAllowOnly("@acme.test"), messaging.WithMaxRecipients(1)
	return []textCause{
		{"WithAllowOnly and all customers", guardedBy(allowed, everyone)},
		{"WithAllowOnly and a segment", guardedBy(allowed, segment)},
		{"WithAllowOnly and a request of Do", guardedBy(allowed, custom)},
		{"WithAllowOnly and an address", guardedBy(allowed, person(ada))},
		{"WithAllowOnly and one address of two", guardedBy(allowed, emailWith(func(p *messaging.EmailBroadcastParams) {
			p.Email, p.To = "qa@acme.test", messaging.ToCustomers(messaging.CustomerParams{Email: "qa@acme.test"}, ada)
		}))},
		{"WithAllowOnly and an id", guardedBy(allowed, person(messaging.CustomerParams{CustomerID: "c-1"}))},
		{"WithAllowOnly and a phone number", guardedBy(allowed, person(messaging.CustomerParams{Email: "qa@acme.test",
			PhoneNo: "+31201234567"}))},
		{"WithAllowOnly and a device", guardedBy(allowed, person(messaging.CustomerParams{Email: "qa@acme.test",
			Devices: []messaging.Device{{Type: "ios", Token: "t"}}}))},
		{"WithMaxRecipients and two recipients", guardedBy(one, emailWith(func(p *messaging.EmailBroadcastParams) {
			p.To = messaging.ToCustomers(ada)
		}))},
		{"WithMaxRecipients and all customers", guardedBy(one, everyone)},
		{"WithMaxRecipients and a request of Do", guardedBy(one, custom)},
	}
}

// guardedBy returns a call of a client with a guard.
func guardedBy(guard messaging.Option, perform scripted.Call) scripted.Call {
	return func(ctx context.Context, _ *messaging.Client, opts ...messaging.RequestOption) error {
		transport := &scripted.Transport{Scenes: []scripted.Scene{scripted.Responds(200, scripted.Success)}}
		client, err := messaging.NewClient("https://api.example.com", "test-key-1", guard,
			messaging.WithHTTPClient(&http.Client{Transport: transport}))
		if err != nil {
			return err
		}
		return perform(ctx, client, opts...)
	}
}

func textsOfPrepared() []textCause {
	is := func(name string, fails func() error) textCause {
		return textCause{name, func(context.Context, *messaging.Client, ...messaging.RequestOption) error { return fails() }}
	}
	parsed := func(name, operation, body string) textCause {
		return is(name, func() error { _, err := messaging.ParsePrepared(operation, []byte(body)); return err })
	}
	return []textCause{
		parsed("a parsed request without an operation", "", "{}"),
		parsed("a parsed request of a read", "list events", "{}"),
		parsed("a parsed request of an unknown operation", "delete everything", "{}"),
		parsed("a parsed request whose body is no object", "trigger event", "[]"),
		parsed("a parsed request without a body", "trigger event", ""),
		is("a Prepared to store as JSON", func() error { _, err := new(messaging.Prepared).MarshalJSON(); return err }),
		is("a prepared send that is invalid", func() error { _, err := messaging.PushBroadcastParams{}.Prepare(); return err }),
		{"a nil Prepared to send", func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Send(ctx, nil, opts...)
			return err
		}},
	}
}

func textsOfModels() []textCause {
	decoded := func(name, text string, into scripted.Model) textCause {
		return textCause{name, func(context.Context, *messaging.Client, ...messaging.RequestOption) error {
			return into.UnmarshalJSON([]byte(text))
		}}
	}
	return []textCause{
		decoded("an event that is no JSON", `{"id":`, new(messaging.Event)),
		decoded("an event that is a list", `[]`, new(messaging.Event)),
	}
}
