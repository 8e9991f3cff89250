package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
	"github.com/messaging-go/messaging/benchmarks/internal/report"
)

// TestMain lets the test binary run as the server, like the program.
func TestMain(m *testing.M) {
	if isServer() {
		exit(serve())
	}
	os.Exit(m.Run())
}

// tinyScale only shows that every experiment runs. Its results are meaningless.
var tinyScale = scale{rounds: 1, fewRounds: 1, manyRounds: 1, turns: 1, prepares: 1, rows: 1000, peerRows: 1000, readAhead: 3,
	inFlight: 32, waves: 14, bursts: 2, calls: 2, broadcast: 10}

func TestExperimentsRunAndEveryRowHasAValue(t *testing.T) {
	stage, err := newStage(t.Context(), tinyScale)
	require.NoError(t, err)
	defer stage.close()
	experiments, err := allExperiments(stage)
	require.NoError(t, err)

	outcomes, err := measure.Runner{Random: newRandom()}.Run(t.Context(), experiments)

	require.NoError(t, err)
	for _, o := range outcomes {
		for _, r := range o.Results {
			assert.Len(t, r.Values, 1, "%s: %s", o.Title, r.Measure)
			assert.False(t, math.IsNaN(r.Median()), "%s: %s %s is not a number", o.Title, r.Subject, r.Measure)
		}
	}
}

func TestRunFailsForAMissedLimitUnlessQuickOrUngated(t *testing.T) {
	missed := []measure.Outcome{{Title: "anything", Results: []measure.Result{
		{Row: measure.Row{Measure: "speed", Limit: measure.AtLeast(2)}, Values: []float64{1}},
	}}}
	cases := map[string]struct {
		arguments []string
		fails     bool
	}{
		"full run":             {nil, true},
		"full run, ungated":    {[]string{"-gate=false"}, false},
		"quick run":            {[]string{"-quick"}, false},
		"quick run with -gate": {[]string{"-quick", "-gate"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			discardStdout(t)
			settings := parseSettings(append(c.arguments, "-out", filepath.Join(t.TempDir(), "results.md")))

			assert.Equal(t, c.fails, conclude(settings, missed) != nil)
			written, err := os.ReadFile(settings.out)
			require.NoError(t, err)
			assert.Equal(t, report.Markdown(settings.quick, missed), string(written))
			assert.NoError(t, conclude(settings, nil))
		})
	}
}

// discardStdout keeps the report out of the test output.
func discardStdout(t *testing.T) {
	t.Helper()
	out := os.Stdout
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	os.Stdout = null
	t.Cleanup(func() {
		os.Stdout = out
		_ = null.Close()
	})
}

func TestSpeedIsTheInverseOfTimePerUnitOfWork(t *testing.T) {
	round := measure.Round{
		"fast": {Work: 100, Wall: time.Second},
		"slow": {Work: 50, Wall: 2 * time.Second},
	}

	assert.InDelta(t, 4, timeOf("slow", "fast")(round), 1e-9)
	assert.InDelta(t, 4, speedOf("fast", "slow")(round), 1e-9)
	assert.InDelta(t, 0.25, speedOf("slow", "fast")(round), 1e-9)
}

func TestShareOfIdealIsOneForCallsThatTakeAsLongAsTheServer(t *testing.T) {
	round := measure.Round{"perfect": {Work: 256 * 10, Wall: 10 * pace}, "half": {Work: 256 * 10, Wall: 20 * pace}}

	assert.InDelta(t, 1, shareOfIdeal("perfect", 256)(round), 1e-9)
	assert.InDelta(t, 0.5, shareOfIdeal("half", 256)(round), 1e-9)
}

func TestConnectionsAreReducedByFailedCalls(t *testing.T) {
	round := measure.Round{"any": {Connections: 100, Failures: 36}}

	assert.Equal(t, 1.0, connectionsTo("any", 64)(round))
}

func TestConcurrentlyLimitsTheCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sample, err := concurrently(t.Context(), 8, 80, func(context.Context, int) error {
			time.Sleep(pace)
			return nil
		})

		require.NoError(t, err)
		assert.Equal(t, 80, sample.Work)
		assert.Equal(t, 10*pace, sample.Wall)
	})
}

func TestWithTimeoutsCountsAResponseInTimeAsASuccessUnlessNoCallTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sample, err := withTimeouts(t.Context(), 1, 1000, &startingCaller{fast: 500})

		require.NoError(t, err)
		assert.Equal(t, 5, sample.Failures)

		_, err = withTimeouts(t.Context(), 1, 1000, &startingCaller{fast: 1000})

		assert.EqualError(t, err, "every call succeeded, want timeouts")
	})
}

// startingCaller is a slowCaller after some fast calls.
type startingCaller struct {
	slowCaller
	fast int
}

func (c *startingCaller) Call(ctx context.Context) error {
	if c.fast--; c.fast >= 0 {
		return nil
	}
	return c.slowCaller.Call(ctx)
}

// slowCaller takes as long as the server.
type slowCaller struct{}

func (slowCaller) Call(ctx context.Context) error {
	select {
	case <-time.After(pace):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestBurstsAreASecondApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sample, err := bursts(t.Context(), 10, 256, slowCaller{})

		require.NoError(t, err)
		assert.Equal(t, 2560, sample.Work)
		assert.Equal(t, 9*time.Second+pace, sample.Wall)
	})
}

func TestConcurrentlyStopsAfterAFailedCall(t *testing.T) {
	var calls atomic.Int64
	_, err := concurrently(t.Context(), 4, 1000, func(ctx context.Context, i int) error {
		calls.Add(1)
		if i == 10 {
			return errors.New("refused")
		}
		if i > 10 {
			<-ctx.Done()
		}
		return nil
	})

	assert.EqualError(t, err, "refused")
	assert.LessOrEqual(t, calls.Load(), int64(11+3), "only the calls that were already in flight")
}

func TestFailuresAreAsLargeAsTheirSuccesses(t *testing.T) {
	page, badPage := pageAndBadPage(100)
	assert.Len(t, badPage, len(page))
	assert.NotEqual(t, page, badPage)
	refusal := refusalOf(4)
	assert.Len(t, acceptanceOf(len(refusal)), len(refusal))
	assert.InEpsilon(t, len(refusalOf(500)), len(pageOf(len(refusalOf(500)))), 0.05)
}

func TestFailuresHaveTheExpectedErrors(t *testing.T) {
	_, badPage := pageAndBadPage(100)
	list, err := inProcess(http.StatusOK, badPage)
	require.NoError(t, err)
	_, err = list.Customers.List(t.Context(), messaging.CustomerListParams{})
	var decodeErr *messaging.DecodeError
	require.ErrorAs(t, err, &decodeErr)
	assert.ErrorContains(t, err, "data.data.99")

	trigger, err := inProcess(http.StatusUnprocessableEntity, refusalOf(500))
	require.NoError(t, err)
	var apiErr *messaging.APIError
	require.ErrorAs(t, trigger.Call(t.Context()), &apiErr)
	assert.Len(t, apiErr.Fields, 500)
}

func TestPlainBroadcastIsTheBodyThatTheSDKSends(t *testing.T) {
	bodies := make(chan string, 1)
	client, err := peers.NewMessaging("https://api.example.com",
		messaging.WithHTTPClient(&http.Client{Transport: recorder{bodies}}))
	require.NoError(t, err)
	_, err = client.Broadcasts.SendEmail(t.Context(), broadcastTo(3))
	require.NoError(t, err)

	plain, err := json.Marshal(plainBroadcastTo(3))

	require.NoError(t, err)
	assert.JSONEq(t, string(plain), <-bodies)
}

// recorder is a transport that records the request bodies.
type recorder struct{ bodies chan string }

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.bodies <- string(body)
	req.Body = http.NoBody
	return canned.Transport{Status: http.StatusOK, Body: []byte(canned.Messaging.Response)}.RoundTrip(req)
}
