package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
)

// TestMain runs the program itself in the processes that the tests below start.
func TestMain(m *testing.M) {
	if os.Getenv("EXPORT_RUN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const customers, pages = 78, 8 // of 10 customers each, the last of 8

func TestExportResumesAfterItWasKilled(t *testing.T) {
	for _, moment := range []moment{requestArrived, responseSent} {
		for n := 1; n <= pages; n++ {
			t.Run(fmt.Sprintf("when %s %d", moment, n), func(t *testing.T) {
				e := newExports(t)
				require.True(t, e.run(moment, n), "killed")
				first := len(e.service.Requests())
				require.False(t, e.run(moment, 0), "killed")
				requireComplete(t, e.out, customers)
				// The program that was killed had written page n-3 before it asked for
				// page n-1, and the checkpoint after that.
				if n > 3 {
					assert.NotEmpty(t, e.service.Requests()[first].Query.Get("cursor"), "starts over")
				}
			})
		}
	}
}

// moment is when a process is killed.
type moment bool

const (
	requestArrived moment = false
	responseSent   moment = true
)

func (m moment) String() string {
	if m == responseSent {
		return "it receives response"
	}
	return "it sends request"
}

// exports runs the program in processes of its own, always for the same file.
type exports struct {
	t       *testing.T
	service *messagingtest.Server
	url     string
	out     string
	moments chan event
}

// event is one moment of a request, which goes on when the channel is closed.
type event struct {
	moment moment
	goOn   chan struct{}
}

func newExports(t *testing.T) *exports {
	e := &exports{
		t:       t,
		service: newService(t, customers),
		out:     filepath.Join(t.TempDir(), "customers.csv"),
		moments: make(chan event),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.report(r, requestArrived)
		e.service.Handler().ServeHTTP(w, r)
		if err := http.NewResponseController(w).Flush(); err == nil {
			e.report(r, responseSent)
		}
	}))
	t.Cleanup(server.Close)
	e.url = server.URL
	return e
}

// report waits until run has seen the moment.
func (e *exports) report(r *http.Request, m moment) {
	goOn := make(chan struct{})
	select {
	case e.moments <- event{m, goOn}:
		<-goOn
	case <-r.Context().Done():
	}
}

// program returns the program with a page size of 10, not yet started.
func (e *exports) program() *exec.Cmd {
	program := exec.CommandContext(e.t.Context(), os.Args[0], "-out", e.out, "-per-page", "10")
	program.Env = append(os.Environ(), "EXPORT_RUN=1",
		"MESSAGING_BASE_URL="+e.url, "MESSAGING_API_KEY="+e.service.APIKey())
	return program
}

// run runs the program, and kills it at the given moment of its n-th request. It
// reports whether it did; otherwise the program ended without an error.
func (e *exports) run(m moment, n int) (killed bool) {
	var progress bytes.Buffer
	program := e.program()
	program.Stderr = &progress
	require.NoError(e.t, program.Start())
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	for seen := 0; ; {
		select {
		case event := <-e.moments:
			if event.moment == m {
				seen++
			}
			if event.moment == m && seen == n {
				require.NoError(e.t, program.Process.Kill())
				<-ended
				close(event.goOn)
				return true
			}
			close(event.goOn)
		case err := <-ended:
			require.NoError(e.t, err, progress.String())
			return false
		}
	}
}
