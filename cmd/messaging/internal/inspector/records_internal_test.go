package inspector

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestPageOfAKindWithoutATemplateShowsItsJSON(t *testing.T) {
	event := records.Record{Number: 1, Value: records.Demo()[records.Events][0]}
	page := &page{Section: "segments", Title: "Segments", Detail: recordDetail{Record: event}}
	var b bytes.Buffer
	require.NoError(t, templates().ExecuteTemplate(&b, "records.html", page))
	assert.Contains(t, b.String(), `<h1 dir="auto">order shipped</h1>`)
	assert.Contains(t, b.String(), "As the service lists it")
	assert.Contains(t, b.String(), `  &#34;id&#34;: &#34;5eed0000-0000-4000-8000-000000000001&#34;,`)
}
