package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
)

func TestAnOutboxThatHasGoneSinceThePlanIsNotCreatedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orders.db")
	address, err := ledger.Find(path, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	_, err = target{address: address, exists: true}.open(t.Context())
	assert.Equal(t, exit.Usage, exit.CodeOf(err))
	assert.NoFileExists(t, path)
}
