package canned_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

type page struct {
	Success bool
	Data    struct {
		Data []struct {
			CustomerID string `json:"customer_id"`
			Email      string
		}
		Meta struct {
			HasNextPage    bool    `json:"has_next_page"`
			NextPageCursor *string `json:"next_page_cursor"`
			PerPage        int     `json:"per_page"`
		}
	}
}

func get(t *testing.T, client *http.Client, url string) (*http.Response, []byte) {
	t.Helper()
	resp, err := client.Get(url)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, body
}

func TestListHasTheRequestedNumberOfCustomers(t *testing.T) {
	server := httptest.NewServer(canned.Adjustable(canned.Messaging, time.Sleep))
	defer server.Close()
	base := canned.Adjusted(server.URL, 2345, 0)
	seen := make(map[string]bool)
	cursor, pages := "", 0
	for more := true; more; pages++ {
		resp, body := get(t, server.Client(), base+"/v1/customers?per_page=100"+cursor)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		assert.EqualValues(t, len(body), resp.ContentLength)
		var p page
		require.NoError(t, json.Unmarshal(body, &p))
		require.True(t, p.Success)
		assert.Equal(t, 100, p.Data.Meta.PerPage)
		for _, customer := range p.Data.Data {
			seen[customer.CustomerID] = true
		}
		if more = p.Data.Meta.HasNextPage; more {
			cursor = "&cursor=" + *p.Data.Meta.NextPageCursor
		} else {
			assert.Nil(t, p.Data.Meta.NextPageCursor)
		}
	}

	assert.Equal(t, 24, pages)
	assert.Len(t, seen, 2345)
}

func TestAdjustableReadsLengthAndDelayFromThePath(t *testing.T) {
	var slept []time.Duration
	handler := canned.Adjustable(canned.Messaging, func(d time.Duration) { slept = append(slept, d) })
	cases := []struct {
		path   string
		status int
		slept  []time.Duration
	}{
		{canned.Adjusted("", 1, 20*time.Millisecond) + "/v1/customers", http.StatusOK, []time.Duration{20 * time.Millisecond}},
		{canned.Adjusted("", 1, 0) + "/v1/customers", http.StatusOK, nil},
		{canned.Adjusted("", 1, 0) + "/v1/customers?cursor=nonsense", http.StatusBadRequest, nil},
		{"/many/slow/v1/customers", http.StatusNotFound, nil},
	}
	for _, c := range cases {
		t.Run(c.path, func(t *testing.T) {
			slept = nil
			response := httptest.NewRecorder()

			handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, c.path, nil))

			assert.Equal(t, c.status, response.Code)
			assert.Equal(t, c.slept, slept)
		})
	}
}

func TestNewBookPanicsUnlessARowHasItsNumberOnce(t *testing.T) {
	for name, row := range map[string]string{"never": `{}`, "twice": canned.Number + canned.Number} {
		t.Run(name, func(t *testing.T) {
			assert.Panics(t, func() { canned.NewBook(canned.Format{Row: func(int) string { return row }}) })
		})
	}
}

func TestServeCountsConnectionsAndStopsWithItsInput(t *testing.T) {
	addresses, stop := serve(t)
	before, err := addresses.Connections(t.Context())
	require.NoError(t, err)
	trust, err := addresses.Trust()
	require.NoError(t, err)

	for range 3 {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
		for range 2 { // both requests use one connection
			resp, _ := get(t, client, canned.Adjusted(addresses.TLS, 1, 0)+"/v1/customers")
			assert.Equal(t, http.StatusOK, resp.StatusCode)
			assert.Equal(t, 1, resp.ProtoMajor)
		}
		client.CloseIdleConnections()
	}
	_, _ = get(t, http.DefaultClient, addresses.Lists["messaging"])
	after, err := addresses.Connections(t.Context())
	require.NoError(t, err)

	assert.Equal(t, 3, after-before, "connections to the lists and to Count are not counted")
	require.NoError(t, stop())
	_, err = addresses.Connections(t.Context())
	assert.Error(t, err)
}

// serve runs a server like the server process does. The function stop stops it.
func serve(t *testing.T) (addresses canned.Addresses, stop func() error) {
	t.Helper()
	in, closeIn := io.Pipe()
	out, outWriter := io.Pipe()
	stopped := make(chan error, 1)
	lists := map[string]http.Handler{"messaging": canned.List(canned.Messaging, 1)}
	go func() { stopped <- canned.Serve(canned.Messaging, lists, in, outWriter) }()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &addresses))
	http.DefaultClient.CloseIdleConnections()
	return addresses, func() error {
		_ = closeIn.Close()
		return <-stopped
	}
}
