package bounded

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type endless byte

func (e endless) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte{byte(e)}, len(p)))
	return len(p), nil
}

func TestATextWithoutEndIsAnError(t *testing.T) {
	_, err := ReadAll(endless(0))
	require.EqualError(t, err, "is larger than 64 MiB")
	text, err := ReadAll(strings.NewReader("short"))
	require.NoError(t, err)
	assert.Equal(t, "short", string(text))
}

func TestALineWithoutEndIsAnError(t *testing.T) {
	n, err := io.Copy(io.Discard, Lines(endless(0)))
	require.EqualError(t, err, "a line is longer than 16 MiB")
	assert.Less(t, n, int64(2*maxLine))
	n, err = io.Copy(io.Discard, io.LimitReader(Lines(endless('\n')), 3*maxLine))
	require.NoError(t, err)
	assert.EqualValues(t, 3*maxLine, n)
}
