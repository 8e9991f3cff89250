package messaging_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// protocolServer speaks HTTP/1.1 and HTTP/2 over TLS, and keeps the protocol of
// every request. After each so many answers it retires a connection.
type protocolServer struct {
	*httptest.Server
	retireAfter int64
	answers     atomic.Int64

	mu        sync.Mutex
	protocols []string
}

func newProtocolServer(t *testing.T) *protocolServer {
	t.Helper()
	s := new(protocolServer)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *protocolServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.protocols = append(s.protocols, r.Proto)
	s.mu.Unlock()
	if s.retireAfter > 0 && s.answers.Add(1)%s.retireAfter == 0 {
		w.Header().Set("Connection", "close") // over HTTP/2, this sends GOAWAY
	}
	_, _ = io.WriteString(w, scripted.Success)
}

func (s *protocolServer) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.protocols
	s.protocols = nil
	return taken
}

// trusting returns the transport of NewTransport, as one that trusts the server.
func (s *protocolServer) trusting(t *testing.T) *http.Transport {
	t.Helper()
	transport := messaging.NewTransport()
	transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	transport.TLSClientConfig.NextProtos = nil
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func TestTransportOfTheClientUsesHTTP1Only(t *testing.T) {
	server := newProtocolServer(t)
	usual := server.Client().Transport.(*http.Transport) // which speaks HTTP/2
	resp, err := (&http.Client{Transport: usual}).Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, []string{"HTTP/2.0"}, server.take())

	client := scripted.NewClientOnOwnTransport(t, server.URL, usual)
	require.NoError(t, scripted.TriggerEvent(t.Context(), client))
	assert.Equal(t, []string{"HTTP/1.1"}, server.take())
}

func TestOwnTransportTakesNoProxyForALoopbackAddressInClearText(t *testing.T) {
	server := faultserver.Start(t, faultserver.EachRequest(faultserver.Act, faultserver.Respond(http.StatusOK, scripted.Success)))
	proxied := 0
	like := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		proxied++
		return nil, errors.New("this would send the key in clear text")
	}}
	t.Cleanup(like.CloseIdleConnections)
	for _, scheme := range []string{"http", "HTTP", "Http"} {
		baseURL := scheme + strings.TrimPrefix(server.URL(), "http")
		require.NoError(t, scripted.TriggerEvent(t.Context(), scripted.NewClientOnOwnTransport(t, baseURL, like)))
		assert.Zero(t, proxied, baseURL)
	}
	require.Error(t, scripted.TriggerEvent(t.Context(), scripted.NewClientOnOwnTransport(t, server.URL(), like,
		messaging.WithInsecureHTTP())), "which allows it")
	assert.Positive(t, proxied)
}

func TestNewTransportUsesHTTP1UnlessHTTP2IsAllowed(t *testing.T) {
	server := newProtocolServer(t)
	transport := server.trusting(t)
	require.NoError(t, scripted.TriggerEvent(t.Context(), scripted.NewClientOver(t, server.URL, &http.Client{Transport: transport})))
	assert.Equal(t, []string{"HTTP/1.1"}, server.take())

	transport = server.trusting(t)
	transport.Protocols.SetHTTP2(true)
	require.NoError(t, scripted.TriggerEvent(t.Context(), scripted.NewClientOver(t, server.URL, &http.Client{Transport: transport})))
	assert.Equal(t, []string{"HTTP/2.0"}, server.take())
	assert.Positive(t, transport.HTTP2.SendPingTimeout)
	assert.Positive(t, transport.HTTP2.PingTimeout)
}

func TestNewTransportIsACopyOfTheDefaultOne(t *testing.T) {
	transport := messaging.NewTransport()
	assert.NotSame(t, http.DefaultTransport, transport)
	assert.NotNil(t, transport.Proxy)
	assert.Zero(t, transport.MaxIdleConns)
	assert.Equal(t, 256, transport.MaxIdleConnsPerHost)
	assert.Equal(t, 4*time.Second, transport.IdleConnTimeout)
	assert.EqualValues(t, 1<<20, transport.MaxResponseHeaderBytes)
	assert.Nil(t, transport.TLSNextProto)
	assert.NotEqual(t, http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost, transport.MaxIdleConnsPerHost)
}

func TestNewTransportWorksIfTheDefaultOneIsReplaced(t *testing.T) {
	replaceDefaultTransport(t, scripted.RoundTripper(func(*http.Request) (*http.Response, error) { panic("not used") }))
	server := newProtocolServer(t)
	require.NoError(t, scripted.TriggerEvent(t.Context(), scripted.NewClientOver(t, server.URL, &http.Client{Transport: server.trusting(t)})))
	assert.NotNil(t, messaging.NewTransport().Proxy)
}

func replaceDefaultTransport(t *testing.T, by http.RoundTripper) {
	usual := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = usual })
	http.DefaultTransport = by
}

func TestTransportThatReplacesTheDefaultOneIsUsedUnchanged(t *testing.T) {
	var got []string
	replaceDefaultTransport(t, scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
		got = append(got, req.URL.Path)
		return scripted.Responds(200, scripted.Success)(req)
	}))
	for name, opts := range map[string][]messaging.Option{
		"without options":                     nil,
		"with an http.Client of no transport": {messaging.WithHTTPClient(&http.Client{Timeout: time.Minute})},
	} {
		t.Run(name, func(t *testing.T) {
			got = nil
			client, err := messaging.NewClient("https://api.example.com", scripted.SecretKey, opts...)
			require.NoError(t, err)
			require.NoError(t, scripted.TriggerEvent(t.Context(), client))
			assert.Equal(t, []string{"/v1/events/trigger"}, got)
		})
	}
	t.Run("and its errors are those of a given transport", func(t *testing.T) {
		replaceDefaultTransport(t, scripted.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, scripted.ErrDialTimeout }))
		client, err := messaging.NewClient("https://api.example.com", scripted.SecretKey, scripted.WithQuickRetries())
		require.NoError(t, err)
		assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(scripted.TriggerEvent(t.Context(), client)))
		assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(scripted.ReadCustomers(t.Context(), client)))
	})
}

// Over HTTP/2, the calls that share a silent connection would all be unknown.
func TestTransportOfTheClientLosesOneCallToASilentConnection(t *testing.T) {
	const callers, callsEach = 10, 13
	silent := make(chan struct{})
	server := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest, faultserver.Act,
		func(*faultserver.Connection) error { close(silent); return nil }, faultserver.Hang},
		faultserver.EachRequest(faultserver.Act, faultserver.Respond(http.StatusOK, scripted.Success)))
	client, err := messaging.NewClient(server.URL(), scripted.SecretKey)
	require.NoError(t, err)
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	lost := make(chan error, 1)
	go func() { lost <- scripted.TriggerEvent(ctx, client) }()
	<-silent
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for range callsEach {
				assert.NoError(t, scripted.TriggerEvent(t.Context(), client))
			}
		})
	}
	running.Wait()
	giveUp()
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(<-lost))
	assert.Equal(t, 1+callers*callsEach, server.Acted())
}

func TestTransportReadsSurviveConnectionsThatTheServerCloses(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			server := newProtocolServer(t)
			server.retireAfter = 32 // more than are in flight, so that no request meets one retired connection after the other
			transport := server.trusting(t)
			transport.Protocols.SetHTTP2(protocol == "HTTP/2.0")
			client := scripted.NewClientOver(t, server.URL, &http.Client{Transport: transport}, scripted.WithQuickRetries())
			var running sync.WaitGroup
			for range 16 {
				running.Go(func() {
					for range 50 {
						assert.NoError(t, scripted.ReadCustomers(t.Context(), client))
					}
				})
			}
			running.Wait()
			assert.Equal(t, []string{protocol}, slices.Compact(server.take()))
		})
	}
}

// A transport that gets a token for each request does so with the context of the
// request, and so under its trace.
func TestLoopGuardIgnoresRequestsOfTheTransport(t *testing.T) {
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, "token")
	}))
	defer tokens.Close()
	server := faultserver.Start(t, faultserver.EachRequest(faultserver.Act, faultserver.Respond(http.StatusOK, scripted.Success)))
	client := scripted.NewClientOver(t, server.URL(),
		&http.Client{Transport: scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
			for range 5 {
				token, err := http.NewRequestWithContext(req.Context(), http.MethodPost, tokens.URL, strings.NewReader("grant"))
				if err != nil {
					return nil, err
				}
				resp, err := tokens.Client().Do(token)
				if err != nil {
					return nil, fmt.Errorf("token: %w", err)
				}
				_ = resp.Body.Close()
			}
			return server.Client().Transport.RoundTrip(req)
		})}, scripted.WithQuickRetries())
	require.NoError(t, scripted.ReadCustomers(t.Context(), client))
	require.NoError(t, scripted.TriggerEvent(t.Context(), client))
}

func TestTransportDialTimeoutIsNotTheDeadlineOfTheCaller(t *testing.T) {
	for name, newClient := range map[string]func(*testing.T, *http.Transport) *messaging.Client{
		"the client's own transport": func(t *testing.T, transport *http.Transport) *messaging.Client {
			return scripted.NewClientOnOwnTransport(t, "https://api.example.com", transport, scripted.WithQuickRetries())
		},
		"a given transport": func(t *testing.T, transport *http.Transport) *messaging.Client {
			return scripted.NewClientOver(t, "https://api.example.com", &http.Client{Transport: transport}, scripted.WithQuickRetries())
		},
	} {
		t.Run(name, func(t *testing.T) {
			transport := new(http.Transport)
			transport.DialContext = dialTimesOut
			err := scripted.TriggerEvent(t.Context(), newClient(t, transport))
			require.Error(t, err)
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, messaging.ErrAttemptTimeout)
			assert.ErrorContains(t, err, "i/o timeout")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.Equal(t, messaging.NextRetry, messaging.NextStepOf(err))
		})
	}
}

// dialTimesOut fails as a net.Dialer does whose Timeout is over.
func dialTimesOut(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Deadline: time.Unix(1, 0)}).DialContext(ctx, network, "127.0.0.1:1")
}
