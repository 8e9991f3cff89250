package faultserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/messaging-go/messaging/internal/kit/faultserver"
)

// post sends once, and net/http cannot send the body again.
func post(client *http.Client, url string) (status int, body string, err error) {
	req, err := http.NewRequest(http.MethodPost, url, io.NopCloser(strings.NewReader("hello")))
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(content), err
}

// errBroken stands for any error of a client whose connection was reset while it
// was writing.
var errBroken = errors.New("broken")

func TestServerPlaysAScript(t *testing.T) {
	yes := faultserver.Respond(http.StatusOK, "yes")
	tests := []struct {
		name            string
		script          faultserver.Script
		status          int
		body            string
		err             error
		requests, acted int
	}{
		{"read, act, answer", faultserver.Script{faultserver.ReadRequest, faultserver.Act, yes}, 200, "yes", nil, 1, 1},
		{"read and answer", faultserver.Script{faultserver.ReadRequest, yes}, 200, "yes", nil, 1, 0},
		{"read, act, close", faultserver.Script{faultserver.ReadRequest, faultserver.Act, faultserver.Close}, 0, "", io.EOF, 1, 1},
		{"read, act, reset", faultserver.Script{faultserver.ReadRequest, faultserver.Act, faultserver.Reset}, 0, "", syscall.ECONNRESET, 1, 1},
		{"what is not read to its end does not count", faultserver.Script{faultserver.ReadHead, faultserver.Reset}, 0, "", errBroken, 0, 0},
		{"a few bytes are no request", faultserver.Script{faultserver.ReadBytes(3), faultserver.Reset}, 0, "", errBroken, 0, 0},
		{"a step that fails ends the script", faultserver.Script{faultserver.ReadRequest, fails, faultserver.Act, yes}, 0, "", io.EOF, 1, 0},
		{"a body is cut short", faultserver.Script{faultserver.ReadRequest, faultserver.Write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nyes")},
			200, "yes", io.ErrUnexpectedEOF, 1, 0},
		{"text is repeated", faultserver.Script{faultserver.ReadRequest, faultserver.Write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
			faultserver.Repeat("ab", 3)}, 200, "ababab", nil, 1, 0},
		{"the response fits the request", faultserver.Script{faultserver.ReadRequest, faultserver.Choose(repeatsBody)}, 200, "hello", nil, 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := faultserver.Start(t, test.script)
			status, body, err := post(server.Client(), server.URL())
			if test.err == errBroken {
				assert.Condition(t, func() bool {
					return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
				}, "%v", err)
			} else {
				assert.ErrorIs(t, err, test.err)
			}
			assert.Equal(t, test.status, status)
			assert.Equal(t, test.body, body)
			assert.Len(t, server.Requests(), test.requests)
			assert.Equal(t, test.acted, server.Acted())
			assert.Equal(t, 1, server.Connections())
		})
	}
}

func fails(*faultserver.Connection) error { return errors.New("failed") }

func repeatsBody(r faultserver.Request) faultserver.Step {
	return faultserver.Respond(http.StatusOK, string(r.Body))
}

func TestServerStopEndsEveryScript(t *testing.T) {
	for name, step := range map[string]faultserver.Step{
		"a hanging step":     faultserver.Hang,
		"a read":             faultserver.ReadRequest,
		"a write":            faultserver.Repeat(strings.Repeat("x", 1<<20), 1<<20),
		"a step on its turn": faultserver.Forever(faultserver.ReadRequest, faultserver.Act),
	} {
		t.Run(name, func(t *testing.T) {
			begun := make(signal, 1)
			server := faultserver.Start(t, faultserver.Script{begun.give, step})
			conn, err := net.Dial("tcp", server.Address())
			require.NoError(t, err)
			defer conn.Close()
			<-begun
			server.Stop()
			server.Stop() // as the end of the test does once more
			_, err = net.Dial("tcp", server.Address())
			assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		})
	}
}

// signal tells that a script has come to a certain step.
type signal chan struct{}

func (s signal) give(*faultserver.Connection) error {
	s <- struct{}{}
	return nil
}

func TestClosedAddressRefusesConnections(t *testing.T) {
	_, err := net.Dial("tcp", faultserver.ClosedAddress(t))
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestServerOverTLSIsTrustedWithClientTLS(t *testing.T) {
	server := faultserver.StartTLS(t, faultserver.Script{faultserver.ReadRequest, faultserver.Respond(http.StatusOK, "yes")})
	_, body, err := post(server.Client(), server.URL())
	require.NoError(t, err)
	assert.Equal(t, "yes", body)
	_, _, err = post(&http.Client{Transport: &http.Transport{}}, server.URL())
	assert.ErrorContains(t, err, "unknown authority")
}

func TestServerOverHTTP2PlaysAScriptPerRequest(t *testing.T) {
	tests := []struct {
		name   string
		steps  []faultserver.Step
		status int
		body   string
		text   string // a regular expression that the text of the error matches
		acted  int
	}{
		{"act and answer", []faultserver.Step{faultserver.Act, faultserver.Respond(http.StatusOK, "yes")}, 200, "yes", "", 1},
		{"answer with an error", []faultserver.Step{faultserver.Respond(http.StatusServiceUnavailable, "no")}, 503, "no", "", 0},
		{"reset the stream", []faultserver.Step{faultserver.Act, faultserver.ResetStream(http2.ErrCodeInternal)}, 0, "", "INTERNAL_ERROR", 1},
		{"go away having seen the request", []faultserver.Step{faultserver.Act, faultserver.GoAway(http2.ErrCodeNo, false), faultserver.Close},
			0, "", "GOAWAY", 1},
		{"go away as if it had not", []faultserver.Step{faultserver.Act, faultserver.GoAway(http2.ErrCodeNo, true)}, 0, "", "cannot retry", 1},
		{"act and close", []faultserver.Step{faultserver.Act, faultserver.Close}, 0, "", "EOF", 1},
		{"act and reset the connection", []faultserver.Step{faultserver.Act, faultserver.Reset}, 0, "", "connection reset|EOF", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			steps := append([]faultserver.Step{faultserver.ReadRequest}, test.steps...)
			server := faultserver.StartHTTP2(t, faultserver.Script{faultserver.Streams(steps...)})
			status, body, err := post(server.Client(), server.URL())
			if test.text == "" {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
				require.Regexp(t, test.text, err.Error())
			}
			assert.Equal(t, test.status, status)
			assert.Equal(t, test.body, body)
			require.Len(t, server.Requests(), 1)
			assert.Equal(t, "hello", string(server.Requests()[0].Body))
			assert.Equal(t, test.acted, server.Acted())
		})
	}
}

func TestServerReportsAClientThatGivesUp(t *testing.T) {
	acted, hungUp := make(signal, 1), make(signal, 1)
	server := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest, faultserver.Act, acted.give, faultserver.Hang, hungUp.give})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-acted
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL(), nil)
	require.NoError(t, err)
	_, err = server.Client().Do(req)
	require.ErrorIs(t, err, context.Canceled)
	<-hungUp
	assert.Equal(t, 1, server.Acted())
}
