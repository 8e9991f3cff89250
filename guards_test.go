package messaging_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// broadcastTo is a valid email broadcast to an address and an audience.
func broadcastTo(email string, to messaging.Audience) messaging.EmailBroadcastParams {
	p := scripted.BroadcastTo(email)
	p.To = to
	return p
}

func pushFor(to messaging.Audience) messaging.PushBroadcastParams {
	return messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello", To: to}
}

func triggerFor(email string) messaging.EventTriggerParams {
	return messaging.EventTriggerParams{EventID: "event-1", Email: email}
}

// guardedSend is a send and whether a guard lets it pass.
type guardedSend struct {
	name    string
	prepare func() (*messaging.Prepared, error)
	passes  bool
}

func requireGuarded(t *testing.T, guard func(context.Context, *messaging.Prepared) error, sends []guardedSend) {
	t.Helper()
	for _, send := range sends {
		t.Run(send.name, func(t *testing.T) {
			p, err := send.prepare()
			require.NoError(t, err)
			err = guard(t.Context(), p)
			if send.passes {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "@", "no address in a text that this package writes")
		})
	}
}

func TestAllowOnlyRefusesEverybodyElse(t *testing.T) {
	const qa = "qa@acme.test"
	toQA := messaging.ToCustomers(messaging.CustomerParams{Email: qa})
	toAda := messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})
	customer := func(c messaging.CustomerParams) func() (*messaging.Prepared, error) {
		return pushFor(messaging.ToCustomers(c)).Prepare
	}
	copied := func(change func(*messaging.EmailBroadcastParams)) func() (*messaging.Prepared, error) {
		p := broadcastTo(qa, toQA)
		change(&p)
		return p.Prepare
	}
	byCustomer := func(c messaging.CustomerParams) func() (*messaging.Prepared, error) {
		return messaging.EventTriggerParams{EventID: "event-1", Customer: &c}.Prepare
	}
	requireGuarded(t, messaging.AllowOnly(qa, "@Team.acme.test", "id:qa-7", "@münchen.test"), []guardedSend{
		{"an address that is named", triggerFor(qa).Prepare, true},
		{"an address in upper case", triggerFor("QA@ACME.TEST").Prepare, true},
		{"an address of a domain", triggerFor("anyone@team.acme.test").Prepare, true},
		{"another address of the domain of an address", triggerFor("ada@acme.test").Prepare, false},
		{"a customer of a plain domain", triggerFor("ada@example.com").Prepare, false},
		{"a subdomain", triggerFor("ada@eu.team.acme.test").Prepare, false},
		{"a domain that ends alike", triggerFor("ada@evilteam.acme.test").Prepare, false},
		{"a domain that begins alike", triggerFor("ada@team.acme.test.evil.example").Prepare, false},
		{"a domain with a dot at its end", triggerFor("ada@team.acme.test.").Prepare, false},
		{"a domain in the local part", triggerFor("ada%team.acme.test@evil.example").Prepare, false},
		{"a letter that looks alike", triggerFor("qa@аcme.test").Prepare, false}, // a Cyrillic а
		{"a letter that folds to ASCII", triggerFor("anyone@team.acme.teſt").Prepare, false},
		{"an international domain", triggerFor("ada@münchen.test").Prepare, true},
		{"an international domain in punycode", triggerFor("ada@xn--mnchen-3ya.test").Prepare, false},
		{"an international domain in upper case", triggerFor("ada@MÜNCHEN.test").Prepare, false},
		{"an address of a domain with letters beyond ASCII", triggerFor("adä@team.acme.test").Prepare, false},
		{"a separator that looks alike", triggerFor("ada@team.acme.test，evil＠team.acme.test").Prepare, false},
		{"a path to another server", triggerFor("evil.example!ada@team.acme.test").Prepare, false},
		{"another server in the local part", triggerFor("ada%evil.example@team.acme.test").Prepare, false},
		{"two addresses in one", triggerFor("ada,anyone@team.acme.test").Prepare, false},
		{"an address with a name", triggerFor("Ada<ada>@team.acme.test").Prepare, false},

		{"a tag", triggerFor("qa+order-4711@team.acme.test").Prepare, true},
		{"a tag in upper case that says nothing", triggerFor("qa+X@team.acme.test").Prepare, true},
		{"an apostrophe", triggerFor("o'brien+x-1@team.acme.test").Prepare, true},
		{"an encoded word", triggerFor("=?utf-8?q?victim=40evil.com=2c?=@team.acme.test").Prepare, false},
		{"UTF-7", triggerFor("victim+AEA-evil.com+ACw-x@team.acme.test").Prepare, false},
		{"UTF-7 of which only the lower case is an address", triggerFor("victim+AEa-evil.com@team.acme.test").Prepare, false},
		{"an option of a program", triggerFor("-f@team.acme.test").Prepare, false},
		{"a local part that is too long", triggerFor(strings.Repeat("x", 65) + "@team.acme.test").Prepare, false},
		{"the longest local part", triggerFor(strings.Repeat("x", 64) + "@team.acme.test").Prepare, true},

		{"an email to the named", copied(func(*messaging.EmailBroadcastParams) {}), true},
		{"an email with another address", copied(func(p *messaging.EmailBroadcastParams) { p.Email = "ada@example.com" }), false},
		{"an email with a cc", copied(func(p *messaging.EmailBroadcastParams) { p.CC = []string{qa, "ada@example.com"} }), false},
		{"an email with a bcc", copied(func(p *messaging.EmailBroadcastParams) { p.BCC = []string{"ada@example.com"} }), false},
		{"an email with another sender and reply_to", copied(func(p *messaging.EmailBroadcastParams) {
			p.SenderEmail, p.ReplyTo = "news@example.com", []string{"support@example.com"}
		}), true},
		{"an email to another customer", broadcastTo(qa, toAda).Prepare, false},
		{"an email to everyone", broadcastTo(qa, messaging.AllCustomers()).Prepare, false},
		{"an email to a segment", broadcastTo(qa, messaging.ToSegments("qa")).Prepare, false},

		{"a push to everyone", pushFor(messaging.AllCustomers()).Prepare, false},
		{"a push to a segment beside the named", pushFor(messaging.ToEach(toQA, messaging.ToSegments("qa"))).Prepare, false},
		{"a customer by id alone that is named", customer(messaging.CustomerParams{CustomerID: "qa-7"}), true},
		{"a customer by id alone", customer(messaging.CustomerParams{CustomerID: "qa-8"}), false},
		{"a customer by an id in another case", customer(messaging.CustomerParams{CustomerID: "QA-7"}), false},
		{"a customer by a named address and another id", customer(messaging.CustomerParams{CustomerID: "c-1", Email: qa}), false},
		{"a customer by a named id and another address", customer(messaging.CustomerParams{CustomerID: "qa-7", Email: "ada@example.com"}), false},
		{"a customer by a named id and a named address", customer(messaging.CustomerParams{CustomerID: "qa-7", Email: qa}), true},
		{"a customer with a phone number", customer(messaging.CustomerParams{Email: qa, PhoneNo: "+331"}), false},
		{"a customer with a device",
			customer(messaging.CustomerParams{Email: qa, Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "t"}}}), false},
		{"a trigger by a customer that is named", byCustomer(messaging.CustomerParams{Email: qa}), true},
		{"a trigger by another customer", byCustomer(messaging.CustomerParams{CustomerID: "c-1"}), false},
		{"the creation of an event", pingEvent.Prepare, true},
	})
}

func TestAllowOnlyWithoutPatternsAllowsNobody(t *testing.T) {
	requireGuarded(t, messaging.AllowOnly(), []guardedSend{
		{"an address", triggerFor("qa@acme.test").Prepare, false},
		{"everyone", pushFor(messaging.AllCustomers()).Prepare, false},
	})
}

func TestAllowOnlyRefusesWhatItCannotRead(t *testing.T) {
	unreadable := func() (*messaging.Prepared, error) {
		return messaging.ParsePrepared("send push broadcast", []byte(`{"audience":"vip"}`))
	}
	sends := []guardedSend{{"a body with an unknown member", unreadable, false}}
	requireGuarded(t, messaging.AllowOnly("qa@acme.test"), sends)
	requireGuarded(t, messaging.MaxRecipients(1000), sends)
}

func TestAllowOnlyRefusesEverySendForABadPattern(t *testing.T) {
	for _, pattern := range []string{"", "acme.test", "@", "id:", "a@b@c", "qa @acme.test", "@*.acme.test", "Ada <ada@acme.test>",
		"*@acme.test", "@.", "@acme.test.",
		"a@acme.test,b@acme.test", "ID:qa-7"} {
		t.Run(pattern, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
				messaging.WithGuard(messaging.AllowOnly("qa@acme.test", pattern)))
			_, err := client.Events.Trigger(t.Context(), triggerFor("qa@acme.test"))
			var refused *messaging.GuardError
			require.ErrorAs(t, err, &refused)
			assert.Contains(t, err.Error(), `"`+pattern+`"`)
			assert.Empty(t, transport.Sent)
		})
	}
}

func TestMaxRecipientsCountsCustomersAndAddresses(t *testing.T) {
	three := messaging.ToCustomers(messaging.CustomerParams{CustomerID: "1"}, messaging.CustomerParams{CustomerID: "2"},
		messaging.CustomerParams{CustomerID: "3", Email: "three@example.com"})
	withCopies := broadcastTo("list@example.com", three)
	withCopies.CC, withCopies.BCC = []string{"a@example.com"}, []string{"b@example.com"}
	requireGuarded(t, messaging.MaxRecipients(4), []guardedSend{
		{"three customers", pushFor(three).Prepare, true},
		{"three customers and an address", broadcastTo("list@example.com", three).Prepare, true},
		{"three customers and three addresses", withCopies.Prepare, false},
		{"five customers", pushFor(messaging.ToEach(three, messaging.ToCustomers(messaging.CustomerParams{CustomerID: "4"},
			messaging.CustomerParams{CustomerID: "5"}))).Prepare, false},
		{"everyone", pushFor(messaging.AllCustomers()).Prepare, false},
		{"a segment", pushFor(messaging.ToSegments("one")).Prepare, false},
		{"the creation of an event", pingEvent.Prepare, true},
	})
	both := triggerFor("ada@example.com")
	both.Customer = &messaging.CustomerParams{CustomerID: "c-1"}
	requireGuarded(t, messaging.MaxRecipients(1), []guardedSend{
		{"a trigger by address", triggerFor("ada@example.com").Prepare, true},
		{"a trigger by address and customer", both.Prepare, false},
	})
	requireGuarded(t, messaging.MaxRecipients(2), []guardedSend{{"a trigger by address and customer", both.Prepare, true}})
	requireGuarded(t, messaging.MaxRecipients(0), []guardedSend{{"a trigger", triggerFor("ada@example.com").Prepare, false}})
}

// Every way to send is refused in the same way, and nothing reaches the service.
func TestGuardIsAskedAboutEverySend(t *testing.T) {
	sends := map[string]scripted.Call{
		"Do":                scripted.Do(messaging.Request{Method: "PUT", Path: "/v1/tags", Body: 1}),
		"Do without a body": scripted.Do(messaging.Request{Method: "DELETE", Path: "/v1/tags"}),
	}
	for _, send := range scripted.Sends() {
		sends[send.Name] = send.Full().Call
		p, err := send.Full().Prepare()
		require.NoError(t, err)
		sends[send.Name+", prepared"] = func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := c.Send(ctx, p, opts...)
			return err
		}
	}
	errNo := errors.New("not today")
	for name, call := range sends {
		t.Run(name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
				messaging.WithGuard(func(context.Context, *messaging.Prepared) error { return errNo }))
			err := call(t.Context(), client, messaging.WithoutValidation(), messaging.WithRepeatableSend())
			var refused *messaging.GuardError
			require.ErrorAs(t, err, &refused)
			require.ErrorIs(t, err, errNo)
			assert.Equal(t, refused.Op+": refused by a guard: not today; nothing was sent", err.Error())
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))
			assert.Empty(t, transport.Sent)
		})
	}
}

func TestGuardIsNotAskedAboutReads(t *testing.T) {
	reads := map[string]scripted.Call{
		"GET":  scripted.Do(messaging.Request{Method: "GET", Path: "/v1/tags"}),
		"HEAD": scripted.Do(messaging.Request{Method: "HEAD", Path: "/v1/tags"}),
	}
	for _, list := range scripted.Lists() {
		reads[list.Name] = list.Request().Call
	}
	for name, call := range reads {
		t.Run(name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, `{"success":true,"data":[]}`)},
				messaging.WithGuard(func(context.Context, *messaging.Prepared) error { return errors.New("asked") }))
			require.NoError(t, call(t.Context(), client))
			assert.Len(t, transport.Sent, 1)
		})
	}
}

func TestGuardsAreAskedInOrderAfterValidation(t *testing.T) {
	var asked []string
	guard := func(name string, err error) messaging.Option {
		return messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error {
			asked = append(asked, name+": "+p.Operation())
			clear(p.Body()) // which changes nothing
			return err
		})
	}
	scenes := []scripted.Scene{scripted.Responds(503, scripted.Failure), scripted.Responds(200, scripted.Success)}
	client, transport := scripted.NewClient(t, scenes,
		guard("first", nil), guard("second", nil), scripted.TwoAttempts)
	_, err := client.Events.Trigger(t.Context(), triggerFor("not an address"))
	require.ErrorIs(t, err, messaging.ErrValidation)
	assert.Empty(t, asked)
	require.NoError(t, scripted.TriggerEvent(t.Context(), client, messaging.WithRepeatableSend()))
	assert.Equal(t, []string{"first: trigger event", "second: trigger event"}, asked, "once for a call of two attempts")
	assert.Contains(t, transport.Sent[1].Content, scripted.PersonalEmail)
}

func TestGuardCannotChangeWhatTheNextOneIsAsked(t *testing.T) {
	harmless, err := triggerFor("qa@acme.test").Prepare()
	require.NoError(t, err)
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error { *p = *harmless; return nil }),
		messaging.WithGuard(messaging.AllowOnly("@acme.test")))
	var refused *messaging.GuardError
	require.ErrorAs(t, scripted.TriggerEvent(t.Context(), client), &refused)
	assert.Empty(t, transport.Sent)
}

// A guard that looks something up with a client may wrap an error that is retryable.
func TestGuardErrorIsNotRetryableWhateverItsCause(t *testing.T) {
	reader, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, "")}, scripted.TwoAttempts)
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithGuard(func(ctx context.Context, _ *messaging.Prepared) error { return scripted.ReadCustomers(ctx, reader) }))
	err := scripted.TriggerEvent(t.Context(), client)
	require.ErrorIs(t, err, messaging.ErrServer)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))
	assert.True(t, strings.HasPrefix(err.Error(), "trigger event: refused by a guard: "))
}

// uncomparable is an error whose type can be compared, and whose value cannot.
type uncomparable struct{ held any }

func (uncomparable) Error() string { return "shutting down" }

func TestGuardThatReturnsACauseWhichCannotBeCompared(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(uncomparable{[]string{"deploy"}})
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithGuard(func(ctx context.Context, _ *messaging.Prepared) error { return context.Cause(ctx) }))
	assert.NotPanics(t, func() { require.Error(t, scripted.TriggerEvent(ctx, client)) })
}

func TestGuardAndHooksThatAreMissingAreRefused(t *testing.T) {
	_, err := messaging.NewClient("https://api.example.com", "test-key-1", messaging.WithGuard(nil), messaging.WithHooks(messaging.Hooks{}))
	scripted.RequireProblems(t, err, "WithGuard must be given a guard, not nil",
		"WithHooks must be given hooks with at least one function")
}

func TestAllowOnlyMatchesADomainIfTheLocalPartIsPlain(t *testing.T) {
	guard := messaging.AllowOnly("@acme.test", "a&b@acme.test", "kate+ADMIN@acme.test")
	locals := map[string]bool{
		"qa": true, "q.a_b-c+d'e": true, "qa+order-4711": true, "kate+sign-up": true, "o'brien+x-1": true,
		"a+": true, "a++": true, "a+-": true, "+": true,
		"a&b": true, "A&B": true, "kate+ADMIN": true, "kate+admin": true, // listed

		"a&c": false, "a/b": false, "a=b": false, "a?b": false, "a{b": false, "a|b": false, "a`b": false, "a~b": false, "a%b": false,
		"a!b": false, "-qa": false, "ä": false, `"qa"`: false, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,

		// UTF-7, and the UTF-16 units that it hides.
		"pete+ADMIN": false, "a+AEA-b": false, "a+AEAx": false, // U+0033, U+0040
		"a+AE":      true,                     // no complete unit
		"a++AEA":    false,                    // U+0040 after the second +
		"a+b+AEA-c": false, "a+4AAAQA": false, // U+0040 as the second unit
		"a+AH8": false, "a+AIA": true, // U+007F, U+0080
		"a+H+8": true, "a+IAA": false, "a+IG8": false, "a+IHA": true, // U+1FEF, U+2000, U+206F, U+2070
		"a+aab+AA": false, "a+aab+//": false, // U+FE40 as the second unit
		"a+aacgaa": false, "a+aacGaa": false, // U+2069, also if only the lower case is
	}
	for local, passes := range locals {
		t.Run(local, func(t *testing.T) {
			err := guard(t.Context(), triggerOf(t, `"email":`+strconv.Quote(local+"@acme.test")))
			assert.Equal(t, passes, err == nil, "%v", err)
		})
	}
}

func TestAllowOnlyTakesNoPatternForAnAddress(t *testing.T) {
	guard := messaging.AllowOnly("@acme.test", "id:qa-7")
	for _, address := range []string{"@acme.test", "id:qa-7"} {
		require.Error(t, guard(t.Context(), triggerOf(t, `"email":"`+address+`"`)), address)
	}
}

// triggerOf is a trigger with the given members in its payload.
func triggerOf(t *testing.T, payload string) *messaging.Prepared {
	t.Helper()
	return stored(t, "trigger event", `{"event_id":"e","payload":{`+payload+`}}`)
}

func TestAllowOnlyRefusesANameOrAHeaderWithAnAddress(t *testing.T) {
	guard := messaging.AllowOnly("@acme.test")
	for name, passes := range map[string]bool{
		"Ada": true, "Ada + Grace": true, "qa@acme.test": true, "": true,
		"ada@example.com": false, "Ada <ada@example.com>,": false, "ada＠example.com": false, "=?utf-8?q?ada=40example.com?=": false,
		"ada+AEA-example.com": false, "Ada\r\nBcc: grace": false,
	} {
		for _, member := range []string{"first_name", "last_name"} {
			err := guard(t.Context(), triggerOf(t, `"customer":{"email":"qa@acme.test","`+member+`":`+strconv.Quote(name)+`}`))
			assert.Equal(t, passes, err == nil, "%s: %s: %v", member, name, err)
		}
	}
	require.NoError(t, guard(t.Context(), triggerOf(t, `"customer":{"email":"qa@acme.test","first_name":null,"last_name":7}`)))
}

func TestGuardsCannotReadANameOrAHeaderThatIsNoText(t *testing.T) {
	for _, value := range []string{`["Ada\r\nBcc: ada@example.com"]`, `{"0":"ada@example.com"}`, "true"} {
		named := triggerOf(t, `"customer":{"email":"qa@acme.test","first_name":`+value+`}`)
		bodies := map[string]*messaging.Prepared{"first_name": named, "push": stored(t, "send push broadcast",
			`{"recipients":{"type":"customer","customers":[{"email":"qa@acme.test"}]},"subject":`+value+`}`)}
		for _, member := range []string{`"subject":` + value, `"sender_name":` + value, `"sender_email":` + value, `"reply_to":[` + value + `]`} {
			bodies[member] = stored(t, "send email broadcast",
				`{"email":"qa@acme.test","recipients":{"type":"customer","customers":[{"email":"qa@acme.test"}]},`+member+`}`)
		}
		for name, p := range bodies {
			assert.False(t, isReadable(p), "%s: %s", name, value)
			require.ErrorContains(t, messaging.AllowOnly("qa@acme.test")(t.Context(), p), "cannot tell who", name)
			require.ErrorContains(t, messaging.MaxRecipients(9)(t.Context(), p), "cannot tell who", name)
		}
	}
}

func TestGuardsRefuseALineBreakInAHeader(t *testing.T) {
	const valid = `"email":"qa@acme.test","all_customers":false,"recipients":{"type":"customer","customers":[{"email":"qa@acme.test"}]}`
	for _, value := range []string{`"a\rb"`, `"a\nb"`, `"a\u0000b"`} {
		for field, member := range map[string]string{"subject": `"subject":` + value, "sender_name": `"sender_name":` + value,
			"sender_email": `"sender_email":` + value,
			"reply_to.1":   `"reply_to":["qa@acme.test",` + value + `]`, "reply_to": `"reply_to":` + value} {
			p := stored(t, "send email broadcast", "{"+valid+","+member+"}")
			want := ": " + field + " is not allowed: a line break or NUL could end the header of an email"
			require.EqualError(t, messaging.AllowOnly("qa@acme.test")(t.Context(), p), "AllowOnly"+want)
			require.EqualError(t, messaging.MaxRecipients(9)(t.Context(), p), "MaxRecipients"+want)
			assert.True(t, isReadable(p))
		}
		p := stored(t, "send email broadcast", "{"+valid+`,"message":`+value+"}")
		require.NoError(t, messaging.AllowOnly("qa@acme.test")(t.Context(), p))
		require.NoError(t, messaging.MaxRecipients(9)(t.Context(), p))
	}
}

func TestGuardsNameTheirFirstFieldAndCountTheOthers(t *testing.T) {
	const email, push = "send email broadcast", "send push broadcast"
	tests := []struct{ name, operation, body, allowOnly, maxRecipients string }{
		{"all customers", push, `{"all_customers":true}`, "all_customers is not allowed", "all_customers is not a known number of recipients"},
		{"a segment", push, `{"recipients":{"type":"segment","segments":["s"]}}`, "recipients.0.segments.0 is not allowed",
			"recipients.0.segments.0 is not a known number of recipients"},
		{"an address", email, `{"all_customers":true,"email":"a@b.c"}`, "all_customers and 1 other field are not allowed",
			"all_customers is not a known number of recipients"},
		{"a cc", email,
			`{"email":"qa@acme.test","cc":["qa@acme.test","a@b.c"],"bcc":["a@b.c"],"recipients":[{"type":"segment","segments":["s"]}]}`,
			"cc.1 and 2 other fields are not allowed", "recipients.0.segments.0 is not a known number of recipients"},
		{"a customer", push,
			`{"recipients":[{"type":"customer","customers":[{"customer_id":"qa-7"},{"customer_id":"qa-7","email":"a@b.c,d@e.f"}]}]}`,
			"recipients.0.customers.1.email is not allowed", "recipients.0.customers.1.email is not a known number of recipients"},
		{"the only recipient", push, `{"recipients":{"type":"customer","customers":[{"customer_id":"qa-7"},{"customer_id":"1,2,3"}]}}`,
			"recipients.0.customers.1.customer_id is not allowed", "recipients.0.customers.1.customer_id is not a known number of recipients"},
		{"a phone number and a device", push,
			`{"recipients":{"type":"customer","customers":[{"customer_id":"qa-7","phone_no":"+1;+2","devices":[{}]}]}}`,
			"recipients.0.customers.0.phone_no and 1 other field are not allowed",
			"recipients.0.customers.0.phone_no is not a known number of recipients"},
		{"a device", push, `{"recipients":{"type":"customer","customers":[{"customer_id":"qa-7","devices":[{}]},{"customer_id":"qa-7"}]}}`,
			"recipients.0.customers.0.devices.0 is not allowed", "2 recipients exceed the limit of 1"},
		{"a payload", "trigger event", `{"payload":{"email":"a@b.c","customer":{"email":"a@b.c"}}}`,
			"payload.email and 1 other field are not allowed", "2 recipients exceed the limit of 1"},
		{"the customer of a payload", "trigger event", `{"payload":{"customer":{"email":"a@b.c,d@e.f"}}}`,
			"payload.customer.email is not allowed", "payload.customer.email is not a known number of recipients"},
		{"a local part", "trigger event", `{"payload":{"email":"a&b@acme.test","customer":{"first_name":"a@b.c","email":"a b@acme.test"}}}`,
			"payload.email and 2 other fields are not allowed: the domain matches, but the local part could hide another address",
			"payload.customer.email is not a known number of recipients"},
		{"a name", "trigger event", `{"payload":{"customer":{"first_name":"a@b.c","email":"qa@acme.test","email":"qa@acme.test"}}}`,
			"payload.customer.first_name is not allowed: a name could be read as an address", "2 recipients exceed the limit of 1"},
		{"a key in another case", "trigger event", `{"payload":{"email":"qa@acme.test","Email":"a@b.c"}}`,
			"cannot tell who would receive this request: payload.Email could be read as another key",
			"cannot tell who would receive this request: payload.Email could be read as another key"},
		{"an unknown member", push, `{"all_customers":true,"ada@example.com":1}`,
			"cannot tell who would receive this request", "cannot tell who would receive this request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := stored(t, test.operation, test.body)
			require.EqualError(t, messaging.AllowOnly("@acme.test", "id:qa-7")(t.Context(), p), "AllowOnly: "+test.allowOnly)
			require.EqualError(t, messaging.MaxRecipients(1)(t.Context(), p), "MaxRecipients: "+test.maxRecipients)
		})
	}
	p := triggerOf(t, `"email":"a@b.c"`)
	require.EqualError(t, messaging.MaxRecipients(0)(t.Context(), p), "MaxRecipients: 1 recipient exceeds the limit of 0")
}

func TestMaxRecipientsCountsWhatIsRepeated(t *testing.T) {
	const push = "send push broadcast"
	tests := []struct {
		name, operation, body string
		count                 int
	}{
		{"a customer with an id, an address and a phone number", push,
			`{"recipients":{"type":"customer","customers":[{"customer_id":"c","email":"a@b.c","phone_no":"+1"}]}}`, 1},
		{"a customer with two ids", push, `{"recipients":{"type":"customer","customers":[{"customer_id":"c","customer_id":"d"}]}}`, 2},
		{"a customer with two addresses", push, `{"recipients":{"type":"customer","customers":[{"email":"a@b.c","email":"d@e.f"}]}}`, 2},
		{"a customer with two phone numbers", push,
			`{"recipients":{"type":"customer","customers":[{"email":"a@b.c","phone_no":"+1","phone_no":"+2"}]}}`, 2},
		{"two customers", push, `{"recipients":{"type":"customer","customers":[{"email":"a@b.c"},{"email":"a@b.c"}]}}`, 2},
		{"two lists of recipients", push, `{"recipients":{"type":"customer","customers":[{"email":"a@b.c"}]},` +
			`"recipients":[{"type":"customer","customers":[{"email":"a@b.c"}],"customers":[{"email":"a@b.c"}]}]}`, 3},
		{"a payload with two addresses", "trigger event", `{"payload":{"email":"a@b.c","email":"d@e.f"}}`, 2},
		{"two payloads", "trigger event", `{"payload":{"email":"a@b.c"},"payload":{"email":"d@e.f"}}`, 2},
		{"an address beside a customer", "trigger event", `{"payload":{"email":"a@b.c","customer":{"customer_id":"c"}}}`, 2},
		{"two lists of copies", "send email broadcast", `{"email":"a@b.c","cc":["a@b.c"],"cc":["a@b.c"],"bcc":["a@b.c"],` +
			`"recipients":{"type":"customer","customers":[{"email":"a@b.c"}]}}`, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := stored(t, test.operation, test.body)
			require.NoError(t, messaging.MaxRecipients(test.count)(t.Context(), p))
			require.Error(t, messaging.MaxRecipients(test.count-1)(t.Context(), p))
		})
	}
}

func TestMaxRecipientsRefusesAValueThatMayBeSeveral(t *testing.T) {
	guard := messaging.MaxRecipients(100)
	for _, value := range []string{"1,2", "1;2", "1 2", `1\u00a02`, `1\n2`, `1\u00002`} {
		for _, member := range []string{"customer_id", "email", "phone_no"} {
			customer := `"customer":{"customer_id":"c","` + member + `":"` + value + `"}`
			require.Error(t, guard(t.Context(), triggerOf(t, customer)), customer)
		}
		require.Error(t, guard(t.Context(), triggerOf(t, `"email":"`+value+`@acme.test"`)), value)
	}
	for _, address := range []string{"a@b.c<d@e.f", "=?utf-8?q?a=40b.c=2c?=@acme.test"} {
		require.Error(t, guard(t.Context(), triggerOf(t, `"email":"`+address+`"`)), address)
	}
	require.NoError(t, guard(t.Context(), triggerOf(t, `"email":"kate+ADMIN@acme.test","customer":{"customer_id":"=?@@","phone_no":"+331"}`)))
}

func TestGuardsCannotReadAPayloadWithAKeyLikeOneThatNamesTheCustomer(t *testing.T) {
	for key, unmodelled := range map[string]bool{
		"Email": true, "EMAIL": true, "Customer": true, "cuſtomer": true, "emaıl": true, "EMAİL": true,
		"email ": true, " email": true, "e mail": true, `email\u00a0`: true, `email\t`: true, `email\u0000`: true, `email\u200b`: true,
		`email\ufeff`: true, `email\ud800`: true, `email\u0000x`: true,
		"emails": false, "e-mail": false, "customer_id": false, "mail": false, "": false, "cc": false,
	} {
		p := triggerOf(t, `"email":"qa@acme.test","`+key+`":"victim@example.com"`)
		assert.Equal(t, unmodelled, !isReadable(p), key)
		assert.Equal(t, unmodelled, messaging.AllowOnly("@acme.test")(t.Context(), p) != nil, key)
		assert.Equal(t, unmodelled, messaging.MaxRecipients(1)(t.Context(), p) != nil, key)
	}
	p := triggerFor("qa@acme.test")
	p.Values = map[string]any{"Email": "a parameter"}
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
	_, err := client.Events.Trigger(t.Context(), p)
	require.NoError(t, err)
	assert.Len(t, transport.Sent, 1, "without a guard it is sent")
}

func TestWithAllowOnlyIsTheGuardAllowOnly(t *testing.T) {
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithAllowOnly("qa@acme.test", "id:qa-7"))
	_, err := client.Events.Trigger(t.Context(), triggerFor("ada@example.com"))
	var refused *messaging.GuardError
	require.ErrorAs(t, err, &refused)
	require.EqualError(t, err, "trigger event: refused by a guard: AllowOnly: payload.email is not allowed; nothing was sent")
	assert.Empty(t, transport.Sent)
	_, err = client.Events.Trigger(t.Context(), triggerFor("qa@acme.test"))
	require.NoError(t, err)
}

func TestWithAllowOnlyReportsEveryInvalidPattern(t *testing.T) {
	_, err := messaging.NewClient("https://api.example.com", "test-key-1", messaging.WithAllowOnly("acme.test", "@acme.test", "id:"))
	scripted.RequireProblems(t, err,
		`WithAllowOnly.0 must be an email address, @domain or id:customer, not "acme.test"`,
		`WithAllowOnly.2 must be an email address, @domain or id:customer, not "id:"`)
}
