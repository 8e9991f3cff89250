package messaging_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		t.Run(invalid.name, func(t *testing.T) {
			g := scripted.NewGate(t)
			g.RequireInvalid(t, invalid.call, invalid.problems)
			g.RequireSent(t, invalid.call, messaging.WithoutValidation())
		})
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

func TestAListThatIsReadWithDoCanBePaged(t *testing.T) {
	const body = `{"success":true,"data":[1],"meta":{"next_page_cursor":"c2", "has_next_page":true}}`
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, body), scripted.Responds(200, `{"success":true}`)})
	response, err := client.Do(t.Context(), messaging.Request{Method: "GET", Path: "/v1/tags"})
	require.NoError(t, err)
	assert.Equal(t, `{"next_page_cursor":"c2", "has_next_page":true}`, string(response.Meta))
	response, err = client.Do(t.Context(), messaging.Request{Method: "GET", Path: "/v1/tags"})
	require.NoError(t, err)
	assert.Nil(t, response.Meta)
	for _, list := range scripted.Lists() {
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, list.Response(scripted.Page{Meta: scripted.MetaOfLastPage}))})
		for page, err := range client.Customers.Pages(t.Context(), messaging.CustomerListParams{}) {
			require.NoError(t, err)
			assert.Nil(t, page.Response.Meta, "it is the Meta of the page")
		}
	}
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
	withPath := scripted.Do(messaging.Request{Operation: "delete tag", Method: "DELETE", Path: "/v1/tags/" + scripted.PersonalEmail,
		Query: url.Values{"by": {scripted.PersonalEmail}}})
	canceled := func(call scripted.Call) scripted.Call {
		return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return call(ctx, client, opts...)
		}
	}
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
		{"a read that the program canceled is no warning", canceled(scripted.ReadCustomers),
			[]scripted.Scene{scripted.Connects(scripted.Hangs)}, []string{
				`{"level":"DEBUG","operation":"list customers","method":"GET","path":"/v1/customers","attempt":1,"duration":1000000000,` +
					`"delivery":"unknown"}`,
			}},
		{"a send that it canceled is one", canceled(scripted.SendBroadcast), []scripted.Scene{scripted.Connects(scripted.Hangs)}, []string{
			`{"level":"WARN","operation":"send email broadcast","method":"POST","path":"/v1/broadcast/send/email","attempt":1,` +
				`"duration":1000000000,"delivery":"unknown"}`,
		}},
		{"an attempt that never connected was not sent", scripted.SendBroadcast,
			[]scripted.Scene{scripted.NeverConnects(&net.DNSError{IsNotFound: true})}, []string{
				`{"level":"WARN","operation":"send email broadcast","method":"POST","path":"/v1/broadcast/send/email","attempt":1,"duration":0,` +
					`"delivery":"not_sent","reason":"dns"}`,
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
					Devices: []messaging.Device{{Type: "fridge", Token: "token"}}})
			})},
		{"a page size of zero, which leaves it to the service",
			listingCustomers(messaging.CustomerListParams{PerPage: 0})},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { g.RequireSent(t, test.call) })
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
				assert.Equal(t, op, scripted.RequireValidationError(t, err).Operation)
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
