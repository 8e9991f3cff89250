package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox/internal/pgtest"
)

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(workerVariable); ok { // this program is its own worker
		main()
		return
	}
	os.Exit(m.Run())
}

func TestEachCustomerIsNotifiedOnce(t *testing.T) {
	for name, database := range map[string]func(testing.TB) string{
		"SQLite":   func(testing.TB) string { return "" },
		"Postgres": pgtest.URL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			require.NoError(t, demonstrate(t.Context(), &out, database(t)))
			assert.Equal(t, 3, strings.Count(out.String(), " 1 time\n"), out.String())
			assert.Contains(t, out.String(), " unclear\n")
		})
	}
}
