package outbox

import (
	"fmt"
	"slices"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Priority is the priority of an entry; see [Item]. In text and JSON it is a word: "low",
// "normal" or "high".
type Priority int8

// The priorities. The zero Priority is Normal.
const (
	Low Priority = iota - 1
	Normal
	High
)

// priorities are the words, in the order of the lanes.
var priorities = []string{"high", "normal", "low"}

// lane returns the lane of an entry that was never denied.
func (p Priority) lane() ledger.Lane { return ledger.Lane(High - p) }

func priorityOf(l ledger.Lane) Priority { return High - Priority(l) }

// String returns the word, or a number for an unknown priority.
func (p Priority) String() string {
	if p < Low || p > High {
		return fmt.Sprintf("unknown priority %d", int8(p))
	}
	return priorities[p.lane()]
}

// MarshalText returns the word. An unknown priority is an error.
func (p Priority) MarshalText() ([]byte, error) {
	if p < Low || p > High {
		return nil, fmt.Errorf("outbox: %s", p)
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads the word. Any other text is an error.
func (p *Priority) UnmarshalText(text []byte) error {
	lane := slices.Index(priorities, string(text))
	if lane < 0 {
		return fmt.Errorf("outbox: unknown priority %q; the priorities are %q", text, priorities)
	}
	*p = priorityOf(ledger.Lane(lane))
	return nil
}
