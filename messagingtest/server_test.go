package messagingtest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

const pushPath = "/v1/broadcast/send/push-notification"

// toEveryone is the smallest broadcast.
var toEveryone = messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello, everyone.", To: messaging.AllCustomers()}

func TestServerIsClosedWhenItsTestEnds(t *testing.T) {
	var s *messagingtest.Server
	t.Run("test with a server", func(t *testing.T) {
		s = messagingtest.NewServer(t)
		assert.Equal(t, http.StatusOK, get(t, s, "/v1/events").StatusCode)
	})
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(pushToAll(t, s.Client())), "the server no longer listens")
}

// recordingTB is a testing.TB that records the calls of Fatal and Cleanup.
type recordingTB struct {
	testing.TB
	failedWith []any
	cleanups   int
}

func (tb *recordingTB) Helper()        {}
func (tb *recordingTB) Cleanup(func()) { tb.cleanups++ }
func (tb *recordingTB) Fatal(args ...any) {
	tb.failedWith = args
	runtime.Goexit()
}

func TestServerThatCannotStartFailsTheTest(t *testing.T) {
	tb := &recordingTB{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		messagingtest.NewServer(tb, messagingtest.WithIdentifier("phone_no"))
	}()
	<-done
	require.Len(t, tb.failedWith, 1)
	assert.ErrorContains(t, tb.failedWith[0].(error), "phone_no")
	assert.Zero(t, tb.cleanups)
}

func TestStartReportsEveryInvalidOption(t *testing.T) {
	tests := map[string]struct {
		opts []messagingtest.Option
		want string
	}{
		"an unknown identifier": {[]messagingtest.Option{messagingtest.WithIdentifier("phone_no")},
			`WithIdentifier: id must be "customer_id" or "email", not "phone_no"`},
		"an empty identifier": {[]messagingtest.Option{messagingtest.WithIdentifier("")},
			`WithIdentifier: id must be "customer_id" or "email", not ""`},
		"a nil option":   {[]messagingtest.Option{nil}, "option 1 is nil"},
		"a nil observer": {[]messagingtest.Option{messagingtest.WithObserver(nil)}, "WithObserver: observe must not be nil"},
		"a listener that is a nil pointer": {[]messagingtest.Option{messagingtest.WithListener((*net.TCPListener)(nil))},
			"WithListener: listener must not be nil"},
		"a nil listener":     {[]messagingtest.Option{messagingtest.WithListener(nil)}, "WithListener: listener must not be nil"},
		"a negative history": {[]messagingtest.Option{messagingtest.WithHistory(-1)}, "WithHistory: n must not be negative, and is -1"},
		"a negative number of records": {[]messagingtest.Option{messagingtest.WithMaxRecords(-1)},
			"WithMaxRecords: n must not be negative, and is -1"},
		"no key": {[]messagingtest.Option{messagingtest.WithAPIKey("")}, "WithAPIKey: key must be printable ASCII without white space"},
		"a key with a line break": {[]messagingtest.Option{messagingtest.WithAPIKey("a\nb")},
			"WithAPIKey: key must be printable ASCII without white space"},
		"several": {[]messagingtest.Option{messagingtest.WithHistory(-1), messagingtest.WithIdentifier(messagingtest.Email), nil,
			messagingtest.WithObserver(nil)},
			"WithHistory: n must not be negative, and is -1; option 3 is nil; WithObserver: observe must not be nil"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := messagingtest.Start(test.opts...)
			require.EqualError(t, err, "messagingtest: "+test.want)
			assert.Nil(t, s)
		})
	}
}

func TestServerCanBeClosedTwice(t *testing.T) {
	s, err := messagingtest.Start()
	require.NoError(t, err)
	s.Close()
	s.Close()
}

func TestServerKeepsItsRecordsAfterClose(t *testing.T) {
	s := messagingtest.NewServer(t)
	_, err := s.Client().Broadcasts.SendPush(t.Context(), toEveryone)
	require.NoError(t, err)
	s.Close()
	assert.Len(t, s.PushBroadcasts(), 1)
	assert.Len(t, s.Requests(), 1)
}

func TestServerAcceptsAClientWithItsURLAndKey(t *testing.T) {
	s := messagingtest.NewServer(t)
	client, err := messaging.NewClient(s.URL(), s.APIKey(), messaging.WithHTTPClient(http.DefaultClient))
	require.NoError(t, err)
	_, err = client.Broadcasts.SendPush(t.Context(), toEveryone)
	require.NoError(t, err)
}

func TestServerAcceptsOnlyItsOwnKey(t *testing.T) {
	var foreign []bool
	s := messagingtest.NewServer(t, messagingtest.WithAPIKey("another-key"), messagingtest.WithObserver(func(e *messagingtest.Exchange) {
		foreign = append(foreign, e.ForeignKey)
	}))
	require.Equal(t, "another-key", s.APIKey())
	_, err := s.Client().Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	client, err := messaging.NewClient(s.URL(), messagingtest.NewServer(t).APIKey())
	require.NoError(t, err)
	_, err = client.Events.List(t.Context(), messaging.EventListParams{})
	require.ErrorIs(t, err, messaging.ErrUnauthorized)
	require.Equal(t, []bool{false, true}, foreign)
}

func TestServersShareNoState(t *testing.T) {
	one, other := messagingtest.NewServer(t), messagingtest.NewServer(t)
	_, err := one.Client().Broadcasts.SendPush(t.Context(), toEveryone)
	require.NoError(t, err)
	assert.Len(t, one.PushBroadcasts(), 1)
	assert.Empty(t, other.PushBroadcasts())
	assert.Empty(t, other.Requests())
}

func TestServerHandlerWorksBehindAnotherServerAndAPrefix(t *testing.T) {
	s := messagingtest.NewServer(t)
	own := httptest.NewServer(http.StripPrefix("/sandbox", s.Handler()))
	defer own.Close()
	client, err := messaging.NewClient(own.URL+"/sandbox", s.APIKey(), messaging.WithHTTPClient(own.Client()))
	require.NoError(t, err)

	_, err = client.Broadcasts.SendPush(t.Context(), toEveryone)
	require.NoError(t, err)
	s.FailNext(1, messagingtest.AnswerLost())
	_, err = client.Broadcasts.SendPush(t.Context(), toEveryone)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Len(t, s.PushBroadcasts(), 2)
}

func TestServerClientPanicsOnAnInvalidOption(t *testing.T) {
	s := messagingtest.NewServer(t)
	assert.Panics(t, func() { s.Client(messaging.WithAttemptTimeout(-time.Second)) })
}

func TestServerClientOptionsOverrideTheDefaults(t *testing.T) {
	noKey := errors.New("no key")
	tests := map[string]struct {
		option   messaging.Option
		attempts int
		isErr    error
	}{
		"a retry policy": {messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}), 1, messaging.ErrServer},
		"an HTTP client": {messaging.WithHTTPClient(&http.Client{Transport: respondingWith(http.StatusForbidden)}), 0, messaging.ErrForbidden},
		"a key source":   {messaging.WithKeySource(func(context.Context) (string, error) { return "", noKey }), 0, noKey},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			s.FailNext(2, messagingtest.Status(http.StatusServiceUnavailable))
			_, err := s.Client(test.option).Events.List(t.Context(), messaging.EventListParams{})
			require.ErrorIs(t, err, test.isErr)
			assert.Len(t, s.Requests(), test.attempts)
		})
	}
}

// respondingWith is a transport that responds to every request with a status.
type respondingWith int

func (status respondingWith) RoundTrip(*http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(int(status))
	return recorder.Result(), nil
}

func TestServerClientRetriesWithoutAPause(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.FailNext(2, messagingtest.Status(http.StatusServiceUnavailable))
	var longest time.Duration
	hooks := messaging.Hooks{AttemptDone: func(_ context.Context, _ messaging.CallInfo, r messaging.AttemptResult) {
		longest = max(longest, r.Wait)
	}}
	page, err := s.Client(messaging.WithHooks(hooks)).Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	assert.Equal(t, 3, page.Response.Attempts)
	assert.Positive(t, longest)
	assert.LessOrEqual(t, longest, 10*time.Millisecond, "the default waits take at least half a second")
}

func TestServerListensOnTheGivenListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s, err := messagingtest.Start(messagingtest.WithListener(listener))
	require.NoError(t, err)
	assert.Equal(t, "http://"+listener.Addr().String(), s.URL())
	require.NoError(t, pushToAll(t, s.Client()))
	s.Close()
	_, err = listener.Accept()
	assert.ErrorIs(t, err, net.ErrClosed)

	unused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, err = messagingtest.Start(messagingtest.WithListener(unused), messagingtest.WithHistory(-1))
	require.Error(t, err)
	_, err = unused.Accept()
	assert.ErrorIs(t, err, net.ErrClosed, "it is closed if the server does not start")
}

func TestServerThatWasNotStartedPanicsWithAReason(t *testing.T) {
	failed, err := messagingtest.Start(nil)
	require.Error(t, err)
	for name, s := range map[string]*messagingtest.Server{"nil": nil, "zero": {}, "of a failed Start": failed} {
		for method, value := range methods(s) {
			arguments := make([]reflect.Value, 0, value.Type().NumIn())
			for i := range value.Type().NumIn() {
				if !value.Type().IsVariadic() || i < value.Type().NumIn()-1 {
					arguments = append(arguments, reflect.Zero(value.Type().In(i)))
				}
			}
			if method == "AddFaultRule" {
				arguments[0] = reflect.ValueOf(messagingtest.Rule{Fault: messagingtest.AnswerLost()})
			}
			assert.PanicsWithValue(t, "messagingtest: nil or zero Server: create it with NewServer or Start",
				func() { value.Call(arguments) }, "%s, %s", name, method)
		}
	}
}

func TestServerPrintsItsURL(t *testing.T) {
	s := messagingtest.NewServer(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
		assert.Equal(t, "messagingtest.Server("+s.URL()+")", fmt.Sprintf(verb, s))
	}
}

func TestServerIsNotStartedWithANilTest(t *testing.T) {
	for name, tb := range map[string]testing.TB{"nil": nil, "a nil pointer": (*testing.T)(nil)} {
		assert.PanicsWithValue(t, "messagingtest: NewServer: tb must not be nil; use Start outside of a test",
			func() { messagingtest.NewServer(tb) }, name)
	}
}
