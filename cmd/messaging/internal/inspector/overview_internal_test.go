package inspector

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheMostFrequentFindingIsAmongTheFirst(t *testing.T) {
	of := func(counts ...int) (list []finding) {
		for _, n := range counts {
			list = append(list, finding{Count: n})
		}
		return list
	}
	for _, test := range []struct{ before, after []finding }{
		{of(), of()},
		{of(1, 2, 3), of(1, 2, 3)},
		{of(3, 1, 1, 2), of(3, 1, 1, 2)},
		{of(1, 1, 1, 2, 9, 4), of(1, 1, 9, 1, 2, 4)},
	} {
		keepFrequent(test.before, min(3, len(test.before)))
		assert.Equal(t, test.after, test.before)
	}
}
