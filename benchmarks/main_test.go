package benchmarks

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

var (
	limits = flag.Bool("limits", false, "run TestLimits, which needs an idle machine")
	server addresses
	dialed atomic.Int64 // by copies of http.DefaultTransport
)

func TestMain(m *testing.M) {
	if os.Getenv(serving) != "" {
		exit(serve())
	}
	flag.Parse()
	transport := http.DefaultTransport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed.Add(1)
		return dial(ctx, network, address)
	}
	var stop func()
	var err error
	if server, stop, err = startServer(); err != nil {
		exit(err)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// connect returns every client, each with its own connections, and for each service its floor.
func connect(tb testing.TB) map[string]client {
	tb.Helper()
	clients := make(map[string]client)
	for _, c := range everyone {
		base := server.Services[c.name]
		client, err := c.connect(base)
		require.NoError(tb, err)
		clients[c.name], clients[c.name+"-floor"] = client, floor{newHTTPClient(), base}
	}
	base := server.Services["messaging"]
	given, err := newSDK(base, messaging.WithHTTPClient(&http.Client{Transport: messaging.NewTransport()}))
	require.NoError(tb, err)
	clients["messaging-Pages"] = paged{clients["messaging"].(sdk)}
	clients["messaging-WithHTTPClient"] = given
	clients["by-hand"] = newByHand(base)
	clients["leanest"] = newLeanest(newHTTPClient().Transport, base)
	return clients
}
