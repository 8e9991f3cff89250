package inspector

import (
	"fmt"
	"go/format"
	"net/url"
	"sort"
	"strings"
	"unicode"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
)

// curl returns a command that sends a request again. It names the environment
// variables that hold the address and the key.
func curl(e *history.Entry) string {
	target := (&url.URL{Path: e.Request.Path}).EscapedPath()
	if query := e.Request.Query.Encode(); query != "" {
		target += "?" + query
	}
	command := []string{"curl -g"}
	if e.Request.Method != "GET" {
		command[0] += " -X " + shellQuote(e.Request.Method)
	}
	command[0] += ` "$MESSAGING_BASE_URL"` + shellQuote(target)
	command = append(command, `-H "X-Authorization: $MESSAGING_API_KEY"`)
	if len(e.Request.Body) > 0 {
		command = append(command, "-H "+shellQuote("Content-Type: "+e.Request.Header.Get("Content-Type")),
			"--data-raw "+shellQuote(string(e.Request.Body)))
	}
	return strings.Join(command, " \\\n  ")
}

// shellQuote quotes a text for a POSIX shell, if it has to be.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/-_.", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// eventCode returns Go code that creates an event, and triggers it.
func eventCode(e messaging.Event) (create, trigger string) {
	var parameters, values strings.Builder
	for _, p := range e.Parameters {
		fmt.Fprintf(&parameters, "{Name: %q, Type: %s, Required: %t},\n", p.Name, typeCode(p.Type), p.Required)
		fmt.Fprintf(&values, "%q: %s,\n", p.Name, exampleCode(p.Type))
	}
	create = formatCode(fmt.Sprintf("event, err := client.Events.Create(ctx, messaging.EventCreateParams{\nName: %q,\nDescription: %q,\n"+
		"Parameters: []messaging.EventParameter{\n%s},\n})", e.Name, e.Description, parameters.String()))
	trigger = formatCode(fmt.Sprintf("_, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{\nEventID: %q,\n"+
		"Email: \"ada@example.com\",\nValues: map[string]any{\n%s},\n})", e.ID, values.String()))
	return create, trigger
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

// firstCurl returns a command that sends a broadcast.
func firstCurl(baseURL, apiKey string) string {
	return "curl " + baseURL + "/v1/broadcast/send/email \\\n  -H 'X-Authorization: " + apiKey + "' \\\n" +
		"  -H 'Content-Type: application/json' --data '{\n" +
		`    "sender_email": "news@acme.test", "sender_name": "Acme", "email": "news@acme.test",` + "\n" +
		`    "subject": "We have moved", "message": "<h1>We have moved</h1><p>See you there.</p>",` + "\n" +
		`    "message_type": "announcement", "schedule_type": "send-now",` + "\n" +
		`    "recipients": {"type": "customer", "customers": [{"email": "ada@example.com"}]}}'`
}

const apiCode = `curl "$MESSAGING_SANDBOX_URL/api/wait?q=op:trigger+to:ada@example.com&timeout=5s"
curl "$MESSAGING_SANDBOX_URL/api/requests?q=has:skipped&limit=10"
curl "$MESSAGING_SANDBOX_URL/api/faults" --data '{"op": "trigger event", "count": 1, "fault": {"kind": "answer_lost"}}'
curl "$MESSAGING_SANDBOX_URL/api/outage" --data '{"for": "10s"}'
curl -X POST "$MESSAGING_SANDBOX_URL/api/reset?what=all"`
