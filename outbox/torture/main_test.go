package main

import "testing"

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
