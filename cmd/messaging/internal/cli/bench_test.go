package cli

import (
	"bytes"
	"context"
	"errors"
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
	n := 0
	for _, failed := range client.Customers.All(context.Background(), messaging.CustomerListParams{PerPage: 100}) {
		err = errors.Join(err, failed)
		n++
	}
	if err != nil || n != million {
		panic(fmt.Sprint(n, err))
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
		page := []byte(`{"success":true,"message":"ok","data":{"data":[`)
		for i := at; i < at+perPage; i++ {
			page = fmt.Appendf(page, `{"customer_id":"c-%d","first_name":"Ada","last_name":"Lovelace","email":"customer-%d@example.com",`+
				`"phone_no":"+49305551001","customer_created_at":"2026-01-01T08:00:00Z","updated_at":"2026-01-01T08:00:00Z",`+
				`"providers":"email,push","last_interaction":"2026-01-01T08:00:00Z"},`, i, i)
		}
		page = fmt.Appendf(page[:len(page)-1], `],"meta":{"has_next_page":%v,"has_prev_page":%v,"next_page_cursor":"%d",`+
			`"prev_page_cursor":null,"per_page":%d}}}`, at+perPage < million, at > 0, at+perPage, perPage)
		_, _ = w.Write(page)
	}))
	b.Cleanup(server.Close)
	return server
}

// measured runs a program, and returns what it printed, how long it took and the most memory that it had.
func measured(b *testing.B, service, program string, args ...string) (stdout string, took time.Duration, resident float64) {
	b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "MESSAGING_BASE_URL="+service, "MESSAGING_API_KEY=not-a-real-key")
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	began := time.Now()
	require.NoError(b, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			require.NoError(b, err, "%s", text.String())
			return out.String(), time.Since(began), resident
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
				_, walk, _ := measured(b, service.URL, "walk")
				_, took, resident := measured(b, service.URL, program, "export", "customers", "-q",
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
	for b.Loop() {
		args := []string{"outbox", "import", "-q", "--from", file, "--event", "order shipped", "--max-recipients", "1000000",
			"--ledger", filepath.Join(b.TempDir(), "orders.db")}
		digest, _, _ := measured(b, service.URL, program, append(args, "--dry-run")...)
		_, took, resident := measured(b, service.URL, program, append(args, "--confirm", strings.TrimSpace(digest))...)
		b.ReportMetric(resident, "MB-resident")
		b.ReportMetric(took.Seconds(), "s/import")
	}
}
