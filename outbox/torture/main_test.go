package main

import (
	"testing"
	"time"

	"github.com/messaging-go/messaging/outbox"
)

func TestTheSummaryCountsWhatIsMissed(t *testing.T) {
	for want, rows := range map[string][]row{
		"no results":        nil,
		"2 results, all ok": {{OK: true}, {OK: true}},
		"3 results, 2 MISSED: the exit status is 1": {{OK: true}, {}, {}},
	} {
		if got := summary(rows); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheHistoryOfAnEntryIsInOrderAndLeavesOutTheOthers(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 10, 0, second, 4000, time.Local) }
	entry := outbox.Entry{Key: "order", Attempts: 2, State: outbox.Accepted, EnqueuedAt: at(10), SettledAt: at(51)}
	moments := []moment{{at(5), "workers stopped", ""}, {at(20), "workers stopped", ""}, {at(40), "resent", "other"},
		{at(45), "resent", "order"}, {at(55), "workers go on", ""}}
	want := "order, 2 attempts, 10:00:10.000004 enqueued, 10:00:20.000004 workers stopped, 10:00:45.000004 resent, " +
		"10:00:50.000004 carried out, 10:00:51.000004 accepted, 10:00:55.000004 workers go on, 10:00:56.000004 carried out"
	if got := history(entry, moments, []time.Time{at(50), at(56)}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
