package measure_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

func TestMedianIsTheMiddleValue(t *testing.T) {
	cases := map[string]struct {
		values []float64
		want   float64
	}{
		"odd number of values":  {[]float64{9, 1, 2}, 2},
		"even number of values": {[]float64{4, 1, 2, 9}, 3},
		"one value":             {[]float64{7}, 7},
		"an outlier":            {[]float64{1, 1, 1000}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(c.values)

			assert.Equal(t, c.want, measure.Median(c.values))
			assert.Equal(t, given, c.values, "the order of the values is unchanged")
		})
	}
	assert.True(t, math.IsNaN(measure.Median(nil)), "the median of no values is NaN")
}

func TestLimitIsMissedOnlyOnTheWrongSide(t *testing.T) {
	cases := map[string]struct {
		limit  measure.Limit
		value  float64
		missed bool
	}{
		"at least 2, value is greater": {measure.AtLeast(2), 2.5, false},
		"at least 2, value is equal":   {measure.AtLeast(2), 2, false},
		"at least 2, value is less":    {measure.AtLeast(2), 1.9, true},
		"at least 2, value is NaN":     {measure.AtLeast(2), math.NaN(), true},
		"at most 2, value is less":     {measure.AtMost(2), 1.5, false},
		"at most 2, value is equal":    {measure.AtMost(2), 2, false},
		"at most 2, value is greater":  {measure.AtMost(2), 2.1, true},
		"at most 2, value is NaN":      {measure.AtMost(2), math.NaN(), true},
		"no limit":                     {measure.Limit{}, 1000, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			result := measure.Result{Row: measure.Row{Limit: c.limit}, Values: []float64{c.value}}

			assert.Equal(t, c.missed, result.Missed())
		})
	}
}

func TestRunnerComputesARowFromTheSamplesOfOneRound(t *testing.T) {
	fast, slow := 0, 0
	experiment := measure.Experiment{
		Rounds: 3,
		Variants: []measure.Variant{
			{Name: "fast", Run: func(context.Context) (measure.Sample, error) {
				fast++
				return measure.Sample{Wall: time.Duration(fast) * time.Second}, nil
			}},
			{Name: "slow", Run: func(context.Context) (measure.Sample, error) {
				slow++
				return measure.Sample{Wall: time.Duration(slow) * 10 * time.Second}, nil
			}},
		},
		Rows: []measure.Row{{Subject: "slow against fast", Value: func(r measure.Round) float64 {
			return r["slow"].Wall.Seconds() / r["fast"].Wall.Seconds()
		}}},
	}

	outcomes, err := runner().Run(t.Context(), []measure.Experiment{experiment})

	require.NoError(t, err)
	assert.Equal(t, []float64{10, 10, 10}, outcomes[0].Results[0].Values)
}

func TestRunnerDistributesTheRoundsOverTheRun(t *testing.T) {
	var ran []string
	experiments := []measure.Experiment{counting("few", 2, &ran), counting("many", 20, &ran)}

	_, err := runner().Run(t.Context(), experiments)

	require.NoError(t, err)
	require.Len(t, ran, 22)
	assert.Equal(t, 10, count(ran[:11], "many"), "half of the rounds of many are in the first half")
	assert.Equal(t, 1, count(ran[:11], "few"), "one of two rounds of few is in the first half")
}

func TestRunnerShufflesTheVariants(t *testing.T) {
	first := make(map[string]int)
	var inRound int
	variant := func(name string) measure.Variant {
		return measure.Variant{Name: name, Run: func(context.Context) (measure.Sample, error) {
			if inRound%2 == 0 {
				first[name]++
			}
			inRound++
			return measure.Sample{}, nil
		}}
	}
	experiment := measure.Experiment{Rounds: 40, Variants: []measure.Variant{variant("a"), variant("b")}}

	_, err := runner().Run(t.Context(), []measure.Experiment{experiment})

	require.NoError(t, err)
	assert.Greater(t, first["a"], 10)
	assert.Greater(t, first["b"], 10)
}

func TestRunnerStartsOnlyFirstRoundsAfterTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran []string
		slow := counting("slow", 5, &ran)
		slow.Variants[0].Run = func(context.Context) (measure.Sample, error) {
			time.Sleep(time.Minute)
			ran = append(ran, "slow")
			return measure.Sample{}, nil
		}
		r := runner()
		r.Budget = 90 * time.Second

		_, err := r.Run(t.Context(), []measure.Experiment{slow, counting("late", 1, &ran)})

		require.NoError(t, err)
		assert.Equal(t, 2, count(ran, "slow"))
		assert.Equal(t, 1, count(ran, "late"))
	})
}

func TestRunnerReturnsTheFirstError(t *testing.T) {
	broken := measure.Experiment{Title: "walk", Rounds: 1, Variants: []measure.Variant{{Name: "by hand",
		Run: func(context.Context) (measure.Sample, error) { return measure.Sample{}, errors.New("refused") }}}}

	_, err := runner().Run(t.Context(), []measure.Experiment{broken})

	assert.EqualError(t, err, "walk: by hand: refused")
}

func TestRunnerStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var ran []string

	_, err := runner().Run(ctx, []measure.Experiment{counting("never", 1, &ran)})

	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, ran)
}

var sink []byte

func TestRepeatMeasuresTimeAllocationsAndWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sample, err := measure.Repeat(t.Context(), 50, func(context.Context) error {
			time.Sleep(time.Second)
			sink = make([]byte, 1<<20)
			return nil
		})

		require.NoError(t, err)
		assert.Equal(t, 50, sample.Work)
		assert.Equal(t, 50*time.Second, sample.Wall)
		assert.Equal(t, 1.0, sample.Each())
		assert.InDelta(t, 1<<20, sample.BytesEach(), 10_000)
		assert.InDelta(t, 1, sample.AllocationsEach(), 20) // sleeping allocates too
	})
}

func TestRepeatWarmDoesNotMeasureTheFirstCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		sample, err := measure.RepeatWarm(t.Context(), 5, func(context.Context) error {
			if calls++; calls == 1 {
				time.Sleep(time.Hour)
			}
			time.Sleep(time.Second)
			return nil
		})

		require.NoError(t, err)
		assert.Equal(t, 6, calls)
		assert.Equal(t, 5, sample.Work)
		assert.Equal(t, 5*time.Second, sample.Wall)
	})
	_, err := measure.RepeatWarm(t.Context(), 5, func(context.Context) error { return errors.New("refused") })
	assert.EqualError(t, err, "refused")
}

func TestRepeatStopsAfterAFailedCall(t *testing.T) {
	calls := 0
	_, err := measure.Repeat(t.Context(), 50, func(context.Context) error {
		calls++
		return errors.New("refused")
	})

	assert.EqualError(t, err, "refused")
	assert.Equal(t, 1, calls)
}

func runner() measure.Runner { return measure.Runner{Random: rand.New(rand.NewPCG(1, 2))} }

// counting returns an experiment that only records that it ran.
func counting(title string, rounds int, ran *[]string) measure.Experiment {
	return measure.Experiment{Title: title, Rounds: rounds, Variants: []measure.Variant{{Name: title,
		Run: func(context.Context) (measure.Sample, error) {
			*ran = append(*ran, title)
			return measure.Sample{}, nil
		}}}}
}

func count(ran []string, title string) int {
	return len(slices.DeleteFunc(slices.Clone(ran), func(r string) bool { return r != title }))
}
