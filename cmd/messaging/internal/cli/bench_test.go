package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

const million = 1_000_000

// walkCustomers is a program that lists the million customers.
func walkCustomers() {
	client, err := messaging.NewClient(os.Getenv("MESSAGING_BASE_URL"), "not-a-real-key")
	if err != nil {
		panic(err)
	}
	n := 0
	for _, err := range client.Customers.All(context.Background(), messaging.CustomerListParams{PerPage: 100}) {
		if err != nil {
			panic(err)
		}
		n++
	}
	if n != million {
		panic(n)
	}
}

// built returns the program as users get it. The test is larger.
func built(b *testing.B) string {
	program := filepath.Join(b.TempDir(), "messaging")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "../..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", text)
	return program
}

// BenchmarkCommand measures whole processes, from their start to their end.
func BenchmarkCommand(b *testing.B) {
	program := built(b)
	for _, flag := range []string{"--version", "--help"} {
		b.Run(flag, func(b *testing.B) {
			for b.Loop() {
				text, err := exec.Command(program, flag).CombinedOutput()
				require.NoError(b, err, "%s", text)
			}
		})
	}
}

// hugeService is a service with an event and a million customers, which it makes up.
func hugeService(b *testing.B) *httptest.Server {
	const perPage = 100
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/events" {
			_, _ = fmt.Fprint(w, `{"success":true,"data":[{"id":"e-1","name":"order shipped","parameters":[`+
				`{"name":"order","type":"text","required":true},{"name":"parcels","type":"numeric","required":true}]}]}`)
			return
		}
		at, _ := strconv.Atoi(r.URL.Query().Get("cursor")) // 0 for the first page
		page := make([]byte, 0, 32<<10)
		page = append(page, `{"success":true,"message":"ok","data":{"data":[`...)
		for i := at; i < at+perPage; i++ {
			if i > at {
				page = append(page, ',')
			}
			page = fmt.Appendf(page, `{"customer_id":"c-%d","first_name":"Ada","last_name":"Lovelace","email":"customer-%d@example.com",`+
				`"phone_no":"+49305551001","customer_created_at":"2026-01-01T08:00:00Z","updated_at":"2026-01-01T08:00:00Z",`+
				`"providers":"email,push","last_interaction":"2026-01-01T08:00:00Z"}`, i, i)
		}
		next, more := strconv.Quote(strconv.Itoa(at+perPage)), at+perPage < million
		if !more {
			next = "null"
		}
		page = fmt.Appendf(page, `],"meta":{"has_next_page":%v,"has_prev_page":%v,"next_page_cursor":%s,"prev_page_cursor":null,"per_page":%d}}}`,
			more, at > 0, next, perPage)
		_, _ = w.Write(page)
	}))
	b.Cleanup(server.Close)
	return server
}

// measured runs a program, and returns how long it took and the most memory that it had.
func measured(b *testing.B, service, program string, args ...string) (time.Duration, float64) {
	b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "MESSAGING_BASE_URL="+service, "MESSAGING_API_KEY=not-a-real-key")
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	began := time.Now()
	require.NoError(b, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	resident := 0.0
	for {
		select {
		case err := <-ended:
			require.NoError(b, err, "%s", text.String())
			return time.Since(began), resident
		case <-ticker.C:
			resident = max(resident, residentMB(cmd.Process.Pid))
		}
	}
}

// residentMB is the most memory that a process had so far, or 0 if Linux does not tell. The
// usage that wait reports is no help: it begins with the memory of the parent.
func residentMB(pid int) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // the process may have ended
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(peak), " ")
	n, _ := strconv.ParseFloat(kib, 64)
	return n * 1024 / 1e6
}

// BenchmarkExportOfAMillionCustomers compares an export with the SDK's own walk of the same
// list, in a process too, which does nothing with the customers.
func BenchmarkExportOfAMillionCustomers(b *testing.B) {
	service, program := hugeService(b), built(b)
	for _, format := range []string{"csv", "jsonl"} {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				walk, _ := measured(b, service.URL, "walk")
				took, resident := measured(b, service.URL, program, "export", "customers", "-q",
					"--to", filepath.Join(b.TempDir(), "customers."+format))
				b.ReportMetric(resident, "MB-resident")
				b.ReportMetric(walk.Seconds()/took.Seconds(), "of-the-walk")
				b.ReportMetric(million/took.Seconds(), "rows/s")
			}
		})
	}
}

func BenchmarkImportOfAMillionRows(b *testing.B) {
	service, program := hugeService(b), built(b)
	file := filepath.Join(b.TempDir(), "orders.csv")
	var text strings.Builder
	text.WriteString("email,order,parcels\n")
	for i := range million {
		fmt.Fprintf(&text, "customer-%d@example.com,A-%d,%d\n", i, i, i%7)
	}
	require.NoError(b, os.WriteFile(file, []byte(text.String()), 0o600))
	ledger := ""
	args := func(more ...string) []string {
		return append([]string{"outbox", "import", "-q", "--from", file, "--event", "order shipped", "--max-recipients", "1000000",
			"--ledger", ledger}, more...)
	}
	for b.Loop() {
		ledger = filepath.Join(b.TempDir(), "orders.db")
		cmd := exec.Command(program, args("--dry-run")...)
		cmd.Env = append(os.Environ(), "MESSAGING_BASE_URL="+service.URL, "MESSAGING_API_KEY=not-a-real-key")
		digest, err := cmd.Output()
		require.NoError(b, err)
		took, resident := measured(b, service.URL, program, args("--confirm", strings.TrimSpace(string(digest)))...)
		b.ReportMetric(resident, "MB-resident")
		b.ReportMetric(took.Seconds(), "s/import")
	}
}
