package peers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// Floor is the lower bound for the cost of a client. It fetches the same bytes as
// the peer and discards them.
type Floor struct {
	client *http.Client
	peer   Peer
	base   string
	rows   int
}

// NewFloor returns the floor of peer for a list of the given length.
func NewFloor(peer Peer, base string, rows int) *Floor {
	return &Floor{client: newHTTPClient(), peer: peer, base: base, rows: rows}
}

// newHTTPClient returns an HTTP client with the default settings and its own
// connections.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
}

// Walk fetches every page.
func (f *Floor) Walk(ctx context.Context, perPage int) (rows int, err error) {
	for page := (canned.Page{PerPage: perPage, Total: f.rows}); page.Exists(); page = page.Next() {
		if err := f.exchange(ctx, http.MethodGet, f.peer.Service.Format.Path(page), "", nil); err != nil {
			return rows, err
		}
		rows += page.Rows()
	}
	return rows, nil
}

// Call sends the same request as the peer.
func (f *Floor) Call(ctx context.Context) error {
	sends := f.peer.Sends
	return f.exchange(ctx, http.MethodPost, sends.Path, sends.ContentType, strings.NewReader(sends.Body))
}

func (f *Floor) exchange(ctx context.Context, method, path, contentType string, body io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, method, f.base+path, body)
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
