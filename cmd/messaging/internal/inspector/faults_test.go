package inspector_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/fake"
)

func TestFaultsOfTheFormAndThePresets(t *testing.T) {
	f := start(t)
	form := func(values url.Values) reply { return f.postForm("/faults", values) }
	require.Equal(t, 303, form(url.Values{"preset": {"0"}, "op": {"create event"}}).Status)
	require.Equal(t, 303, form(url.Values{"op": {"list events"}, "kind": {"slow"}, "after": {"2s"}, "skip": {"1"}, "count": {""},
		"match": {"event:order"}}).Status)
	rules := f.box.Rules()
	require.Len(t, rules, 2)
	assert.Equal(t, "create event", rules[0].Op)
	assert.Equal(t, "unknown", rules[0].Delivery)
	assert.NotNil(t, rules[1].Matches)
	rules[1].Matches = nil
	assert.Equal(t, fake.Rule{Op: "list events", Match: "event:order", Skip: 1, Probability: 1,
		Fault: fake.Fault{Kind: "slow", After: fake.Duration(2 * time.Second)}}, rules[1].Rule)
	assert.Equal(t, 0, f.send("POST", "/v1/events", validEvent))
	assert.Equal(t, 200, f.send("POST", "/v1/events", validEvent))

	for _, values := range []url.Values{{"kind": {"status"}, "status": {"one"}}, {"kind": {"slow"}, "after": {"soon"}}, {"preset": {"99"}},
		{"kind": {"answer_lost"}, "match": {"word"}}} {
		assert.Equal(t, 422, form(values).Status, values)
	}
	require.Equal(t, 303, form(url.Values{"kind": {"status"}}).Status)
	assert.Equal(t, 502, f.box.Rules()[1].Fault.Status)
}

// TestSuitesInParallelHaveTheirOwnFaults has two suites on one sandbox, each with its customer.
func TestSuitesInParallelHaveTheirOwnFaults(t *testing.T) {
	f := start(t)
	var suites sync.WaitGroup
	for status, name := range map[int]string{502: "ada", 503: "grace"} {
		suites.Go(func() {
			body := strings.Replace(skippedBody, "grace@", name+"@", 1)
			for range 50 {
				rule := fmt.Sprintf(`{"match":"to:%s@example.com","skip":1,"fault":{"kind":"status","status":%d}}`, name, status)
				assert.Equal(t, 200, f.post("/api/faults", rule).Status)
				assert.Equal(t, []int{200, status, 200}, []int{f.trigger(body), f.trigger(body), f.trigger(body)}, name)
			}
		})
	}
	suites.Wait()
	assert.Empty(t, f.box.Rules())
}

// isServed waits until the service is there again.
func (f *fixture) isServed() {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.read() == 200 }, 5*time.Minute, 5*time.Millisecond)
}

func TestOutageClosesThePortAndOpensItAgain(t *testing.T) {
	f := start(t)
	require.Equal(t, 200, f.read())
	f.steps([]string{"outage 300ms"})
	_, err := net.Dial("tcp", strings.TrimPrefix(f.api, "http://"))
	require.Error(t, err, "the port is closed")
	f.shows("/api/faults", `"outage_until":"`)
	f.isServed()
	f.shows("/api/faults", `"outage_until":null`)
	f.steps([]string{"outage 1h", "outage 1ms"}) // the second one replaces the first
	f.isServed()
	for _, what := range []string{"all", "faults"} {
		f.steps([]string{"outage 1h", "post /api/reset?what=" + what})
		assert.Equal(t, 200, f.read())
	}
}

func TestOutageWhosePortIsTakenFailsTheSandbox(t *testing.T) {
	f := start(t)
	f.steps([]string{"outage 200ms"})
	other, err := net.Listen("tcp", strings.TrimPrefix(f.api, "http://"))
	require.NoError(t, err)
	defer other.Close()
	assert.ErrorContains(t, <-f.box.Failed(), "after the outage", "it does not continue without its port")
}

func TestOutagesThatFollowEachOtherClosely(t *testing.T) {
	f := start(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 30 {
				assert.NoError(t, f.box.Outage(1))
			}
		})
	}
	all.Wait()
	f.isServed()
	assert.Empty(t, f.box.Failed())
}
