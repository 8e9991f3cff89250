package copies_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// receive starts a server, and returns its address and the requests that it receives.
func receive(t *testing.T) (address string, got <-chan fake.Request) {
	received := make(chan fake.Request, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- fake.Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header, Body: body}
		_, _ = io.WriteString(w, `{"success":false}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, received
}

func sent(op *service.Operation, body string) fake.Request {
	return fake.Request{Method: op.Method, Path: op.Path, Body: []byte(body), Header: http.Header{"Content-Type": {"application/json"}}}
}

const emailBody = `{"sender_email":"news@acme.test","sender_name":"Acme \"News\"","email":"news@acme.test","subject":"It's $HOME\\",` +
	"\"cc\":[\"a@acme.test\"],\"message\":\"<p>`Hi`\\n{{name}}</p>\"," +
	`"variables":{"name":"Ada","n":1.50,"big":9223372036854775808,"ok":true,"none":null,"list":[1,"two",{"three":3}]},` +
	`"message_type":"x","schedule_type":"send-later","schedule_date":{"schedule_date":"2030-01-01 09:00:00","timezone":"Europe/Berlin"},` +
	`"recipients":[{"type":"customer","customers":[{"email":"ada@example.com","last_name":"O'Hara"}]}]}`

// requests has every operation, in its usual form and in others.
var requests = map[string]fake.Request{
	"an email":  sent(service.SendEmailBroadcast, emailBody),
	"a push":    sent(service.SendPushBroadcast, `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`),
	"an event":  sent(service.CreateEvent, `{"name":"order shipped","description":"d","parameters":[{"name":"n","type":"odd"}]}`),
	"a trigger": sent(service.TriggerEvent, `{"event_id":"e-1","payload":{"customer":{"customer_id":"c-1"},"deep":{"a":[1.0,1e3]}}}`),
	"a trigger with odd texts": sent(service.TriggerEvent,
		`{"event_id":"`+"`"+`","payload":{"email":"a@b.test","a\u0000":"`+"\u202e"+`","`+"`"+`":[[],{}]}}`),
	"events":       {Method: "GET", Path: "/v1/events", Query: url.Values{"per_page": {"5"}, "cursor": {"abc="}}},
	"another path": {Method: "DELETE", Path: "/v1/segments/a b", Query: url.Values{"per_page": {"-1"}, "page": {"2"}}},
}

// textOf has what two requests must have in common.
func textOf(r fake.Request) string {
	return fmt.Sprintf("%s %s?%s\n%s\n%s", r.Method, r.Path, r.Query.Encode(), r.Header.Values("Content-Type"), r.Body)
}

func TestCopiedCurlSendsTheSameRequest(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	address, got := receive(t)
	large := sent(service.CreateEvent, `{"name":"`+strings.Repeat("x", 100<<10)+`"}`)
	inspector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/api/requests/7/body", r.URL.Path)
		_, _ = w.Write(large.Body)
	}))
	t.Cleanup(inspector.Close)
	sends := func(name string, r fake.Request) (command string) {
		command = copies.Curl(r, "/api/requests/7/body")
		cmd := exec.Command("sh", "-c", command)
		cmd.Env = append(os.Environ(), "MESSAGING_BASE_URL="+address, "MESSAGING_API_KEY=the-api-key", "MESSAGING_SANDBOX_URL="+inspector.URL,
			"no_proxy=*")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		received := <-got
		assert.Equal(t, textOf(r), textOf(received))
		assert.Equal(t, "the-api-key", received.Header.Get("X-Authorization"))
		return command
	}
	for name, r := range requests {
		sends(name, r)
	}
	assert.Less(t, len(sends("a large body, which is fetched from the inspector", large)), 1000)
}

// FuzzShellQuoting runs the commands with programs that print their arguments.
func FuzzShellQuoting(f *testing.F) {
	for _, seed := range []string{"'", `'"'"'`, "$(id)", "`id`", "a\nb", `\`, "!", "é", "-n", "%s", "@file", "", "'\\''", "\r\n"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(dir, "curl"), []byte("#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done\n"), 0o700))
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || strings.ContainsRune(text, 0) {
			return
		}
		r := fake.Request{Method: "POST", Path: "/" + text, Query: url.Values{text: {text}}, Body: []byte(text),
			Header: http.Header{"Content-Type": {text}}}
		command := copies.Curl(r, "/x")
		cmd := exec.Command("sh", "-c", command)
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "MESSAGING_BASE_URL=http://x", "MESSAGING_API_KEY=k"}
		out, err := cmd.Output()
		require.NoError(t, err, command)
		arguments := strings.Split(string(out), "\x00")
		assert.Contains(t, arguments, text, command)
		assert.LessOrEqual(t, len(arguments), 11, command)
	})
}
