package openapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/openapi"
	"github.com/messaging-go/messaging/internal/service"
)

const goldens = "../../../../testdata/wire"

func describe(t *testing.T, address string) *openapi3.T {
	encoded, err := json.Marshal(openapi.Describe(address))
	require.NoError(t, err)
	document, err := openapi3.NewLoader().LoadFromData(encoded)
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	return document
}

// TestDescriptionFitsEveryGoldenFile holds it against what the SDK sends and receives.
func TestDescriptionFitsEveryGoldenFile(t *testing.T) {
	router, err := gorillamux.NewRouter(describe(t, "http://127.0.0.1:8077"))
	require.NoError(t, err)
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
			r.URL.Scheme, r.URL.Host, r.Host = "http", "127.0.0.1:8077", "127.0.0.1:8077"
			_, body, _ := strings.Cut(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n\n")
			r.Body = io.NopCloser(strings.NewReader(body))
			route, parameters, err := router.FindRoute(r)
			require.NoError(t, err)
			request := &openapi3filter.RequestValidationInput{Request: r, Route: route, PathParams: parameters,
				Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true}}
			assert.NoError(t, openapi3filter.ValidateRequest(t.Context(), request))

			content, err = os.ReadFile(strings.Replace(file, ".request.", ".response.", 1))
			require.NoError(t, err)
			response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(content)), r)
			require.NoError(t, err)
			assert.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{Body: response.Body,
				RequestValidationInput: request, Status: response.StatusCode, Header: response.Header}))
		})
	}
}

// TestDescriptionHasTheCatalogAndTheModels also holds that no operation is described that the
// service does not have.
func TestDescriptionHasTheCatalogAndTheModels(t *testing.T) {
	document := describe(t, "http://127.0.0.1:9077")
	assert.Equal(t, "http://127.0.0.1:9077", document.Servers[0].URL)
	described, served := 0, 0
	for _, item := range document.Paths.Map() {
		described += len(item.Operations())
	}
	for op := range service.Served() {
		served++
		require.NotNil(t, document.Paths.Value(op.Path), op.Name)
		operation := document.Paths.Value(op.Path).GetOperation(op.Method)
		require.NotNil(t, operation, op.Name)
		assert.NotEmpty(t, operation.Tags[0], op.Name)
		assert.Equal(t, op.IsRead(), operation.RequestBody == nil, op.Name)
	}
	assert.Equal(t, served, described)
	for name, model := range map[string]any{"Event": messaging.Event{}, "ListedCustomer": messaging.Customer{},
		"TransactionalMessage": messaging.TransactionalMessage{}} {
		encoded, err := json.Marshal(model)
		require.NoError(t, err)
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(encoded, &members))
		require.NotEmpty(t, members)
		for key := range members {
			assert.Contains(t, document.Components.Schemas[name].Value.Properties, key, name)
		}
	}
}
