package inspector

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// survey is what is worth a look in all entries of the history. Each entry is looked at once, the latest first: a page
// looks for a short time, and what it leaves is looked at in the background. Nobody looks before somebody asks, so that
// a sandbox without an open page is as fast as it can be.
type survey struct {
	mu      sync.Mutex
	cleared int    // how often the history had been cleared
	first   int    // the number of the entry of the first slot
	slots   []slot // of the entries that are kept, in their order
	pending []span // what was not looked at, the latest at the end
	looked  int    // how many entries were
	causes  []*counted
	indexes map[cause]uint16 // into causes
	free    []uint16         // indexes of causes that no entry has any more
	left    int              // how many findings are of no cause, because there are too many
	working bool             // in the background
}

// slot has the causes of an entry, each as its index and one. It has no pointer, since there are many.
type slot [15]uint16

// leftOut stands for a cause in a slot if there are too many causes.
const leftOut = math.MaxUint16

// span is a range of numbers, without its end.
type span struct{ from, end int }

// counted is a finding with its place among those of its latest entry.
type counted struct {
	finding
	cause cause
	place int
}

// How many causes are distinguished at all, and how many of them by their titles.
const maxCauses, maxTitledCauses = 500, 200

// How much a page looks at: for some time, but a few entries at least.
const lookLeast, lookFor = 50, 20 * time.Millisecond

// read returns the findings of some operations, the worst first and then the latest, and how many are left out. If
// not all entries were looked at, it also returns how many were, of how many, and looks at the others in the
// background. At the end of that, open pages read again.
func (s *survey) read(in *Inspector, isOne func(op string) bool) (list []*counted, left, looked, of int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(in.box.History)
	s.look(in, lookLeast, lookFor)
	for _, known := range s.causes {
		if known != nil && isOne(known.cause.op) {
			c := *known
			list = append(list, &c)
		}
	}
	slices.SortFunc(list, func(a, b *counted) int {
		return cmp.Or(cmp.Compare(a.rank.level(), b.rank.level()), cmp.Compare(b.Last, a.Last), cmp.Compare(a.place, b.place))
	})
	if len(s.pending) == 0 {
		return list, s.left, 0, 0
	}
	if !s.working {
		s.working = true
		go func() {
			for s.lookMore(in) {
			}
		}()
	}
	return list, s.left, s.looked, len(s.slots)
}

// lookMore looks at entries for a short time, and waits as long, since pages and the service need the processor too.
// It reports whether there are more.
func (s *survey) lookMore(in *Inspector) bool {
	const least, during = 10, 5 * time.Millisecond
	began := time.Now()
	s.mu.Lock()
	s.follow(in.box.History)
	s.look(in, least, during)
	s.working = len(s.pending) > 0
	more := s.working
	s.mu.Unlock()
	if !more {
		in.box.History.Touch()
		return false
	}
	pause(in.ending, time.Since(began))
	return in.ending.Err() == nil
}

// follow makes room for new entries, and forgets those that are no longer kept.
func (s *survey) follow(store *history.Store) {
	state := store.State()
	if s.indexes == nil || state.Cleared != s.cleared {
		s.cleared, s.first, s.slots, s.pending, s.looked = state.Cleared, state.Last-state.Requests+1, nil, nil, 0
		s.causes, s.indexes, s.free, s.left = nil, make(map[cause]uint16), nil, 0
	}
	first := state.Last - state.Requests + 1
	for s.first < first && len(s.slots) > 0 {
		s.forget(s.slots[0])
		if !s.isPending(s.first) {
			s.looked--
		}
		s.first, s.slots = s.first+1, s.slots[1:]
	}
	s.first = first
	if next := s.first + len(s.slots); next <= state.Last {
		s.slots = append(s.slots, make([]slot, state.Last-next+1)...)
		s.pending = append(s.pending, span{next, state.Last + 1})
	}
	for i := range s.pending {
		s.pending[i].from = max(s.pending[i].from, first)
	}
	s.pending = slices.DeleteFunc(s.pending, func(p span) bool { return p.from >= p.end })
}

func (s *survey) isPending(number int) bool {
	return slices.ContainsFunc(s.pending, func(p span) bool { return p.from <= number && number < p.end })
}

// look looks at entries, the latest first.
func (s *survey) look(in *Inspector, least int, during time.Duration) {
	for began, n := time.Now(), 0; len(s.pending) > 0 && (n < least || time.Since(began) < during); n++ {
		latest := &s.pending[len(s.pending)-1]
		latest.end--
		s.looked++
		if e, ok := in.box.History.Get(latest.end); ok { // else it has just been removed
			s.slots[e.Number-s.first] = s.add(e, in.findings(e))
		}
		if latest.from == latest.end {
			s.pending = s.pending[:len(s.pending)-1]
		}
	}
}

// add counts the findings of an entry. What does not fit into a slot is not counted.
func (s *survey) add(e *history.Entry, findings []finding) (found slot) {
	for place, f := range findings[:min(len(findings), len(found))] {
		f.Title, f.Text, f.Op = words.Shortened(f.Title, maxTitle), words.Shortened(f.Text, maxText), operation(e)
		index, ok := s.indexOf(f, e.Op)
		if !ok {
			s.left++
			found[place] = leftOut
			continue
		}
		known := s.causes[index]
		if known.count(f.Title, f.Op); e.Number > known.Last {
			known.Last, known.place = e.Number, place
		}
		found[place] = index + 1
	}
	return found
}

// How many characters of a finding are kept: a subject and a message of an error have no limit.
const maxTitle, maxText = 70, 500

// indexOf returns the index of the cause of a finding, unless there are too many causes. A new cause is not told apart
// by its title if there are already many.
func (s *survey) indexOf(f finding, op string) (index uint16, ok bool) {
	c := f.causeIn(op)
	if index, ok = s.indexes[c]; ok {
		return index, true
	}
	if len(s.indexes) >= maxTitledCauses && c.title != "" {
		c.title, f.Title = "", f.Op
		if index, ok = s.indexes[c]; ok {
			return index, true
		}
	}
	if len(s.indexes) == maxCauses {
		return 0, false
	}
	if n := len(s.free); n > 0 {
		index, s.free = s.free[n-1], s.free[:n-1]
	} else {
		index = uint16(len(s.causes))
		s.causes = append(s.causes, nil)
	}
	s.causes[index], s.indexes[c] = &counted{finding: f, cause: c}, index
	return index, true
}

// forget removes the findings of an entry from the counts.
func (s *survey) forget(found slot) {
	for _, index := range found {
		switch {
		case index == 0:
		case index == leftOut:
			s.left--
		default:
			known := s.causes[index-1]
			if known.Count--; known.Count == 0 {
				delete(s.indexes, known.cause)
				s.causes[index-1], s.free = nil, append(s.free, index-1)
			}
		}
	}
}
