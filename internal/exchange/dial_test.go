package exchange_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/exchange"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// lookingUp returns a dialer that makes an HTTP request with the context of each dial
// before it calls dial, as one does that asks a registry for the address.
func lookingUp(t *testing.T, dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	registry := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(registry.Close)
	lookup := registry.Client()
	return &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, registry.URL, http.NoBody)
		if err != nil {
			return nil, err
		}
		resp, err := lookup.Do(req)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return dial(ctx, network, address)
	}}
}

func refuse(context.Context, string, string) (net.Conn, error) { return nil, scripted.ErrRefused }

func TestDialerThatLooksUpOverHTTPHidesNoRefusedConnection(t *testing.T) {
	overTLS := func(t *testing.T) *http.Transport {
		transport := lookingUp(t, refuse)
		transport.DialTLSContext, transport.DialContext = transport.DialContext, nil
		return transport
	}
	for name, test := range map[string]struct {
		url  string
		like func(*testing.T) *http.Transport
	}{
		"DialContext":    {"http://127.0.0.1:1", func(t *testing.T) *http.Transport { return lookingUp(t, refuse) }},
		"DialTLSContext": {"https://127.0.0.1:1", overTLS},
	} {
		t.Run(name, func(t *testing.T) {
			client := scripted.NewClientOnOwnTransport(t, test.url, test.like(t), scripted.WithQuickRetries())
			err := scripted.TriggerEvent(t.Context(), client)
			var failed *messaging.TransportError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.Equal(t, 3, failed.Attempts)
		})
	}
}

// What is hidden from the dialer must not be hidden from the transport.
func TestDialerThatLooksUpOverHTTPHidesNoConnection(t *testing.T) {
	for name, script := range map[string]faultserver.Script{
		"carried out, and reset":     {faultserver.ReadRequest, faultserver.Act, faultserver.Reset},
		"carried out, and closed":    {faultserver.ReadRequest, faultserver.Act, faultserver.Close},
		"reset before it was read":   {faultserver.Reset},
		"reset within the body":      {faultserver.ReadHead, faultserver.ReadBytes(1), faultserver.Reset},
		"answered in other protocol": {faultserver.ReadRequest, faultserver.Act, faultserver.Write("SSH-2.0-OpenSSH_9.6\r\n\r\n")},
	} {
		t.Run(name, func(t *testing.T) {
			server := faultserver.Start(t, script)
			transport := lookingUp(t, new(net.Dialer).DialContext)
			client := scripted.NewClientOnOwnTransport(t, server.URL(), transport, scripted.WithQuickRetries())
			err := scripted.TriggerEvent(t.Context(), client)
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			assert.LessOrEqual(t, server.Acted(), 1)
		})
	}
}

func TestDialerSeesTheTraceOfTheCaller(t *testing.T) {
	type valueKey struct{}
	server := newActingServer(t)
	var inDial, dialed *httptrace.ClientTrace
	var got atomic.Int32
	transport := lookingUp(t, func(ctx context.Context, network, address string) (net.Conn, error) {
		inDial = httptrace.ContextClientTrace(ctx)
		assert.Equal(t, "value", ctx.Value(valueKey{}))
		return new(net.Dialer).DialContext(ctx, network, address)
	})
	client := scripted.NewClientOnOwnTransport(t, server.URL(), transport)
	ctx := context.WithValue(t.Context(), valueKey{}, "value")
	require.NoError(t, scripted.TriggerEvent(ctx, client))
	assert.Nil(t, inDial, "there is none")

	connected := false
	dialed = &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { got.Add(1) },
		ConnectDone: func(string, string, error) { connected = true }}
	client = scripted.NewClientOnOwnTransport(t, server.URL(), transport)
	require.NoError(t, scripted.TriggerEvent(httptrace.WithClientTrace(ctx, dialed), client))
	assert.Same(t, dialed, inDial)
	assert.EqualValues(t, 2, got.Load(), "that of the lookup, and that of the call")
	assert.True(t, connected, "package net reports to it too")
}

// Outside of a call, as for a transport that somebody else uses, nothing is hidden.
func TestDialerOfAnotherRequestSeesItsTrace(t *testing.T) {
	trace := new(httptrace.ClientTrace)
	var seen *httptrace.ClientTrace
	dial := exchange.HideTrace(func(ctx context.Context, _, _ string) (net.Conn, error) {
		seen = httptrace.ContextClientTrace(ctx)
		return nil, scripted.ErrRefused
	})
	_, err := dial(httptrace.WithClientTrace(t.Context(), trace), "tcp", "127.0.0.1:1")
	require.ErrorIs(t, err, scripted.ErrRefused)
	assert.Same(t, trace, seen)
	assert.Nil(t, exchange.HideTrace(nil))
}
