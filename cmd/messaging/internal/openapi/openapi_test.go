package openapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/openapi"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

// validator holds requests and responses against the description.
type validator struct {
	t      *testing.T
	router routers.Router
}

func newValidator(t *testing.T) validator {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(openapi.Describe("http://127.0.0.1:8077"))
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	router, err := gorillamux.NewRouter(document)
	require.NoError(t, err)
	return validator{t, router}
}

// check returns why a request or its response differs from the description.
func (v validator) check(r *http.Request, body []byte, response *http.Response, responseBody []byte) error {
	v.t.Helper()
	r.URL.Scheme, r.URL.Host, r.Host = "http", "127.0.0.1:8077", "127.0.0.1:8077"
	route, parameters, err := v.router.FindRoute(r)
	require.NoError(v.t, err)
	r.Body = io.NopCloser(bytes.NewReader(body))
	request := &openapi3filter.RequestValidationInput{Request: r, Route: route, PathParams: parameters,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true}}
	if err := openapi3filter.ValidateRequest(v.t.Context(), request); err != nil {
		return err
	}
	if response == nil {
		return nil
	}
	input := &openapi3filter.ResponseValidationInput{RequestValidationInput: request, Status: response.StatusCode, Header: response.Header}
	return openapi3filter.ValidateResponse(v.t.Context(), input.SetBodyBytes(responseBody))
}

const goldens = "../../../../testdata/wire"

// TestDescriptionFitsEveryGoldenFile holds it against what the SDK sends and receives.
func TestDescriptionFitsEveryGoldenFile(t *testing.T) {
	v := newValidator(t)
	files, err := filepath.Glob(filepath.Join(goldens, "*.request.http"))
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".request.http"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(content)))
			require.NoError(t, err)
			_, path, ok := strings.Cut(r.URL.Path, "/v1/")
			require.True(t, ok)
			r.URL.Path, r.URL.RawPath = "/v1/"+path, ""
			_, body, _ := strings.Cut(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n\n")
			content, err = os.ReadFile(strings.Replace(file, ".request.", ".response.", 1))
			require.NoError(t, err)
			response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(content)), r)
			require.NoError(t, err)
			responseBody, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			assert.NoError(t, v.check(r, []byte(body), response, responseBody))
		})
	}
}

// TestDescriptionRefusesWhatTheServiceRefuses holds it against the service in memory: what
// the description refuses is refused, and every response has its form.
func TestDescriptionRefusesWhatTheServiceRefuses(t *testing.T) {
	v := newValidator(t)
	s := messagingtest.NewServer(t)
	s.AddEvents(messaging.Event{ID: "e", Name: "e"})
	for name, test := range map[string]struct {
		op     *service.Operation
		body   string
		status int
	}{
		"an empty email":                  {service.SendEmailBroadcast, `{}`, 422},
		"an empty push":                   {service.SendPushBroadcast, `{}`, 422},
		"an empty event":                  {service.CreateEvent, `{}`, 422},
		"an empty trigger":                {service.TriggerEvent, `{}`, 422},
		"a trigger for nobody":            {service.TriggerEvent, `{"event_id":"e","payload":{"order":1}}`, 422},
		"a trigger":                       {service.TriggerEvent, `{"event_id":"e","payload":{"email":"a@x.test","order":1}}`, 200},
		"an event":                        {service.CreateEvent, `{"name":"n","description":"d","parameters":[{"name":"p","type":"Text"}]}`, 200},
		"an event with a number as name":  {service.CreateEvent, `{"name":7,"description":"d","parameters":[]}`, 422},
		"a push to a customer without id": {service.SendPushBroadcast, push(`{"type":"customer","customers":[{"first_name":"Ada"}]}`), 422},
		"a push to an unknown type":       {service.SendPushBroadcast, push(`{"type":"team"}`), 422},
		"a push to two recipients": {service.SendPushBroadcast,
			push(`[{"type":"customer","customers":[{"customer_id":"1","email":null}]},{"type":"segment","segments":["s"]}]`), 200},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), test.op.Method, test.op.Path, strings.NewReader(test.body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Authorization", s.APIKey())
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			require.Equal(t, test.status, w.Code, w.Body.String())
			response := w.Result()
			require.Equal(t, test.status == 200, v.check(r, []byte(test.body), response, w.Body.Bytes()) == nil)
		})
	}
	for op := range service.Lists() {
		r := httptest.NewRequestWithContext(t.Context(), op.Method, op.Path+"?per_page=5", nil)
		r.Header.Set("X-Authorization", s.APIKey())
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		require.NoError(t, v.check(r, nil, w.Result(), w.Body.Bytes()), op.Name)
	}
}

func push(recipients string) string {
	return `{"subject":"s","message":"m","schedule_type":"send-now","recipients":` + recipients + `}`
}

// description is the document, as far as it is held against the catalog.
type description struct {
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		Tags        []string
		RequestBody any
	}
	Components struct {
		Schemas map[string]struct{ Properties map[string]any }
	}
}

func describe(t *testing.T) (d description) {
	t.Helper()
	require.NoError(t, json.Unmarshal(openapi.Describe("http://127.0.0.1:9077"), &d))
	return d
}

// TestDescriptionHasEveryOperationOfTheCatalog also holds that none is described that the
// service does not have.
func TestDescriptionHasEveryOperationOfTheCatalog(t *testing.T) {
	d := describe(t)
	described := 0
	for _, item := range d.Paths {
		described += len(item)
	}
	served := 0
	for op := range service.Served() {
		served++
		operation, ok := d.Paths[op.Path][strings.ToLower(op.Method)]
		require.True(t, ok, op.Name)
		assert.NotEmpty(t, operation.Tags[0], "%s", op.Name)
		assert.Equal(t, op.IsRead(), operation.RequestBody == nil, op.Name)
	}
	assert.Equal(t, served, described)
	assert.Equal(t, "http://127.0.0.1:9077", d.Servers[0].URL)
}

// TestSchemasHaveTheKeysOfTheModels fails for a field that the description lacks.
func TestSchemasHaveTheKeysOfTheModels(t *testing.T) {
	d := describe(t)
	for name, model := range map[string]any{"Event": messaging.Event{}, "ListedCustomer": messaging.Customer{},
		"TransactionalMessage": messaging.TransactionalMessage{}} {
		encoded, err := json.Marshal(model)
		require.NoError(t, err)
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(encoded, &members))
		require.NotEmpty(t, members)
		for key := range members {
			assert.Contains(t, d.Components.Schemas[name].Properties, key, "%s", name)
		}
	}
}
