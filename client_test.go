package messaging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func newSecretiveClient(t *testing.T) *messaging.Client {
	t.Helper()
	client, err := messaging.NewClient(baseURL, "canary-key", messaging.WithHeader("X-Secret", "canary-header"))
	require.NoError(t, err)
	return client
}

func TestClientIsPrintedWithoutItsSecrets(t *testing.T) {
	client := newSecretiveClient(t)
	for name, value := range scripted.SecretHolders(client) {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "% x", "%b", "%o", "%t", "%T", "%U"} {
				scripted.RequireNoSecret(t, fmt.Sprintf(verb, value))
			}
			scripted.RequireNoSecret(t, fmt.Sprint(value))
			scripted.RequireNoSecret(t, fmt.Errorf("no luck with %v", value).Error())
		})
	}
}

func TestClientIsLoggedWithoutItsSecrets(t *testing.T) {
	client := newSecretiveClient(t)
	var log bytes.Buffer
	everything := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
	handlers := map[string]slog.Handler{"text": slog.NewTextHandler(&log, everything), "JSON": slog.NewJSONHandler(&log, everything)}
	for name, handler := range handlers {
		for holder, value := range scripted.SecretHolders(client) {
			t.Run(name+", "+holder, func(t *testing.T) {
				log.Reset()
				slog.New(handler).With("with", value).Info("created", "client", value)
				require.NotEmpty(t, log.String())
				scripted.RequireNoSecret(t, log.String())
			})
		}
	}
}

func TestClientIsMarshalledWithoutItsSecrets(t *testing.T) {
	client := newSecretiveClient(t)
	for name, value := range scripted.SecretHolders(client) {
		t.Run(name, func(t *testing.T) {
			written, err := json.Marshal(value)
			require.NoError(t, err)
			scripted.RequireNoSecret(t, string(written))
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

func doing(r messaging.Request) scripted.Call {
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Do(ctx, r, opts...)
		return err
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
		call := doing(messaging.Request{Op: "archive event", Method: method, Path: "/v1/events"})
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
		refusals = append(refusals, invalidCall{test.name, doing(messaging.Request{Method: http.MethodPost, Path: test.path}),
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
			assert.Equal(t, test.sent, scripted.NewGate(t).RequireSent(t, doing(request)))
		})
	}
}

// unwritable fails to write itself.
type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { return nil, errors.New(canary) }

func TestDoValidatesTheRequest(t *testing.T) {
	type event = messaging.Event
	const nilBody = "Body must not be a nil pointer, map or slice: use nil for no body"
	requireAlwaysInvalid(t, []invalidCall{
		{"a GET has no body",
			doing(messaging.Request{Method: http.MethodGet, Path: "/v1/events", Body: canary}), []string{"Body cannot be sent with GET"}},
		{"a HEAD has no body",
			doing(messaging.Request{Method: http.MethodHead, Path: "/v1/events", Body: canary}), []string{"Body cannot be sent with HEAD"}},
		{"what receives the data is a pointer",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Into: event{Name: canary}}), []string{"Into must be a pointer"}},
		{"a map receives no data",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Into: map[string]any{}}), []string{"Into must be a pointer"}},
		{"a nil pointer receives no data",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Into: (*event)(nil)}), []string{"Into must be a pointer"}},
		{"a body is one that JSON can hold",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: math.NaN()}), []string{"Body cannot be written as JSON"}},
		{"a body has no function",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: map[string]any{canary: func() {}}}),
			[]string{"Body cannot be written as JSON"}},
		{"a body does not fail to write itself",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: unwritable{}}), []string{"Body cannot be written as JSON"}},
		{"a nil pointer is no body",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: (*event)(nil)}), []string{nilBody}},
		{"a nil map is no body",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: map[string]any(nil)}), []string{nilBody}},
		{"a nil slice is no body",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: json.RawMessage(nil)}), []string{nilBody}},
		{"everything that is wrong is reported at once",
			doing(messaging.Request{Path: "/v1/../canary?", Body: canary, Into: event{}}),
			[]string{"Method must be an HTTP method in upper case", "Path must not have a query or a fragment, see Query",
				"Into must be a pointer"}},
	})
}

func TestDoNamesTheOperationInItsErrors(t *testing.T) {
	g := scripted.NewGate(t)
	named := doing(messaging.Request{Op: "archive event", Method: http.MethodDelete})(t.Context(), g.Client)
	assert.Equal(t, "archive event", scripted.RequireValidationError(t, named).Op)
	unnamed := doing(messaging.Request{Method: http.MethodDelete})(t.Context(), g.Client)
	assert.Equal(t, "DELETE request", scripted.RequireValidationError(t, unnamed).Op)
	_, err := g.Client.Do(t.Context(), messaging.Request{Method: "canary request", Path: "/v1/events"})
	scripted.RequireValidationError(t, err)
	assert.ErrorContains(t, err, "do request: invalid arguments: Method must be an HTTP method in upper case")
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

// Sixty-four callers are in flight at once, and each gets the answers to its own
// requests. Run with -race, this also shows that params can be shared.
func TestClientServesManyGoroutines(t *testing.T) {
	const callers = 64
	server := httptest.NewServer(newEchoService(callers))
	defer server.Close()
	client, err := messaging.NewClient(server.URL, "test-key-1")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, audience := sharedAudience()
	broadcast := messaging.PushBroadcastParams{Message: "Hello", To: audience}
	trigger := messaging.EventTriggerParams{Email: "ada@example.com", Values: sharedValues()}

	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			caller := fmt.Sprintf("caller-%d", i)
			trigger, broadcast := trigger, broadcast
			trigger.EventID, broadcast.Subject = caller, caller

			triggered, err := client.Events.Trigger(ctx, trigger, messaging.WithHeader("X-Caller", caller))
			if assert.NoError(t, err) {
				assert.Equal(t, caller, triggered.Message)
				assert.Equal(t, caller, triggered.Header.Get("X-Caller"))
			}
			sent, err := client.Broadcasts.SendPush(ctx, broadcast)
			if assert.NoError(t, err) {
				assert.Equal(t, caller, sent.Message)
			}
			customer, err := client.Customers.Get(ctx, caller)
			if assert.NoError(t, err) {
				assert.Equal(t, caller, customer.CustomerID)
			}
			events, err := messaging.Collect(client.Events.All(ctx, messaging.EventListParams{Cursor: caller}))
			if assert.NoError(t, err) && assert.Len(t, events, 3) {
				assert.Equal(t, []string{caller, caller + "+", caller + "++"}, []string{events[0].ID, events[1].ID, events[2].ID})
			}
		})
	}
	group.Wait()
}

// newEchoService answers with what it was asked. A trigger is answered when all
// callers have sent theirs.
func newEchoService(callers int32) http.Handler {
	var arrived atomic.Int32
	everybody := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/events/trigger", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			EventID string `json:"event_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		if arrived.Add(1) == callers {
			close(everybody)
		}
		select {
		case <-everybody:
		case <-r.Context().Done():
		}
		w.Header().Set("X-Caller", r.Header.Get("X-Caller"))
		writeEcho(w, body.EventID, true, nil)
	})
	mux.HandleFunc("POST /v1/broadcast/send/push-notification", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Subject string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		writeEcho(w, body.Subject, nil, nil)
	})
	mux.HandleFunc("GET /v1/customers", func(w http.ResponseWriter, r *http.Request) {
		writeEcho(w, "", []any{map[string]any{"customer_id": r.FormValue("customer_ids")}}, nil)
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		cursor := r.FormValue("cursor")
		writeEcho(w, "", []any{map[string]any{"id": cursor}},
			map[string]any{"has_next_page": !strings.HasSuffix(cursor, "++"), "next_page_cursor": cursor + "+"})
	})
	return mux
}

func writeEcho(w http.ResponseWriter, message string, data, meta any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "message": message, "data": data, "meta": meta})
}
