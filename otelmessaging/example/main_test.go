package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExamplePrintsOneCallWithTwoAttemptsBelowIt(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out))
	assert.NotContains(t, out.String(), "example.com", "an address of a customer")

	type printedSpan struct {
		Name                string
		SpanContext, Parent struct{ SpanID string }
	}
	var spans []printedSpan
	for decoder := json.NewDecoder(strings.NewReader(out.String())); decoder.More(); {
		var span printedSpan
		require.NoError(t, decoder.Decode(&span))
		spans = append(spans, span)
	}
	require.Len(t, spans, 3)
	assert.Equal(t, []string{"GET /v1/customers", "GET /v1/customers", "list customers"},
		[]string{spans[0].Name, spans[1].Name, spans[2].Name})
	call := spans[2].SpanContext.SpanID
	assert.Equal(t, []string{call, call}, []string{spans[0].Parent.SpanID, spans[1].Parent.SpanID})
}
