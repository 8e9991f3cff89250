package messagingtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerListensOnTheFirstAvailableAddress(t *testing.T) {
	listener, err := listen("127.0.0.1:-1", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())

	_, err = listen("127.0.0.1:-1", "127.0.0.1:-2")
	assert.ErrorContains(t, err, "-1")
	assert.ErrorContains(t, err, "-2")
}
