package exchange

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestRequestBodyCanBeLockedBetweenTwoPieces(t *testing.T) {
	body := requestBody{content: make([]byte, 1<<20)}
	written, err := body.WriteTo(writerFunc(func(p []byte) (int, error) {
		body.lock()
		return len(p), nil
	}))
	require.ErrorIs(t, err, errBodyLocked)
	assert.Less(t, written, int64(len(body.content)))
}
