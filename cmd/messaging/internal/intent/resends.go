package intent

import (
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// Resend is a trigger of an outbox that is to be sent again.
type Resend struct {
	EventID  string
	Customer messaging.CustomerParams
	Values   map[string]any
	// Added is when it was added to the outbox.
	Added time.Time
}

// LookForResend returns what imports and triggers by hand have in common with triggers that
// are to be sent again, as far as they came after these.
func (l *Log) LookForResend(host string, triggers []Resend) (Overlap, error) {
	found, err := l.later(host, triggers)
	if err != nil {
		return nil, exit.With(exit.Unexpected, "nothing was changed: cannot read what was sent before: %w", err)
	}
	return found, nil
}

func (l *Log) later(host string, triggers []Resend) (found Overlap, err error) {
	for each, err := range l.imports() {
		if err != nil {
			return nil, err
		}
		if each.Host != host {
			continue
		}
		n, err := each.common(tokensBefore(triggers, each.At, each.EventID, each.Shape))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			found = append(found, each.shared(n))
		}
	}
	lines, err := l.read()
	outcomes := outcomesOf(lines)
	for _, each := range lines {
		if each.Event == nil || each.Host != host || !tokensBefore(triggers, each.At, each.Event.ID, each.Event.Shape).Has(each.Event.Tokens) {
			continue
		}
		outcome, ended := outcomes[each.ID]
		if e := l.earlier(each, outcome, ended); e != nil {
			found = append(found, e.shared())
		}
	}
	return found, err
}

// tokensBefore returns the tokens of the triggers of an event that were added before a time.
func tokensBefore(triggers []Resend, at time.Time, event string, shape alike.Shape) *alike.Set {
	set := new(alike.Set)
	for _, t := range triggers {
		if t.EventID == event && t.Added.Before(at) {
			set.Add(shape.Tokens(t.Customer, t.Values))
		}
	}
	set.Sort()
	return set
}
