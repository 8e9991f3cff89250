package peers_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

const rows, perPage = 250, 100

// request is a request that the server received.
type request struct{ method, path, contentType, body string }

// record holds the requests that a server received.
type record struct {
	mu   sync.Mutex
	seen []request
}

func (r *record) add(seen request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, seen)
}

// take returns the requests with the given method, and clears the record.
func (r *record) take(method string) []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := slices.DeleteFunc(r.seen, func(seen request) bool { return seen.method != method })
	r.seen = nil
	return taken
}

// serve starts the service of a peer and records every request.
func serve(t *testing.T, peer peers.Peer) (base string, seen *record) {
	t.Helper()
	handler := canned.List(peer.Service, rows)
	seen = new(record)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.add(request{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), string(body)})
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

func everyone() []peers.Peer { return append(peers.All(), peers.Messaging) }

func TestPeersWalkEveryRow(t *testing.T) {
	for _, peer := range everyone() {
		t.Run(peer.Name, func(t *testing.T) {
			base, _ := serve(t, peer)
			client, err := peer.New(base)
			require.NoError(t, err)

			walked, err := client.Walk(t.Context(), perPage)

			require.NoError(t, err)
			assert.Equal(t, rows, walked)
		})
	}
}

func TestFloorFetchesTheSamePagesAsItsPeer(t *testing.T) {
	for _, peer := range everyone() {
		t.Run(peer.Name, func(t *testing.T) {
			base, seen := serve(t, peer)
			client, err := peer.New(base)
			require.NoError(t, err)

			walked, err := peers.NewFloor(peer, base, rows).Walk(t.Context(), perPage)
			require.NoError(t, err)
			assert.Equal(t, rows, walked)
			floor := pages(seen)
			_, err = client.Walk(t.Context(), perPage)
			require.NoError(t, err)

			assert.Len(t, floor, 3)
			assert.Equal(t, floor, pages(seen))
		})
	}
}

// pages returns the queries of the requested pages. The queries determine the
// bytes of the responses.
func pages(seen *record) (requested []url.Values) {
	for _, r := range seen.take(http.MethodGet) {
		_, query, isPage := strings.Cut(r.path, "?")
		values, _ := url.ParseQuery(query)
		if values.Get("page") == "1" { // optional for the first page
			values.Del("page")
		}
		if isPage {
			requested = append(requested, values)
		}
	}
	return requested
}

func TestFloorSendsTheSameCallAsItsPeer(t *testing.T) {
	for _, peer := range everyone() {
		t.Run(peer.Name, func(t *testing.T) {
			base, seen := serve(t, peer)
			client, err := peer.New(base)
			require.NoError(t, err)

			require.NoError(t, client.Call(t.Context()))
			sent := posts(seen)
			require.NoError(t, peers.NewFloor(peer, base, rows).Call(t.Context()))

			require.Len(t, sent, 1)
			assert.Equal(t, sent, posts(seen))
		})
	}
}

func posts(seen *record) []request { return seen.take(http.MethodPost) }

func TestByHandSendsTheSameRequestsAsTheSDK(t *testing.T) {
	base, seen := serve(t, peers.Messaging)
	sdk, err := peers.NewMessaging(base)
	require.NoError(t, err)
	for name, byHand := range map[string]*peers.ByHand{
		"common":  peers.NewByHand(base),
		"leanest": peers.NewLeanByHand(base),
	} {
		t.Run(name, func(t *testing.T) {
			walked, err := byHand.Walk(t.Context(), perPage)
			require.NoError(t, err)
			assert.Equal(t, rows, walked)
			byHandPages := pages(seen)
			_, err = sdk.Walk(t.Context(), perPage)
			require.NoError(t, err)
			assert.Equal(t, byHandPages, pages(seen))

			require.NoError(t, byHand.Call(t.Context()))
			byHandCall := posts(seen)
			require.NoError(t, sdk.Call(t.Context()))
			sdkCall := posts(seen)
			assert.JSONEq(t, byHandCall[0].body, sdkCall[0].body)
			assert.Equal(t, byHandCall[0].path, sdkCall[0].path)
		})
	}
}

func TestPeersHavePagesOfAboutTheSameSize(t *testing.T) {
	for _, peer := range everyone() {
		t.Run(peer.Name, func(t *testing.T) {
			page := canned.Whole(peer.Service.Format, perPage)

			assert.InEpsilon(t, 30_500, len(page), 0.1)
		})
	}
}
