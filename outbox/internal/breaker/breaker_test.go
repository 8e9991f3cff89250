package breaker

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var timing = Timing{First: 500 * time.Millisecond, Longest: 15 * time.Second, LongestAsked: 5 * time.Minute, Recent: time.Minute}

func newBreakers(inFlight int) *Breakers { return New(timing, inFlight, slog.New(slog.DiscardHandler)) }

// send sends one entry, and returns whether it was permitted.
func send(g *Breakers, name string, kind Kind, now time.Time) bool {
	p := g.Admit(name, 1, now)
	if p.N == 1 {
		g.Report(p, Outcome{Kind: kind, Reason: "reason"}, now)
	}
	return p.N == 1
}

func isRecalled(p Pass) bool {
	select {
	case <-p.Recall:
		return true
	default:
		return false
	}
}

// simulate sends as many entries as the breakers permit, each of which takes 20 ms, for an
// hour in which a part of them fails. It returns how many failed, and the probes.
func simulate(g *Breakers, inFlight int, part float64, random *rand.Rand) (failed, probes, sent int) {
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
			kind := Works
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
				g := newBreakers(inFlight)
				now := time.Now()
				for range 10 * inFlight { // it works at first
					send(g, "send", Works, now)
				}
				failed, probes, _ := simulate(g, inFlight, part, random)
				assert.LessOrEqual(t, failed, 2*inFlight+16+probes)
			})
		}
	}
}

func TestOneFailureInAHundredCostsNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	_, probes, sent := simulate(newBreakers(64), 64, 0.01, random)
	assert.Equal(t, 200_000, sent/1000*1000)
	assert.LessOrEqual(t, probes, 2)
}

func TestAnOperationBeginsWithOneRequestAndDoublesWithEachRound(t *testing.T) {
	b, now := newBreakers(64), time.Now()
	for _, want := range []int{1, 2, 4, 8, 16, 32} {
		p := b.Admit("send", 1000, now)
		assert.Equal(t, want, p.N)
		assert.Zero(t, b.Admit("send", 1, now).N)
		for range want {
			b.Report(p, Outcome{Kind: Works}, now)
		}
	}
	assert.Equal(t, 1000, b.Admit("send", 1000, now).N)
}

func TestAnOperationThatHasNotWorkedForAMinuteBeginsAnew(t *testing.T) {
	b, now := newBreakers(64), time.Now()
	for range 64 {
		send(b, "send", Works, now)
	}
	assert.Equal(t, 1000, b.Admit("send", 1000, now.Add(timing.Recent)).N)
	b = newBreakers(64)
	for range 64 {
		send(b, "send", Works, now)
	}
	for range 100 {
		now = now.Add(time.Second)
		send(b, "send", Denied, now)
	}
	assert.Empty(t, b.Reasons(), "a denial may lie in its entry")
	assert.Equal(t, 1, b.Admit("send", 1000, now).N, "one at a time while everything is denied")
}

func TestAStartInAnOutageSendsOneRequestAndThenProbes(t *testing.T) {
	b, now := newBreakers(64), time.Now()
	assert.True(t, send(b, "send", Failed, now))
	assert.False(t, send(b, "send", Failed, now))
	assert.Equal(t, timing.First, b.Wait("send", now))
	now = now.Add(timing.First)
	assert.Zero(t, b.Wait("send", now))
	assert.True(t, send(b, "send", Failed, now))
	assert.Equal(t, 2*timing.First, b.Wait("send", now))
	assert.Equal(t, map[string]string{"send": "reason"}, b.Reasons())
	assert.True(t, send(b, "other", Works, now), "another operation")
	now = now.Add(2 * timing.First)
	assert.True(t, send(b, "send", Works, now))
	assert.Empty(t, b.Reasons())
	assert.LessOrEqual(t, b.Admit("send", 10, now).N, 2, "a breaker that was closed again")
}

func TestAFailureOfTheKeyOpensEveryBreakerAndOneProbeClosesThem(t *testing.T) {
	b, now := newBreakers(64), time.Now()
	send(b, "a", Works, now)
	send(b, "b", Works, now)
	p := b.Admit("a", 1, now)
	recalled := b.Admit("b", 1, now)
	b.Report(p, Outcome{Kind: KeyFailed, Reason: "429", RetryAfter: 2 * time.Minute}, now)
	assert.True(t, isRecalled(recalled), "what is claimed goes back")
	assert.Equal(t, map[string]string{"a": "429", "b": "429"}, b.Reasons())
	assert.Equal(t, 2*time.Minute, b.Wait("b", now))
	b.Report(recalled, Outcome{Kind: KeyFailed, RetryAfter: time.Hour}, now)
	assert.Equal(t, 5*time.Minute, b.Wait("a", now), "a longer wait, up to a limit")
	now = now.Add(5 * time.Minute)
	probe := b.Admit("b", 1, now)
	assert.True(t, probe.Probe())
	assert.Zero(t, b.Admit("a", 1, now).N, "one probe for all")
	assert.Equal(t, timing.First, b.Wait("a", now), "while a probe is being sent")
	b.Report(probe, Outcome{Kind: Works}, now)
	assert.Empty(t, b.Reasons())
}

func TestABreakerThatOpensCallsBackWhatIsClaimed(t *testing.T) {
	b, now := newBreakers(64), time.Now()
	for range 7 { // until 8 may be in flight
		send(b, "send", Works, now)
	}
	claimed := b.Admit("send", 1, now)
	for range 4 { // 8, 4, 2, 1
		assert.False(t, isRecalled(claimed), "the breaker is closed")
		assert.True(t, send(b, "send", Failed, now) || len(b.Reasons()) == 0)
	}
	for len(b.Reasons()) == 0 {
		b.Report(claimed, Outcome{Kind: Failed, Reason: "reason"}, now)
	}
	assert.True(t, isRecalled(claimed), "what is claimed goes back")
}

func TestAProbeThatSentNothingIsFollowedByTheNextAtOnce(t *testing.T) {
	b, now := newBreakers(64), time.Now()
	send(b, "send", Failed, now)
	now = now.Add(timing.First)
	for range 12 {
		assert.True(t, send(b, "send", Nothing, now))
	}
	p := b.Admit("send", 1, now)
	b.GiveBack(p, 1)
	assert.True(t, send(b, "send", Works, now), "after one that found no entry")
}

func TestAProbeWithADelayOfItsOwnChangesNoOtherReason(t *testing.T) {
	unopened := Outcome{Kind: Failed, Reason: "cannot open", Delay: 100 * time.Millisecond}
	probe := func(g *Breakers, now time.Time, outcome Outcome) {
		t.Helper()
		p := g.Admit("send", 1, now)
		assert.True(t, p.N == 1, "a probe is permitted")
		g.Report(p, outcome, now)
	}
	for _, kind := range []Kind{Failed, KeyFailed} {
		g, now := newBreakers(64), time.Now()
		for range 6 { // up to the longest delay
			probe(g, now, Outcome{Kind: kind, Reason: "reason"})
			now = now.Add(time.Hour)
		}
		probe(g, now, unopened)
		assert.Equal(t, 100*time.Millisecond, g.Wait("send", now))
		assert.Equal(t, map[string]string{"send": "reason"}, g.Reasons())
		now = now.Add(100 * time.Millisecond)
		probe(g, now, Outcome{Kind: kind, Reason: "reason"})
		assert.Equal(t, timing.Longest, g.Wait("send", now), "as if it had not been sent")
	}
	g, now := newBreakers(64), time.Now()
	for range 6 {
		probe(g, now, unopened)
		assert.Equal(t, 100*time.Millisecond, g.Wait("send", now))
		now = now.Add(100 * time.Millisecond)
	}
	assert.Equal(t, map[string]string{"send": "cannot open"}, g.Reasons())
}
