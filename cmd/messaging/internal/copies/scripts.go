package copies

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/messagingtest"
)

// Python returns a script that sends a request again, with its key in a header field. It needs only the standard
// library of Python 3, and takes the address and the key from the environment.
func Python(r messagingtest.Request, key Field, bodyPath string) string {
	env := func(name string) string { return `os.environ["` + name + `"]` }
	arguments := []string{env("MESSAGING_BASE_URL") + " + " + quoted(target(r)), "method=" + quoted(r.Method)}
	if headers := headersOf(r, key, env); headers != "" {
		arguments = append(arguments, "headers={"+headers+"}")
	}
	switch {
	case isQuotable(r.Body):
		arguments = append(arguments, "data="+quoted(string(r.Body))+".encode()")
	case len(r.Body) > 0:
		arguments = append(arguments, "data=urllib.request.urlopen("+env("MESSAGING_SANDBOX_URL")+" + "+quoted(bodyPath)+").read()")
	}
	return fmt.Sprintf("import os, urllib.request\n\nrequest = urllib.request.Request(\n    %s,\n)\n"+
		"with urllib.request.urlopen(request) as response:\n    print(response.status, response.read().decode())",
		strings.Join(arguments, ",\n    "))
}

// JavaScript returns a module for Node.js that sends a request again, with its key in a header field. It takes the
// address and the key from the environment.
func JavaScript(r messagingtest.Request, key Field, bodyPath string) string {
	env := func(name string) string { return "process.env." + name }
	var options []string
	if r.Method != http.MethodGet {
		options = append(options, "method: "+quoted(r.Method))
	}
	if headers := headersOf(r, key, env); headers != "" {
		options = append(options, "headers: { "+headers+" }")
	}
	switch {
	case isQuotable(r.Body):
		options = append(options, "body: "+quoted(string(r.Body)))
	case len(r.Body) > 0:
		options = append(options, "body: await (await fetch("+env("MESSAGING_SANDBOX_URL")+" + "+quoted(bodyPath)+")).arrayBuffer()")
	}
	arguments := env("MESSAGING_BASE_URL") + " + " + quoted(target(r))
	if len(options) > 0 {
		arguments += ", {\n  " + strings.Join(options, ",\n  ") + ",\n}"
	}
	return "const response = await fetch(" + arguments + ");\nconsole.log(response.status, await response.text());"
}

// headersOf returns the members of an object with the header of a request.
func headersOf(r messagingtest.Request, key Field, env func(name string) string) string {
	var members []string
	if key.Name != "" {
		before, _, names := strings.Cut(key.Value, APIKey)
		value := quoted(before)
		if names {
			value = strings.TrimPrefix(value+" + "+env(strings.TrimPrefix(APIKey, "$")), `"" + `)
		}
		members = append(members, quoted(key.Name)+": "+value)
	}
	if len(r.Body) > 0 {
		members = append(members, `"Content-Type": `+quoted(r.Header.Get("Content-Type")))
	}
	return strings.Join(members, ", ")
}

// isQuotable reports whether a body can be a text of a script.
func isQuotable(body []byte) bool { return len(body) > 0 && isText(body) && utf8.Valid(body) }

// quoted returns a text as a string of JSON, which JavaScript and Python have too.
func quoted(text string) string { return visible.JSON(text, func(rune) bool { return false }) }
