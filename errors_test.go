package messaging_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func TestDeliveryString(t *testing.T) {
	tests := map[messaging.Delivery]string{
		messaging.DeliveryUnknown:  "unknown",
		messaging.DeliveryNotSent:  "not sent",
		messaging.DeliveryRejected: "rejected",
		messaging.DeliveryAccepted: "accepted",
		messaging.Delivery(200):    "unknown",
	}
	for delivery, words := range tests {
		assert.Equal(t, words, delivery.String())
		assert.Equal(t, words, fmt.Sprint(delivery))
	}
	assert.Zero(t, messaging.DeliveryUnknown, "a delivery that nobody set is unknown")
}

// emptyWrapper is an error that says it wraps, and wraps nothing.
type emptyWrapper struct{ error }

func (emptyWrapper) Unwrap() error { return nil }

// emptyList is an error that says it joins, and joins nothing.
type emptyList struct{ error }

func (emptyList) Unwrap() []error { return nil }

func TestDeliveryOf(t *testing.T) {
	var notSent error = &messaging.ValidationError{Operation: "send email broadcast"}
	rejected := scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(400, ""))
	accepted := scripted.FailureOf(t, scripted.CreateEvent, scripted.Responds(200, scripted.Success))
	unknown := scripted.FailureOf(t, scripted.SendBroadcast, scripted.Breaks(io.EOF))
	foreign := errors.New("foreign")

	tests := []struct {
		name     string
		err      error
		delivery messaging.Delivery
	}{
		{"no error is accepted", nil, messaging.DeliveryAccepted},
		{"a foreign error is unknown", foreign, messaging.DeliveryUnknown},
		{"a foreign error around nothing is unknown", emptyWrapper{foreign}, messaging.DeliveryUnknown},
		{"a foreign list of nothing is unknown", emptyList{foreign}, messaging.DeliveryUnknown},
		{"a wrapped foreign error is unknown", fmt.Errorf("monday: %w", foreign), messaging.DeliveryUnknown},
		{"the cause alone is foreign", errors.Unwrap(unknown), messaging.DeliveryUnknown},

		{"a ValidationError is not sent", notSent, messaging.DeliveryNotSent},
		{"an APIError knows", rejected, messaging.DeliveryRejected},
		{"a DecodeError knows", accepted, messaging.DeliveryAccepted},
		{"a TransportError knows", unknown, messaging.DeliveryUnknown},
		{"a PageError knows of its page", &messaging.PageError{Err: rejected}, messaging.DeliveryRejected},

		{"wrapping changes nothing", fmt.Errorf("monday: %w", rejected), messaging.DeliveryRejected},
		{"wrapping twice changes nothing", fmt.Errorf("june: %w", fmt.Errorf("monday: %w", notSent)), messaging.DeliveryNotSent},
		{"an error joined alone stays what it is", errors.Join(nil, accepted), messaging.DeliveryAccepted},

		{"rejected is worse than not sent", errors.Join(rejected, notSent), messaging.DeliveryRejected},
		{"accepted is worse than rejected", errors.Join(rejected, accepted), messaging.DeliveryAccepted},
		{"unknown is worse than accepted", errors.Join(accepted, unknown), messaging.DeliveryUnknown},
		{"the order does not matter", errors.Join(unknown, accepted, rejected, notSent), messaging.DeliveryUnknown},
		{"a foreign error is ignored beside one that knows", errors.Join(notSent, foreign), messaging.DeliveryNotSent},
		{"foreign errors alone are unknown", errors.Join(foreign, foreign), messaging.DeliveryUnknown},
		{"several %w are as good as joined", fmt.Errorf("%w, then %w", notSent, rejected), messaging.DeliveryRejected},
		{"joined within joined", errors.Join(notSent, fmt.Errorf("%w, %w", rejected, errors.Join(notSent, accepted))),
			messaging.DeliveryAccepted},
		{"pages joined", errors.Join(&messaging.PageError{Err: notSent}, &messaging.PageError{Err: rejected}), messaging.DeliveryRejected},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.delivery, messaging.DeliveryOf(test.err))
		})
	}
}

func TestErrorsOfTheZeroValue(t *testing.T) {
	tests := map[string]struct {
		err      error
		delivery messaging.Delivery
	}{
		"ValidationError":                        {new(messaging.ValidationError), messaging.DeliveryNotSent},
		"APIError":                               {new(messaging.APIError), messaging.DeliveryUnknown},
		"TransportError":                         {new(messaging.TransportError), messaging.DeliveryUnknown},
		"DecodeError":                            {new(messaging.DecodeError), messaging.DeliveryUnknown},
		"PageError":                              {new(messaging.PageError), messaging.DeliveryUnknown},
		"PageError around an error made by hand": {&messaging.PageError{Err: new(messaging.APIError)}, messaging.DeliveryUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
				assert.NotContains(t, fmt.Sprintf(verb, test.err), "PANIC", verb)
			}
			assert.Equal(t, test.delivery, messaging.DeliveryOf(test.err))
			assert.NotErrorIs(t, test.err, messaging.ErrServer)
			_ = errors.Unwrap(test.err)
		})
	}
	t.Run("a field prints with its problems", func(t *testing.T) {
		field := messaging.FieldProblem{Field: "subject", Messages: []string{"is required", "is too short"}}
		assert.Equal(t, "subject is required, is too short", field.String())
		assert.NotPanics(t, func() { _ = messaging.FieldProblem{}.String() })
	})
	t.Run("a fake tells its operation", func(t *testing.T) {
		fake := &messaging.APIError{Call: messaging.Call{Operation: "send email broadcast"}, StatusCode: 503}
		assert.EqualError(t, fake, "send email broadcast: 503 Service Unavailable; the request may have been carried out")
		assert.ErrorIs(t, fake, messaging.ErrServer)
	})
}

// unprintable holds what could forge or hide a line in a log or a terminal.
const unprintable = "\x1b[31mred\x00\r\nforged\u2028line\u2029\u0085\u202e\ufeff\a\x7f\xff"

func TestErrorTextsAreOneShortLine(t *testing.T) {
	manyFields := make([]messaging.FieldProblem, 1000)
	for i := range manyFields {
		manyFields[i] = messaging.FieldProblem{Field: fmt.Sprintf("recipients.%d.%s", i, unprintable), Messages: []string{unprintable}}
	}
	call := messaging.Call{Operation: "send email broadcast"}
	long := strings.Repeat("é世", 1000)
	const mayHaveBeen, refused, notSent = "; the request may have been carried out", "; the request was refused", "; nothing was sent"
	tests := []struct {
		name   string
		err    error
		ending string
	}{
		{"APIError with an unprintable message", &messaging.APIError{Call: call, StatusCode: 500, Message: unprintable}, mayHaveBeen},
		{"APIError with an endless message", &messaging.APIError{Call: call, StatusCode: 500, Message: long}, mayHaveBeen},
		{"APIError whose message is cut in the unprintable",
			&messaging.APIError{Call: call, StatusCode: 500, Message: strings.Repeat(unprintable, 100)}, mayHaveBeen},
		{"APIError with many fields", &messaging.APIError{Call: call, StatusCode: 422, Fields: manyFields}, refused},
		{"APIError with an endless field", &messaging.APIError{Call: call, StatusCode: 422, Fields: []messaging.FieldProblem{{Field: long}}},
			refused},
		{"APIError of a redirect with an endless message", &messaging.APIError{Call: call, StatusCode: 302, Message: long}, mayHaveBeen},
		{"TransportError with an unprintable cause", &messaging.TransportError{Call: call, Err: errors.New(unprintable)}, mayHaveBeen},
		{"TransportError with an endless cause", &messaging.TransportError{Call: call, Err: errors.New(long)}, mayHaveBeen},
		{"DecodeError with an unprintable cause", &messaging.DecodeError{Call: call, Err: errors.New(unprintable)}, mayHaveBeen},
		{"DecodeError with an endless cause", &messaging.DecodeError{Call: call, Err: errors.New(long)}, mayHaveBeen},
		{"ValidationError with many fields", &messaging.ValidationError{Operation: "send email broadcast", Fields: manyFields}, notSent},
		{"an endless name of the operation", &messaging.APIError{Call: messaging.Call{Operation: call.Operation + long}}, mayHaveBeen},
		{"PageError around any of these", &messaging.PageError{Err: &messaging.APIError{Call: call, Message: unprintable + long}}, mayHaveBeen},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { scripted.RequireOneShortLine(t, test.err, "send email broadcast", test.ending) })
	}
	t.Run("what does not print is escaped", func(t *testing.T) {
		err := &messaging.APIError{Call: call, StatusCode: 400, Message: unprintable}
		assert.Contains(t, err.Error(), `\x1b[31mred\x00\r\nforged\u2028line\u2029\u0085\u202e\ufeff\a\x7f\xff`)
		assert.Equal(t, unprintable, err.Message, "the field keeps it")
	})
	t.Run("the name of an operation is no way round", func(t *testing.T) {
		err := scripted.FailureOf(t, scripted.Do(messaging.Request{Operation: "sync\nPANIC", Method: "POST", Path: "/v1/sync"}),
			scripted.Responds(400, ""))
		scripted.RequireOneShortLine(t, err, `sync\nPANIC`, "; the request was refused")
	})
	t.Run("fields beyond the eighth are counted", func(t *testing.T) {
		for i := range manyFields {
			manyFields[i] = messaging.FieldProblem{Field: fmt.Sprint(i), Messages: []string{"bad"}}
		}
		err := &messaging.ValidationError{Operation: "new client", Fields: manyFields}
		assert.EqualError(t, err,
			"new client: invalid arguments: 0 bad; 1 bad; 2 bad; 3 bad; 4 bad; 5 bad; 6 bad; 7 bad; and 992 more")
	})
}

func TestErrorSentinelsOfStatuses(t *testing.T) {
	sentinels := []error{
		messaging.ErrValidation, messaging.ErrUnauthorized, messaging.ErrForbidden, messaging.ErrNotFound,
		messaging.ErrCustomerNotFound, messaging.ErrRateLimited, messaging.ErrServer, messaging.ErrBadCursor,
		messaging.ErrTooLarge, messaging.ErrAttemptTimeout, context.Canceled, context.DeadlineExceeded,
	}
	tests := map[int]error{
		200: nil, 302: nil, 400: nil, 402: nil, 405: nil, 408: nil, 409: nil, 410: nil, 413: nil, 499: nil,
		401: messaging.ErrUnauthorized, 403: messaging.ErrForbidden, 404: messaging.ErrNotFound,
		422: messaging.ErrValidation, 429: messaging.ErrRateLimited,
		500: messaging.ErrServer, 501: messaging.ErrServer, 503: messaging.ErrServer, 599: messaging.ErrServer, 999: messaging.ErrServer,
	}
	for status, match := range tests {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			err := scripted.FailureOf(t, scripted.ReadCustomers, scripted.Responds(status, scripted.Failure))
			for _, sentinel := range sentinels {
				want := sentinel == match
				assert.Equal(t, want, errors.Is(err, sentinel), "is %q", sentinel)
				assert.Equal(t, want, errors.Is(&messaging.PageError{Err: err}, sentinel), "within a PageError is %q", sentinel)
			}
		})
	}
}

func TestErrorSentinelsWithoutAStatus(t *testing.T) {
	getCustomer := func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := client.Customers.Get(ctx, "c-1", opts...)
		return err
	}
	t.Run("a customer that is not found is told from a 404", func(t *testing.T) {
		err := scripted.FailureOf(t, getCustomer, scripted.Responds(200, `{"success":true,"data":{"data":[]}}`))
		assert.ErrorIs(t, err, messaging.ErrCustomerNotFound)
		assert.NotErrorIs(t, err, messaging.ErrNotFound, "a program that creates what is not found must not do so because of a proxy")
		assert.EqualError(t, err, "get customer: no such customer")
	})
	t.Run("a 404 is not a customer that is not there", func(t *testing.T) {
		err := scripted.FailureOf(t, getCustomer, scripted.Responds(404, ""))
		assert.ErrorIs(t, err, messaging.ErrNotFound)
		assert.NotErrorIs(t, err, messaging.ErrCustomerNotFound)
	})
	t.Run("an answer over the limit is too large", func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)}, messaging.WithMaxResponseBytes(8))
		err := scripted.SendBroadcast(t.Context(), client)
		var unread *messaging.DecodeError
		require.ErrorAs(t, err, &unread)
		require.ErrorIs(t, err, messaging.ErrTooLarge)
		assert.Contains(t, err.Error(), "8 bytes")
	})
	t.Run("no more than 64 KiB of it is kept", func(t *testing.T) {
		var unread *messaging.DecodeError
		require.ErrorAs(t, scripted.FailureOf(t, scripted.SendBroadcast, scripted.Responds(200, strings.Repeat("x", scripted.MaxKeptBody+1))),
			&unread)
		assert.Equal(t, scripted.MaxKeptBody, len(unread.Body))
	})
}

func TestErrorsAsFindsEveryType(t *testing.T) {
	read := scripted.Do(messaging.Request{Operation: "list tags", Method: "GET", Path: "/v1/tags"})
	tests := []struct {
		name string
		play scripted.Scene
		as   func(error) (messaging.Call, bool)
	}{
		{"APIError", scripted.Responds(400, scripted.Failure), func(err error) (messaging.Call, bool) {
			found := new(messaging.APIError)
			ok := errors.As(err, &found) && found.StatusCode == 400 && string(found.Body) == scripted.Failure
			return found.Call, ok
		}},
		{"TransportError", scripted.Breaks(io.EOF), func(err error) (messaging.Call, bool) {
			found := new(messaging.TransportError)
			ok := errors.As(err, &found) && errors.Is(found, io.EOF)
			return found.Call, ok
		}},
		{"DecodeError", scripted.Responds(200, "{}", "X-Request-Id", "r-1"), func(err error) (messaging.Call, bool) {
			found := new(messaging.DecodeError)
			ok := errors.As(err, &found) && found.StatusCode == 200 && string(found.Body) == "{}" && found.Header.Get("X-Request-Id") == "r-1"
			return found.Call, ok
		}},
	}
	for _, test := range tests {
		t.Run(test.name+" of a send", func(t *testing.T) {
			call, ok := test.as(scripted.FailureOf(t, scripted.SendBroadcast, test.play))
			require.True(t, ok)
			assertCall(t, call, "send email broadcast", http.MethodPost, "/v1/broadcast/send/email")
		})
		t.Run(test.name+" of Do", func(t *testing.T) {
			call, ok := test.as(scripted.FailureOf(t, read, test.play))
			require.True(t, ok)
			assertCall(t, call, "list tags", http.MethodGet, "/v1/tags")
		})
		t.Run(test.name+" within a PageError", func(t *testing.T) {
			err := scripted.FailureOf(t, rangeFrom("c7"), test.play)
			var page *messaging.PageError
			require.ErrorAs(t, err, &page)
			assert.Equal(t, "c7", page.Cursor)
			call, ok := test.as(err)
			require.True(t, ok)
			assertCall(t, call, "list customers", http.MethodGet, "/v1/customers")
		})
	}
}

// rangeFrom walks over customers from the given cursor on.
func rangeFrom(cursor string) scripted.Call {
	return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := messaging.Collect(client.Customers.All(ctx, messaging.CustomerListParams{Cursor: cursor}, opts...))
		return err
	}
}

func assertCall(t *testing.T, call messaging.Call, op, method, path string) {
	t.Helper()
	assert.Equal(t, op, call.Operation)
	assert.Equal(t, method, call.Method)
	assert.Equal(t, path, call.Path)
	assert.Equal(t, 1, call.Attempts)
}

func TestErrAttemptTimeoutIsATimeoutButNotTheDeadlineOfTheCaller(t *testing.T) {
	var network net.Error
	require.ErrorAs(t, messaging.ErrAttemptTimeout, &network)
	assert.True(t, network.Timeout())
	assert.NotErrorIs(t, messaging.ErrAttemptTimeout, context.DeadlineExceeded)
	synctest.Test(t, func(t *testing.T) {
		err := scripted.FailureOf(t, scripted.SendBroadcast, scripted.Connects(scripted.Hangs))
		require.ErrorAs(t, err, &network)
		assert.True(t, network.Timeout())
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestErrorsOfUnreadableResponsesQuoteNoKey(t *testing.T) {
	for body, want := range map[string]messaging.Delivery{
		`{"success":true,"data":{"at":"` + scripted.SecretKey + `"}}`: messaging.DeliveryAccepted,
		`{"success":true,"` + scripted.SecretKey + `":{not JSON}}`:    messaging.DeliveryUnknown,
	} {
		err := scripted.FailureOf(t, scripted.Do(messaging.Request{Method: http.MethodPost, Path: "/v1/tags",
			Into: new(struct{ At time.Time })}), scripted.Responds(200, body))
		assert.NotContains(t, err.Error(), scripted.SecretKey)
		assert.Equal(t, want, messaging.DeliveryOf(err), body)
	}
}

func TestErrorsOfIntoQuoteNoValue(t *testing.T) {
	const prefix, suffix = "GET request: invalid response (200): data does not fit into ", "; nothing was changed"
	tests := []struct {
		name, data string
		into       any
		want       string
	}{
		{"a time", `{"born":"1815-12-10 at night"}`, new(struct{ Born time.Time }), "struct { Born time.Time }"},
		{"a number that is too large", `{"Caller":{"Phone":447700900123}}`, new(struct{ Caller struct{ Phone int8 } }),
			"struct { Caller struct { Phone int8 } }"},
		{"a value of another type", `7`, new(string), "string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := scripted.FailureOf(t, scripted.Do(messaging.Request{Method: http.MethodGet, Path: "/v1/tags/1", Into: test.into}),
				scripted.Responds(200, `{"success":true,"data":`+test.data+`}`))
			assert.EqualError(t, err, prefix+test.want+suffix)
		})
	}
	t.Run("a number in a string", func(t *testing.T) { // whose error has another type since Go 1.27
		var into struct {
			N int `json:",string"`
		}
		err := scripted.FailureOf(t, scripted.Do(messaging.Request{Method: http.MethodGet, Path: "/v1/tags/1", Into: &into}),
			scripted.Responds(200, `{"success":true,"data":{"n":"ada@example.com"}}`))
		require.ErrorContains(t, err, prefix)
		assert.NotContains(t, err.Error(), "ada@")
	})
}

func TestErrorsOfIntoLeaveItUnchanged(t *testing.T) {
	type tag struct {
		Name string
		Uses int
	}
	into := tag{Name: "before"}
	err := scripted.FailureOf(t, scripted.Do(messaging.Request{Method: http.MethodGet, Path: "/v1/tags/1", Into: &into}),
		scripted.Responds(200, `{"success":true,"data":{"name":"after","uses":"many"}}`))
	require.ErrorAs(t, err, new(*messaging.DecodeError))
	assert.Equal(t, tag{Name: "before"}, into)
}

// overContext is done, with an error of a type that cannot be compared.
type overContext struct{ context.Context }

type overError []string

func (overError) Error() string { return "over" }

func (overContext) Err() error { return overError{} }

func TestErrorsOfAnOddContextAreToldWithoutAPanic(t *testing.T) {
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
	err := scripted.TriggerEvent(overContext{t.Context()}, client)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
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
	tag := messaging.Request{Operation: "delete tag", Method: "DELETE", Path: "/v1/tags/ada@example.com"}
	err := scripted.FailureOf(t, scripted.Do(tag), scripted.Responds(403, ""))
	assert.EqualError(t, err, "delete tag: DELETE: 403 Forbidden; check what the API key may do; the request was refused")
	tag.Operation = ""
	err = scripted.FailureOf(t, scripted.Do(tag), scripted.Responds(403, ""))
	assert.EqualError(t, err, "DELETE request: 403 Forbidden; check what the API key may do; the request was refused")
}

func TestErrorTextSeparatesProblemsBySemicolons(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"fields", `{"errors":{"a":["is required"],"b":["is too long"]}}`, ": a is required; b is too long; "},
		{"fields with a semicolon", `{"errors":{"a":["is required; see b"],"b":["is too long"]}}`, ": a is required; see b; b is too long; "},
		{"messages", `{"errors":["one","two"]}`, ": one; two; "},
		{"messages with a semicolon", `{"errors":["one; half","two"]}`, ": one; half; two; "},
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
				err := &messaging.ValidationError{Operation: "trigger event"}
				for range fields {
					err.Fields = append(err.Fields, messaging.FieldProblem{Field: strings.Repeat("x", length), Messages: []string{"is required"}})
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
