package messaging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/messagingtest"
)

func newSecretiveClient(t *testing.T) *messaging.Client {
	t.Helper()
	client, err := messaging.NewClient(baseURL, "canary-key", messaging.WithHeader("X-Secret", "canary-header"))
	require.NoError(t, err)
	return client
}

// secretHolders are values that hold a client and so its secrets, in the forms that a
// program may print. fmt follows a pointer only at the top level, so each service is there
// alone and by value.
func secretHolders(c *messaging.Client) map[string]any {
	around := struct {
		Client  *messaging.Client
		Value   messaging.Client
		private *messaging.Client
		hidden  messaging.Client
		Events  *messaging.EventsService
	}{c, *c, c, *c, c.Events}
	holders := map[string]any{
		"a client": c, "a client by value": *c, "a pointer to a pointer to a client": &c,
		"a struct around clients": around, "a pointer to a struct around clients": &around,
		"a list of clients": []any{c, *c, []*messaging.Client{c}}, "a map of clients": map[string]messaging.Client{"eu": *c},
	}
	for field, service := range reflect.ValueOf(c).Elem().Fields() {
		if field.IsExported() {
			holders[field.Name], holders[field.Name+" by value"] = service.Interface(), service.Elem().Interface()
		}
	}
	return holders
}

func TestClientIsPrintedLoggedAndMarshaledWithoutItsSecrets(t *testing.T) {
	client := newSecretiveClient(t)
	for name, value := range secretHolders(client) {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "% x", "%b", "%o", "%t", "%T", "%U"} {
				scripted.RequireNoSecret(t, fmt.Sprintf(verb, value))
			}
			scripted.RequireNoSecret(t, fmt.Sprint(value))
			scripted.RequireNoSecret(t, fmt.Errorf("no luck with %v", value).Error())
			written, err := json.Marshal(value)
			require.NoError(t, err)
			scripted.RequireNoSecret(t, string(written))
			var log bytes.Buffer
			everything := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
			for _, handler := range []slog.Handler{slog.NewTextHandler(&log, everything), slog.NewJSONHandler(&log, everything)} {
				slog.New(handler).With("with", value).Info("created", "client", value)
			}
			require.Equal(t, 2, strings.Count(log.String(), "\n"))
			scripted.RequireNoSecret(t, log.String())
		})
	}
}

func TestClientExportsNothingButItsServices(t *testing.T) {
	for field := range reflect.TypeFor[messaging.Client]().Fields() {
		if !field.IsExported() {
			continue
		}
		service := field.Type.Elem()
		assert.True(t, strings.HasSuffix(service.Name(), "Service"), "%s: encoding/json would write it", field.Name)
		for inner := range service.Fields() {
			assert.False(t, inner.IsExported(), "%s.%s: encoding/json would write it", field.Name, inner.Name)
		}
	}
}

func TestDoRefusesAnInvalidMethod(t *testing.T) {
	problems := []string{"Method must be an HTTP method in upper case"}
	var refusals []invalidCall
	for name, method := range map[string]string{
		"none": "", "small letters": "get", "mixed letters": "Post", "a blank within": "GE T", "a blank after it": "GET ",
		"a line break": "GET\r\nX-Evil: 1", "a colon": "GET:", "another alphabet": "PÖST", "a NUL": "GET\x00",
		"a whole request line": "GET /v1/events HTTP/1.1",
	} {
		call := scripted.Do(messaging.Request{Operation: "archive event", Method: method, Path: "/v1/events"})
		refusals = append(refusals, invalidCall{name, call, problems})
	}
	requireAlwaysInvalid(t, refusals)
}

func TestDoRefusesAPathOutsideTheBaseURL(t *testing.T) {
	const (
		unescaped = "Path must be an escaped path"
		elsewhere = "Path must be relative to the base URL"
		query     = "Path must not have a query or a fragment, see Query"
		dots      = "Path must not have dot segments"
		none      = "Path is required"
	)
	tests := []struct {
		name, path, problem string
	}{
		{"nothing", "", none},
		{"a slash alone", "/", none},
		{"another host", "https://canary.com/v1/events", elsewhere},
		{"another host in clear text", "http://canary.com", elsewhere},
		{"another scheme", "mailto:canary@example.com", elsewhere},
		{"another scheme and no host", "file:/etc/canary", elsewhere},
		{"another host by the scheme of the base URL", "//canary.com/v1/events", elsewhere},
		{"slashes that may be taken for a host", "///canary.com", elsewhere},
		{"slashes alone", "//", elsewhere},
		{"a step up", "/v1/../canary", dots},
		{"a step up at the beginning", "../canary", dots},
		{"a step up at the end", "/v1/canary/..", dots},
		{"an escaped step up", "/v1/%2e%2e/canary", dots},
		{"an escaped step up in capitals", "/v1/%2E%2E/canary", dots},
		{"a step up that is half escaped", "/v1/.%2e/canary", dots},
		{"a step up to an escaped slash", "/v1/..%2Fcanary", dots},
		{"a step on the spot", "/v1/./canary", dots},
		{"an escaped step on the spot", "/v1/%2e/canary", dots},
		{"a query", "/v1/events?email=canary", query},
		{"a question mark with nothing after it", "/v1/events?", query},
		{"a fragment", "/v1/events#canary", query},
		{"a hash with nothing after it", "/v1/events#", query},
		{"a backslash, which some servers take for a slash", `/v1/..\canary`, unescaped},
		{"a backslash at the beginning", `\\canary.com`, unescaped},
		{"a blank", "/v1/ca nary", unescaped},
		{"a blank after it", "/v1/canary ", unescaped},
		{"a line break", "/v1/canary\n", unescaped},
		{"a NUL", "/v1/canary\x00", unescaped},
		{"letters that are not escaped", "/v1/cänary", unescaped},
		{"bytes that are not UTF-8", "/v1/" + notUTF8, unescaped},
		{"an escape that is cut short", "/v1/canary%2", unescaped},
		{"a quotation mark that is not escaped", `/v1/"canary"`, unescaped},
	}
	var refusals []invalidCall
	for _, test := range tests {
		refusals = append(refusals, invalidCall{test.name, scripted.Do(messaging.Request{Method: http.MethodPost, Path: test.path}),
			[]string{test.problem}})
	}
	requireAlwaysInvalid(t, refusals)
}

func TestDoSendsAValidRequest(t *testing.T) {
	tests := []struct {
		name, method, path string
		body               any
		sent               string
	}{
		{"a path with a slash before it", http.MethodPost, "/v1/events", nil, ""},
		{"a path with no slash before it", http.MethodPost, "v1/events", nil, ""},
		{"a path with a slash after it", http.MethodPost, "/v1/events/", nil, ""},
		{"a path with escaped letters", http.MethodPost, "/v1/c%C3%A4nary", nil, ""},
		{"a path with an escaped question mark", http.MethodPost, "/v1/a%3Fb", nil, ""},
		{"a path with dots that lead nowhere", http.MethodPost, "/v1/a..b/...", nil, ""},
		{"a GET without a body", http.MethodGet, "/v1/events", nil, ""},
		{"a method that is not known here", "X-ARCHIVE", "/v1/events", map[string]any{"id": 1}, `{"id":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request := messaging.Request{Method: test.method, Path: test.path, Body: test.body}
			assert.Equal(t, test.sent, scripted.NewGate(t).RequireSent(t, scripted.Do(request)))
		})
	}
}

// unwritable fails to write itself.
type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { return nil, errors.New(canary) }

func TestDoValidatesTheRequest(t *testing.T) {
	type event = messaging.Event
	const (
		noPointer = "Into must be a pointer"
		unwritten = "Body cannot be written as JSON"
		nilBody   = "Body must not be a nil pointer, map or slice: use nil for no body"
		get, head = http.MethodGet, http.MethodHead
		post      = http.MethodPost
	)
	calls := []invalidCall{{"everything that is wrong is reported at once",
		scripted.Do(messaging.Request{Path: "/v1/../canary?", Body: canary, Into: event{}}),
		[]string{"Method must be an HTTP method in upper case", "Path must not have a query or a fragment, see Query", noPointer}}}
	for _, test := range []struct {
		name, method string
		body, into   any
		problem      string
	}{
		{"a GET has no body", get, canary, nil, "Body cannot be sent with GET"},
		{"a HEAD has no body", head, canary, nil, "Body cannot be sent with HEAD"},
		{"a HEAD fills nothing", head, nil, new(any), "Into cannot be filled by HEAD, which has no body"},
		{"what receives the data is a pointer", post, nil, event{Name: canary}, noPointer},
		{"a map receives no data", post, nil, map[string]any{}, noPointer},
		{"a nil pointer receives no data", post, nil, (*event)(nil), noPointer},
		{"a body is one that JSON can hold", post, math.NaN(), nil, unwritten},
		{"a body has no function", post, map[string]any{canary: func() {}}, nil, unwritten},
		{"a body does not fail to write itself", post, unwritable{}, nil, unwritten},
		{"a nil pointer is no body", post, (*event)(nil), nil, nilBody},
		{"a nil map is no body", post, map[string]any(nil), nil, nilBody},
		{"a nil slice is no body", post, json.RawMessage(nil), nil, nilBody},
	} {
		request := messaging.Request{Method: test.method, Path: "/v1/events", Body: test.body, Into: test.into}
		calls = append(calls, invalidCall{test.name, scripted.Do(request), []string{test.problem}})
	}
	requireAlwaysInvalid(t, calls)
}

func TestDoNamesTheOperationInItsErrors(t *testing.T) {
	g := scripted.NewGate(t)
	named := scripted.Do(messaging.Request{Operation: "archive event", Method: http.MethodDelete})(t.Context(), g.Client)
	assert.Equal(t, "archive event", scripted.RequireValidationError(t, named).Operation)
	unnamed := scripted.Do(messaging.Request{Method: http.MethodDelete})(t.Context(), g.Client)
	assert.Equal(t, "DELETE request", scripted.RequireValidationError(t, unnamed).Operation)
	_, err := g.Client.Do(t.Context(), messaging.Request{Method: "canary request", Path: "/v1/events"})
	scripted.RequireValidationError(t, err)
	assert.ErrorContains(t, err, "do request: invalid arguments: Method must be an HTTP method in upper case")
}

// Run with -race, this also shows that params can be shared.
func TestClientServesManyGoroutines(t *testing.T) {
	service := messagingtest.NewServer(t)
	client := service.Client()
	_, audience := sharedAudience()
	broadcast := messaging.PushBroadcastParams{Message: "Hello", To: audience}
	trigger := messaging.EventTriggerParams{Email: "ada@example.com", Values: sharedValues()}
	const callers = 64
	var group sync.WaitGroup
	for i := range callers {
		caller := fmt.Sprintf("caller-%d", i)
		service.AddCustomers(messaging.Customer{CustomerID: caller})
		group.Go(func() {
			event, err := client.Events.Create(t.Context(), messaging.EventCreateParams{Name: caller, Description: caller,
				Parameters: []messaging.EventParameter{}})
			if !assert.NoError(t, err) || !assert.Equal(t, caller, event.Name) {
				return
			}
			trigger, broadcast := trigger, broadcast
			trigger.EventID, broadcast.Subject = event.ID, caller
			_, err = client.Events.Trigger(t.Context(), trigger)
			assert.NoError(t, err)
			_, err = client.Broadcasts.SendPush(t.Context(), broadcast)
			assert.NoError(t, err)
			customer, err := client.Customers.Get(t.Context(), caller)
			if assert.NoError(t, err) {
				assert.Equal(t, caller, customer.CustomerID)
			}
		})
	}
	group.Wait()
	asked := make(map[string]int)
	for _, sent := range service.PushBroadcasts() {
		asked[sent.Params.Subject]++
	}
	assert.Len(t, asked, callers, "the body of each is its own")
	assert.Len(t, service.Triggers(), callers)
}
