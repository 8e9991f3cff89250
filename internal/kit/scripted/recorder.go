package scripted

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// Recorder is a server that gives one response to every request, and writes down each
// request as the text of a golden file.
type Recorder struct {
	*httptest.Server
	response *http.Response
	body     []byte

	mu       sync.Mutex
	requests []string
}

// NewRecorder starts a server that gives the response with the given text.
func NewRecorder(tb testing.TB, text string) *Recorder {
	tb.Helper()
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	require.NoError(tb, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(tb, err)
	recorder := &Recorder{response: response, body: body}
	recorder.Server = httptest.NewTLSServer(recorder)
	tb.Cleanup(recorder.Close)
	return recorder
}

// Dial returns a client that reaches the server by any name below example.com.
func (r *Recorder) Dial(tb testing.TB, base string, opts ...messaging.Option) *messaging.Client {
	tb.Helper()
	client, err := messaging.NewClient(base, "wire-key", append(opts, messaging.WithHTTPClient(r.Client()))...)
	require.NoError(tb, err)
	return client
}

// ServeHTTP records the request.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	request, err := goldenText(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.mu.Lock()
	r.requests = append(r.requests, request)
	r.mu.Unlock()
	maps.Copy(w.Header(), r.response.Header)
	w.Header()["Date"] = nil // or the server adds its own
	w.WriteHeader(r.response.StatusCode)
	_ = http.NewResponseController(w).Flush() // or the server adds a Content-Length
	_, _ = w.Write(r.body)
}

// Recorded returns the requests since the last call of it.
func (r *Recorder) Recorded() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
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
