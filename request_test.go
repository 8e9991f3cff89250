package messaging_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
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

// takes plays the rest of a scene after a while.
func takes(d time.Duration, then scripted.Scene) scripted.Scene {
	return func(req *http.Request) (*http.Response, error) {
		time.Sleep(d)
		return then(req)
	}
}

func TestHTTPClientOfTheUserIsNotModified(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, scripted.Failure)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()

	transport := &http.Transport{}
	given := &http.Client{Transport: transport, Timeout: time.Minute}
	client := scripted.NewClientOver(t, server.URL, given, scripted.WithQuickRetries())
	require.ErrorIs(t, scripted.ReadCustomers(t.Context(), client), messaging.ErrServer)
	require.ErrorIs(t, scripted.SendBroadcast(t.Context(), client), messaging.ErrServer)

	resp, err := given.Get(server.URL + "/healthy")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.EqualValues(t, 1, connections.Load(), "failed calls must not close the idle connections of the user")
	assert.Same(t, transport, given.Transport)
	assert.Equal(t, time.Minute, given.Timeout)
	assert.Nil(t, given.CheckRedirect)
	assert.Nil(t, given.Jar)
}

func TestRequestPassesOnAPanicOfTheTransport(t *testing.T) {
	client, _ := scripted.NewClient(t, []scripted.Scene{func(*http.Request) (*http.Response, error) { panic("a bug of the user's") }})
	assert.PanicsWithValue(t, "a bug of the user's", func() { _ = scripted.ReadCustomers(t.Context(), client) })
}

func TestResponseDescribesTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{
			scripted.Responds(503, "", "Retry-After", "5"),
			scripted.Responds(202, `{"message":"Accepted","data":{"id": 7},"success":true}`, "X-Request-Id", "r-1"),
		})
		response, err := client.Do(t.Context(), messaging.Request{Method: "GET", Path: "/v1/tags"})
		require.NoError(t, err)
		assert.Equal(t, &messaging.Response{
			StatusCode: 202, Header: http.Header{"X-Request-Id": {"r-1"}}, Message: "Accepted", Data: json.RawMessage(`{"id": 7}`),
			Attempts: 2, Duration: 5 * time.Second,
		}, response)
	})
}

func TestRequestHead(t *testing.T) {
	head := messaging.Request{Method: "HEAD", Path: "/v1/tags"}
	t.Run("a 2xx is a success although nothing says so", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Count", r.Method) }))
		defer server.Close()
		response, err := scripted.NewClientOver(t, server.URL, server.Client()).Do(t.Context(), head)
		require.NoError(t, err)
		assert.Equal(t, 200, response.StatusCode)
		assert.Equal(t, "HEAD", response.Header.Get("X-Count"))
		assert.Empty(t, response.Data)
	})
	scripted.RunInBubble(t, "it is repeated as a GET is", func(t *testing.T) {
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, "")})
		err := scripted.Do(head)(t.Context(), client)
		assert.EqualError(t, err, "HEAD request: 503 Service Unavailable; after 3 attempts; it is safe to retry")
		assert.Len(t, transport.Sent, 3)
	})
}

func TestLoggerRecords(t *testing.T) {
	withPath := scripted.Do(messaging.Request{Op: "delete tag", Method: "DELETE", Path: "/v1/tags/" + scripted.PersonalEmail,
		Query: url.Values{"by": {scripted.PersonalEmail}}})
	tests := []struct {
		name    string
		perform scripted.Call
		scenes  []scripted.Scene
		records []string
	}{
		{"a success is a debug record", scripted.SendBroadcast, []scripted.Scene{scripted.Responds(200, scripted.Success)}, []string{
			`{"level":"DEBUG","operation":"send email broadcast","method":"POST","path":"/v1/broadcast/send/email","attempt":1,"duration":0,` +
				`"delivery":"accepted","status":200}`,
		}},
		{"each attempt is a record, and a failed one a warning", scripted.ReadCustomers,
			[]scripted.Scene{scripted.Breaks(io.EOF), takes(time.Second, scripted.Responds(429, scripted.Failure, "Retry-After", "5")),
				takes(time.Millisecond, scripted.Responds(200, scripted.Success))}, []string{
				`{"level":"WARN","operation":"list customers","method":"GET","path":"/v1/customers","attempt":1,"duration":0,` +
					`"delivery":"unknown","reason":"connection_lost"}`,
				`{"level":"WARN","operation":"list customers","method":"GET","path":"/v1/customers","attempt":2,"duration":1000000000,` +
					`"delivery":"rejected","status":429,"reason":"429"}`,
				`{"level":"DEBUG","operation":"list customers","method":"GET","path":"/v1/customers","attempt":3,"duration":1000000,` +
					`"delivery":"accepted","status":200}`,
			}},
		{"an attempt that never connected was not sent", scripted.SendBroadcast,
			[]scripted.Scene{scripted.NeverConnects(&net.DNSError{IsNotFound: true})}, []string{
				`{"level":"WARN","operation":"send email broadcast","method":"POST","path":"/v1/broadcast/send/email","attempt":1,"duration":0,` +
					`"delivery":"not sent","reason":"dns"}`,
			}},
		{"the path of a request of one's own is left out, because it is no template", withPath,
			[]scripted.Scene{scripted.Responds(404, scripted.Failure)}, []string{
				`{"level":"WARN","operation":"delete tag","method":"DELETE","attempt":1,"duration":0,` +
					`"delivery":"rejected","status":404,"reason":"404"}`,
			}},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			logger, written := scripted.NewLogger()
			client, _ := scripted.NewClient(t, test.scenes, messaging.WithLogger(logger),
				messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Second, MaxWait: time.Second}))
			_ = test.perform(t.Context(), client)
			assert.Equal(t, len(test.records), strings.Count(written.String(), "\n"))
			decoder := json.NewDecoder(written)
			for _, want := range test.records {
				var record map[string]any
				require.NoError(t, decoder.Decode(&record))
				assert.Equal(t, "messaging attempt", record["msg"])
				delete(record, "msg")
				delete(record, "time")
				got, err := json.Marshal(record)
				require.NoError(t, err)
				assert.JSONEq(t, want, string(got))
			}
		})
	}
}

func getByEmail(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Customers.GetByEmail(ctx, scripted.PersonalEmail, opts...)
	return err
}

func getByID(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Customers.Get(ctx, "ada.canary.example", opts...)
	return err
}

func TestLoggerAndErrorsKeepSecrets(t *testing.T) {
	quoting := func(format string, part func(faultserver.Request) string) faultserver.Step {
		return faultserver.Choose(func(r faultserver.Request) faultserver.Step { return faultserver.Write(fmt.Sprintf(format, part(r))) })
	}
	requestLine := func(r faultserver.Request) string { return r.Method + " " + r.Target + " HTTP/1.1" }
	key := func(r faultserver.Request) string { return r.Header.Get("X-Authorization") }
	faults := map[string]faultserver.Step{
		"lost answer":                            faultserver.Close,
		"malformed answer":                       faultserver.Write("SSH-2.0-OpenSSH_9.6\r\n"),
		"malformed header":                       faultserver.Write("HTTP/1.1 200 OK\r\nno header\r\n\r\n"),
		"redirect":                               faultserver.Respond(http.StatusFound, "", "Location: /login"),
		"bad redirect":                           faultserver.Write("HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n"),
		"body cut short":                         faultserver.Write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
		"the request line in place of an answer": quoting("%s\r\n\r\n", requestLine),
		"the header in place of an answer":       quoting("%s\r\n\r\n", key),
		"the header within the header":           quoting("HTTP/1.1 200 OK\r\n%s\r\n\r\n", key),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			server := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest, fault})
			logger, written := scripted.NewLogger()
			client := scripted.NewClientOver(t, server.URL(), server.Client(), scripted.WithQuickRetries(), messaging.WithLogger(logger))
			for _, perform := range []scripted.Call{getByEmail, getByID, scripted.SendBroadcast, scripted.TriggerEvent} {
				assertKeepsSecrets(t, perform(t.Context(), client), written)
			}
		})
	}

	scenes := map[string]scripted.Scene{
		"no connection":                   scripted.NeverConnects(scripted.ErrRefused),
		"attempt timeout":                 scripted.Connects(scripted.Hangs),
		"an error of net/url":             scripted.FailsWithURL(func(err *url.Error) error { return err }),
		"an error around one of net/url":  scripted.FailsWithURL(func(err *url.Error) error { return fmt.Errorf("proxy: %w", err) }),
		"an error of net/url within more": scripted.FailsWithURL(func(err *url.Error) error { return errors.Join(io.EOF, err) }),
		"unauthorized":                    scripted.Responds(401, scripted.Failure),
		"not found":                       scripted.Responds(404, "<html>"),
		"invalid":                         scripted.Responds(422, `{"errors":{"email":["is invalid"]}}`),
		"rate limited":                    scripted.Responds(429, "", "Retry-After", "1"),
		"server error":                    scripted.Responds(500, "<html>"+scripted.SecretKey+scripted.PersonalEmail),
		"no success":                      scripted.Responds(200, scripted.Failure),
		"no JSON":                         scripted.Responds(200, scripted.SecretKey+scripted.PersonalEmail),
		"success missing":                 scripted.Responds(200, `{"message":"`+scripted.PersonalEmail+`"}`),
		"rows of a wrong kind": scripted.Responds(200, `{"success":"`+scripted.SecretKey+`","data":[{"email":"`+scripted.PersonalEmail+
			`"},7]}`),
		"somebody else": scripted.Responds(200, `{"success":true,"data":[{"email":"eve@canary.example"}]}`),
	}
	for name, play := range scenes {
		scripted.RunInBubble(t, name, func(t *testing.T) {
			logger, written := scripted.NewLogger()
			client, _ := scripted.NewClient(t, []scripted.Scene{play}, messaging.WithLogger(logger))
			require.Error(t, getByEmail(t.Context(), client))
			for _, perform := range []scripted.Call{getByEmail, scripted.SendBroadcast, scripted.TriggerEvent} {
				impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				withinTime, pastTime := perform(impatient, client), perform(t.Context(), client)
				<-impatient.Done()
				tooLate := perform(impatient, client)
				cancel()
				assertKeepsSecrets(t, errors.Join(withinTime, pastTime, tooLate), written)
			}
		})
	}

	refusals := map[string]scripted.Call{
		"a filter that selects somebody else": func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := client.Customers.GetByEmail(ctx, scripted.PersonalEmail+","+scripted.PersonalEmail, opts...)
			return err
		},
		"an address that is none": func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := client.Broadcasts.SendEmail(ctx, scripted.BroadcastTo(scripted.PersonalEmail+" "), opts...)
			return err
		},
		"a path to another host": scripted.Do(messaging.Request{Method: "GET", Path: "https://" + scripted.PersonalEmail}),
		"a body that has no JSON": scripted.Do(
			messaging.Request{Method: "POST", Path: "/v1/tags", Body: map[string]any{scripted.PersonalEmail: make(chan int)}}),
		"a header that cannot be sent": func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
			return scripted.SendBroadcast(ctx, client, messaging.WithHeader("X-Operator", scripted.PersonalEmail+"\n"))
		},
	}
	for name, perform := range refusals {
		t.Run(name, func(t *testing.T) {
			logger, written := scripted.NewLogger()
			client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)}, messaging.WithLogger(logger))
			assertKeepsSecrets(t, perform(t.Context(), client), written)
		})
	}
}

// assertKeepsSecrets searches every text that an error and its causes have, and
// what was logged.
func assertKeepsSecrets(t *testing.T, err error, logged fmt.Stringer) {
	t.Helper()
	require.Error(t, err)
	texts := strings.Join(append(textsOf(err), logged.String()), "\n")
	assert.NotContains(t, texts, "CANARY")
	assert.NotContains(t, texts, "canary.example")
}

func textsOf(err error) []string {
	texts := []string{fmt.Sprintf("%v", err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%q", err)}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		if cause := wrapper.Unwrap(); cause != nil {
			texts = append(texts, textsOf(cause)...)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range wrapper.Unwrap() {
			texts = append(texts, textsOf(cause)...)
		}
	}
	return texts
}

func TestResponseHeaderIsKeptWithoutTheKey(t *testing.T) {
	answers := scripted.RoundTripper(func(r *http.Request) (*http.Response, error) {
		header := http.Header{"X-Debug": {"got " + r.Header.Get("X-Authorization")}}
		return &http.Response{StatusCode: http.StatusUnauthorized, Header: header, Body: http.NoBody}, nil
	})
	client, err := messaging.NewClient("https://api.example.com", "canary-api-key", messaging.WithHTTPClient(&http.Client{Transport: answers}))
	require.NoError(t, err)
	var refused *messaging.APIError
	require.ErrorAs(t, scripted.SendBroadcast(t.Context(), client), &refused)
	assert.Equal(t, "got [API key]", refused.Header.Get("X-Debug"))
}

func TestRedirectResponseIsKept(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 307, 308} {
		for name, location := range map[string]string{"to another place": "https://example.org/", "to no place": "http://[::1",
			"without a place": ""} {
			for call, perform := range map[string]scripted.Call{"a send": scripted.SendBroadcast, "a read": scripted.ReadCustomers} {
				t.Run(fmt.Sprint(status, " ", name, ", ", call), func(t *testing.T) {
					const moved = `{"success":false,"message":"We have moved."}`
					server := faultserver.Start(t, faultserver.EachRequest(faultserver.Respond(status, moved, "Location: "+location)))
					err := perform(t.Context(), scripted.NewClientOver(t, server.URL(), server.Client()))

					var refused *messaging.APIError
					require.ErrorAs(t, err, &refused)
					assert.Equal(t, status, refused.StatusCode)
					assert.Equal(t, "We have moved.", refused.Message)
					assert.Len(t, server.Requests(), 1)
				})
			}
		}
	}
}

func TestMaxResponseBytesAcceptsTheLargestLimit(t *testing.T) {
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(http.StatusOK, scripted.Success)},
		messaging.WithMaxResponseBytes(math.MaxInt64))
	require.NoError(t, scripted.SendBroadcast(t.Context(), client))
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

// Whatever is zero or nil is reported with everything else that is missing, and nothing is
// sent.
func TestZeroArgumentsAreReportedInFull(t *testing.T) {
	type (
		email    = messaging.EmailBroadcastParams
		push     = messaging.PushBroadcastParams
		trigger  = messaging.EventTriggerParams
		customer = messaging.CustomerParams
	)
	const nobody = "recipients must be AllCustomers or have at least one recipient"
	ofEmail := []string{"sender_email is required", "sender_name is required", "email is required", "subject is required",
		"message is required", "message_type is required"}
	tests := []invalidCall{
		{"an email broadcast", emailWith(func(p *email) { *p = email{} }), append(slices.Clone(ofEmail), nobody)},
		{"an email broadcast of zero values", emailWith(func(p *email) {
			*p = email{CC: []string{""}, BCC: []string{""}, ReplyTo: []string{""}, Variables: map[string]any{"": nil},
				To: messaging.ToCustomers(customer{Devices: []messaging.Device{{}}}), Schedule: new(messaging.Schedule)}
		}), slices.Concat(ofEmail[:4], []string{"cc.0 is required", "bcc.0 is required", "reply_to.0 is required"}, ofEmail[4:],
			[]string{"recipients.0.customers.0 must have a customer_id or an email",
				"recipients.0.customers.0.devices.0.device_type is required", "recipients.0.customers.0.devices.0.device_token is required",
				"schedule_date.schedule_date is required", "schedule_date.timezone is required"})},
		{"a push broadcast", pushWith(func(p *push) { *p = push{} }), []string{"subject is required", "message is required", nobody}},
		{"an event", eventWith(func(p *messaging.EventCreateParams) { *p = messaging.EventCreateParams{} }),
			[]string{"name is required", "description is required", "parameters is required: use an empty list for none"}},
		{"an event with a zero parameter", eventWith(func(p *messaging.EventCreateParams) { p.Parameters = make([]messaging.EventParameter, 1) }),
			[]string{"parameters.0.name is required", "parameters.0.type is required"}},
		{"a trigger", triggerWith(func(p *trigger) { *p = trigger{} }),
			[]string{"event_id is required", "payload.email is required when there is no customer"}},
		{"a trigger of zero values", triggerWith(func(p *trigger) {
			*p = trigger{Definition: new(messaging.Event), Customer: new(customer), Values: map[string]any{"": nil}}
		}), []string{"event_id is required: the definition has no ID", "payload.customer must have a customer_id or an email",
			"payload has a parameter without a name"}},
		{"the zero audience", pushTo(messaging.Audience{}), []string{nobody}},
		{"no audiences", pushTo(messaging.ToEach()), []string{nobody}},
		{"nil audiences", pushTo(messaging.ToEach([]messaging.Audience(nil)...)), []string{nobody}},
		{"no customers", pushTo(messaging.ToCustomers()), []string{"recipients.0.customers must have at least one customer"}},
		{"nil customers", pushTo(messaging.ToCustomers([]customer(nil)...)), []string{"recipients.0.customers must have at least one customer"}},
		{"no segments", pushTo(messaging.ToSegments()), []string{"recipients.0.segments must have at least one segment"}},
		{"zero segments", pushTo(messaging.ToSegments("", "")),
			[]string{"recipients.0.segments.0 is required", "recipients.0.segments.1 is required"}},
		{"zero audiences", pushTo(messaging.ToEach(messaging.Audience{}, messaging.ToCustomers())),
			[]string{"recipients.0.customers must have at least one customer", "recipients must not combine an empty audience"}},
		{"a customer without an id", gettingCustomer(""), []string{"customerID is required"}},
		{"a customer without an address", gettingCustomerByEmail(""), []string{"email is required"}},
		{"a request", doing(messaging.Request{}), []string{"Method must be an HTTP method in upper case", "Path is required"}},
		{"a request of nil pointers", doing(messaging.Request{Body: (*customer)(nil), Into: (*messaging.Event)(nil)}),
			[]string{"Method must be an HTTP method in upper case", "Path is required",
				"Body must not be a nil pointer, map or slice: use nil for no body", "Into must be a pointer"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { scripted.NewGate(t).RequireInvalid(t, test.call, test.problems) })
	}
}

func TestZeroValuesDoNotPanic(t *testing.T) {
	var event messaging.Event
	_, err := messaging.EventTriggerParams{Definition: &event}.Prepare()
	scripted.RequireProblems(t, err, "event_id is required: the definition has no ID", "payload.email is required when there is no customer")
	assert.Equal(t, messaging.CustomerParams{}, messaging.Customer{}.Params())
	for _, zero := range []any{event, messaging.EventParameter{}, messaging.Customer{}, messaging.TransactionalMessage{},
		messaging.Page[messaging.Event]{}, messaging.PageMeta{}, messaging.Response{}, messaging.Schedule{},
		messaging.Event{Extra: map[string]json.RawMessage{"": nil}}} {
		_, err := json.Marshal(zero)
		assert.NoError(t, err, "%T", zero)
		assert.NotPanics(t, func() { _ = fmt.Sprintf("%v %+v %#v", zero, zero, zero) })
	}
	assert.PanicsWithValue(t, "messaging: Collect: the sequence is nil", func() { _, _ = messaging.Collect[messaging.Event](nil) })
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
		"opts must not hold a nil option", "WithHeader.Host cannot be set", "subject is required"}}
	g.RequireInvalid(t, r.call, r.problems, nil, messaging.WithHeader("host", canary))
}

func TestValidationIsDisabledForAWholeClient(t *testing.T) {
	g := scripted.NewGate(t, messaging.WithoutValidation())
	g.RequireSent(t, pushWith(func(p *messaging.PushBroadcastParams) { p.Subject = "" }))
	g.RequireInvalid(t, gettingCustomer(""), []string{"customerID is required"})
}
