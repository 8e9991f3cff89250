package inspector

import (
	"fmt"
	"go/format"
	"sort"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/internal/service"
)

// createCode returns Go code that creates an event.
func createCode(e messaging.Event) string {
	var parameters strings.Builder
	for _, p := range e.Parameters {
		fmt.Fprintf(&parameters, "{Name: %q, Type: %s, Required: %t},\n", p.Name, typeCode(p.Type), p.Required)
	}
	return formatCode(fmt.Sprintf("event, err := client.Events.Create(ctx, messaging.EventCreateParams{\nName: %q,\nDescription: %q,\n"+
		"Parameters: []messaging.EventParameter{\n%s},\n})", e.Name, e.Description, parameters.String()))
}

// triggerCode returns Go code that triggers an event.
func triggerCode(e messaging.Event) string {
	var values strings.Builder
	for _, p := range e.Parameters {
		fmt.Fprintf(&values, "%q: %s,\n", p.Name, exampleCode(p.Type))
	}
	return formatCode(fmt.Sprintf("_, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{\nEventID: %q,\n"+
		"Email: \"ada@example.com\",\nValues: map[string]any{\n%s},\n})", e.ID, values.String()))
}

// curlCode returns a command that triggers an event.
func curlCode(e messaging.Event) string {
	return postCode(`"$MESSAGING_BASE_URL`+service.TriggerEvent.Path+`"`, `"X-Authorization: $MESSAGING_API_KEY"`, firstTrigger(e))
}

// postCode returns a command that sends a body. The URL and the header field of the key are words of a shell.
func postCode(url, key, body string) string {
	return "curl " + url + " \\\n  -H " + key + " \\\n  -H 'Content-Type: application/json' --data " + copies.ShellQuote(body)
}

func typeCode(t messaging.ParameterType) string {
	switch t {
	case messaging.ParameterText:
		return "messaging.ParameterText"
	case messaging.ParameterNumeric:
		return "messaging.ParameterNumeric"
	case messaging.ParameterTimestamp:
		return "messaging.ParameterTimestamp"
	default:
		return fmt.Sprintf("%q", string(t))
	}
}

func exampleCode(t messaging.ParameterType) string {
	switch t {
	case messaging.ParameterNumeric:
		return "1"
	case messaging.ParameterTimestamp:
		return "time.Now()"
	default:
		return `"…"`
	}
}

// formatCode formats statements as gofmt does.
func formatCode(statements string) string {
	formatted, err := format.Source([]byte(statements))
	if err != nil {
		return statements
	}
	return string(formatted)
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// envCode returns the command that points a program at the sandbox.
func envCode(baseURL, apiKey, sandboxURL string) string {
	return "export MESSAGING_BASE_URL=" + baseURL + "\nexport MESSAGING_API_KEY=" + apiKey + "\nexport MESSAGING_SANDBOX_URL=" + sandboxURL
}

// apiCode returns commands that use the API.
func apiCode() string {
	op := service.TriggerEvent.Name
	return fmt.Sprintf(`curl "$MESSAGING_SANDBOX_URL/api/wait?q=op:%[1]s+to:ada@example.com&timeout=5s"
curl "$MESSAGING_SANDBOX_URL/api/wait?q=op:%[1]s&count=3"
curl "$MESSAGING_SANDBOX_URL/api/wait?q=to:bob@example.com&count=0&timeout=500ms"
curl "$MESSAGING_SANDBOX_URL/api/requests?q=has:skipped&limit=10"
curl "$MESSAGING_SANDBOX_URL/api/faults" --data '{"op": %[2]q, "count": 1, "fault": {"kind": "answer_lost"}}'
curl "$MESSAGING_SANDBOX_URL/api/outage" --data '{"for": "10s"}'
curl -X POST "$MESSAGING_SANDBOX_URL/api/reset?what=all"`, op[:strings.IndexByte(op, ' ')], op)
}
