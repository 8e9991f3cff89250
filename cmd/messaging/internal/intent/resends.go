package intent

import (
	"iter"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// Resend is a trigger of an outbox that is to be sent again.
type Resend struct {
	EventID  string
	Email    string // beside the customer
	Customer messaging.CustomerParams
	Values   map[string]any
	// Added is when it was added to the outbox.
	Added time.Time
}

// LookForResend returns what imports and triggers by hand have in common with triggers that
// are to be sent again, as far as they came after these. It does not range over the triggers
// if nothing was sent since the oldest of them was added.
func (l *Log) LookForResend(host string, oldest time.Time, triggers iter.Seq2[Resend, error]) (Overlap, error) {
	sends, names, err := l.sentAfter(host, oldest)
	if err != nil {
		return nil, exit.With(exit.Unexpected, "nothing was changed: cannot read what was sent before: %w", err)
	}
	if len(sends) == 0 {
		return nil, nil
	}
	for trigger, err := range triggers {
		if err != nil {
			return nil, err
		}
		meet(sends, trigger, names[trigger.EventID])
	}
	var found Overlap
	for _, each := range sends {
		common, err := each.common()
		if err != nil {
			return nil, exit.With(exit.Unexpected, "nothing was changed: cannot read what was sent before: %w", err)
		}
		if common != nil {
			found = append(found, *common)
		}
	}
	return found, nil
}

// sentLater is an import, or a trigger by hand, that came after some of the triggers.
type sentLater struct {
	at                 time.Time
	eventID, eventName string
	shape              alike.Shape
	add                func(alike.Tokens)      // of a trigger that is to be sent again
	common             func() (*Common, error) // with those, or nil
}

// meet adds a trigger, of an event with a name, to the sends that came after it.
func meet(sends []*sentLater, trigger Resend, name string) {
	var tokens alike.Tokens
	var of alike.Shape // whose tokens they are, since most sends have the same shape
	for _, each := range sends {
		if !trigger.Added.Before(each.at) || !isSameEvent(each.eventID, each.eventName, trigger.EventID, name) {
			continue
		}
		if of == nil || !slices.Equal(of, each.shape) {
			of, tokens = each.shape, each.shape.Tokens(trigger.Email, trigger.Customer, trigger.Values)
		}
		each.add(tokens)
	}
}

// sentAfter returns what was sent after a time, and the names of events by their ids.
func (l *Log) sentAfter(host string, after time.Time) (sends []*sentLater, names map[string]string, err error) {
	names = make(map[string]string)
	for each, err := range l.imports() {
		if err != nil {
			return nil, nil, err
		}
		if !isSameService(each.Host, host) {
			continue
		}
		if names[each.EventID] = each.EventName; each.At.After(after) {
			sends = append(sends, each.sentLater())
		}
	}
	lines, err := l.read()
	outcomes := outcomesOf(lines)
	for _, each := range lines {
		if each.Event == nil || !isSameService(each.Host, host) {
			continue
		}
		names[each.Event.ID] = each.Event.Name
		outcome, ended := outcomes[each.ID]
		if e := l.earlier(each, outcome, ended); e != nil && each.At.After(after) {
			sends = append(sends, e.sentLater(each.Event))
		}
	}
	return sends, names, err
}

func (f importFile) sentLater() *sentLater {
	set := new(alike.Set)
	began := f.At.Truncate(time.Millisecond) // as outboxes keep times, or what it added would seem to be older
	return &sentLater{at: began, eventID: f.EventID, eventName: f.EventName, shape: f.Shape, add: set.Add,
		common: func() (*Common, error) {
			set.Sort()
			return f.common(set)
		}}
}

func (e *Earlier) sentLater(t *Trigger) *sentLater {
	var isAlike, mayBe bool // of one of the triggers
	return &sentLater{at: e.At, eventID: t.ID, eventName: t.Name, shape: t.Shape,
		add: func(tokens alike.Tokens) {
			isAlike = isAlike || tokens.Meet(t.Tokens)
			mayBe = mayBe || tokens.MayMeet(t.Tokens)
		},
		common: func() (*Common, error) {
			common := e.shared()
			switch {
			case isAlike:
				return &common, nil
			case mayBe:
				common = common.doubtful(namedOtherwise)
				return &common, nil
			}
			return nil, nil
		}}
}
