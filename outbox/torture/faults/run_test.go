package faults

import (
	"testing"

	"github.com/messaging-go/messaging/outbox"
)

func TestARepeatableEntryMayBeCarriedOutFiveTimesAndAnyOtherOnce(t *testing.T) {
	for entry, most := range map[outbox.Entry]int{{}: 1, {Repeatable: true}: 5} {
		if tooOften(entry, most) || !tooOften(entry, most+1) {
			t.Errorf("repeatable %t: want at most %d", entry.Repeatable, most)
		}
	}
}

func TestARowIsMissedIfThePromiseIsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		truth  truth
		missed bool
	}{
		"all well":          {truth{entries: 9, unclear: 2}, false},
		"twice":             {truth{entries: 9, twice: 1}, true},
		"lost":              {truth{entries: 8, lost: 1}, true},
		"wrong state":       {truth{entries: 9, wrong: 1}, true},
		"too many unclear":  {truth{entries: 9, unclear: 3}, true},
		"added by mistake?": {truth{entries: 10, lost: -1}, true},
	} {
		row := c.truth.row(name, 2)
		if row.Missed != c.missed {
			t.Errorf("%s: missed %t", name, row.Missed)
		}
		if len(row.Cells) != len(Head) {
			t.Errorf("%s: got %q for the columns %q", name, row.Cells, Head)
		}
	}
}
