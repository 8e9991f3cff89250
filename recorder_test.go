package messaging_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// recorder is a transport that gives one response to every request, and writes down each
// request as the text of a golden file.
type recorder struct {
	response string
	requests []string
}

// dial returns a client whose requests are recorded.
func (r *recorder) dial(tb testing.TB, base string, opts ...messaging.Option) *messaging.Client {
	tb.Helper()
	client, err := messaging.NewClient(base, "wire-key", append(opts, messaging.WithHTTPClient(&http.Client{Transport: r}))...)
	require.NoError(tb, err)
	return client
}

// RoundTrip records what net/http writes to a connection.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var written bytes.Buffer
	if err := req.Write(&written); err != nil {
		return nil, err
	}
	received, err := http.ReadRequest(bufio.NewReader(&written))
	if err != nil {
		return nil, err
	}
	text, err := goldenText(received)
	r.requests = append(r.requests, text)
	if err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(strings.NewReader(r.response)), req)
}

// recorded returns the requests since the last call of it.
func (r *recorder) recorded() []string {
	requests := r.requests
	r.requests = nil
	return requests
}

// goldenText writes a request the way a golden file holds it: without what net/http
// adds by itself, and with a body that is easy to read.
func goldenText(r *http.Request) (string, error) {
	if len(r.TransferEncoding) > 0 {
		return "", errors.New("a request without a Content-Length")
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s HTTP/1.1\nHost: %s\n", r.Method, r.RequestURI, r.Host)
	header := r.Header.Clone()
	header.Set("User-Agent", strings.Replace(header.Get("User-Agent"), messaging.Version, "{version}", 1))
	if err := header.WriteSubset(&text, map[string]bool{"Accept-Encoding": true, "Content-Length": true}); err != nil {
		return "", err
	}
	text.WriteString("\n")
	body, err := io.ReadAll(r.Body)
	if len(body) == 0 || err != nil {
		return strings.ReplaceAll(text.String(), "\r\n", "\n"), err
	}
	err = json.Indent(&text, body, "", "  ")
	return strings.ReplaceAll(text.String(), "\r\n", "\n") + "\n", err
}
