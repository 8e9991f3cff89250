package gate

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var timing = Timing{First: 500 * time.Millisecond, Longest: 15 * time.Second, LongestAsked: 5 * time.Minute, Recent: time.Minute}

func newGates(inFlight int) *Gates { return New(timing, inFlight, slog.New(slog.DiscardHandler)) }

// send sends one entry, and returns whether it was permitted.
func send(g *Gates, name string, kind Kind, now time.Time) bool {
	p := g.Admit(name, 1, now)
	if p.N == 1 {
		g.Report(p, Outcome{Kind: kind, Reason: "reason"}, now)
	}
	return p.N == 1
}

// simulate sends as many entries as the gates permit, each of which takes 20 ms, for an
// hour in which a part of them fails. It returns how many failed, and the probes.
func simulate(g *Gates, inFlight int, part float64, random *rand.Rand) (failed, probes, sent int) {
	now := time.Now()
	for end := now.Add(time.Hour); now.Before(end) && sent < 200_000; {
		var passes []Pass
		for len(passes) < inFlight {
			p := g.Admit("send", 1, now)
			if p.N == 0 {
				break
			}
			passes = append(passes, p)
		}
		now = now.Add(20 * time.Millisecond)
		for _, p := range passes {
			kind := Accepted
			if random.Float64() < part {
				kind = Failed
				failed++
			}
			if p.Probe() {
				probes++
			}
			sent++
			g.Report(p, Outcome{Kind: kind, Reason: "503"}, now)
		}
	}
	return failed, probes, sent
}

func TestAnOutageLeavesFewFailures(t *testing.T) {
	for _, inFlight := range []int{64, 512} {
		for _, part := range []float64{0.5, 1} {
			t.Run(fmt.Sprintf("%d in flight, %g", inFlight, part), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(inFlight)))
				g := newGates(inFlight)
				now := time.Now()
				for range 10 * inFlight { // it works at first
					send(g, "send", Accepted, now)
				}
				failed, probes, _ := simulate(g, inFlight, part, random)
				assert.LessOrEqual(t, failed, 2*inFlight+16+probes)
			})
		}
	}
}

func TestOneFailureInAHundredCostsNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	_, probes, sent := simulate(newGates(64), 64, 0.01, random)
	assert.Equal(t, 200_000, sent/1000*1000)
	assert.LessOrEqual(t, probes, 2)
}

func TestAnOperationBeginsWithOneRequestAndDoublesWithEachRound(t *testing.T) {
	g, now := newGates(64), time.Now()
	for _, want := range []int{1, 2, 4, 8, 16, 32} {
		p := g.Admit("send", 1000, now)
		assert.Equal(t, want, p.N)
		assert.Zero(t, g.Admit("send", 1, now).N)
		for range want {
			g.Report(p, Outcome{Kind: Accepted}, now)
		}
	}
	assert.Equal(t, 1000, g.Admit("send", 1000, now).N)
}

func TestAStartInAnOutageSendsOneRequestAndThenProbes(t *testing.T) {
	g, now := newGates(64), time.Now()
	assert.True(t, send(g, "send", Failed, now))
	assert.False(t, send(g, "send", Failed, now))
	assert.Equal(t, timing.First, g.Wait("send", now))
	now = now.Add(timing.First)
	assert.Zero(t, g.Wait("send", now))
	assert.True(t, send(g, "send", Failed, now))
	assert.Equal(t, 2*timing.First, g.Wait("send", now))
	assert.Equal(t, map[string]string{"send": "reason"}, g.Reasons())
	assert.True(t, send(g, "other", Accepted, now), "another operation")
	now = now.Add(2 * timing.First)
	assert.True(t, send(g, "send", Accepted, now))
	assert.Empty(t, g.Reasons())
	assert.Equal(t, 1, g.Admit("send", 10, now).N, "a gate that was opened again")
}

func TestAFailureOfTheKeyClosesEveryGateAndOneProbeOpensThem(t *testing.T) {
	g, now := newGates(64), time.Now()
	send(g, "a", Accepted, now)
	send(g, "b", Accepted, now)
	p := g.Admit("a", 1, now)
	recalled := g.Admit("b", 1, now)
	g.Report(p, Outcome{Kind: KeyFailed, Reason: "429", RetryAfter: 2 * time.Minute}, now)
	select {
	case <-recalled.Recall:
	default:
		t.Error("what is claimed does not go back")
	}
	assert.Equal(t, map[string]string{"a": "429", "b": "429"}, g.Reasons())
	assert.Equal(t, 2*time.Minute, g.Wait("b", now))
	g.Report(recalled, Outcome{Kind: KeyFailed, RetryAfter: time.Hour}, now)
	assert.Equal(t, 5*time.Minute, g.Wait("a", now), "a longer wait, up to a limit")
	now = now.Add(5 * time.Minute)
	probe := g.Admit("b", 1, now)
	assert.True(t, probe.Probe())
	assert.Zero(t, g.Admit("a", 1, now).N, "one probe for all")
	assert.Equal(t, timing.First, g.Wait("a", now), "while a probe is being sent")
	g.Report(probe, Outcome{Kind: Accepted}, now)
	assert.Empty(t, g.Reasons())
}

func TestAGateThatClosesCallsBackWhatIsClaimed(t *testing.T) {
	g, now := newGates(64), time.Now()
	for range 7 { // until 8 may be in flight
		send(g, "send", Accepted, now)
	}
	claimed := g.Admit("send", 1, now)
	for range tooManyEarly {
		select {
		case <-claimed.Recall:
			t.Error("the gate is open")
		default:
		}
		assert.True(t, send(g, "send", Failed, now))
	}
	select {
	case <-claimed.Recall:
	default:
		t.Error("what is claimed does not go back")
	}
}

func TestAProbeThatSentNothingIsFollowedByTheNextAtOnce(t *testing.T) {
	g, now := newGates(64), time.Now()
	send(g, "send", Failed, now)
	now = now.Add(timing.First)
	for range 12 {
		assert.True(t, send(g, "send", OwnFault, now))
	}
	p := g.Admit("send", 1, now)
	g.GiveBack(p, 1)
	assert.True(t, send(g, "send", Accepted, now), "after one that found no entry")
}

func TestDenialsNeverLengthenTheWaitAndAlternateTheProbes(t *testing.T) {
	g, now := newGates(64), time.Now()
	send(g, "send", Denied, now)
	var newest []bool
	for range 4 {
		now = now.Add(timing.First)
		p := g.Admit("send", 1, now)
		newest = append(newest, p.Newest)
		g.Report(p, Outcome{Kind: Denied, Reason: "403"}, now)
		assert.Equal(t, timing.First, g.Wait("send", now))
	}
	assert.Equal(t, []bool{true, false, true, false}, newest)
}

func TestDenialsBeforeAnAcceptanceAreTheFaultOfTheirEntries(t *testing.T) {
	g, now := newGates(64), time.Now()
	send(g, "send", Accepted, now)
	for range 100 {
		for range tooMany - 1 {
			assert.True(t, send(g, "send", Denied, now))
		}
		assert.Empty(t, g.Reasons())
		now = now.Add(timing.First)
		send(g, "send", Accepted, now)
	}
	for range tooMany {
		send(g, "send", Denied, now)
	}
	assert.NotEmpty(t, g.Reasons())
}
