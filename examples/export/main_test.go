package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestExportResumesAfterAnError(t *testing.T) {
	service := newService(t, 25)
	client := service.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	out := filepath.Join(t.TempDir(), "customers.csv")

	afterFirstPage := progressFunc(func() { service.Fail("", 1, messagingtest.Status(503)) })
	err := export(t.Context(), client, 10, out, afterFirstPage)
	require.ErrorContains(t, err, "the next run for "+out+" resumes")

	require.NoError(t, export(t.Context(), client, 10, out, io.Discard))
	requireComplete(t, out, 25)
}

func TestExportUsesAnInMemoryServiceByDefault(t *testing.T) {
	client, closeService, err := connect(func(string) string { return "" })
	require.NoError(t, err)
	defer closeService()
	out := filepath.Join(t.TempDir(), "customers.csv")
	require.NoError(t, export(t.Context(), client, 100, out, io.Discard))
	requireComplete(t, out, 250)
}

func TestExportWritesAHeaderWhereThereAreNoCustomers(t *testing.T) {
	out := filepath.Join(t.TempDir(), "customers.csv")
	require.NoError(t, export(t.Context(), newService(t, 0).Client(), 10, out, io.Discard))
	requireComplete(t, out, 0)
}

func TestExportDoesNotOverwriteAFile(t *testing.T) {
	service := newService(t, 1)
	out := filepath.Join(t.TempDir(), "customers.csv")
	require.NoError(t, os.WriteFile(out, []byte("mine"), 0o600))

	require.ErrorContains(t, export(t.Context(), service.Client(), 10, out, io.Discard), out+" exists")
	assert.Empty(t, service.Requests())
	assert.NoFileExists(t, checkpointPath(out))
	content, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(content))
}

func TestExportDoesNotResumeAFileThatWasTruncated(t *testing.T) {
	out := filepath.Join(t.TempDir(), "customers.csv")
	require.NoError(t, os.WriteFile(out, []byte("customer_id,"), 0o600))
	require.NoError(t, checkpoint{Cursor: "next", Bytes: 100}.save(out))
	err := export(t.Context(), newService(t, 1).Client(), 10, out, io.Discard)
	require.ErrorContains(t, err, out+" has 12 bytes, but 100 were written")
}

// The page that was being written may have become shorter since.
func TestExportDiscardsWhatWasWrittenAfterTheCheckpoint(t *testing.T) {
	out := filepath.Join(t.TempDir(), "customers.csv")
	require.NoError(t, os.WriteFile(out, []byte(strings.Repeat("gone@example.com,,,,,,\n", 50)), 0o600))
	require.NoError(t, checkpoint{}.save(out))
	require.NoError(t, export(t.Context(), newService(t, 1).Client(), 10, out, io.Discard))
	requireComplete(t, out, 1)
}

func TestExportDoesNotResumeFromADamagedCheckpoint(t *testing.T) {
	out := filepath.Join(t.TempDir(), "customers.csv")
	require.NoError(t, os.WriteFile(checkpointPath(out), []byte(`{"cursor":`), 0o600))
	err := export(t.Context(), newService(t, 1).Client(), 10, out, io.Discard)
	require.ErrorContains(t, err, checkpointPath(out))
}

// The second page has the cursor of itself. An export that resumed there would write it
// once more with each run.
func TestExportDoesNotResumeAtACursorThatLeadsBack(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"success": true, "data": [{"email": "page-%s@example.com"}],
			"meta": {"has_next_page": true, "next_page_cursor": "b"}}`, r.FormValue("cursor"))
	}))
	defer service.Close()
	client, err := messaging.NewClient(service.URL, "test-key-1")
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "customers.csv")

	for range 3 {
		require.ErrorIs(t, export(t.Context(), client, 1, out, io.Discard), messaging.ErrBadCursor)
		rows := readRows(t, out)
		require.Len(t, rows, 3)
		assert.Equal(t, []string{"page-@example.com", "page-b@example.com"}, []string{rows[1][1], rows[2][1]})
	}
}

// newService returns a service with n customers, whose addresses are numbered.
func newService(t *testing.T, n int) *messagingtest.Server {
	t.Helper()
	service := messagingtest.NewServer(t)
	for i := range n {
		service.AddCustomers(messaging.Customer{Email: fmt.Sprintf("customer-%03d@example.com", i)})
	}
	return service
}

// requireComplete fails unless the file holds the first n customers of newService, each
// once and in order, and nothing is left beside it.
func requireComplete(t *testing.T, out string, n int) {
	t.Helper()
	rows := readRows(t, out)
	require.Len(t, rows, 1+n)
	assert.Equal(t, header, rows[0])
	for i, row := range rows[1:] {
		require.Equal(t, fmt.Sprintf("customer-%03d@example.com", i), row[1])
	}
	files, err := filepath.Glob(out + "*")
	require.NoError(t, err)
	assert.Equal(t, []string{out}, files)
}

func readRows(t *testing.T, out string) [][]string {
	t.Helper()
	file, err := os.Open(out)
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	return rows
}

// progressFunc is called after each page.
type progressFunc func()

func (f progressFunc) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}
