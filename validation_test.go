package messaging_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/internal/service"
)

// canary stands for everything that must not show.
const canary = scripted.Canary

const notUTF8 = scripted.NotUTF8

// invalidCall is a call that must not be sent, and every reason for it.
type invalidCall struct {
	name     string
	call     scripted.Call
	problems []string
}

// requireInvalidUnlessLifted is for what WithoutValidation lets pass.
func requireInvalidUnlessLifted(t *testing.T, calls []invalidCall) {
	t.Helper()
	for _, invalid := range calls {
		t.Run(invalid.name, func(t *testing.T) { scripted.RequireInvalidUnlessLifted(t, invalid.call, invalid.problems) })
	}
}

// requireAlwaysInvalid is for what the service would misread, or cannot be sent.
func requireAlwaysInvalid(t *testing.T, calls []invalidCall) {
	t.Helper()
	for _, invalid := range calls {
		t.Run(invalid.name, func(t *testing.T) { scripted.RequireAlwaysInvalid(t, invalid.call, invalid.problems) })
	}
}

// emailWith is an email broadcast in order, but for one change.
func emailWith(change func(*messaging.EmailBroadcastParams)) scripted.Call {
	p := messaging.EmailBroadcastParams{
		SenderEmail: "billing@example.com", SenderName: "Acme Billing", Email: "jane@example.com",
		Subject: "Your invoice", Message: "It is due.", MessageType: "invoice", To: messaging.AllCustomers(),
	}
	change(&p)
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Broadcasts.SendEmail(ctx, p, opts...)
		return err
	}
}

// pushWith is a push broadcast in order, but for one change.
func pushWith(change func(*messaging.PushBroadcastParams)) scripted.Call {
	p := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: messaging.AllCustomers()}
	change(&p)
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Broadcasts.SendPush(ctx, p, opts...)
		return err
	}
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

func listingCustomers(p messaging.CustomerListParams) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Customers.List(ctx, p, opts...)
		return err
	}
}

func TestValidationOfAnEmailBroadcast(t *testing.T) {
	type params = messaging.EmailBroadcastParams
	requireInvalidUnlessLifted(t, []invalidCall{
		{"the sender has an address",
			emailWith(func(p *params) { p.SenderEmail = "" }), []string{"sender_email is required"}},
		{"the address of the sender is well-formed",
			emailWith(func(p *params) { p.SenderEmail = "Canary <canary@example.com>" }), []string{"sender_email must be an email address"}},
		{"the sender has a name",
			emailWith(func(p *params) { p.SenderName = "" }), []string{"sender_name is required"}},
		{"the recipient has an address",
			emailWith(func(p *params) { p.Email = "" }), []string{"email is required"}},
		{"the address of the recipient is well-formed",
			emailWith(func(p *params) { p.Email = "canary@@example.com" }), []string{"email must be an email address"}},
		{"there is a subject",
			emailWith(func(p *params) { p.Subject = "" }), []string{"subject is required"}},
		{"there is a message",
			emailWith(func(p *params) { p.Message = "" }), []string{"message is required"}},
		{"a template does not stand in for the message",
			emailWith(func(p *params) { p.Message, p.TemplateID, p.EmailTemplateID = "", canary, canary }), []string{"message is required"}},
		{"there is a message type",
			emailWith(func(p *params) { p.MessageType = "" }), []string{"message_type is required"}},
		{"every copied address is well-formed",
			emailWith(func(p *params) { p.CC = []string{"jane@example.com", canary} }), []string{"cc.1 must be an email address"}},
		{"no copied address is empty",
			emailWith(func(p *params) { p.CC = []string{""} }), []string{"cc.0 is required"}},
		{"every blindly copied address is well-formed",
			emailWith(func(p *params) { p.BCC = []string{"jane@example.com", "", "@canary"} }),
			[]string{"bcc.1 is required", "bcc.2 must be an email address"}},
		{"every address to reply to is well-formed",
			emailWith(func(p *params) { p.ReplyTo = []string{"canary@", "jane@example.com", ""} }),
			[]string{"reply_to.0 must be an email address", "reply_to.2 is required"}},
		{"every text is valid UTF-8", emailWith(func(p *params) {
			address := notUTF8 + "@example.com"
			*p = params{SenderEmail: address, SenderName: notUTF8, Email: address, Subject: notUTF8,
				CC: []string{address}, BCC: []string{address}, ReplyTo: []string{address},
				Message: notUTF8, TemplateID: notUTF8, EmailTemplateID: notUTF8, MessageType: notUTF8, To: messaging.AllCustomers()}
		}), []string{
			"sender_email must be valid UTF-8", "sender_name must be valid UTF-8", "email must be valid UTF-8", "subject must be valid UTF-8",
			"cc.0 must be valid UTF-8", "bcc.0 must be valid UTF-8", "reply_to.0 must be valid UTF-8",
			"message must be valid UTF-8", "template_id must be valid UTF-8", "email_template_id must be valid UTF-8",
			"message_type must be valid UTF-8",
		}},
		{"everything that is wrong is reported at once, in the order of the fields", emailWith(func(p *params) {
			*p = params{CC: []string{canary}, BCC: []string{canary}, ReplyTo: []string{canary}, Schedule: new(messaging.Schedule)}
		}), []string{
			"sender_email is required", "sender_name is required", "email is required", "subject is required",
			"cc.0 must be an email address", "bcc.0 must be an email address", "reply_to.0 must be an email address",
			"message is required", "message_type is required", "recipients must be AllCustomers or have at least one recipient",
			"schedule_date.schedule_date is required", "schedule_date.timezone is required",
		}},
	})
}

func TestValidationOfAPushBroadcast(t *testing.T) {
	type params = messaging.PushBroadcastParams
	requireInvalidUnlessLifted(t, []invalidCall{
		{"there is a subject",
			pushWith(func(p *params) { p.Subject = "" }), []string{"subject is required"}},
		{"there is a message",
			pushWith(func(p *params) { p.Message = "" }), []string{"message is required"}},
		{"every text is valid UTF-8",
			pushWith(func(p *params) { p.Subject, p.Message, p.WhatsAppTemplateID = notUTF8, notUTF8, notUTF8 }),
			[]string{"subject must be valid UTF-8", "message must be valid UTF-8", "whatsapp_template_id must be valid UTF-8"}},
		{"everything that is wrong is reported at once, in the order of the fields",
			pushWith(func(p *params) { *p = params{Schedule: new(messaging.Schedule)} }),
			[]string{"subject is required", "message is required", "recipients must be AllCustomers or have at least one recipient",
				"schedule_date.schedule_date is required", "schedule_date.timezone is required"}},
	})
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
			eventWith(func(p *params) { p.Parameters = nil }), []string{"parameters is required; use an empty list for none"}},
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
			[]string{"name is required", "description is required", "parameters is required; use an empty list for none"}},
	})
}

func TestValidationOfATrigger(t *testing.T) {
	type params = messaging.EventTriggerParams
	requireInvalidUnlessLifted(t, []invalidCall{
		{"a trigger names its event",
			triggerWith(func(p *params) { p.EventID = "" }), []string{"event_id is required"}},
		{"a definition without an id names no event",
			triggerWith(func(p *params) { p.EventID, p.Definition = "", &messaging.Event{Name: canary} }), []string{"event_id is required"}},
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
			[]string{"payload.customer must be given by Email or Customer, not by Values",
				"payload.email must be given by Email or Customer, not by Values"}},
		{"everything that is wrong is reported at once, in the order of the fields",
			triggerWith(func(p *params) {
				*p = params{Customer: new(messaging.CustomerParams), Values: map[string]any{"email": canary, "": canary}}
			}),
			[]string{"event_id is required", "payload.customer must have a customer_id or an email",
				"payload has a parameter without a name", "payload.email must be given by Email or Customer, not by Values"}},
	})
}

func TestValidationPassesWhatTheServiceMayAccept(t *testing.T) {
	tests := []struct {
		name string
		call scripted.Call
	}{
		{"a message type that is not known here",
			emailWith(func(p *messaging.EmailBroadcastParams) { p.MessageType = "carrier pigeon" })},
		{"an email broadcast with everything optional left out",
			emailWith(func(*messaging.EmailBroadcastParams) {})},
		{"a push broadcast without a WhatsApp template",
			pushWith(func(*messaging.PushBroadcastParams) {})},
		{"a parameter type that is not known here",
			eventWith(func(p *messaging.EventCreateParams) {
				p.Parameters = []messaging.EventParameter{{Name: "consent", Type: "boolean"}}
			})},
		{"an event with an empty list of parameters",
			eventWith(func(p *messaging.EventCreateParams) { p.Parameters = []messaging.EventParameter{} })},
		{"two parameters whose names differ in case",
			eventWith(func(p *messaging.EventCreateParams) {
				p.Parameters = []messaging.EventParameter{{Name: "plan", Type: "text"}, {Name: "Plan", Type: "text"}}
			})},
		{"a trigger for a customer without an email address",
			triggerWith(func(p *messaging.EventTriggerParams) {
				p.Email, p.Customer = "", &messaging.CustomerParams{CustomerID: "42"}
			})},
		{"a customer with a device of a kind that is not known here",
			pushWith(func(p *messaging.PushBroadcastParams) {
				p.To = messaging.ToCustomers(messaging.CustomerParams{CustomerID: "42", PhoneNo: "+31201234567",
					Devices: []messaging.Device{{DeviceType: "fridge", DeviceToken: "token"}}})
			})},
		{"a page size of zero, which leaves it to the service",
			listingCustomers(messaging.CustomerListParams{PerPage: 0})},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { g.RequireSent(t, test.call) })
	}
}

func TestValidationRefusesANegativePageSize(t *testing.T) {
	var calls []invalidCall
	for _, list := range scripted.Lists() {
		call := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := list.Page(ctx, c, -1, "", opts...)
			return err
		}
		calls = append(calls, invalidCall{list.Name, call, []string{"per_page must not be negative"}})
	}
	requireInvalidUnlessLifted(t, calls)
}

func TestValidationRefusesAFilterThatSelectsOthers(t *testing.T) {
	type params = messaging.CustomerListParams
	const everybody = "must not be empty: that would select all customers; use nil for no filter"
	const two = "must not contain a comma: the service would read two values"
	requireAlwaysInvalid(t, []invalidCall{
		{"an empty list of ids selects everybody",
			listingCustomers(params{CustomerIDs: []string{}}), []string{"customer_ids " + everybody}},
		{"an empty list of addresses selects everybody",
			listingCustomers(params{Emails: []string{}}), []string{"emails " + everybody}},
		{"an empty id selects nobody knows whom",
			listingCustomers(params{CustomerIDs: []string{"1", ""}}), []string{"customer_ids.1 is required"}},
		{"an empty address selects nobody knows whom",
			listingCustomers(params{Emails: []string{"", "jane@example.com"}}), []string{"emails.0 is required"}},
		{"a comma splits an id",
			listingCustomers(params{CustomerIDs: []string{"1", "canary,2"}}), []string{"customer_ids.1 " + two}},
		{"a comma splits an address",
			listingCustomers(params{Emails: []string{"canary,jane@example.com"}}), []string{"emails.0 " + two}},
		{"an id that is not UTF-8 would arrive as another",
			listingCustomers(params{CustomerIDs: []string{notUTF8}}), []string{"customer_ids.0 must be valid UTF-8"}},
		{"an address that is not UTF-8 would arrive as another",
			listingCustomers(params{Emails: []string{notUTF8}}), []string{"emails.0 must be valid UTF-8"}},
		{"a cursor that is not UTF-8 would arrive as another",
			listingCustomers(params{Cursor: notUTF8}), []string{"cursor must be valid UTF-8"}},
		{"everything that is wrong is reported at once, and by element",
			listingCustomers(params{Cursor: notUTF8, CustomerIDs: []string{}, Emails: []string{"", notUTF8 + ","}}),
			[]string{"cursor must be valid UTF-8", "customer_ids " + everybody,
				"emails.0 is required", "emails.1 must be valid UTF-8, " + two}},
		{"nobody is looked up by an empty id",
			gettingCustomer(""), []string{"customer_ids.0 is required"}},
		{"one customer is not looked up by two ids",
			gettingCustomer("canary,2"), []string{"customer_ids.0 " + two}},
		{"nobody is looked up by an empty address",
			gettingCustomerByEmail(""), []string{"emails.0 is required"}},
		{"one customer is not looked up by two addresses",
			gettingCustomerByEmail("canary,jane@example.com"), []string{"emails.0 " + two}},
	})
}

func TestValidationRefusesAnInvalidAddressOfACustomer(t *testing.T) {
	g := scripted.NewGate(t)
	for _, address := range []string{"canary", "canary@", "@canary.example", "canary@canary@example.com", "canary @example.com"} {
		err := gettingCustomerByEmail(address)(t.Context(), g.Client)
		scripted.RequireProblems(t, err, "emails.0 must be an email address")
	}
	assert.Empty(t, g.Take())
	require.NotErrorIs(t, gettingCustomerByEmail("canary")(t.Context(), g.Client, messaging.WithoutValidation()), messaging.ErrValidation)
	listing := listingCustomers(messaging.CustomerListParams{Emails: []string{"as the service has stored it"}})
	require.NoError(t, listing(t.Context(), g.Client), "a filter of a list may hold anything")
}

func gettingCustomer(id string) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Customers.Get(ctx, id, opts...)
		return err
	}
}

func gettingCustomerByEmail(email string) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Customers.GetByEmail(ctx, email, opts...)
		return err
	}
}

func TestValidationRefusesAFilterTooLongForAURL(t *testing.T) {
	type params = messaging.CustomerListParams
	const tooLong = " makes the query longer than 6000 bytes; ask for fewer at a time, see slices.Chunk"
	long := []string{strings.Repeat(canary, 1000)}
	longer := []string{strings.Repeat(canary, 1100)}
	requireAlwaysInvalid(t, []invalidCall{
		{"by its ids", listingCustomers(params{CustomerIDs: long}), []string{"customer_ids" + tooLong}},
		{"by its addresses", listingCustomers(params{Emails: long}), []string{"emails" + tooLong}},
		{"by its ids more than by its addresses", listingCustomers(params{CustomerIDs: longer, Emails: long}),
			[]string{"customer_ids" + tooLong}},
		{"by its addresses more than by its ids", listingCustomers(params{CustomerIDs: long, Emails: longer}), []string{"emails" + tooLong}},
		{"by one byte", listingCustomers(params{CustomerIDs: []string{strings.Repeat("1", 6001-len("customer_ids="))}}),
			[]string{"customer_ids" + tooLong}},
		{"by what escaping adds to it", listingCustomers(params{Emails: []string{strings.Repeat("@", 2100)}}), []string{"emails" + tooLong}},
	})
}

func TestValidationPassesALongQueryWithoutFilters(t *testing.T) {
	g := scripted.NewGate(t)
	atTheLimit := strings.Repeat("1", 6000-len("customer_ids="))
	require.Len(t, g.RequireSent(t, listingCustomers(messaging.CustomerListParams{CustomerIDs: []string{atTheLimit}})), 6000)
	longCursor := strings.Repeat("c", 7000)
	require.Equal(t, "cursor="+longCursor, g.RequireSent(t, listingCustomers(messaging.CustomerListParams{Cursor: longCursor})))
}

func TestValidationErrorEndsARangeAtOnce(t *testing.T) {
	g := scripted.NewGate(t)
	p := messaging.CustomerListParams{Cursor: "page-2", CustomerIDs: []string{}}
	ranges := map[string]func() error{
		"All":   func() error { return onlyError(t, g.Client.Customers.All(t.Context(), p)) },
		"Pages": func() error { return onlyError(t, g.Client.Customers.Pages(t.Context(), p)) },
	}
	for name, walk := range ranges {
		t.Run(name, func(t *testing.T) {
			err := walk()
			scripted.RequireProblems(t, err, "customer_ids must not be empty: that would select all customers; use nil for no filter")
			var page *messaging.PageError
			require.ErrorAs(t, err, &page)
			assert.Equal(t, "page-2", page.Cursor)
			assert.Empty(t, g.Take())
		})
	}
}

// onlyError ranges over what must yield one error and nothing else.
func onlyError[T any](t *testing.T, seq iter.Seq2[T, error]) error {
	t.Helper()
	var errs []error
	for item, err := range seq {
		assert.Zero(t, item)
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	return errs[0]
}

func TestValidationErrorNamesTheOperation(t *testing.T) {
	g := scripted.NewGate(t)
	for _, operation := range scripted.Operations {
		for name, call := range operation.Calls {
			t.Run(operation.Name+" by "+name, func(t *testing.T) {
				err := call(t.Context(), g.Client, nil)
				op := operation.Name
				if name == "EventsService.Ensure" { // which would create the event
					op = service.CreateEvent.Name
				}
				assert.Equal(t, op, scripted.RequireValidationError(t, err).Op)
				assert.True(t, strings.HasPrefix(err.Error(), op+": "), err)
				assert.True(t, strings.HasSuffix(err.Error(), "; nothing was sent"), err)
			})
		}
	}
}

func TestValidationReportsOptionsBesideArguments(t *testing.T) {
	g := scripted.NewGate(t)
	r := invalidCall{call: pushWith(func(p *messaging.PushBroadcastParams) { p.Subject = "" }), problems: []string{
		"opts must not hold a nil option", "WithHeader cannot set Host", "subject is required"}}
	g.RequireInvalid(t, r.call, r.problems, nil, messaging.WithHeader("host", canary))
}

func TestValidationIsDisabledForAWholeClient(t *testing.T) {
	g := scripted.NewGate(t, messaging.WithoutValidation())
	g.RequireSent(t, pushWith(func(p *messaging.PushBroadcastParams) { p.Subject = "" }))
	g.RequireInvalid(t, gettingCustomer(""), []string{"customer_ids.0 is required"})
}

func TestValidationOfAHundredThousandCustomers(t *testing.T) {
	customers := make([]messaging.CustomerParams, 100_000)
	for i := range customers {
		customers[i] = messaging.CustomerParams{CustomerID: "42", Email: "jane@example.com", PhoneNo: "+31201234567"}
	}
	toThem := func() scripted.Call {
		return pushWith(func(p *messaging.PushBroadcastParams) { p.To = messaging.ToCustomers(customers...) })
	}
	g := scripted.NewGate(t)
	g.RequireSent(t, toThem())

	customers[99_999].Email = canary
	g.RequireInvalid(t, toThem(), []string{"recipients.0.customers.99999.email must be an email address"})

	for i := range customers {
		customers[i].Email = canary
	}
	refused := scripted.RequireValidationError(t, toThem()(t.Context(), g.Client))
	assert.Len(t, refused.Fields, 100_000)
	assert.Contains(t, refused.Error(), "recipients.0.customers.0.email must be an email address")
}

func TestValidationErrorTextIsOneShortLine(t *testing.T) {
	tests := []struct {
		name string
		key  string
	}{
		{"a name with line breaks", "first\r\nsecond\u2028third"},
		{"a name that is not UTF-8", "first\xff"},
		{"a name with escape codes", "\x1b[31mred"},
		{"a very long name", strings.Repeat("name", 1000)},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			unsendable := map[string]any{test.key: func() {}}
			err := triggerWith(func(p *messaging.EventTriggerParams) { p.Values = unsendable })(t.Context(), g.Client)
			text := scripted.RequireValidationError(t, err).Error()
			assert.NotContains(t, text, "\r")
			assert.NotContains(t, text, "\u2028")
			assert.NotContains(t, text, "\x1b")
		})
	}
}

func TestValidationRefusesABlankAroundAFilter(t *testing.T) {
	for _, id := range []string{" ", " 7", "7 ", "\t7"} {
		g := scripted.NewGate(t)
		g.RequireInvalid(t,
			func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
				_, err := client.Customers.Get(ctx, id, opts...)
				return err
			},
			[]string{"customer_ids.0 must not begin or end with white space, which the service may remove"})
	}
}

func TestValidationRefusesIntoForHEAD(t *testing.T) {
	g := scripted.NewGate(t)
	g.RequireInvalid(t,
		func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := client.Do(ctx, messaging.Request{Method: "HEAD", Path: "/v1/events", Into: new(any)}, opts...)
			return err
		},
		[]string{"Into cannot be filled by HEAD, which has no body"})
}
