package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPositionsAreComparedOn32Bits needs GOARCH=386 to show anything.
func TestPositionsAreComparedOn32Bits(t *testing.T) {
	for _, far := range []int64{1, 1 << 31, 1 << 32, 3 << 31} {
		assert.True(t, Position{}.Before(Position{Time: far}), far)
		assert.False(t, Position{Time: far}.Before(Position{}), far)
		assert.True(t, Position{Time: 1}.Before(Position{Time: 1, ID: far}), far)
		assert.False(t, Position{Time: 1, ID: far}.Before(Position{Time: 1}), far)
	}
}
