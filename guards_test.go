package messaging_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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

func allowOnly(tb testing.TB, patterns ...string) messaging.Guard {
	return scripted.GuardOf(tb, messaging.WithAllowOnly(patterns...))
}

func maxRecipients(tb testing.TB, n int) messaging.Guard {
	return scripted.GuardOf(tb, messaging.WithMaxRecipients(n))
}

func requireGuarded(t *testing.T, guard messaging.Guard, sends []guardedSend) {
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
	to := func(address string) func() (*messaging.Prepared, error) { // even one that is invalid
		body, err := json.Marshal(map[string]any{"event_id": "e", "payload": map[string]string{"email": address}})
		require.NoError(t, err)
		return func() (*messaging.Prepared, error) { return messaging.ParsePrepared("trigger event", body) }
	}
	guard := allowOnly(t, qa, "phone:+15550100", "device:token-1", "@Team.acme.test", "id:qa-7", "@münchen.test")
	requireGuarded(t, guard, []guardedSend{
		{"an address that is named", to(qa), true},
		{"an address in upper case", to("QA@ACME.TEST"), true},
		{"an address of a domain", to("anyone@team.acme.test"), true},
		{"another address of the domain of an address", to("ada@acme.test"), false},
		{"a customer of a plain domain", to("ada@example.com"), false},
		{"a subdomain", to("ada@eu.team.acme.test"), false},
		{"a domain that ends alike", to("ada@evilteam.acme.test"), false},
		{"a domain that begins alike", to("ada@team.acme.test.evil.example"), false},
		{"a domain with a dot at its end", to("ada@team.acme.test."), false},
		{"a domain in the local part", to("ada%team.acme.test@evil.example"), false},
		{"a letter that looks alike", to("qa@аcme.test"), false}, // a Cyrillic а
		{"a letter that folds to ASCII", to("anyone@team.acme.teſt"), false},
		{"an international domain", to("ada@münchen.test"), true},
		{"an international domain in punycode", to("ada@xn--mnchen-3ya.test"), false},
		{"an international domain in upper case", to("ada@MÜNCHEN.test"), false},
		{"an address of a domain with letters beyond ASCII", to("adä@team.acme.test"), false},
		{"a separator that looks alike", to("ada@team.acme.test，evil＠team.acme.test"), false},
		{"a path to another server", to("evil.example!ada@team.acme.test"), false},
		{"two addresses in one", to("ada,anyone@team.acme.test"), false},
		{"an address with a name", to("Ada<ada>@team.acme.test"), false},

		{"an encoded word", to("=?utf-8?q?victim=40evil.com=2c?=@team.acme.test"), false},
		{"an address without a domain", to("qa@"), false},
		{"a pattern", to("@team.acme.test"), false},
		{"an invisible character", to("qa\u200b@team.acme.test"), false},

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
		{"a customer with a phone number that is named", customer(messaging.CustomerParams{Email: qa, PhoneNo: "+15550100"}), true},
		{"a customer with a device that is named",
			customer(messaging.CustomerParams{Email: qa, Devices: []messaging.Device{{Type: "ios", Token: "token-1"}}}), true},
		{"a customer with a device",
			customer(messaging.CustomerParams{Email: qa, Devices: []messaging.Device{{Type: "ios", Token: "t"}}}), false},
		{"a trigger by a customer that is named", byCustomer(messaging.CustomerParams{Email: qa}), true},
		{"a trigger by another customer", byCustomer(messaging.CustomerParams{CustomerID: "c-1"}), false},
		{"the creation of an event", pingEvent.Prepare, true},
	})
}

func TestAllowOnlyWithoutPatternsAllowsNobody(t *testing.T) {
	requireGuarded(t, allowOnly(t), []guardedSend{
		{"an address", triggerFor("qa@acme.test").Prepare, false},
		{"everyone", pushFor(messaging.AllCustomers()).Prepare, false},
	})
}

func TestABadPatternIsAnErrorOfNewClient(t *testing.T) {
	for _, pattern := range []string{"", "acme.test", "@", "id:", "a@b@c", "qa @acme.test", "@*.acme.test", "Ada <ada@acme.test>",
		"*@acme.test", "@.", "@acme.test.",
		"a@acme.test,b@acme.test", "ID:qa-7"} {
		t.Run(pattern, func(t *testing.T) {
			_, err := messaging.NewClient("https://api.example.com", "test-key-1", messaging.WithAllowOnly("id:", "qa@acme.test", pattern))
			const problem = " must be an email address, @domain, id:customer, phone:+number or device:token, not "
			scripted.RequireProblems(t, err, "WithAllowOnly.0"+problem+`"id:"`, "WithAllowOnly.2"+problem+strconv.Quote(pattern))
		})
	}
}

func TestMaxRecipientsCountsCustomersAndAddressesOnce(t *testing.T) {
	ada, grace := messaging.CustomerParams{CustomerID: "1", Email: "ada@example.com"}, messaging.CustomerParams{CustomerID: "2"}
	email := func(change func(*messaging.EmailBroadcastParams)) func() (*messaging.Prepared, error) {
		p := broadcastTo("ada@example.com", messaging.ToCustomers(ada, grace))
		change(&p)
		return p.Prepare
	}
	stored := func(operation, body string) func() (*messaging.Prepared, error) {
		return func() (*messaging.Prepared, error) { return messaging.ParsePrepared(operation, []byte(body)) }
	}
	push := func(customers string) func() (*messaging.Prepared, error) {
		return stored("send push broadcast", `{"recipients":{"type":"customer","customers":[`+customers+`]}}`)
	}
	both := triggerFor("ADA@example.com")
	both.Customer = &messaging.CustomerParams{CustomerID: "1", Email: "ada@example.com", PhoneNo: "+331",
		Devices: []messaging.Device{{Type: "ios", Token: "t"}}}
	other := both
	other.Customer = &messaging.CustomerParams{CustomerID: "1"}
	tests := []struct {
		name    string
		prepare func() (*messaging.Prepared, error)
		count   int // -1 if it is unknown
	}{
		{"a broadcast to a customer who is also its address", broadcastTo("ada@example.com", messaging.ToCustomers(ada)).Prepare, 1},
		{"two customers, one of whom is its address", email(func(*messaging.EmailBroadcastParams) {}), 2},
		{"another address", email(func(p *messaging.EmailBroadcastParams) { p.Email = "list@example.com" }), 3},
		{"an address in cc and bcc", email(func(p *messaging.EmailBroadcastParams) {
			p.CC, p.BCC = []string{"list@example.com", "Ada@example.com"}, []string{"LIST@example.com"}
		}), 3},
		{"a trigger by address", triggerFor("ada@example.com").Prepare, 1},
		{"a trigger by a customer and the same address", both.Prepare, 1},
		{"a trigger by a customer and an address", other.Prepare, 2},
		{"a customer twice", push(`{"customer_id":"1","email":"a@b.c"},{"email":"A@b.c","customer_id":"1"}`), 1},
		{"an address with two ids", push(`{"customer_id":"1","email":"a@b.c"},{"customer_id":"2","email":"a@b.c"}`), 2},
		{"an id with and without an address", push(`{"customer_id":"1","email":"a@b.c"},{"customer_id":"1"}`), 2},
		{"a customer with two ids", push(`{"customer_id":"1","customer_id":"2"}`), 2},
		{"a customer with two addresses", push(`{"email":"a@b.c","email":"d@e.f"}`), 2},
		{"two payloads", stored("trigger event", `{"payload":{"email":"a@b.c"},"payload":{"email":"d@e.f"}}`), 2},
		{"an address that could be two", stored("trigger event", `{"payload":{"email":"a@b.c,d@e.f"}}`), -1},
		{"everyone", pushFor(messaging.AllCustomers()).Prepare, -1},
		{"a segment", pushFor(messaging.ToSegments("one")).Prepare, -1},
		{"what cannot be read", stored("trigger event", `{"payload":{}}`), -1},
		{"the creation of an event", pingEvent.Prepare, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := test.prepare()
			require.NoError(t, err)
			if test.count < 0 {
				require.Error(t, maxRecipients(t, 9)(t.Context(), p))
				return
			}
			reaches, err := p.Recipients()
			require.NoError(t, err)
			assert.Equal(t, test.count, reaches.Count)
			require.NoError(t, maxRecipients(t, max(1, test.count))(t.Context(), p))
			if test.count > 1 {
				require.Error(t, maxRecipients(t, test.count-1)(t.Context(), p))
			}
		})
	}
	p, err := email(func(*messaging.EmailBroadcastParams) {})()
	require.NoError(t, err)
	require.EqualError(t, maxRecipients(t, 1)(t.Context(), p), "WithMaxRecipients: 2 recipients exceed the limit of 1")
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
			assert.Equal(t, refused.Operation+": refused by a guard: not today; nothing was sent", err.Error())
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

func TestCheckAsksTheGuardsAndNothingElse(t *testing.T) {
	var asked []string
	ctx := context.WithValue(t.Context(), &asked, "the caller's")
	guard := func(name string, result error) messaging.Option {
		return messaging.WithGuard(func(got context.Context, p *messaging.Prepared) error {
			assert.True(t, got == ctx, "it is the very context of the caller")
			asked = append(asked, name+": "+p.Operation())
			return result
		})
	}
	errNo := errors.New("not today")
	p, err := triggerFor("ada@example.com").Prepare()
	require.NoError(t, err)
	fails := func() { t.Error("Check must call the guards alone") }
	check := func(guards ...messaging.Option) error {
		client, err := messaging.NewClient("https://api.example.com", "", append(guards,
			messaging.WithKeySource(func(context.Context) (string, error) { fails(); return "", errNo }),
			messaging.WithRateLimiter(limiterFunc(func(context.Context) error { fails(); return nil })),
			messaging.WithHooks(messaging.Hooks{CallStart: func(context.Context, messaging.CallInfo) context.Context { fails(); return nil }}),
			messaging.WithHTTPClient(&http.Client{Transport: scripted.RoundTripper(func(*http.Request) (*http.Response, error) {
				fails()
				return nil, errNo
			})}))...)
		require.NoError(t, err)
		return client.Check(ctx, p)
	}

	require.NoError(t, check(guard("first", nil), guard("second", nil)))
	assert.Equal(t, []string{"first: trigger event", "second: trigger event"}, asked)
	asked = nil
	err = check(guard("first", errNo), guard("second", nil))
	require.ErrorIs(t, err, errNo)
	require.EqualError(t, err, "trigger event: refused by a guard: not today; nothing was sent", "as Send says")
	assert.Equal(t, messaging.NextFixRequest, messaging.NextStepOf(err))
	assert.Equal(t, []string{"first: trigger event"}, asked)
	require.NoError(t, check(), "without a guard, everything passes")
}

func TestCheckHasTheErrorsOfSend(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	client, _ := scripted.NewClient(t, nil, messaging.WithGuard(func(ctx context.Context, _ *messaging.Prepared) error { return ctx.Err() }))
	p, err := triggerFor("ada@example.com").Prepare()
	require.NoError(t, err)
	for name, fail := range map[string]struct {
		ctx context.Context
		p   *messaging.Prepared
	}{"a nil context": {nil, p}, "nil": {t.Context(), nil}, "zero": {t.Context(), new(messaging.Prepared)},
		"a context that ended": {ended, p}} {
		checked := client.Check(fail.ctx, fail.p)
		_, sent := client.Send(fail.ctx, fail.p)
		require.Error(t, checked, name)
		require.EqualError(t, checked, sent.Error(), name)
		assert.IsType(t, sent, checked, name)
		assert.Equal(t, messaging.NextStepOf(sent), messaging.NextStepOf(checked), name)
	}
}

func TestAGuardCannotChangeTheRecipientsOfTheNext(t *testing.T) {
	vandal := func(_ context.Context, p *messaging.Prepared) error {
		to, err := p.Recipients()
		to.Emails[0], to.Everyone = "qa@acme.test", true
		clear(p.Body())
		return err
	}
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithGuard(vandal), messaging.WithAllowOnly("ada@example.com"), messaging.WithMaxRecipients(1),
		messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error {
			to, err := p.Recipients()
			assert.Equal(t, messaging.Recipients{Emails: []string{"ada@example.com"}, Count: 1}, to)
			return err
		}))
	_, err := client.Events.Trigger(t.Context(), triggerFor("ada@example.com"))
	require.NoError(t, err)
	assert.Contains(t, transport.Sent[0].Content, "ada@example.com")
}

func TestGuardCannotChangeWhatTheNextOneIsAsked(t *testing.T) {
	harmless, err := triggerFor("qa@acme.test").Prepare()
	require.NoError(t, err)
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error { *p = *harmless; return nil }),
		messaging.WithAllowOnly("@acme.test"))
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

func TestGuardThatCannotDecideNowSaysWhatToDo(t *testing.T) {
	careless, _ := scripted.NewClient(t, nil, messaging.WithGuard(func(context.Context, *messaging.Prepared) error {
		var refused *messaging.GuardError
		return refused // which is not nil
	}))
	assert.Equal(t, messaging.NextFixRequest, messaging.NextStepOf(scripted.TriggerEvent(t.Context(), careless)))
	errDown := errors.New("the database is down")
	for step, want := range map[messaging.NextStep]messaging.NextStep{
		messaging.NextRetry: messaging.NextRetry, messaging.NextFixSetup: messaging.NextFixSetup,
		messaging.NextCheck: messaging.NextFixRequest, messaging.NextFixRequest: messaging.NextFixRequest,
	} {
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)}, messaging.WithGuard(
			func(context.Context, *messaging.Prepared) error {
				return &messaging.GuardError{Err: errDown, Step: step}
			}))
		err := scripted.TriggerEvent(t.Context(), client)
		assert.Equal(t, want, messaging.NextStepOf(err), "%v", step)
		assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
		require.ErrorIs(t, err, errDown)
		assert.Empty(t, transport.Sent)
	}
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

func triggerOf(t *testing.T, payload string) *messaging.Prepared {
	t.Helper()
	return stored(t, "trigger event", `{"event_id":"e","payload":{`+payload+`}}`)
}

func TestAllowOnlyMatchesADomainIfTheLocalPartIsPlain(t *testing.T) {
	guard := allowOnly(t, "@acme.test", "a&b@acme.test")
	locals := map[string]bool{
		"qa": true, "q.a_b-c+d'e": true, "qa+order-4711": true, "kate+ADMIN": true, "+": true, "a&b": true, "A&B": true, // listed
		strings.Repeat("x", 64): true,

		"a&c": false, "a/b": false, "a=b": false, "a?b": false, "a{b": false, "a|b": false, "a`b": false, "a~b": false, "a%b": false,
		"a!b": false, "-a": false, "": false, "ä": false, strings.Repeat("x", 65): false,
	}
	for local, allowed := range locals {
		err := guard(t.Context(), triggerOf(t, `"email":"`+local+`@acme.test"`))
		assert.Equal(t, allowed, err == nil, local)
	}
}

func TestGuardsNameTheFirstField(t *testing.T) {
	const email, push = "send email broadcast", "send push broadcast"
	tests := []struct{ name, operation, body, want string }{
		{"an address", "trigger event", `{"payload":{"email":"ada@example.com","customer":{"customer_id":"c"}}}`, "payload.email is not allowed"},
		{"a cc", email, `{"cc":["qa@acme.test","ada@example.com"],"all_customers":true}`, "cc.1 is not allowed"},
		{"everyone", push, `{"all_customers":true}`, "all_customers is not allowed"},
		{"a customer", push, `{"recipients":{"type":"customer","customers":[{"email":"qa@acme.test","customer_id":"c"}]}}`,
			"recipients.0.customers.0.customer_id is not allowed"},
		{"a device", push, `{"recipients":{"type":"customer","customers":[{"email":"qa@acme.test","devices":[{"device_token":"t"}]}]}}`,
			"recipients.0.customers.0.devices.0.device_token is not allowed"},
		{"a local part", "trigger event", `{"payload":{"email":"a%b@acme.test"}}`,
			"payload.email is not allowed: the domain matches, but the local part is not plain"},
		{"an unknown member", push, `{"all_customers":false,"ada@example.com":1}`, "cannot tell who would receive this request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.EqualError(t, allowOnly(t, "@acme.test")(t.Context(), stored(t, test.operation, test.body)), "WithAllowOnly: "+test.want)
		})
	}
	require.EqualError(t, maxRecipients(t, 9)(t.Context(), stored(t, push, `{"recipients":{"type":"segment","segments":["s"]}}`)),
		"WithMaxRecipients: recipients.0.segments.0 is not a known number of recipients")
}

// A service may ignore the case of a key.
func TestGuardsReadAKeyThatNamesTheCustomerInAnyCase(t *testing.T) {
	guard, one := allowOnly(t, "@acme.test"), maxRecipients(t, 1)
	for _, key := range []string{"Email", "EMAIL", "eMail"} {
		listed := triggerOf(t, `"email":"qa@acme.test","`+key+`":"qa@acme.test"`)
		require.NoError(t, guard(t.Context(), listed), key)
		require.NoError(t, one(t.Context(), listed), key)
		another := triggerOf(t, `"email":"qa@acme.test","`+key+`":"ada@acme.test"`)
		require.NoError(t, guard(t.Context(), another), key)
		require.Error(t, one(t.Context(), another), key)
		for _, value := range []string{`"ada@example.com"`, `"parameter"`, "1", "true", "null", "[]", "{}"} {
			require.Error(t, guard(t.Context(), triggerOf(t, `"email":"qa@acme.test","`+key+`":`+value)), "%s: %s", key, value)
		}
		require.Error(t, guard(t.Context(), triggerOf(t, `"email":"qa@acme.test","`+key+`":"qa@acme.test","`+key+`":"ada@example.com"`)), key)
	}
	for value, allowed := range map[string]bool{
		`{"email":"qa@acme.test"}`: true, `{"email":"ada@example.com"}`: false, `"qa@acme.test"`: false} {
		assert.Equal(t, allowed, guard(t.Context(), triggerOf(t, `"email":"qa@acme.test","Customer":`+value)) == nil, value)
	}
	for _, parameter := range []string{"emails", "e-mail", "email ", "customer_id", "cc", "customer.email"} {
		require.NoError(t, guard(t.Context(), triggerOf(t, `"email":"qa@acme.test","`+parameter+`":"ada@example.com"`)), parameter)
	}
	p := triggerFor("qa@acme.test")
	p.Values = map[string]any{"Email": "a parameter"}
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
	_, err := client.Events.Trigger(t.Context(), p)
	require.NoError(t, err)
	assert.Len(t, transport.Sent, 1, "without a guard it is sent")
}
