//go:build unix

package outbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// stepsOfSend are the steps between a claim and the network at which a process can be
// stopped, in their order. While one entry is at a step, another one waits for a slot.
var stepsOfSend = []string{"answer to the claim", "sealer", "call hook", "guard", "limiter", "key source", "attempt hook", "transport",
	"dialer"}

// stoppedTimeout is the send timeout of the process that is stopped.
const stoppedTimeout = 5 * time.Second

// These variables make this test the process that is stopped.
const (
	stoppedDatabase = "OUTBOX_TEST_STOPPED_DATABASE"
	stoppedService  = "OUTBOX_TEST_STOPPED_SERVICE"
)

func TestAProcessThatIsStoppedAtAnyStepAfterItsClaimSendsNothing(t *testing.T) {
	if name := os.Getenv(stoppedDatabase); name != "" {
		deliverToEachStep(t, name, os.Getenv(stoppedService))
		return
	}
	t.Parallel()
	onBothDatabases(t, testStoppedProcess)
}

// testStoppedProcess stops a process with an entry at each step until another process has
// sent all its entries, and then lets it go on.
func testStoppedProcess(t *testing.T, db *database) {
	service, o := db.start(t, outbox.WithSealer(reversed{}))
	var keys []string
	for _, step := range stepsOfSend {
		keys = append(keys, keysOfStep(step)...)
	}
	enqueue(t, o, keys...)
	var bodies atomic.Int64 // how many bytes of bodies have arrived at the service of the process
	received := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		bodies.Add(n)
		_, _ = io.WriteString(w, accept.body)
	}))
	defer received.Close()
	process := startStopped(t, db.name, received.URL)
	claimed := len(keys) - 1 // a claim without its answer keeps the next one waiting
	eventually(t, func() bool { return countsOf(t, o).Sending == claimed })
	process.stop(t)
	stopped := time.Now()

	db.endLeases(t)
	require.Equal(t, ledger.Swept{Unclear: claimed}, db.sweep(t))
	db.endLeases(t)
	decisions := resend(t, o, keys...)
	require.Equal(t, claimed, changed(decisions))
	delivered := deliver(t, o, keys...)
	require.Equal(t, outbox.Delivered{Accepted: len(keys)}, delivered)

	time.Sleep(time.Until(stopped.Add(stoppedTimeout))) // the claims were before the stop
	process.goOn(t)
	received.Close() // waits for the requests that have begun
	// net/http writes the headers before it reads the body, which fails then.
	assert.Zero(t, bodies.Load(), "bytes of bodies, without which no request can be carried out")
	for _, key := range keys {
		assert.Equal(t, 1, service.carriedOut(key), key)
		assert.Equal(t, outbox.Accepted, stateOf(t, o, key), key)
	}
}

func keysOfStep(step string) []string { return []string{step, step + ", next"} }

// stoppedProcess is this test as another process.
type stoppedProcess struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

// startStopped starts a process, and waits until it has reached every step.
func startStopped(t *testing.T, database, service string) *stoppedProcess {
	cmd := exec.Command(os.Args[0], "-test.run=^TestAProcessThatIsStoppedAtAnyStepAfterItsClaimSendsNothing$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), stoppedDatabase+"="+database, stoppedService+"="+service,
		fmt.Sprint("GOMAXPROCS=", 2*len(stepsOfSend))) // so that no step has to wait for another one
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // does nothing after its end
		_ = cmd.Wait()
	})
	p := &stoppedProcess{cmd, input, bufio.NewReader(output)}
	if line, _ := p.output.ReadString('\n'); line != "ready\n" {
		rest, _ := io.ReadAll(p.output)
		require.Fail(t, "the process has not begun", "%s%s", line, rest)
	}
	return p
}

// stop returns when every thread of the process stands still.
func (p *stoppedProcess) stop(t *testing.T) {
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, status.Stopped())
}

// goOn lets the process and every step go on, and waits for its end.
func (p *stoppedProcess) goOn(t *testing.T) {
	require.NoError(t, p.input.Close())
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	output, err := io.ReadAll(p.output)
	require.NoError(t, err)
	require.NoError(t, p.cmd.Wait(), "%s", output)
}

// deliverToEachStep is the process that is stopped.
func deliverToEachStep(t *testing.T, name, service string) {
	open := openFileAt
	if strings.HasPrefix(name, "postgres") {
		open = openPgxAt
	}
	db := open(t, name)
	var deliveries sync.WaitGroup
	for _, name := range stepsOfSend {
		s := &step{name: name, reached: make(chan struct{})}
		db.watch().set(faults{afterClaim: func(claimed []ledger.Claimed) ([]ledger.Claimed, error) {
			return claimed, s.at("answer to the claim")
		}})
		sealer := reversed{func() error { return s.at("sealer") }}
		o := db.new(t, s.client(t, service), outbox.WithInFlight(1), outbox.WithSealer(sealer), outbox.WithLease(stoppedTimeout, time.Minute))
		ended := make(chan struct{})
		deliveries.Go(func() {
			defer close(ended)
			delivered, err := o.Deliver(context.Background(), keysOfStep(name)...)
			assert.NoError(t, err, name)
			assert.Equal(t, outbox.Delivered{Accepted: 2}, delivered, "%s: another process has sent them", name)
		})
		select { // holds the entry until the input ends
		case <-s.reached:
		case <-ended:
			require.Fail(t, "a step was not reached", name)
		}
	}
	fmt.Println("ready")
	deliveries.Wait()
}

// step holds the first entry that reaches it.
type step struct {
	name      string
	once      sync.Once
	reached   chan struct{}
	transport *http.Transport
}

// at holds the first entry until the input ends, and then permits it. It does so in a system
// call, because a goroutine that waits for a channel would go on after the timers of the
// process, which end the context of the send.
func (s *step) at(name string) error {
	if name == s.name {
		s.once.Do(func() {
			close(s.reached)
			_, _ = syscall.Read(syscall.Stdin, make([]byte, 1))
		})
	}
	return nil
}

// client returns a client whose functions are steps.
func (s *step) client(t *testing.T, service string) *messaging.Client {
	s.transport = messaging.NewTransport()
	s.transport.DisableKeepAlives = true
	s.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		_ = s.at("dialer")
		return conn, err
	}
	client, err := messaging.NewClient(service, "", messaging.WithHTTPClient(&http.Client{Transport: s}),
		messaging.WithRateLimiter(limiter(func(context.Context) error { return s.at("limiter") })),
		messaging.WithKeySource(func(context.Context) (string, error) {
			return "test-key-1", s.at("key source")
		}),
		messaging.WithGuard(func(context.Context, *messaging.Prepared) error { return s.at("guard") }),
		messaging.WithHooks(messaging.Hooks{
			CallStart: func(ctx context.Context, _ messaging.CallInfo) context.Context {
				_ = s.at("call hook")
				return ctx
			},
			AttemptStart: func(ctx context.Context, _ messaging.AttemptInfo) context.Context {
				_ = s.at("attempt hook")
				return ctx
			},
		}))
	require.NoError(t, err)
	return client
}

// RoundTrip implements http.RoundTripper.
func (s *step) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = s.at("transport")
	return s.transport.RoundTrip(r)
}
