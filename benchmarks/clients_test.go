package benchmarks

import (
	"context"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// client walks the list of its service, as its documentation recommends, and makes one
// small call.
type client interface {
	walk(ctx context.Context, perPage int) (rows int, err error)
	call(ctx context.Context) error
}

// contender is a kind of client, and its service with one list and one small call. A row of the list and the response to the
// call are in testdata.
type contender struct {
	name   string
	status int // of the response to a POST
	// frame returns the JSON around the rows of a page, and sets the headers that the
	// service uses for pagination.
	frame   func(page, http.Header) (head, tail string)
	connect func(base string) (client, error)
}

// everyone is the SDK and its peers.
var everyone = append([]contender{sdkContender}, peers...)

// count ranges over all rows.
func count[T any](all iter.Seq2[T, error]) (rows int, err error) {
	for _, err := range all {
		if err != nil {
			return rows, err
		}
		rows++
	}
	return rows, nil
}

// floor fetches the same pages as a client and discards them, and posts about as much.
type floor struct {
	http *http.Client
	base string
}

// newHTTPClient returns a client with the default settings and its own connections.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
}

func (f floor) walk(ctx context.Context, perPage int) (rows int, err error) {
	path := "/?per_page=" + strconv.Itoa(perPage)
	for query := ""; rows < listLength; query = "&cursor=" + numberOf(rows-1) {
		if err := f.exchange(ctx, http.MethodGet, path+query, nil); err != nil {
			return rows, err
		}
		rows += perPage
	}
	return rows, nil
}

func (f floor) call(ctx context.Context) error {
	body := `{"title":"Orders","description":"Everything about the orders of the last quarter"}`
	return f.exchange(ctx, http.MethodPost, "/", strings.NewReader(body))
}

func (f floor) exchange(ctx context.Context, method, path string, body io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, method, f.base+path, body)
	if err != nil {
		return err
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func TestClientsWalkEveryRowAndMakeTheirCall(t *testing.T) {
	for _, c := range everyone {
		t.Run(c.name, func(t *testing.T) {
			client, err := c.connect(server.Services[c.name])
			require.NoError(t, err)

			rows, err := client.walk(t.Context(), 100)

			require.NoError(t, err)
			assert.Equal(t, listLength, rows)
			assert.NoError(t, client.call(t.Context()))
		})
	}
}

func TestPagesOfAllServicesHaveAboutTheSameSize(t *testing.T) {
	for _, c := range everyone {
		body := newBook(c, 100, 0).write(page{perPage: 100, total: 100}, http.Header{})

		assert.InEpsilon(t, 30_500, len(body), 0.1, c.name)
	}
}
