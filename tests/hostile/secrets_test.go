package hostile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// Every value that a caller passes in this file contains the canary: the key,
// headers, filters, and each field of each parameter.
const (
	canary       = scripted.Canary
	canaryKey    = "sk_live_" + canary + "_0123456789"
	canaryHeader = canary + "-header"
	canaryEmail  = scripted.CanaryEmail
)

// callsWithSecrets makes every call of the API.
var callsWithSecrets = everyCall()

func everyCall() map[string]scripted.Call {
	calls := map[string]scripted.Call{
		"Client.Do": scripted.Do(messaging.Request{Method: http.MethodPut, Path: "/v1/tags", Query: url.Values{canary: {canaryEmail}},
			Body: map[string]string{canary: canaryEmail}, Into: new(int)}),
	}
	for _, operation := range scripted.Operations {
		maps.Copy(calls, operation.Calls)
	}
	for _, send := range scripted.Sends() {
		for i, build := range send.Requests {
			calls[fmt.Sprint("Client.Send ", send.Name, " ", i)] = sendingPrepared(build())
		}
	}
	return calls
}

func sendingPrepared(request scripted.Request) scripted.Call {
	return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		p, err := request.Prepare()
		if err != nil {
			return err
		}
		_, err = client.Send(ctx, p, opts...)
		return err
	}
}

func TestSecretsSearchCoversEveryCall(t *testing.T) {
	others := []string{"Format", "LogValue", "Check"} // searched by themselves, or receiving nothing
	searched := slices.Sorted(maps.Keys(callsWithSecrets))
	requireSearched := func(service reflect.Type) {
		for method := range service.Methods() {
			name := service.Elem().Name() + "." + method.Name
			found := slices.ContainsFunc(searched, func(call string) bool { return call == name || strings.HasPrefix(call, name+" ") })
			assert.True(t, found || slices.Contains(others, method.Name), "add %s to its operation in internal/kit/scripted/operations.go", name)
		}
	}
	client := reflect.TypeFor[*messaging.Client]()
	requireSearched(client)
	for field := range client.Elem().Fields() {
		if field.IsExported() {
			requireSearched(field.Type)
		}
	}
}

// maxResponse is the limit of the responses in these tests.
const maxResponse = 1000

// searchedClient is a client whose errors and log are searched for the canary.
type searchedClient struct {
	client *messaging.Client
	logged *bytes.Buffer
}

func newSearched(t *testing.T, baseURL string, over http.RoundTripper, opts ...messaging.Option) searchedClient {
	t.Helper()
	logger, logged := scripted.NewLogger()
	opts = append([]messaging.Option{
		messaging.WithHTTPClient(&http.Client{Transport: over}), messaging.WithLogger(logger), messaging.WithHeader("X-Operator", canaryHeader),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 2, MinWait: time.Millisecond, MaxWait: time.Millisecond}),
	}, opts...)
	client, err := messaging.NewClient(baseURL, canaryKey, opts...)
	require.NoError(t, err)
	return searchedClient{client, logged}
}

// search requires that nothing which a program may print after a failed call contains
// the canary.
func (s searchedClient) search(t *testing.T, err error) {
	t.Helper()
	s.searchLogAndClient(t)
	require.Error(t, err)
	var withURL *url.Error
	require.False(t, errors.As(err, &withURL), "an error of net/url prints the URL")
	for _, cause := range unwrapAll(err) {
		scripted.RequireNoSecret(t, strings.Join(formsOf(cause), "\n"))
	}
}

func (s searchedClient) searchLogAndClient(t *testing.T) {
	t.Helper()
	scripted.RequireNoSecret(t, s.logged.String())
	for _, value := range []any{s.client, *s.client, []any{*s.client}} {
		scripted.RequireNoSecret(t, fmt.Sprintf("%v %+v %#v", value, value, value))
	}
}

// unwrapAll returns err and all errors that it wraps.
func unwrapAll(err error) []error {
	all := []error{err}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		if cause := wrapper.Unwrap(); cause != nil {
			all = append(all, unwrapAll(cause)...)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range wrapper.Unwrap() {
			all = append(all, unwrapAll(cause)...)
		}
	}
	return all
}

// formsOf returns a value in each form in which a program may print it.
func formsOf(value any) []string {
	var forms []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		forms = append(forms, fmt.Sprintf(verb, value))
	}
	written, err := json.Marshal(value)
	forms = append(forms, string(written), fmt.Sprint(err))
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Error("failed", "err", value)
	slog.New(slog.NewJSONHandler(&logged, nil)).Error("failed", "err", value)
	return append(forms, logged.String())
}

func TestSecretsSearchFindsACanary(t *testing.T) {
	type hidden struct{ secret any }
	for name, value := range map[string]any{
		"in a text": errors.New(canaryKey), "in a cause": fmt.Errorf("no: %w", errors.New(canaryEmail)), "in bytes": []byte(canary),
		"in a field that is not exported": hidden{canaryHeader}, "in a header": http.Header{"X": {canary}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, strings.Join(formsOf(value), "\n"), canary)
		})
	}
}

// searchEveryCall makes each call over the same transport, and searches its error.
func searchEveryCall(t *testing.T, baseURL string, over http.RoundTripper, opts ...messaging.Option) {
	t.Helper()
	for name, call := range callsWithSecrets {
		s := newSearched(t, baseURL, over, opts...)
		err := call(t.Context(), s.client)
		require.Error(t, err, name)
		s.search(t, err)
		if t.Failed() {
			t.Logf("%s: %v", name, err)
		}
	}
}

// failsWithURL connects and fails with an error of [net/url] that quotes the URL, as a
// transport does that is made of an [http.Client]. wrap may wrap the error.
func failsWithURL(wrap func(*url.Error) error) scripted.Scene {
	return scripted.Connects(func(req *http.Request) (*http.Response, error) {
		return nil, wrap(&url.Error{Op: req.Method, URL: req.URL.String(), Err: io.ErrUnexpectedEOF})
	})
}

func TestSecretsAreHiddenForAnyResponse(t *testing.T) {
	scenes := map[string]scripted.Scene{
		"400 with nothing in it":  scripted.Responds(400, ""),
		"401":                     scripted.Responds(401, scripted.Failure),
		"403":                     scripted.Responds(403, scripted.Failure),
		"404 in HTML":             scripted.Responds(404, "<html>Not here</html>"),
		"422 that quotes nothing": scripted.Responds(422, `{"message":"Invalid.","errors":{"email":["is invalid"]}}`),
		"429":                     scripted.Responds(429, scripted.Failure, "Retry-After", "1"),
		"500":                     scripted.Responds(500, scripted.Failure),
		"503":                     scripted.Responds(503, "", "Retry-After", "3600"),
		"a redirect":              scripted.Responds(302, "", "Location", "/login"),
		"another protocol":        scripted.Responds(101, ""),
		"success false":           scripted.Responds(200, scripted.Failure),
		"no success":              scripted.Responds(200, `{}`),
		"no JSON":                 scripted.Responds(200, "<html>"),
		"data of a wrong kind":    scripted.Responds(200, `{"success":true,"data":"text"}`+" "+`trailing`),
		"too much":                scripted.Responds(200, strings.Repeat("x", maxResponse+1)),
		"an answer cut short":     scripted.RespondsFrom(200, &scripted.CutShort{}),
		"a lost answer":           scripted.Breaks(io.EOF),
		"a broken connection":     scripted.Breaks(scripted.ErrReset),
		"a refused connection":    scripted.NeverConnects(scripted.ErrRefused),
		"an unknown host": scripted.NeverConnects(
			scripted.ErrLookup(net.DNSError{IsNotFound: true, Name: "api.example.com"})),
		"a bad certificate":                      scripted.NeverConnects(scripted.ErrUnknownCA),
		"an attempt timeout":                     scripted.Connects(scripted.Hangs),
		"a timeout before there is a connection": scripted.NeverConnectsInTime,
		"an answer that begins, and hangs":       scripted.BeginsToRespond,
		"an error that prints the URL":           failsWithURL(func(err *url.Error) error { return err }),
		"an error around one that does":          failsWithURL(func(err *url.Error) error { return fmt.Errorf("proxy: %w", err) }),
		"one of several errors that does":        failsWithURL(func(err *url.Error) error { return errors.Join(io.EOF, err) }),
		"an error that quotes the URL": func(req *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("proxy: no route to %s", req.URL)
		},
		"an error that quotes the key": func(req *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("proxy: bad header %q", req.Header["X-Authorization"])
		},
	}
	for name, play := range scenes {
		scripted.RunInBubble(t, name, func(t *testing.T) {
			searchEveryCall(t, "https://api.example.com", &scripted.Transport{Scenes: []scripted.Scene{play}},
				messaging.WithMaxResponseBytes(maxResponse))
		})
	}
}

func TestSecretsAreHiddenWhenTheContextEnds(t *testing.T) {
	errCause := &url.Error{Op: "Get", URL: "https://example.com/?email=" + canaryEmail, Err: io.ErrUnexpectedEOF}
	for name, play := range map[string]scripted.Scene{
		"while connecting": scripted.NeverConnectsInTime, "while waiting for an answer": scripted.Connects(
			scripted.Hangs), "between two attempts": scripted.Responds(503, "", "Retry-After", "1"),
	} {
		scripted.RunInBubble(t, name, func(t *testing.T) {
			for name, call := range callsWithSecrets {
				for _, policy := range []messaging.RetryPolicy{{}, {MaxAttempts: 1}} {
					s := newSearched(t, "https://api.example.com", &scripted.Transport{Scenes: []scripted.Scene{play}}, messaging.WithRetryPolicy(policy))
					ctx, cancel := context.WithCancelCause(t.Context())
					timer := time.AfterFunc(100*time.Millisecond, func() { cancel(errCause) })
					first := call(ctx, s.client)
					<-ctx.Done()
					s.search(t, errors.Join(first, call(ctx, s.client)))
					assert.False(t, t.Failed(), name)
					timer.Stop()
				}
			}
		})
	}
}

// quotes responds with a part of the request, in a place where net/http may quote it
// in an error.
func quotes(response func(quoted string) string, part func(faultserver.Request) string) faultserver.Script {
	return faultserver.Script{faultserver.ReadRequest, faultserver.Choose(func(r faultserver.Request) faultserver.Step {
		return faultserver.Write(response(part(r)))
	})}
}

func TestSecretsAreHiddenIfAServerQuotesTheRequest(t *testing.T) {
	places := map[string]func(string) string{
		"in place of an answer":   func(quoted string) string { return quoted + "\r\n\r\n" },
		"in place of a status":    func(quoted string) string { return "HTTP/1.1 " + quoted + " OK\r\n\r\n" },
		"in place of a header":    func(quoted string) string { return "HTTP/1.1 200 OK\r\n" + quoted + "\r\n\r\n" },
		"as the length of a body": func(quoted string) string { return "HTTP/1.1 200 OK\r\nContent-Length: " + quoted + "\r\n\r\n" },
		"as two lengths of a body": func(quoted string) string {
			return "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: " + quoted + "\r\n\r\n"
		},
		"as a transfer encoding": func(quoted string) string { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + quoted + "\r\n\r\n" },
		"as the length of a chunk": func(quoted string) string {
			return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + quoted + "\r\n"
		},
		"in place of a trailer": func(quoted string) string {
			return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + quoted + "\r\n\r\n"
		},
		"in place of gzip":        func(quoted string) string { return "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + quoted },
		"after an interim answer": func(quoted string) string { return "HTTP/1.1 103 Early Hints\r\n\r\n" + quoted + "\r\n\r\n" },
		"as the version of HTTP":  func(quoted string) string { return quoted + " 200 OK\r\n\r\n" },
	}
	query := func(r faultserver.Request) string {
		_, query, _ := strings.Cut(r.Target, "?")
		return query
	}
	parts := map[string]func(faultserver.Request) string{
		"the key":           func(r faultserver.Request) string { return r.Header.Get("X-Authorization") },
		"a header":          func(r faultserver.Request) string { return r.Header.Get("X-Operator") },
		"the request line":  func(r faultserver.Request) string { return r.Method + " " + r.Target + " HTTP/1.1" },
		"the query":         query,
		"the query as text": func(r faultserver.Request) string { text, _ := url.QueryUnescape(query(r)); return text },
		"the body":          func(r faultserver.Request) string { return string(r.Body) },
	}
	for where, answer := range places {
		for what, part := range parts {
			t.Run(what+" "+where, func(t *testing.T) {
				server := faultserver.Start(t, quotes(answer, part))
				searchEveryCall(t, server.URL(), server.Client().Transport)
			})
		}
	}
}

// What the service itself quotes is kept in the fields of the error that hold the
// response, and in no other place.
func TestSecretsThatTheServiceQuotesAreInTheErrorOnly(t *testing.T) {
	for _, status := range []int{200, 400, 401, 422, 500} {
		for name, body := range map[string]func(quoted string) string{
			"as a message":  func(quoted string) string { return fmt.Sprintf(`{"success":false,"message":%q}`, quoted) },
			"as the fields": func(quoted string) string { return fmt.Sprintf(`{"success":false,"errors":{%q:[%q]}}`, quoted, quoted) },
			"as a page":     func(quoted string) string { return "<html>" + quoted + "</html>" },
			"as no JSON":    func(quoted string) string { return `{"success":` + quoted },
			"in unread data": func(quoted string) string {
				return fmt.Sprintf(`{"success":null,"data":[%q],"code":%q}`, quoted, quoted)
			},
			"in a raw string": func(quoted string) string { return fmt.Sprintf("%q", quoted) },
		} {
			t.Run(fmt.Sprint(status, " ", name), func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					dumped, _ := httputil.DumpRequest(r, true)
					w.Header().Set("X-Quoted", r.Header.Get("X-Authorization"))
					w.WriteHeader(status)
					_, _ = io.WriteString(w, body(string(dumped)))
				}))
				defer server.Close()
				for name, call := range callsWithSecrets {
					s := newSearched(t, server.URL, server.Client().Transport)
					err := call(t.Context(), s.client)
					require.Error(t, err, name)
					s.searchLogAndClient(t)
					requireQuotedInOnePlace(t, err)
				}
			})
		}
	}
}

// requireQuotedInOnePlace searches an error without the fields that hold the response.
func requireQuotedInOnePlace(t *testing.T, err error) {
	t.Helper()
	var refused *messaging.APIError
	var unreadable *messaging.DecodeError
	switch {
	case errors.As(err, &refused):
		require.True(t, strings.Contains(string(refused.Body), canary), "the body is kept")
		rest := *refused
		rest.Code, rest.Message, rest.Fields, rest.Header, rest.Body = "", "", nil, nil, nil
		scripted.RequireNoSecret(t, strings.Join(formsOf(&rest), "\n"))
	case errors.As(err, &unreadable):
		require.True(t, strings.Contains(string(unreadable.Body), canary), "the body is kept")
		scripted.RequireNoSecret(t, unreadable.Error())
		rest := *unreadable
		rest.Header, rest.Body = nil, nil
		scripted.RequireNoSecret(t, strings.Join(formsOf(&rest), "\n"))
	default:
		t.Fatalf("%T does not come from the service: %v", err, err)
	}
}

func TestSecretsAreHiddenIfAServerIsNotThere(t *testing.T) {
	t.Run("nobody listens", func(t *testing.T) {
		searchEveryCall(t, "http://"+faultserver.ClosedAddress(t), &http.Transport{})
	})
	t.Run("the handshake breaks off", func(t *testing.T) {
		server := faultserver.Start(t, faultserver.Script{faultserver.ReadBytes(1)})
		searchEveryCall(t, strings.Replace(server.URL(), "http:", "https:", 1), &http.Transport{})
	})
	t.Run("https meets http", func(t *testing.T) {
		server := faultserver.Start(t, faultserver.Script{faultserver.ReadBytes(1), faultserver.Respond(400, "")})
		searchEveryCall(t, strings.Replace(server.URL(), "http:", "https:", 1), &http.Transport{})
	})
	t.Run("the response is lost", func(t *testing.T) {
		server := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest})
		searchEveryCall(t, server.URL(), &http.Transport{DisableKeepAlives: true})
	})
}

func TestSecretsAreHiddenInAValidationError(t *testing.T) {
	unsendable := messaging.WithHeader("X-Operator", canaryHeader+"\n")
	for name, call := range callsWithSecrets {
		t.Run(name, func(t *testing.T) {
			s := newSearched(t, "https://api.example.com", &scripted.Transport{Scenes: []scripted.Scene{scripted.Responds(200, scripted.Success)}})
			err := call(t.Context(), s.client, unsendable)
			require.ErrorIs(t, err, messaging.ErrValidation)
			s.search(t, err)
		})
	}
}
