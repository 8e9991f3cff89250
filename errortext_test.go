package messaging_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func TestErrorTextTellsAttemptsAndRetryAfter(t *testing.T) {
	scripted.RunInBubble(t, "", func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, `{"message":"Slow down."}`, "Retry-After", "7")})
		assert.EqualError(t, scripted.ReadCustomers(t.Context(), client),
			"list customers: GET /v1/customers: 429 Too Many Requests: Slow down.; retry after 7s; after 3 attempts; the request was refused")
	})
	err := scripted.FailureOf(t, scripted.ReadCustomers, scripted.Responds(429, "", "Retry-After", "7"))
	assert.EqualError(t, err, "list customers: GET /v1/customers: 429 Too Many Requests; retry after 7s; the request was refused")
}

func TestErrorTextHintsAtAVersionInTheBaseURL(t *testing.T) {
	notFound := &scripted.Transport{Scenes: []scripted.Scene{scripted.Responds(404, `{"message":"No such path."}`)}}
	for _, baseURL := range []string{"https://api.example.com/v1", "https://api.example.com/v1/"} {
		client, err := messaging.NewClient(baseURL, scripted.SecretKey, messaging.WithHTTPClient(&http.Client{Transport: notFound}))
		require.NoError(t, err)
		assert.EqualError(t, scripted.ReadCustomers(t.Context(), client), "list customers: GET /v1/customers: 404 Not Found: No such path.; "+
			"the base URL ends in /v1, which the path already has; the request was refused")
	}
}

func TestErrorTextOfDoNamesTheMethodAlone(t *testing.T) {
	tag := messaging.Request{Op: "delete tag", Method: "DELETE", Path: "/v1/tags/ada@example.com"}
	err := scripted.FailureOf(t, scripted.Do(tag), scripted.Responds(403, ""))
	assert.EqualError(t, err, "delete tag: DELETE: 403 Forbidden; the request was refused")
	tag.Op = ""
	err = scripted.FailureOf(t, scripted.Do(tag), scripted.Responds(403, ""))
	assert.EqualError(t, err, "DELETE request: 403 Forbidden; the request was refused")
}

func TestErrorTextSeparatesFieldsByWhatNoMessageUses(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"fields", `{"errors":{"a":["is required"],"b":["is too long"]}}`, ": a is required; b is too long; "},
		{"fields with a semicolon", `{"errors":{"a":["is required; see b"],"b":["is too long"]}}`, ": a is required; see b | b is too long; "},
		{"messages", `{"errors":["one","two"]}`, ": one; two; "},
		{"messages with a semicolon", `{"errors":["one; half","two"]}`, ": one; half | two; "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := scripted.FailureOf(t, scripted.TriggerEvent, scripted.Responds(422, test.body))
			assert.EqualError(t, err, "trigger event: POST /v1/events/trigger: 422 Unprocessable Entity"+test.want+"the request was refused")
		})
	}
}

func TestErrorTextKeepsTheNumberOfFurtherProblems(t *testing.T) {
	for _, length := range []int{5, 30, 100, 1000} {
		for _, fields := range []int{2, 9, 500} {
			t.Run(fmt.Sprintf("%d fields of %d characters", fields, length), func(t *testing.T) {
				err := &messaging.ValidationError{Op: "trigger event"}
				for range fields {
					err.Fields = append(err.Fields, messaging.FieldError{Field: strings.Repeat("x", length), Messages: []string{"is required"}})
				}
				text := err.Error()
				assert.LessOrEqual(t, utf8.RuneCountInString(text), 302)
				shown := strings.Count(text, "x is required")
				if shown < fields {
					assert.Regexp(t, `; and \d+ more; nothing was sent$`, text)
				}
				if shown > 0 && shown < fields {
					assert.Contains(t, text, fmt.Sprintf("; and %d more; nothing was sent", fields-shown))
				}
			})
		}
	}
}

func TestErrorTextRoundsNoWait(t *testing.T) {
	err := &messaging.APIError{StatusCode: 503, RetryAfter: 90 * time.Second}
	assert.Contains(t, err.Error(), "retry after 1m30s")
}
