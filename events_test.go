package messaging_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestEventsAreLookedUpByName(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(messaging.Event{Name: "twice"})
	for range 45 {
		service.AddEvents(messaging.Event{Name: "another"})
	}
	service.AddEvents(messaging.Event{Name: "twice", Parameters: shipped.Parameters}) // three pages later
	service.AddEvents(messaging.Event{ID: "e-1", Name: "order shipped"}, messaging.Event{ID: "e-2", Name: "Order shipped"},
		messaging.Event{ID: "e-3", Name: "order shipped again"})
	client := service.Client()

	event, err := client.Events.GetByName(t.Context(), "order shipped")
	require.NoError(t, err)
	assert.Equal(t, "e-1", event.ID)

	_, err = client.Events.GetByName(t.Context(), "order")
	require.ErrorIs(t, err, messaging.ErrEventNotFound)
	require.NotErrorIs(t, err, messaging.ErrNotFound)
	assert.EqualError(t, err, "get event: no such event")
	assert.Equal(t, messaging.DeliveryAccepted, messaging.DeliveryOf(err))
	assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))

	_, err = client.Events.GetByName(t.Context(), "twice")
	require.ErrorIs(t, err, messaging.ErrEventAmbiguous)

	requests := len(service.Requests())
	_, err = client.Events.GetByName(t.Context(), "", messaging.WithoutValidation())
	scripted.RequireProblems(t, err, "name is required")
	assert.Len(t, service.Requests(), requests)

	service.Fail("", 1, messagingtest.Status(404))
	_, err = client.Events.GetByName(t.Context(), "order shipped")
	require.ErrorIs(t, err, messaging.ErrNotFound)
	require.NotErrorIs(t, err, messaging.ErrEventNotFound, "a 404 says nothing about the event")
	var pageErr *messaging.PageError
	assert.NotErrorAs(t, err, &pageErr)
}

// pingEvent is the definition of an event without parameters.
var pingEvent = messaging.EventCreateParams{Name: "ping", Description: "Nothing to add", Parameters: []messaging.EventParameter{}}

var shipped = messaging.EventCreateParams{Name: "order shipped", Description: "An order has left", Parameters: []messaging.EventParameter{
	{Name: "order", Type: messaging.ParameterText, Required: true},
	{Name: "weight", Type: "Numeric"},
}}

func TestEnsureComparesWhatATriggerDependsOn(t *testing.T) {
	order, weight := shipped.Parameters[0], shipped.Parameters[1]
	optional := func(p messaging.EventParameter) messaging.EventParameter { p.Required = false; return p }
	required := func(p messaging.EventParameter) messaging.EventParameter { p.Required = true; return p }
	tests := []struct {
		name  string
		there []messaging.EventParameter
		text  string
	}{
		{"the same", []messaging.EventParameter{order, weight}, ""},
		{"another order", []messaging.EventParameter{weight, order}, ""},
		{"one that is required here alone", []messaging.EventParameter{optional(order), weight}, ""},
		{"a further optional one", []messaging.EventParameter{order, weight, {Name: "carrier", Type: "text"}}, ""},
		{"the identity of the customer, which every payload has",
			[]messaging.EventParameter{order, weight,
				{Name: "email", Type: "text", Required: true}, {Name: "customer", Type: "object", Required: true}}, ""},
		{"a missing one", []messaging.EventParameter{order}, "the service has no parameter weight"},
		{"another type", []messaging.EventParameter{order, {Name: "weight", Type: "text"}}, "the service has weight as text, you as numeric"},
		{"a type that is not known here", []messaging.EventParameter{order, {Name: "weight", Type: "mass"}},
			"the service has weight as mass, you as numeric"},
		{"no type", []messaging.EventParameter{order, {Name: "weight"}}, "the service has weight as no type, you as numeric"},
		{"one that is required there alone", []messaging.EventParameter{order, required(weight)}, "the service requires weight, you do not"},
		{"a further required one", []messaging.EventParameter{order, weight, {Name: "carrier", Type: "text", Required: true}},
			"the service requires carrier, which you do not have"},
		{"none", nil, "the service has no parameter order; it has no parameter weight"},
		{"everything at once",
			[]messaging.EventParameter{{Name: "weight", Type: "text", Required: true}, {Name: "carrier", Type: "text", Required: true}},
			"the service has no parameter order; it has weight as text, you as numeric; it requires weight, you do not; " +
				"it requires carrier, which you do not have"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service := messagingtest.NewServer(t)
			service.AddEvents(messaging.Event{ID: "e-1", Name: shipped.Name, Description: "Another", Parameters: test.there})
			event, err := service.Client().Events.Ensure(t.Context(), shipped)
			if test.text == "" {
				require.NoError(t, err)
				assert.Equal(t, "e-1", event.ID)
				return
			}
			require.ErrorIs(t, err, messaging.ErrEventDiffers)
			assert.Nil(t, event)
			assert.EqualError(t, err, "get event: the event is defined differently: "+test.text+"; nothing was created")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))
		})
	}
}

func TestEnsureCreatesNothingAfterALookupWithoutData(t *testing.T) {
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, `{"success":true,"message":"Done"}`)})
	_, err := client.Events.Ensure(t.Context(), shipped)
	require.Error(t, err)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.Len(t, transport.Sent, 1, "the event may be in the list that is missing")
}

func TestEnsureCreatesOnlyAfterItsOwnLookupCameBackEmpty(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(messaging.Event{ID: "e-1", Name: shipped.Name, Parameters: shipped.Parameters})
	asked := 0
	client, err := messaging.NewClient(service.URL(), "", messaging.WithKeySource(func(context.Context) (string, error) {
		if asked++; asked == 1 {
			return "", fmt.Errorf("key of the tenant: %w", messaging.ErrEventNotFound)
		}
		return service.APIKey(), nil
	}))
	require.NoError(t, err)
	_, err = client.Events.Ensure(t.Context(), shipped)
	require.Error(t, err)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.Empty(t, service.Requests(), "no second event was created")
}

func TestEnsureQuotesADefinitionWithoutTheKey(t *testing.T) {
	const key = scripted.SecretKey
	cut := strings.Repeat("n", 150)
	required := func(name string) string { return `{"name":"` + name + `","type":"text","required":true}` }
	orderAs := func(of string) string { return `{"name":"order","type":"` + of + `"}` }
	tests := map[string]struct{ parameter, want string }{
		"in a name":                      {required("for " + key), "it requires for [API key], which you do not have"},
		"in a name, in upper case":       {required(strings.ToUpper(key)), "it requires [API key], which you do not have"},
		"in a name, behind an escape":    {required(`sk_live_CANARY\u005f0123456789`), "it requires [API key], which you do not have"},
		"in a name, behind two escapes":  {required(strings.ReplaceAll(key, "C", `\u0026#67;`)), "it requires [API key], which you do not have"},
		"in a type":                      {orderAs(key), "the service has order as [API key], you as text"},
		"in a type, in lower case":       {orderAs(strings.ToLower(key)), "the service has order as [API key], you as text"},
		"in a type, with another letter": {orderAs(`s\u212a` + key[2:]), "the service has order as [API key], you as text"},
		"in a type, within more":         {orderAs("<" + key + ">"), "the service has order as <[API key]>, you as text"},
		"where the text is cut short":    {required(cut + key), "it requires " + cut + "[API"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200,
				`{"success":true,"data":[{"id":"e-1","name":"order shipped","parameters":[`+test.parameter+`]}]}`)})
			_, err := client.Events.Ensure(t.Context(), shipped)
			require.ErrorIs(t, err, messaging.ErrEventDiffers)
			assert.ErrorContains(t, err, test.want)
			for _, text := range textsOf(err) {
				assert.NotContains(t, strings.ToLower(text), "canary")
				assert.NotContains(t, text, "sk_", "no part of the key is left")
			}
		})
	}
}

func TestEnsureQuotesADefinitionWithoutTheKeysOfAllPagesAndAttempts(t *testing.T) {
	keys := []string{"key-of-page-one", "KEY-OF-THE-401", "Key-After-The-401"}
	transport := &scripted.Transport{Scenes: []scripted.Scene{
		scripted.Responds(200, `{"success":true,"data":[{"id":"e-1","name":"order shipped","parameters":[`+
			`{"name":"KEY-OF-PAGE-ONE key-of-the-401","required":true},{"name":"order","type":"key-after-the-401"}]}],"meta":`+
			scripted.MetaBefore("2")+`}`),
		scripted.Responds(401, scripted.Failure),
		scripted.Responds(200, `{"success":true,"data":[],"meta":{"has_next_page":false}}`)}}
	asked := -1
	client, err := messaging.NewClient("https://api.example.com", "", messaging.WithHTTPClient(&http.Client{Transport: transport}),
		messaging.WithKeySource(func(context.Context) (string, error) { asked++; return keys[asked], nil }))
	require.NoError(t, err)
	_, err = client.Events.Ensure(t.Context(), shipped)
	assert.EqualError(t, err, "get event: the event is defined differently: the service has order as [API key], you as text; "+
		"it has no parameter weight; it requires [API key] [API key], which you do not have; nothing was created")
}

func TestEnsureNoticesAnEventCreatedUnderAnotherName(t *testing.T) {
	const none = `{"success":true,"data":[]}`
	created := func(name string) scripted.Scene {
		return scripted.Responds(200, fmt.Sprintf(`{"success":true,"data":{"id":"e-1","name":%s}}`, name))
	}
	for name, fine := range map[string]bool{`"order shipped"`: true, `null`: true, `"Order Shipped"`: false, `"ordershipped"`: false} {
		t.Run(name, func(t *testing.T) {
			scenes := []scripted.Scene{scripted.Responds(200, none), created(name), scripted.Responds(200, none)}
			client, transport := scripted.NewClient(t, scenes)
			event, err := client.Events.Ensure(t.Context(), shipped)
			if fine {
				require.NoError(t, err)
				assert.Equal(t, "e-1", event.ID)
				assert.Len(t, transport.Sent, 3)
				return
			}
			assert.Len(t, transport.Sent, 2)
			require.ErrorIs(t, err, messaging.ErrEventDiffers)
			assert.EqualError(t, err, "create event: the event is defined differently: it was created under another name; do not repeat it")
			assert.Equal(t, messaging.DeliveryAccepted, messaging.DeliveryOf(err))
			assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))
			assert.Nil(t, event)
		})
	}
}

func TestEnsureFailsAsCreateDoes(t *testing.T) {
	service := messagingtest.NewServer(t)
	client := service.Client()
	_, err := client.Events.Ensure(t.Context(), messaging.EventCreateParams{Name: "order shipped"})
	scripted.RequireProblems(t, err, "description is required", "parameters is required: use an empty list for none")
	assert.Empty(t, service.Requests(), "not even the lookup")

	service.Fail("", 1, messagingtest.Fault{})
	service.Fail("", 1, messagingtest.AnswerLost())
	_, err = client.Events.Ensure(t.Context(), shipped)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))

	refusing := service.Client(messaging.WithGuard(func(context.Context, *messaging.Prepared) error { return errors.New("no") }))
	_, err = refusing.Events.Ensure(t.Context(), shipped)
	require.NoError(t, err, "it is there: a lookup is no send")
	_, err = refusing.Events.Ensure(t.Context(), pingEvent)
	var refused *messaging.GuardError
	require.ErrorAs(t, err, &refused)
}

// eventWith creates an event that is in order, but for one change.
func eventWith(change func(*messaging.EventCreateParams)) scripted.Call {
	p := messaging.EventCreateParams{Name: "signup", Description: "Somebody signed up.",
		Parameters: []messaging.EventParameter{{Name: "plan", Type: messaging.ParameterText}}}
	change(&p)
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Events.Create(ctx, p, opts...)
		return err
	}
}

// triggerWith triggers an event in order, but for one change.
func triggerWith(change func(*messaging.EventTriggerParams)) scripted.Call {
	p := messaging.EventTriggerParams{EventID: "signup", Email: "jane@example.com"}
	change(&p)
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Events.Trigger(ctx, p, opts...)
		return err
	}
}

func TestValidationOfAnEvent(t *testing.T) {
	type params = messaging.EventCreateParams
	parameters := func(of ...messaging.EventParameter) scripted.Call {
		return eventWith(func(p *params) { p.Parameters = of })
	}
	requireInvalidUnlessLifted(t, []invalidCall{
		{"an event has a name",
			eventWith(func(p *params) { p.Name = "" }), []string{"name is required"}},
		{"an event has a description",
			eventWith(func(p *params) { p.Description = "" }), []string{"description is required"}},
		{"parameters that were forgotten are not taken for none",
			eventWith(func(p *params) { p.Parameters = nil }), []string{"parameters is required: use an empty list for none"}},
		{"a parameter has a name and a type",
			parameters(messaging.EventParameter{}), []string{"parameters.0.name is required", "parameters.0.type is required"}},
		{"two parameters that have no name share none",
			parameters(messaging.EventParameter{Type: "text"}, messaging.EventParameter{Type: "text"}),
			[]string{"parameters.0.name is required", "parameters.1.name is required"}},
		{"two parameters cannot share a name",
			parameters(messaging.EventParameter{Name: canary, Type: "text"}, messaging.EventParameter{Name: canary, Type: "numeric"}),
			[]string{"parameters.1.name is a duplicate"}},
		{"a parameter cannot take a name of the customer's identity",
			parameters(messaging.EventParameter{Name: "email", Type: "text"}, messaging.EventParameter{Name: "customer", Type: "text"}),
			[]string{"parameters.0.name is reserved for the identity of the customer in the payload",
				"parameters.1.name is reserved for the identity of the customer in the payload"}},
		{"every text is valid UTF-8", eventWith(func(p *params) {
			*p = params{notUTF8, notUTF8, []messaging.EventParameter{{Name: notUTF8, Type: notUTF8}}}
		}), []string{"name must be valid UTF-8", "description must be valid UTF-8",
			"parameters.0.name must be valid UTF-8", "parameters.0.type must be valid UTF-8"}},
		{"everything that is wrong is reported at once, in the order of the fields",
			eventWith(func(p *params) { *p = params{} }),
			[]string{"name is required", "description is required", "parameters is required: use an empty list for none"}},
	})
}

func TestValidationOfTheNameOfAnEvent(t *testing.T) {
	type params = messaging.EventCreateParams
	const aroundIt = "name must not begin or end with white space, which the service may remove"
	named := func(name string) []scripted.Call {
		p := params{Name: name, Description: "Somebody signed up.", Parameters: []messaging.EventParameter{}}
		return []scripted.Call{
			func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
				_, err := c.Events.Create(ctx, p, opts...)
				return err
			},
			func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
				_, err := c.Events.Ensure(ctx, p, opts...)
				return err
			},
			func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
				_, err := c.Events.GetByName(ctx, name, opts...)
				return err
			},
		}
	}
	for _, name := range []string{" " + canary, canary + " ", "\t" + canary, canary + "\u00a0", " "} {
		for _, call := range named(name) {
			scripted.RequireAlwaysInvalid(t, call, []string{aroundIt})
		}
	}
	const lines = "name must not contain a line break or a NUL"
	for _, name := range []string{"a\rb", "a\nb", "a\x00b"} {
		for _, call := range named(canary + name)[:2] {
			scripted.RequireAlwaysInvalid(t, call, []string{lines})
		}
		scripted.RequireAlwaysInvalid(t, eventWith(func(p *params) { p.Parameters[0].Name = name }), []string{"parameters.0." + lines})
	}
}

func TestValidationOfATrigger(t *testing.T) {
	type params = messaging.EventTriggerParams
	requireInvalidUnlessLifted(t, []invalidCall{
		{"a trigger names its event",
			triggerWith(func(p *params) { p.EventID = "" }), []string{"event_id is required"}},
		{"a definition without an id names no event",
			triggerWith(func(p *params) { p.EventID, p.Definition = "", &messaging.Event{Name: canary} }),
			[]string{"event_id is required: the definition has no ID"}},
		{"a trigger names its customer",
			triggerWith(func(p *params) { p.Email = "" }), []string{"payload.email is required when there is no customer"}},
		{"the address is well-formed",
			triggerWith(func(p *params) { p.Email = canary }), []string{"payload.email must be an email address"}},
		{"a customer has an identity",
			triggerWith(func(p *params) { p.Customer = &messaging.CustomerParams{FirstName: canary} }),
			[]string{"payload.customer must have a customer_id or an email"}},
		{"a customer is in order",
			triggerWith(func(p *params) {
				p.Customer = &messaging.CustomerParams{Email: canary, PhoneNo: canary}
			}),
			[]string{"payload.customer.email must be an email address",
				"payload.customer.phone_no must be in international format, starting with +"}},
		{"every text is valid UTF-8", triggerWith(func(p *params) {
			*p = params{EventID: notUTF8, Email: notUTF8 + "@example.com", Customer: &messaging.CustomerParams{CustomerID: notUTF8}}
		}), []string{"event_id must be valid UTF-8", "payload.email must be valid UTF-8", "payload.customer.customer_id must be valid UTF-8"}},
		{"a value has a name",
			triggerWith(func(p *params) { p.Values = map[string]any{"": canary} }), []string{"payload has a parameter without a name"}},
		{"the customer's identity is no value",
			triggerWith(func(p *params) { p.Values = map[string]any{"email": canary, "customer": canary} }),
			[]string{"payload.customer is not a parameter: set Email or Customer instead",
				"payload.email is not a parameter: set Email or Customer instead"}},
		{"everything that is wrong is reported at once, in the order of the fields",
			triggerWith(func(p *params) {
				*p = params{Customer: new(messaging.CustomerParams), Values: map[string]any{"email": canary, "": canary}}
			}),
			[]string{"event_id is required", "payload.customer must have a customer_id or an email",
				"payload has a parameter without a name", "payload.email is not a parameter: set Email or Customer instead"}},
	})
}

// requireSameVerdict holds Prepare and Trigger to the same problems with p.
func requireSameVerdict(t *testing.T, definition messaging.Event, p messaging.EventTriggerParams, problems ...string) {
	t.Helper()
	p.Definition = &definition
	_, validated := p.Prepare()
	trigger := triggerWith(func(params *messaging.EventTriggerParams) { *params = p })
	g := scripted.NewGate(t)
	if len(problems) == 0 {
		require.NoError(t, validated)
		g.RequireSent(t, trigger)
		return
	}
	scripted.RequireProblems(t, validated, problems...)
	g.RequireInvalid(t, trigger, problems)
}

// signup returns the definition of an event with the given parameters.
func signup(parameters ...messaging.EventParameter) messaging.Event {
	return messaging.Event{ID: "signup", Parameters: parameters}
}

// Types of values that programs have of their own.
type (
	size     uint32
	promoted struct{ time.Time }
	written  string // as which JSON it writes itself
)

func (w written) MarshalJSON() ([]byte, error) { return []byte(w), nil }

// anHourEast is 2026-01-02T03:04:05.9Z on the clock of another zone, and onTheSecond the
// same second as a database would return it.
var (
	anHourEast  = time.Date(2026, 1, 2, 4, 4, 5, 900_000_000, time.FixedZone("", 3600))
	onTheSecond = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func TestDefinitionChecksTheTypeOfAValue(t *testing.T) {
	const (
		text      = "must be a string"
		number    = "must be a number"
		timestamp = "must be a time.Time, or a string in the form 2006-01-02T15:04:05Z, since the service ignores any other form"
		decimal   = "must be a number, and its type writes a string: use json.Number"
		required  = "is required by the event"
		isZero    = "is the zero time: use nil for no time"
		fine      = ""
	)
	tests := []struct {
		name      string
		parameter messaging.ParameterType
		value     any
		problem   string
	}{
		{"text for text", "text", "gold", fine},
		{"an empty text for text", "text", "", required},
		{"a pointer to text for text", "text", new("gold"), fine},
		{"what writes itself as text for text", "text", netip.MustParseAddr("127.0.0.1"), fine},
		{"a number for text", "text", 1, text},
		{"raw JSON that is an object for text", "text", json.RawMessage(`{"a":1}`), text},
		{"a list for text", "text", []string{canary}, text},
		{"nothing for text", "text", nil, required},
		{"a nil pointer for text", "text", (*string)(nil), required},
		{"what writes itself as null for text", "text", written("null"), required},

		{"an int for a number", "numeric", -1, fine},
		{"the greatest uint64 for a number", "numeric", uint64(math.MaxUint64), fine},
		{"a uint type for a number", "numeric", size(1), fine},
		{"a float64 for a number", "numeric", 0.5, fine},
		{"raw JSON that is a negative number for a number", "numeric", json.RawMessage(`-1`), fine},
		{"a pointer to a number for a number", "numeric", new(1), fine},
		{"a json.Number for a number", "numeric", json.Number("1.5"), fine},
		{"a big number for a number", "numeric", big.NewInt(7), fine},
		{"raw JSON that is a number for a number", "numeric", json.RawMessage(`1e3`), fine},
		{"text for a number", "numeric", "1", number},
		{"a list for a number", "numeric", []int{1}, number},
		{"a time for a number", "numeric", anHourEast, number},
		{"nothing for a number", "numeric", nil, required},
		{"a nil pointer for a number", "numeric", (*int)(nil), required},
		{"a decimal type that writes a string for a number", "numeric", written(`"1.50"`), decimal},

		{"a time for a timestamp", "timestamp", anHourEast, fine},
		{"a pointer to a time for a timestamp", "timestamp", &anHourEast, fine},
		{"a type that writes a time in the form of the service for a timestamp", "timestamp", promoted{onTheSecond}, fine},
		{"a type that writes a time in another form for a timestamp", "timestamp", promoted{anHourEast}, timestamp},
		{"a struct around a time for a timestamp", "timestamp", struct{ At time.Time }{anHourEast}, timestamp},
		{"raw JSON in the form of the service for a timestamp", "timestamp", json.RawMessage(`"2026-01-02T03:04:05Z"`), fine},
		{"text in the one form for a timestamp", "timestamp", "2026-01-02T03:04:05Z", fine},
		{"a leap day for a timestamp", "timestamp", "2028-02-29T00:00:00Z", fine},
		{"an offset", "timestamp", "2026-01-02T03:04:05+00:00", timestamp},
		{"no zone", "timestamp", "2026-01-02T03:04:05", timestamp},
		{"a fraction of a second", "timestamp", "2026-01-02T03:04:05.9Z", timestamp},
		{"a fraction that makes up for a short hour", "timestamp", "2026-01-02T3:04:05.9Z", timestamp},
		{"a blank for the T", "timestamp", "2026-01-02 03:04:05Z", timestamp},
		{"a small t", "timestamp", "2026-01-02t03:04:05Z", timestamp},
		{"no time of day", "timestamp", "2026-01-02", timestamp},
		{"a day that is not there", "timestamp", "2026-02-30T03:04:05Z", timestamp},
		{"an hour that is not there", "timestamp", "2026-01-02T24:00:00Z", timestamp},
		{"a leap second", "timestamp", "2026-12-31T23:59:60Z", timestamp},
		{"a line break after it", "timestamp", "2026-01-02T03:04:05Z\n", timestamp},
		{"the form of a mail", "timestamp", "Fri, 02 Jan 2026 03:04:05 GMT", timestamp},
		{"any other text", "timestamp", canary, timestamp},
		{"an empty text for a timestamp", "timestamp", "", required},
		{"an infinite time of a database", "timestamp", written(`"infinity"`), timestamp},
		{"no time of a database", "timestamp", written("null"), required},
		{"the zero time for a number, once", "numeric", time.Time{}, isZero},
		{"seconds since 1970", "timestamp", anHourEast.Unix(), timestamp},
		{"a list of times", "timestamp", []time.Time{anHourEast}, timestamp},
		{"nothing for a timestamp", "timestamp", nil, required},
		{"a nil pointer to a time", "timestamp", (*time.Time)(nil), required},

		{"a type in capitals, missed", "TEXT", 1, text},
		{"a timestamp with a capital, met", "Timestamp", anHourEast, fine},
		{"a timestamp with a capital, missed", "Timestamp", canary, timestamp},
		{"a type that is not known here takes text", "geo", "gold", fine},
		{"a type that is not known here takes a list", "geo", []float64{52.4, 4.9}, fine},
		{"a type that is not known here takes a time", "geo", anHourEast, fine},
		{"a type that is not known here and is required", "geo", nil, required},
		{"no type at all takes anything", "", true, fine},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			definition := signup(messaging.EventParameter{Name: "value", Type: test.parameter, Required: true})
			p := messaging.EventTriggerParams{Email: "jane@example.com", Values: map[string]any{"value": test.value}}
			var problems []string
			if test.problem != fine {
				problems = []string{"payload.value " + test.problem}
			}
			requireSameVerdict(t, definition, p, problems...)
		})
	}
}

func TestDefinitionChecksThePayload(t *testing.T) {
	type (
		params = messaging.EventTriggerParams
		values = map[string]any
	)
	parameter := func(name string, of messaging.ParameterType, required bool) messaging.EventParameter {
		return messaging.EventParameter{Name: name, Type: of, Required: required}
	}
	jane := &messaging.CustomerParams{CustomerID: "42"}
	const email = "jane@example.com"
	loop := values{}
	loop["self"] = loop
	tests := []struct {
		name       string
		definition messaging.Event
		params     params
		problems   []string
	}{
		{"a required parameter is missing", signup(parameter("plan", "text", true)), params{Email: email},
			[]string{"payload.plan is required by the event"}},
		{"an optional parameter is left out", signup(parameter("plan", "text", false)), params{Email: email}, nil},
		{"an optional text is empty", signup(parameter("plan", "text", false)), params{Email: email, Values: values{"plan": ""}}, nil},
		{"an optional parameter is nil", signup(parameter("plan", "text", false)), params{Email: email, Values: values{"plan": nil}}, nil},
		{"an optional parameter is a nil pointer", signup(parameter("at", "timestamp", false)),
			params{Email: email, Values: values{"at": (*time.Time)(nil)}}, nil},
		{"an optional parameter writes itself as null", signup(parameter("plan", "text", false)),
			params{Email: email, Values: values{"plan": written("null")}}, nil},
		{"an optional parameter is of another type", signup(parameter("plan", "text", false)), params{Email: email, Values: values{"plan": 1}},
			[]string{"payload.plan must be a string"}},
		{"a value is no parameter of the event", signup(parameter("plan", "text", false)), params{Email: email, Values: values{"plna": canary}},
			[]string{"payload.plna is not a parameter of the event"}},
		{"names of parameters differ in case", signup(parameter("plan", "text", true)), params{Email: email, Values: values{"Plan": canary}},
			[]string{"payload.plan is required by the event", "payload.Plan is not a parameter of the event"}},
		{"the id is given beside the definition, and is the same", signup(), params{EventID: "signup", Email: email}, nil},
		{"the id is given beside the definition, and differs", signup(), params{EventID: canary, Email: email},
			[]string{"event_id is not the id of the definition"}},
		{"the definition has no id", messaging.Event{}, params{Email: email},
			[]string{"event_id is required: the definition has no ID"}},
		{"the definition has no id, and the params have one", messaging.Event{}, params{EventID: canary, Email: email},
			[]string{"event_id is not the id of the definition, which has none"}},
		{"email is a parameter, and given", signup(parameter("email", "text", true)), params{Email: email}, nil},
		{"email is a required parameter, and the customer has an id alone", signup(parameter("email", "text", true)), params{Customer: jane},
			[]string{"payload.email is required by the event"}},
		{"email is an optional parameter, and the customer has an id alone", signup(parameter("email", "text", false)),
			params{Customer: jane}, nil},
		{"the customer is a parameter, and given", signup(parameter("customer", "text", true)), params{Customer: jane}, nil},
		{"the customer is a required parameter, and not given", signup(parameter("customer", "text", true)), params{Email: email},
			[]string{"payload.customer is required by the event"}},
		{"the customer is an optional parameter, and not given", signup(parameter("customer", "text", false)), params{Email: email}, nil},
		{"a value is given where the customer's identity goes", signup(parameter("email", "text", false)),
			params{Email: email, Values: values{"email": canary}},
			[]string{"payload.email is not a parameter: set Email or Customer instead"}},
		{"a required value is refused for another reason", signup(parameter("at", "timestamp", true)),
			params{Email: email, Values: values{"at": time.Minute}},
			[]string{"payload.at is a time.Duration, which would be sent in nanoseconds: say the unit, such as Minutes()"}},
		{"a required value contains itself", signup(parameter("plan", "text", true)), params{Email: email, Values: values{"plan": loop}},
			[]string{"payload.plan cannot be written as JSON"}},
		{"a value is fit for no event", signup(parameter("size", "numeric", true)), params{Email: email, Values: values{"size": math.NaN()}},
			[]string{"payload.size cannot be written as JSON"}},
		{"a time is fit for no event", signup(parameter("at", "timestamp", true)), params{Email: email, Values: values{"at": time.Time{}}},
			[]string{"payload.at is the zero time: use nil for no time"}},
		{"everything at once: the params by themselves, the values by name, then the definition in its own order",
			signup(parameter("plan", "text", true), parameter("at", "timestamp", true), parameter("size", "numeric", false)),
			params{EventID: "other", Customer: new(messaging.CustomerParams), Values: values{
				"at": canary, "size": "1", "extra": canary, "": canary, "customer": canary, "bad": math.Inf(1)}},
			[]string{
				"payload.customer must have a customer_id or an email", "payload has a parameter without a name",
				"payload.customer is not a parameter: set Email or Customer instead", "payload.bad cannot be written as JSON",
				"event_id is not the id of the definition",
				"payload.plan is required by the event",
				"payload.at must be a time.Time, or a string in the form 2006-01-02T15:04:05Z, since the service ignores any other form",
				"payload.size must be a number",
				"payload.bad is not a parameter of the event",
				"payload.extra is not a parameter of the event",
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			requireSameVerdict(t, test.definition, test.params, test.problems...)
		})
	}
}

func TestDefinitionChecksWithoutValidation(t *testing.T) {
	definition := signup(messaging.EventParameter{Name: "plan", Type: "text", Required: true})
	requireAlwaysInvalid(t, []invalidCall{
		{"a required parameter is missing",
			triggerWith(func(p *messaging.EventTriggerParams) { p.Definition = &definition }), []string{"payload.plan is required by the event"}},
		{"the id is another", triggerWith(func(p *messaging.EventTriggerParams) {
			p.Definition, p.EventID, p.Values = &definition, canary, map[string]any{"plan": "gold"}
		}), []string{"event_id is not the id of the definition"}},
	})
}

func TestDefinitionSetsTheIDOfTheEvent(t *testing.T) {
	definition := signup(messaging.EventParameter{Name: "plan", Type: "text"})
	g := scripted.NewGate(t)
	sent := g.RequireSent(t, triggerWith(func(p *messaging.EventTriggerParams) {
		p.EventID, p.Definition, p.Values = "", &definition, map[string]any{"plan": "gold"}
	}))
	assert.JSONEq(t, `{"event_id":"signup","payload":{"email":"jane@example.com","plan":"gold"}}`, sent)
}
