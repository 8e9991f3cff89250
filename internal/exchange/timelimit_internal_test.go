package exchange

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimeLimitHasPassedByEitherClock(t *testing.T) {
	past, future := time.Now().Add(-time.Minute), time.Now().Add(time.Minute)
	tests := map[string]struct {
		limit TimeLimit
		want  bool
	}{
		"no limit":                       {TimeLimit{}, false},
		"neither clock":                  {TimeLimit{wall: future.Round(0), monotonic: future}, false},
		"the wall clock was set forward": {TimeLimit{wall: past.Round(0), monotonic: future}, true},
		"the wall clock was set back":    {TimeLimit{wall: future.Round(0), monotonic: past}, true},
		"both clocks":                    {TimeLimit{wall: past.Round(0), monotonic: past}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, test.limit.passed()) })
	}
}

func TestTimeLimitIsFixedByBothClocksWhenItIsMade(t *testing.T) {
	stored := time.Now().Add(time.Hour).Round(0) // as read from a database, without a monotonic reading
	limit := NewTimeLimit(stored)
	assert.Equal(t, stored, limit.wall)
	assert.Contains(t, limit.monotonic.String(), " m=+", "it does not depend on the wall clock")
	assert.WithinDuration(t, stored, limit.monotonic, time.Minute)

	for name, far := range map[string]time.Time{"the end of time": time.Unix(1<<60, 0), "long ago": time.Unix(0, 0)} {
		limit := NewTimeLimit(far)
		assert.Equal(t, far.Before(time.Now()), limit.passed(), name)
	}
}

func TestTimeLimitIsTheEarliestByEachClock(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 5, 1, 10, minute, 0, 0, time.UTC) }
	a, b := TimeLimit{wall: at(1), monotonic: at(4)}, TimeLimit{wall: at(2), monotonic: at(3)}
	want := TimeLimit{wall: at(1), monotonic: at(3)}
	assert.Equal(t, want, a.Earliest(b))
	assert.Equal(t, want, b.Earliest(a))
	assert.Equal(t, a, a.Earliest(TimeLimit{}))
	assert.Equal(t, a, TimeLimit{}.Earliest(a))
}

func TestRequestBodyIsCutOffForEachReadThatIsLate(t *testing.T) {
	late := NewTimeLimit(time.Now().Add(-time.Second))
	body := requestBody{content: []byte("abc"), offset: 2, notAfter: &late}
	assert.False(t, body.isCutOff())
	for range 2 {
		read, err := io.ReadAll(&body)
		assert.ErrorIs(t, err, ErrNotAfter)
		assert.Empty(t, read)
	}
	assert.True(t, body.isCutOff())
}

func TestRequestBodyThatWasReadInTimeIsNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewTimeLimit(time.Now().Add(time.Second))
		body := requestBody{content: []byte("abc"), notAfter: &limit}
		_, err := io.ReadFull(&body, make([]byte, 3))
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, err = body.Read(make([]byte, 1))
		assert.Equal(t, io.EOF, err)
		assert.False(t, body.isCutOff(), "the service may have all of it")
	})
}
