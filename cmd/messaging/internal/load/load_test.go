// Package load measures the targets of the sandbox. Its benchmarks start the
// sandbox in their own process, with the clients that load it.
package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/messagingtest"
)

const connections = 32

// key is the API key of both services.
const key = "fake-api-key-of-messagingtest"

// target is a service under load.
type target struct {
	api, ui string
	client  *http.Client
}

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * connections}}
}

// startSandbox starts a sandbox with an inspector.
func startSandbox(b *testing.B, keep int) target {
	b.Helper()
	api, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	ui, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	box, err := sandbox.Start(sandbox.Config{Listener: api, Wrap: guard.Service(api.Addr(), nil), Keep: keep, KeepBytes: 256 << 20,
		MaxRecords: 100_000, Key: key, Seed: records.Demo()})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	server := inspector.Server(ctx, inspector.Config{Box: box, Address: ui.Addr()})
	go func() { _ = server.Serve(ui) }()
	b.Cleanup(func() {
		cancel()
		_ = server.Close()
		box.Close()
	})
	return target{"http://" + api.Addr().String(), "http://" + ui.Addr().String(), newClient()}
}

// startBare starts messagingtest without the sandbox.
func startBare(b *testing.B) target {
	b.Helper()
	service := messagingtest.NewServer(b)
	service.AddEvents(messaging.Event{ID: "5eed0000-0000-4000-8000-000000000001", Name: "order shipped",
		Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText, Required: true}, {Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true},
			{Name: "parcels", Type: messaging.ParameterNumeric}}})
	return target{api: service.URL(), client: newClient()}
}

// triggerBody is a trigger for one of 1,000 customers.
func triggerBody(n int64) string {
	return fmt.Sprintf(`{"event_id":"5eed0000-0000-4000-8000-000000000001","payload":{"email":"customer-%d@example.com",`+
		`"order":"A-%d","shipped_at":"2026-12-01T09:00:00Z","parcels":2}}`, n%1000, n)
}

func (t target) post(path, body string) error {
	return t.do(context.Background(), http.MethodPost, t.api+path, strings.NewReader(body))
}

// do sends a request, and reads its response to the end.
func (t target) do(ctx context.Context, method, url string, body io.Reader) error {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	r.Header.Set("X-Authorization", key)
	r.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %w", response.StatusCode, err)
	}
	return nil
}

// run sends n triggers.
func (t target) run(b *testing.B, n int) {
	for i := range n {
		require.NoError(b, t.post("/v1/events/trigger", triggerBody(int64(i))))
	}
}

// BenchmarkLatency sends 2,000 triggers a second to messagingtest, and to the sandbox
// with three open streams.
func BenchmarkLatency(b *testing.B) {
	b.Run("messagingtest", func(b *testing.B) { measureLatency(b, startBare(b)) })
	b.Run("sandbox", func(b *testing.B) {
		t := startSandbox(b, 10_000)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for range 3 {
			go func() { _ = t.do(ctx, http.MethodGet, t.ui+"/api/stream", nil) }() // as open inspectors do
		}
		measureLatency(b, t)
	})
}

func measureLatency(b *testing.B, t target) {
	const rate = 2000
	t.run(b, 2000)
	took := make([]time.Duration, max(b.N, rate))
	var all sync.WaitGroup
	b.ResetTimer()
	start := time.Now()
	for i := range took {
		due := start.Add(time.Duration(i) * time.Second / rate)
		time.Sleep(time.Until(due))
		all.Go(func() {
			if err := t.post("/v1/events/trigger", triggerBody(int64(i))); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(due) // a late start counts
		})
	}
	all.Wait()
	slices.Sort(took)
	b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// BenchmarkLargeBroadcasts sends 20 broadcasts to the same 100,000 customers. The process may take 128 MiB more than
// --keep-bytes.
func BenchmarkLargeBroadcasts(b *testing.B) {
	const keepMiB, moreMiB = 64, 128
	cmd, api := startProgram(b, "--keep-bytes", fmt.Sprint(keepMiB, "MiB"), "--max-records", "0", "--key", key)
	var customers []string
	for i := range 100_000 {
		customers = append(customers, fmt.Sprintf(`{"email":"customer-%d@example.com"}`, i))
	}
	body := `{"subject":"s","message":"m","schedule_type":"send-now","recipients":{"type":"customer","customers":[` +
		strings.Join(customers, ",") + `]}}`
	t := target{api: api, client: newClient()}
	for range 20 {
		require.NoError(b, t.post("/v1/broadcast/send/push-notification", body))
	}
	for b.Loop() { // the work is above: what it takes is in the metrics
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		b.Skip("only Linux tells what a process takes")
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	resident, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(b, err)
	b.ReportMetric(float64(resident>>10), "resident-MiB")
	require.LessOrEqual(b, resident>>10, keepMiB+moreMiB)
}

// startProgram builds the command, and starts a sandbox. It returns the address of the service.
func startProgram(b *testing.B, flags ...string) (cmd *exec.Cmd, api string) {
	program := filepath.Join(b.TempDir(), "messaging")
	out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput()
	require.NoError(b, err, string(out))
	cmd = exec.Command(program, append([]string{"sandbox", "--api-port", "0", "--ui-port", "0", "--seed", "demo"}, flags...)...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		require.NoError(b, cmd.Process.Signal(os.Interrupt))
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
	})
	line := bufio.NewScanner(stdout)
	require.True(b, line.Scan())
	_, api, _ = strings.Cut(line.Text(), "=")
	return cmd, strings.Trim(api, "'")
}
