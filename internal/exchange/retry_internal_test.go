package exchange

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRetryWaitBetweenAttempts(t *testing.T) {
	tests := []struct {
		name              string
		policy            RetryPolicy
		attempts          int
		shortest, longest time.Duration
	}{
		{"after the first attempt it is up to twice the minimum", RetryPolicy{}, 1, 500 * time.Millisecond, time.Second},
		{"after the second, four times", RetryPolicy{}, 2, 500 * time.Millisecond, 2 * time.Second},
		{"after the third, eight times", RetryPolicy{}, 3, 500 * time.Millisecond, 4 * time.Second},
		{"after the fourth it has reached the maximum", RetryPolicy{}, 4, 500 * time.Millisecond, 8 * time.Second},
		{"and stays there", RetryPolicy{}, 5, 500 * time.Millisecond, 8 * time.Second},
		{"a maximum between two doublings counts", RetryPolicy{MinWait: 2 * time.Second, MaxWait: 7 * time.Second}, 2, 2 * time.Second,
			7 * time.Second},
		{"a minimum that is the maximum leaves nothing to chance", RetryPolicy{MinWait: time.Second, MaxWait: time.Second}, 3, time.Second,
			time.Second},
		{"a minimum above the default maximum raises it", RetryPolicy{MinWait: time.Minute}, 3, time.Minute, time.Minute},
		{"many attempts do not overflow", RetryPolicy{}, math.MaxInt, 500 * time.Millisecond, 8 * time.Second},
		{"a maximum without measure does not overflow", RetryPolicy{MinWait: 1 << 60, MaxWait: 1 << 62}, 1000, 1 << 60, 1 << 62},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			policy := test.policy.WithDefaults()
			assert.Equal(t, test.shortest, policy.wait(test.attempts, 0))
			assert.Equal(t, test.longest, policy.wait(test.attempts, 1))
			assert.InDelta(t, float64(test.shortest+test.longest)/2, float64(policy.wait(test.attempts, 0.5)), 1)
		})
	}
}

func TestRetryWaitIsNeverNegative(t *testing.T) {
	policies := []RetryPolicy{{}, {MinWait: 1, MaxWait: math.MaxInt64}, {MinWait: math.MaxInt64, MaxWait: math.MaxInt64}}
	for _, policy := range policies {
		t.Run(fmt.Sprint(policy.MinWait, policy.MaxWait), func(t *testing.T) {
			policy := policy.WithDefaults()
			for attempts := range 100 {
				assert.Positive(t, policy.wait(attempts, math.Nextafter(1, 0)))
			}
		})
	}
}
