package inspector_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/messagingtest"
)

// BenchmarkLatency sends 2,000 triggers a second to messagingtest, and to the sandbox
// with three open streams.
func BenchmarkLatency(b *testing.B) {
	b.Run("messagingtest", func(b *testing.B) {
		service := messagingtest.NewServer(b)
		service.AddEvents(messaging.Event{ID: orderShipped, Name: "order shipped", Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText, Required: true}, {Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true},
			{Name: "parcels", Type: messaging.ParameterNumeric}}})
		measureLatency(b, &fixture{t: b, api: service.URL(), key: service.APIKey(), client: newClient(b)})
	})
	b.Run("sandbox", func(b *testing.B) {
		f := start(b, func(c *sandbox.Config, _ *guard.Config) { c.Keep, c.MaxRecords = 10_000, 100_000 })
		for range 3 {
			go func() { // as open inspectors do
				if response, err := f.client.Get(f.ui + "/api/stream"); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}()
		}
		measureLatency(b, f)
	})
}

func measureLatency(b *testing.B, f *fixture) {
	const rate = 2000
	trigger := func(n int) {
		assert.Equal(b, 200, f.trigger(fmt.Sprintf(`{"event_id":"`+orderShipped+`","payload":{"email":"customer-%d@example.com",`+
			`"order":"A-%d","shipped_at":"2026-12-01T09:00:00Z","parcels":2}}`, n%1000, n)))
	}
	for n := range rate {
		trigger(n)
	}
	took := make([]time.Duration, max(b.N, rate))
	var all sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for i := range took {
		due := began.Add(time.Duration(i) * time.Second / rate)
		time.Sleep(time.Until(due))
		all.Go(func() {
			trigger(i)
			took[i] = time.Since(due) // a late start counts
		})
	}
	all.Wait()
	slices.Sort(took)
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
}

// BenchmarkLargeBroadcasts sends 20 broadcasts to the same 100,000 customers. The process may take 128 MiB more than
// --keep-bytes.
func BenchmarkLargeBroadcasts(b *testing.B) {
	const keepMiB, moreMiB = 64, 128
	program := filepath.Join(b.TempDir(), "messaging")
	out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput()
	require.NoError(b, err, string(out))
	cmd := exec.Command(program, "sandbox", "--api-port", "0", "--ui-port", "0", "--seed", "demo", "--key", testKey,
		"--keep-bytes", fmt.Sprint(keepMiB, "MiB"), "--max-records", "0")
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
	_, api, _ := strings.Cut(line.Text(), "=")
	f := &fixture{t: b, api: strings.Trim(api, "'"), key: testKey, client: newClient(b)}
	body := strings.ReplaceAll(pushTo(100_000), "@x.test", "-customer@example.com")
	for range 20 {
		require.Equal(b, 200, f.push(body))
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
