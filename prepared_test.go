package messaging_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
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

func TestPreparedIsTheRequestThatTheMethodSends(t *testing.T) {
	for _, send := range scripted.Sends() {
		for i, build := range send.Requests {
			t.Run(fmt.Sprint(send.Name, " ", i), func(t *testing.T) {
				rec := &recorder{response: "HTTP/1.1 200 OK\n\n" + `{"success": true, "data": {"id": "event-1"}}`}
				client := rec.dial(t, atTheRoot)
				request := build()
				require.NoError(t, request.Call(t.Context(), client))
				sent := rec.recorded()

				p, err := request.Prepare()
				require.NoError(t, err)
				assert.Equal(t, send.Name, p.Operation())
				assert.Equal(t, send.Method, p.Method())
				assert.Equal(t, send.Path, p.Path())
				assert.Empty(t, rec.recorded(), "Prepare sends nothing")

				for _, p := range []*messaging.Prepared{p, stored(t, p.Operation(), string(p.Body()))} {
					response, err := client.Send(t.Context(), p)
					require.NoError(t, err)
					assert.JSONEq(t, `{"id": "event-1"}`, string(response.Data))
					assert.Equal(t, sent, rec.recorded())
				}
			})
		}
	}
}

// The catalog says what guards read, and the params what is written.
func TestPreparedBodyHasEveryMemberThatItsParamsWrite(t *testing.T) {
	for _, send := range scripted.Sends() {
		t.Run(send.Name, func(t *testing.T) {
			known := memberPaths("", send.Body)
			written := make(map[string]bool)
			for i, build := range send.Requests {
				p, err := build().Prepare()
				require.NoError(t, err)
				assert.True(t, isReadable(p), "request %d: guards cannot read it; see its body in internal/service/bodies.go", i)
				var body any
				require.NoError(t, json.Unmarshal(p.Body(), &body))
				addPaths(written, "", body, send.Body)
			}
			delete(written, "parameters."+canary) // of Extra, whose names are the caller's
			assert.ElementsMatch(t, known, slices.Collect(maps.Keys(written)),
				"the members of its body in the catalog, and those that the requests in internal/kit/scripted/operations.go write")
		})
	}
}

func TestRecipientsAreThoseThatTheEntryOfASendStates(t *testing.T) {
	for _, send := range scripted.Sends() {
		p, err := send.Full().Prepare()
		require.NoError(t, err)
		reaches, err := p.Recipients()
		require.NoError(t, err)
		assert.Equal(t, send.Reaches, reaches, "%q: its entry in internal/kit/scripted/operations.go states whom its full request "+
			"reaches. Either a role is wrong in internal/service/bodies.go, and guards miss a recipient or take somebody "+
			"else for one, or the entry is not true", send.Name)
	}
}

func TestRecipientsOfABodyThatNamesNobodyAreAnError(t *testing.T) {
	for _, send := range scripted.Sends() {
		p, err := messaging.ParsePrepared(send.Name, []byte("{}"))
		require.NoError(t, err)
		reachesSomebody := !reflect.DeepEqual(send.Reaches, messaging.Recipients{})
		assert.Equal(t, reachesSomebody, !isReadable(p),
			"%q: the roles in internal/service/bodies.go", send.Name)
	}
}

// A new kind of broadcast has an Audience like the others, and must not send to all
// customers what was meant for fewer.
func TestPrepareReportsABadAudienceOfEverySendThatHasOne(t *testing.T) {
	broadcasts := 0
	for _, send := range scripted.Sends() {
		params := reflect.New(reflect.TypeOf(send.Full().Params))
		params.Elem().Set(reflect.ValueOf(send.Full().Params))
		for _, field := range params.Elem().Fields() {
			if field.Type() != reflect.TypeFor[messaging.Audience]() {
				continue
			}
			broadcasts++
			field.Set(reflect.ValueOf(messaging.ToEach(messaging.AllCustomers(), messaging.ToSegments("s"))))
			_, err := params.Interface().(interface {
				Prepare() (*messaging.Prepared, error)
			}).Prepare()
			require.ErrorContains(t, err, "recipients cannot be combined with AllCustomers",
				"%s: give it an audience method, like those in broadcasts.go; call.encode in request.go then reports the problem", params.Type())
		}
	}
	assert.NotZero(t, broadcasts)
}

// memberPaths returns the paths of all members of an object in the catalog, such as
// recipients.customers.email.
func memberPaths(path string, of *service.Object) (paths []string) {
	for _, m := range of.Members {
		paths = append(paths, path+m.Name)
		if m.Of != nil {
			paths = append(paths, memberPaths(path+m.Name+".", m.Of)...)
		}
	}
	return paths
}

// addPaths adds the paths of the members of a value, except of those that can have any name.
func addPaths(to map[string]bool, path string, value any, of *service.Object) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			addPaths(to, path, element, of)
		}
	case map[string]any:
		for name, member := range value {
			known := slices.IndexFunc(of.Members, func(m service.Member) bool { return m.Name == name })
			if known < 0 && of.Open {
				continue
			}
			to[path+name] = true
			if known >= 0 && of.Members[known].Of != nil {
				addPaths(to, path+name+".", member, of.Members[known].Of)
			}
		}
	}
}

func TestPreparedBodyIsACopy(t *testing.T) {
	p, err := scripted.Sends()[0].Full().Prepare()
	require.NoError(t, err)
	clear(p.Body())
	assert.Contains(t, string(p.Body()), scripted.CanaryEmail)
}

func TestPrepareRefusesWhatTheMethodRefuses(t *testing.T) {
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
	email := messaging.EmailBroadcastParams{Email: "ada", Variables: map[string]any{"f": func() {}}}
	_, err := client.Broadcasts.SendEmail(t.Context(), email)
	_, prepareErr := email.Prepare()
	requireSameError(t, err, prepareErr)
	push := messaging.PushBroadcastParams{To: messaging.ToEach(messaging.AllCustomers(), messaging.AllCustomers())}
	_, err = client.Broadcasts.SendPush(t.Context(), push)
	_, prepareErr = push.Prepare()
	requireSameError(t, err, prepareErr)
	create := messaging.EventCreateParams{Parameters: []messaging.EventParameter{{Name: "email"}}}
	_, err = client.Events.Create(t.Context(), create)
	_, prepareErr = create.Prepare()
	requireSameError(t, err, prepareErr)
	trigger := messaging.EventTriggerParams{Definition: &messaging.Event{ID: "e-1"}, Values: map[string]any{"at": time.Time{}}}
	_, err = client.Events.Trigger(t.Context(), trigger)
	_, prepareErr = trigger.Prepare()
	requireSameError(t, err, prepareErr)
	assert.Empty(t, transport.Sent)
}

func requireSameError(t *testing.T, want, got error) {
	t.Helper()
	require.Error(t, want)
	assert.Equal(t, want, got)
}

// Whatever becomes of a request, Send says what the method says.
func TestSendFailsAsTheMethodDoes(t *testing.T) {
	scenes := map[string]scripted.Scene{
		"422":              scripted.Responds(422, `{"message":"No.","errors":{"email":["is wrong"]}}`),
		"429":              scripted.Responds(429, scripted.Failure, "Retry-After", "1"),
		"503":              scripted.Responds(503, scripted.Failure),
		"success false":    scripted.Responds(200, scripted.Failure),
		"data false":       scripted.Responds(200, `{"success":true,"data":false}`),
		"data unreadable":  scripted.Responds(200, `{"success":true,"data":{"id":null}}`),
		"not JSON":         scripted.Responds(200, "<html>"),
		"refused":          scripted.NeverConnects(scripted.ErrRefused),
		"connection reset": scripted.Breaks(scripted.ErrReset),
	}
	for name, play := range scenes {
		for _, send := range scripted.Sends() {
			request := send.Full()
			p, err := request.Prepare()
			require.NoError(t, err)
			byPrepared := func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
				_, err := c.Send(ctx, p, opts...)
				return err
			}
			scripted.RunInBubble(t, name+" of "+send.Name, func(t *testing.T) {
				client, transport := scripted.NewClient(t, []scripted.Scene{play})
				want := request.Call(t.Context(), client)
				attempts := len(transport.Sent)
				got := byPrepared(t.Context(), client)
				assert.Equal(t, want, got)
				assert.Equal(t, messaging.NextStepOf(want) == messaging.NextRetry, messaging.NextStepOf(got) == messaging.NextRetry)
				assert.Len(t, transport.Sent, 2*attempts)
			})
		}
	}
}

func TestSendRefusesWhatIsNotPrepared(t *testing.T) {
	var fromDo *messaging.Prepared
	client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error { fromDo = p; return nil }))
	_, err := client.Do(t.Context(), messaging.Request{Operation: "trigger event", Method: "POST", Path: "/v1/events/trigger", Body: 1})
	require.NoError(t, err)
	const none = "p must not be nil or zero: use a Prepare method"
	for p, problem := range map[*messaging.Prepared]string{nil: none, new(messaging.Prepared): none,
		fromDo: "p must come from a Prepare method, not from Client.Do"} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			_, err := client.Send(t.Context(), p)
			scripted.RequireProblems(t, err, problem)
			assert.Equal(t, "send prepared request", scripted.RequireValidationError(t, err).Operation)
			assert.Len(t, transport.Sent, 1, "only the request of Do")
		})
	}
	var noContext context.Context
	_, err = client.Send(noContext, fromDo)
	require.ErrorContains(t, err, "ctx must not be nil")
}

func TestPreparedHasNoJSONForm(t *testing.T) {
	p, err := scripted.Sends()[0].Full().Prepare()
	require.NoError(t, err)
	const problem = "a Prepared has no JSON form: store Operation() and Body(), and read them with ParsePrepared"
	for _, value := range []any{p, *p, messaging.Prepared{}, []any{p}} {
		_, err := json.Marshal(value)
		require.ErrorContains(t, err, problem)
	}
	require.ErrorContains(t, json.Unmarshal([]byte(`{"operation":"trigger event","body":"{}"}`), new(messaging.Prepared)), problem)
}

func TestPreparedZeroValueIsEmpty(t *testing.T) {
	zero := new(messaging.Prepared)
	assert.Equal(t, []any{"", "", "", []byte(nil)}, []any{zero.Operation(), zero.Method(), zero.Path(), zero.Body()})
	assert.False(t, isReadable(zero))
}

func TestPreparedIsParsedFromItsOperationAndItsBody(t *testing.T) {
	for _, send := range scripted.Sends() {
		t.Run(send.Name, func(t *testing.T) {
			p, err := send.Full().Prepare()
			require.NoError(t, err)
			body := p.Body()
			parsed, err := messaging.ParsePrepared(p.Operation(), body)
			require.NoError(t, err)
			clear(body)
			assert.Equal(t, p, parsed, "the body is copied")
		})
	}
	tests := []struct{ name, operation, body, problem string }{
		{"no operation", "", "{}", "operation is missing"},
		{"a read", "list events", "{}", "unknown operation"},
		{"no body", "trigger event", "", "body is not a JSON object"},
		{"an array", "trigger event", "[]", "body is not a JSON object"},
		{"a body cut short", "trigger event", `{"event_id":"canary`, "body is not a JSON object"},
		{"text that is not in UTF-8", "trigger event", "{\"name\":\"\xffcanary\"}", "body is not a JSON object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := messaging.ParsePrepared(test.operation, []byte(test.body))
			require.EqualError(t, err, "messaging: stored request: "+test.problem)
		})
	}
}

func TestPreparedPrintsItsOperationAndSizeAlone(t *testing.T) {
	p, err := messaging.EventTriggerParams{EventID: scripted.Canary, Email: scripted.PersonalEmail}.Prepare()
	require.NoError(t, err)
	holder := struct {
		P       *messaging.Prepared
		V       messaging.Prepared
		private messaging.Prepared
		pointer *messaging.Prepared
	}{p, *p, *p, p}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		for _, value := range []any{p, *p, holder, &holder, []any{p, *p}, map[string]messaging.Prepared{"a": *p}} {
			scripted.RequireNoSecret(t, fmt.Sprintf(verb, value))
		}
	}
	assert.Equal(t, "messaging.Prepared(trigger event, 62 bytes)", fmt.Sprint(p))
	assert.Equal(t, "messaging.Prepared()", fmt.Sprint(messaging.Prepared{}))
	for _, value := range []any{p, *p} {
		logger, written := scripted.NewLogger()
		logger.Info("prepared", slog.Any("request", value))
		scripted.RequireNoSecret(t, written.String())
		assert.Contains(t, written.String(), "trigger event, 62 bytes")
	}
}

func TestWithoutRetriesMakesOneAttempt(t *testing.T) {
	calls := map[string]scripted.Call{"read": scripted.ReadCustomers, "send": scripted.TriggerEvent}
	for name, call := range calls {
		scripted.RunInBubble(t, name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.NeverConnects(scripted.ErrRefused)})
			err := call(t.Context(), client, messaging.WithoutRetries())
			assert.Len(t, transport.Sent, 1)
			if name == "send" {
				assert.Equal(t, messaging.NextRetry, messaging.NextStepOf(err), "what makes no retry can still be told to")
			}
			_ = call(t.Context(), client)
			assert.Len(t, transport.Sent, 1+3, "other calls keep their retries")
		})
	}
}

func TestRecipientsAreThoseOfTheBody(t *testing.T) {
	ada := messaging.CustomerParams{CustomerID: "c-1", Email: "ada@example.com", PhoneNo: "+331",
		Devices: []messaging.Device{{Type: "ios", Token: "t-1"}, {Type: "ios", Token: "t-2"}}}
	grace := messaging.CustomerParams{CustomerID: "c-2"}
	email := messaging.EmailBroadcastParams{SenderEmail: "sender@acme.test", SenderName: "Acme", Email: "list@acme.test", Subject: "s",
		Message: "m", MessageType: "t", ReplyTo: []string{"reply@acme.test"}, CC: []string{"cc@acme.test"},
		BCC: []string{"b1@acme.test", "b2@acme.test"}}
	withAudience := func(to messaging.Audience) messaging.EmailBroadcastParams { p := email; p.To = to; return p }
	deep := any("x")
	for range 99 {
		deep = []any{deep}
	}
	tests := []struct {
		name    string
		prepare func() (*messaging.Prepared, error)
		want    messaging.Recipients
	}{
		{"an email to customers and segments",
			withAudience(messaging.ToEach(messaging.ToCustomers(ada, grace), messaging.ToSegments("s-1"))).Prepare,
			messaging.Recipients{Segments: []string{"s-1"}, CustomerCount: 2, CustomerIDs: []string{"c-1", "c-2"}, Phones: []string{"+331"},
				DeviceTokens: []string{"t-1", "t-2"}, Count: 6,
				Emails: []string{"list@acme.test", "cc@acme.test", "b1@acme.test", "b2@acme.test", "ada@example.com"}}},
		{"an email to everyone", withAudience(messaging.AllCustomers()).Prepare,
			messaging.Recipients{Everyone: true, Emails: []string{"list@acme.test", "cc@acme.test", "b1@acme.test", "b2@acme.test"}, Count: 4}},
		{"a push to one customer", messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToCustomers(grace)}.Prepare,
			messaging.Recipients{CustomerCount: 1, CustomerIDs: []string{"c-2"}, Count: 1}},
		{"a push to segments", messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToSegments("s-1", "s-2"),
			Schedule: &messaging.Schedule{Date: "2099-03-04 05:06:07", Timezone: "UTC"}}.Prepare,
			messaging.Recipients{Segments: []string{"s-1", "s-2"}}},
		{"a trigger by address", messaging.EventTriggerParams{EventID: "e", Email: "ada@example.com", Values: map[string]any{
			"cc": []any{"value@acme.test"}, "deep": deep}}.Prepare, messaging.Recipients{Emails: []string{"ada@example.com"}, Count: 1}},
		{"a trigger by customer and address", messaging.EventTriggerParams{EventID: "e", Email: "ada@example.com", Customer: &grace}.Prepare,
			messaging.Recipients{CustomerCount: 1, CustomerIDs: []string{"c-2"}, Emails: []string{"ada@example.com"}, Count: 2}},
		{"an event to create", pingEvent.Prepare,
			messaging.Recipients{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := test.prepare()
			require.NoError(t, err)
			reaches, err := p.Recipients()
			require.NoError(t, err)
			assert.Equal(t, test.want, reaches)
		})
	}
}

func TestRecipientsOfAStoredBodyAreReadStrictly(t *testing.T) {
	const email, push, trigger, create = "send email broadcast", "send push broadcast", "trigger event", "create event"
	tests := []struct {
		name, operation, body string
		want                  *messaging.Recipients // nil for an error
	}{
		{"a member that the SDK does not write", push, `{"all_customers":true,"audience":"vip"}`, nil},
		{"a member in capitals", push, `{"All_Customers":true}`, nil},
		{"a member spelled with an escape", push, `{"all\u005fcustomers":true}`, &messaging.Recipients{Everyone: true}},
		{"all customers as text", push, `{"all_customers":"true"}`, nil},
		{"all customers twice", push, `{"all_customers":true,"all_customers":false}`, &messaging.Recipients{Everyone: true}},
		{"nobody", push, `{"subject":"s"}`, nil},
		{"all customers false and nobody", push, `{"all_customers":false,"recipients":[]}`, nil},
		{"a recipient of another type", push, `{"recipients":{"type":"list","segments":["a"]}}`, nil},
		{"a recipient that is empty", push, `{"recipients":[{"type":"segment","segments":["a"]},{"type":"segment"}]}`, nil},
		{"a recipient without a type", push, `{"recipients":{"customers":[{"customer_id":"c"}]}}`, nil},
		{"a recipient with two types", push, `{"recipients":{"type":"segment","type":"customer","customers":[{"customer_id":"c"}]}}`, nil},
		{"a segment with customers", push, `{"recipients":{"type":"segment","segments":["s"],"customers":[{"customer_id":"c"}]}}`, nil},
		{"a segment that lists customers alone", push, `{"recipients":{"type":"segment","customers":[{"customer_id":"c"}]}}`, nil},
		{"an empty segment", push, `{"recipients":{"type":"segment","segments":["s",""]}}`, nil},
		{"a null segment", push, `{"recipients":{"type":"segment","segments":[null]}}`, nil},
		{"an empty address", push, `{"recipients":{"type":"customer","customers":[{"customer_id":"c","email":""}]}}`, nil},
		{"a customer without an identity", push, `{"recipients":{"type":"customer","customers":[{"first_name":"Ada"}]}}`, nil},
		{"a customer with another member", push, `{"recipients":{"type":"customer","customers":[{"customer_id":"c","alias":"x"}]}}`, nil},
		{"a customer with an id that is a number", push, `{"recipients":{"type":"customer","customers":[{"customer_id":7}]}}`, nil},
		{"an address that is a number", trigger, `{"event_id":"e","payload":{"email":7}}`, nil},
		{"a copy to a number", email, `{"all_customers":true,"cc":[7]}`, nil},
		{"a segment that is a number", push, `{"recipients":{"type":"segment","segments":[7]}}`, nil},
		{"a phone that is a number", push, `{"recipients":{"type":"customer","customers":[{"customer_id":"c","phone_no":331}]}}`, nil},
		{"a device that is a number", push,
			`{"recipients":{"type":"customer","customers":[{"customer_id":"c","devices":[{"device_token":7}]}]}}`, nil},
		{"an address that is true", trigger, `{"event_id":"e","payload":{"email":true}}`, nil},
		{"a customer with two addresses", push, `{"recipients":{"type":"customer","customers":[{"email":"a@b.c","email":"d@e.f"}]}}`,
			&messaging.Recipients{CustomerCount: 1, Emails: []string{"a@b.c", "d@e.f"}, Count: 2}},
		{"a list in the place of an address", email, `{"all_customers":true,"email":["a@b.c"]}`, nil},
		{"an address in the place of a list", email, `{"all_customers":true,"cc":"a@b.c"}`, nil},
		{"an address that is not in UTF-8", trigger, `{"payload":{"email":"a@b.\ud800"}}`, nil},
		{"a trigger for nobody", trigger, `{"event_id":"e","payload":{"sku":"x"}}`, nil},
		{"a trigger without a payload", trigger, `{"event_id":"e"}`, nil},
		{"a trigger with another member", trigger, `{"event_id":"e","payload":{"email":"a@b.c"},"customer":{}}`, nil},
		{"a trigger with two payloads", trigger, `{"payload":{"email":"a@b.c"},"payload":{"email":"d@e.f"}}`,
			&messaging.Recipients{Emails: []string{"a@b.c", "d@e.f"}, Count: 2}},
		{"an event with recipients", create, `{"name":"n","recipients":{"type":"segment","segments":["a"]}}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reaches, err := stored(t, test.operation, test.body).Recipients()
			if test.want == nil {
				require.ErrorContains(t, err, "cannot tell who would receive this request")
				assert.Zero(t, reaches)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, *test.want, reaches)
		})
	}
}

// stored is a Prepared that another program may have stored.
func stored(t *testing.T, operation, body string) *messaging.Prepared {
	t.Helper()
	p, err := messaging.ParsePrepared(operation, []byte(body))
	require.NoError(t, err)
	return p
}

func isReadable(p *messaging.Prepared) bool {
	_, err := p.Recipients()
	return err == nil
}

func TestRecipientsOfDoAreAnErrorWhateverItsName(t *testing.T) {
	var asked []*messaging.Prepared
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error { asked = append(asked, p); return nil }))
	for _, name := range []string{"create event", "trigger event", ""} {
		_, err := client.Do(t.Context(), messaging.Request{Operation: name, Method: "POST", Path: "/v1/events",
			Body: map[string]any{"name": "n", "description": "d", "parameters": []string{}}})
		require.NoError(t, err)
	}
	require.Len(t, asked, 3)
	for _, p := range asked {
		assert.False(t, isReadable(p))
	}
}

// A stored request is recognized by its body: by the digest of an outbox entry, and by the record of the command. So
// -update does not write this file, unlike golden ones.
func TestBodiesOfVersion1NeverChange(t *testing.T) {
	at := time.Date(2099, time.May, 1, 7, 30, 0, 1, time.FixedZone("", 3600))
	ada := messaging.CustomerParams{CustomerID: "7", Email: "ada@example.com", FirstName: "Ada <3",
		Devices: []messaging.Device{{Type: "android", Token: "token"}}}
	var bodies strings.Builder
	for _, prepare := range []func() (*messaging.Prepared, error){
		messaging.EmailBroadcastParams{SenderEmail: "news@acme.test", SenderName: "Acme", Email: "ada@example.com", Subject: "é",
			Message: "<p>a & b</p>\n", MessageType: "news", Variables: map[string]any{"n": 1.5, "at": at, "a": []int{1}},
			To: messaging.ToEach(messaging.ToCustomers(ada), messaging.ToSegments("vip")), Schedule: messaging.ScheduleAt(at)}.Prepare,
		messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers()}.Prepare,
		messaging.EventTriggerParams{EventID: "5eed0000-0000-4000-8000-000000000001", Email: "ada@example.com", Customer: &ada,
			Values: map[string]any{"order": "A-1", "n": int64(9007199254740993), "at": at, "ok": true, "none": nil}}.Prepare,
	} {
		p, err := prepare()
		require.NoError(t, err)
		fmt.Fprintf(&bodies, "%s\n", p.Body())
	}
	want, err := os.ReadFile("testdata/bodies_of_version_1.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), bodies.String())
}
