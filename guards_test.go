package messaging_test

import (
	"context"
	"errors"
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
		{"a trigger by address and customer", both.Prepare, true},
	})
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
			assert.False(t, messaging.Retryable(err))
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
	assert.False(t, messaging.Retryable(err))
	assert.True(t, strings.HasPrefix(err.Error(), "trigger event: refused by a guard: "))
}

func TestGuardAndHooksThatAreMissingAreRefused(t *testing.T) {
	_, err := messaging.NewClient("https://api.example.com", "key", messaging.WithGuard(nil), messaging.WithHooks(messaging.Hooks{}))
	scripted.RequireProblems(t, err, "WithGuard must not be nil", "WithHooks must have at least one function")
}
