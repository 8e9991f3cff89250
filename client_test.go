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
	"reflect"
	"strings"
	"testing"

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
	for _, secret := range scripted.SecretHolders {
		t.Run(secret.Name, func(t *testing.T) {
			value := secret.Of(client)
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
		for _, secret := range scripted.SecretHolders {
			t.Run(name+", "+secret.Name, func(t *testing.T) {
				log.Reset()
				slog.New(handler).With("with", secret.Of(client)).Info("created", "client", secret.Of(client))
				require.NotEmpty(t, log.String())
				scripted.RequireNoSecret(t, log.String())
			})
		}
	}
}

func TestClientIsMarshalledWithoutItsSecrets(t *testing.T) {
	client := newSecretiveClient(t)
	for _, secret := range scripted.SecretHolders {
		t.Run(secret.Name, func(t *testing.T) {
			written, err := json.Marshal(secret.Of(client))
			require.NoError(t, err)
			scripted.RequireNoSecret(t, string(written))
		})
	}
}

func TestClientIsPrintedAsItsBaseURL(t *testing.T) {
	const printed = "messaging.Client(https://api.example.com/eu)"
	client, err := messaging.NewClient("https://api.example.com/eu/", "key")
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		assert.Equal(t, printed, fmt.Sprintf(verb, client))
		assert.Equal(t, printed, fmt.Sprintf(verb, *client))
	}
	assert.Equal(t, printed, client.LogValue().String())
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

func TestClientZeroValueIsPrinted(t *testing.T) {
	var none *messaging.Client
	assert.Equal(t, "messaging.Client()", fmt.Sprint(messaging.Client{}))
	assert.NotPanics(t, func() { _ = fmt.Sprintf("%v %+v %#v", none, none, none) })
	written, err := json.Marshal(none)
	require.NoError(t, err)
	assert.Equal(t, "null", string(written))
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
		refusals = append(refusals, invalidCall{name, doing(messaging.Request{Op: "archive event", Method: method, Path: "/v1/events"}), problems})
	}
	requireAlwaysInvalid(t, refusals)
}

func TestDoRefusesAPathOutsideTheBaseURL(t *testing.T) {
	const (
		unescaped = "Path must be an escaped path"
		elsewhere = "Path must be relative to the base URL"
		query     = "Path must not have a query or a fragment; see Query"
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
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: math.NaN()}), []string{"body cannot be written as JSON"}},
		{"a body has no function",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: map[string]any{canary: func() {}}}),
			[]string{"body cannot be written as JSON"}},
		{"a body does not fail to write itself",
			doing(messaging.Request{Method: http.MethodPost, Path: "/v1/events", Body: unwritable{}}), []string{"body cannot be written as JSON"}},
		{"everything that is wrong is reported at once",
			doing(messaging.Request{Path: "/v1/../canary?", Body: canary, Into: event{}}),
			[]string{"Method must be an HTTP method in upper case", "Path must not have a query or a fragment; see Query",
				"Into must be a pointer"}},
	})
}

func TestDoNamesTheOperationInItsErrors(t *testing.T) {
	g := scripted.NewGate(t)
	named := doing(messaging.Request{Op: "archive event", Method: http.MethodDelete})(t.Context(), g.Client)
	assert.Equal(t, "archive event", scripted.RequireValidationError(t, named).Op)
	unnamed := doing(messaging.Request{Method: http.MethodDelete})(t.Context(), g.Client)
	assert.Equal(t, "DELETE request", scripted.RequireValidationError(t, unnamed).Op)
}
