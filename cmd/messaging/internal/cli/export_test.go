package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnExportUsesOneProcessorUntilItEnds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	during := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		during = runtime.GOMAXPROCS(0)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"success":true,"data":[{"customer_id":"1"}]}`))
	}))
	defer service.Close()
	t.Setenv("MESSAGING_BASE_URL", service.URL)
	t.Setenv("MESSAGING_API_KEY", "not-a-real-key")
	to := filepath.Join(t.TempDir(), "customers.csv")
	require.Zero(t, run(t.Context(), []string{"export", "customers", "-q", "--to", to}, os.Stdout, os.Stderr))
	assert.FileExists(t, to)
	assert.Equal(t, 1, during)
	assert.Equal(t, 3, runtime.GOMAXPROCS(0))
}
