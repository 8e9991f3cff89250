package scripted

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Repeats says what it was sent, as it came, in place of an answer.
func Repeats(write func(io.Writer, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var repeated strings.Builder
		write(&repeated, r)
		Says(repeated.String())(w, r)
	}
}

// FaultServer treats every request alike, after it has read it to its end.
type FaultServer struct {
	*httptest.Server
	Received atomic.Int32
}

func NewFaultServer(t *testing.T, start func(*httptest.Server), fault http.HandlerFunc) *FaultServer {
	t.Helper()
	server := new(FaultServer)
	server.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		server.Received.Add(1)
		fault(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(server.Server)
	t.Cleanup(server.Close)
	return server
}

// Says takes the connection over, writes to it as it stands, and closes it.
func Says(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, raw)
		_ = conn.Close()
	}
}
