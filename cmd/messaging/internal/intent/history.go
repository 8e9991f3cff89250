package intent

import (
	"os"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// window is how long an accepted send counts as the same one.
const window = 24 * time.Hour

// Earlier is a send that was made, or may have been made.
type Earlier struct {
	ID string
	At time.Time
	// Count is the number of its recipients, or nil if it is not known.
	Count *int
	// Outcome describes what became of it.
	Outcome string
	// Like says what it is, if it is not exactly the same send.
	Like string

	refuses, inFlight, accepted bool
}

// History is what the log knows of a send that is about to begin.
type History struct {
	// Last is the last send of exactly the same, or nil.
	Last *Earlier
	// Similar are the sends that people would take for the same; see Earlier.Like.
	Similar []*Earlier

	host string
}

// Look returns what the log knows of s. It changes nothing.
func (l *Log) Look(s Send) (History, error) {
	lines, err := l.read()
	if err != nil {
		return History{}, exit.With(exit.Unexpected, "nothing was sent: cannot read what was sent before: %w", err)
	}
	h, err := l.recall(lines, s)
	if err != nil {
		return History{}, exit.With(exit.Unexpected, "nothing was sent: cannot read what was sent before: %w", err)
	}
	return h, nil
}

// recall returns what the lines and the files of imports know of s.
func (l *Log) recall(lines []line, s Send) (h History, err error) {
	h.host = hostOf(s.Host)
	outcomes, digest := outcomesOf(lines), s.digest()
	for _, each := range lines {
		if each.Digest != digest || !isSameService(each.Host, s.Host) {
			continue
		}
		outcome, ended := outcomes[each.ID]
		found := l.earlier(each, outcome, ended)
		if found != nil && each.Slot != "" {
			found.refuses = true // see isInSlotOf
		}
		if found != nil && (h.Last == nil || found.refuses || !h.Last.refuses) { // one that refuses is never hidden
			h.Last = found
		}
	}
	h.Similar, err = l.similar(lines, s)
	return h, err
}

// outcomesOf returns the lines that say what became of a send, by its id.
func outcomesOf(lines []line) map[string]line {
	outcomes := make(map[string]line)
	for _, each := range lines {
		if each.Digest == "" {
			outcomes[each.ID] = each
		}
	}
	return outcomes
}

// earlier describes a send, or returns nil if it was certainly not carried out.
func (l *Log) earlier(begun, outcome line, ended bool) *Earlier {
	e := &Earlier{ID: begun.ID, At: begun.At, Count: begun.Count, refuses: true}
	switch {
	case !ended && l.inFlight(begun.ID):
		e.inFlight, e.Outcome = true, "is in progress"
	case !ended:
		e.Outcome = "has no recorded outcome: its process ended early, or could not write it"
	case outcome.Delivery == words.Delivery(messaging.DeliveryNotSent), outcome.Delivery == words.Delivery(messaging.DeliveryRejected):
		return nil
	case outcome.Delivery == words.Delivery(messaging.DeliveryAccepted):
		e.Outcome, e.accepted, e.refuses = "was accepted", true, l.now().Sub(begun.sentAt()) < window
	default: // also a delivery of another version, or none
		e.Outcome = "may have been carried out"
	}
	return e
}

// sentAt returns when a send reaches its recipients, if it was carried out.
func (l line) sentAt() time.Time {
	if l.Due != nil && l.Due.After(l.At) {
		return *l.Due
	}
	return l.At
}

// Seen returns the ids of the sends that a repetition would repeat.
func (h History) Seen() (ids []string) {
	if h.Last != nil {
		ids = append(ids, h.Last.ID)
	}
	for _, each := range h.Similar {
		ids = append(ids, each.ID)
	}
	return ids
}

// Refusal returns an error, with exit.Usage, if the send must not begin. With again, it may
// begin once after the sends with the ids of seen, which the operator has seen.
func (h History) Refusal(again bool, seen []string) error {
	if err := h.refusalOfLast(again, seen); err != nil {
		return err
	}
	return h.refusalOfSimilar(again, seen)
}

// refusalOfLast is Refusal for exactly the same send.
func (h History) refusalOfLast(again bool, seen []string) error {
	last := h.Last
	switch {
	case last == nil:
		return nil
	case last.inFlight:
		return exit.With(exit.Usage, "not sent: another process has been sending exactly this to %s since %s; wait for its outcome",
			h.host, last.when())
	case again && !slices.Contains(seen, last.ID):
		return exit.With(exit.Usage, "not sent: exactly this was sent to %s at %s, after the plan was shown, and %s",
			h.host, last.when(), last.Outcome)
	case again || !last.refuses:
		return nil
	}
	return exit.With(exit.Usage, "not sent: exactly this was sent to %s at %s, and %s; %s", h.host, last.when(), last.Outcome, last.next("it"))
}

// next says what to do to send something although it was sent, or may have been.
func (e *Earlier) next(what string) string {
	if e.accepted {
		return "to send " + what + " a second time, pass --again"
	}
	return "look before you pass --again, which sends " + what + " again"
}

// refusalOfSimilar is Refusal for a send that is like earlier ones.
func (h History) refusalOfSimilar(again bool, seen []string) error {
	for _, like := range h.Similar {
		switch {
		case like.inFlight:
			return exit.With(exit.Usage, "not sent: %s %s (since %s); wait for its outcome", like.Like, like.Outcome, like.when())
		case !again:
			return exit.With(exit.Usage, "not sent: %s %s (%s); look before you pass --again, which sends this too", like.Like,
				like.Outcome, like.when())
		case !slices.Contains(seen, like.ID):
			return exit.With(exit.Usage, "not sent: %s %s (%s), after the plan was shown", like.Like, like.Outcome, like.when())
		}
	}
	return nil
}

// IsOpen reports whether nobody knows if a send was carried out.
func (e *Earlier) IsOpen() bool { return e != nil && !e.accepted && !e.inFlight }

func (e *Earlier) when() string { return when(e.At) }

// when returns a time for people.
func when(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// String describes the send for people, such as "2026-01-02 03:04:05 UTC, was accepted".
func (e *Earlier) String() string { return e.when() + ", " + e.Outcome }

// takeOff locks the file of a send that begins. The lock ends with the process.
func (l *Log) takeOff(id string) (*flock.Flock, error) {
	flight := flock.New(l.flightPath(id), flock.SetPermissions(0o600))
	if _, err := flight.TryLock(); err != nil {
		return nil, err
	}
	return flight, nil
}

// land removes the file of a send that has ended. A file that stays does no harm.
func (l *Log) land(flight *flock.Flock) {
	_ = flight.Close()
	_ = os.Remove(flight.Path())
}

// inFlight reports whether the process of a send is alive. A file that a killed process left
// behind is removed.
func (l *Log) inFlight(id string) bool {
	if _, err := os.Stat(l.flightPath(id)); err != nil {
		return false
	}
	flight := flock.New(l.flightPath(id), flock.SetPermissions(0o600))
	got, err := flight.TryRLock()
	if got {
		l.land(flight)
	}
	return err != nil || !got
}

func (l *Log) flightPath(id string) string { return l.path + "." + id }
