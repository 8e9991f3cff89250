package intent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// importWindow is how long an import is remembered. A list that is sent every week does not
// meet that of the week before.
const importWindow = 6 * 24 * time.Hour

// Import is an import of triggers into an outbox that is about to begin.
type Import struct {
	// Host identifies the service; see profile.Service.Canonical.
	Host string
	// EventID and EventName are those of the event. Either makes it the same event.
	EventID, EventName string
	// Shape is that of the event.
	Shape alike.Shape
	// Outbox identifies the outbox, and Title names it for people. Outbox is "" if it does not
	// exist yet.
	Outbox, Title string
	// Plan is the digest of all rows, also those that the outbox has.
	Plan string
	// Triggers are those that the outbox does not have.
	Triggers *alike.Set
}

// isSameEvent reports whether people would take two events for the same.
func isSameEvent(id, name, otherID, otherName string) bool {
	return id == otherID || name != "" && alike.Fold(name) == alike.Fold(otherName)
}

// Common is what an earlier send has in common with an import.
type Common struct {
	ID    string
	Count int // of triggers that are alike, or 0 if nobody can tell
	// What says how and when they were sent, such as "imported into orders.db at ...".
	What string
	// doubt says why nobody can tell.
	doubt string
}

// doubtful returns what it is if nobody can tell whether it has something in common.
func (c Common) doubtful(why string) Common {
	c.Count, c.doubt = 0, why
	return c
}

// shared is what the import has in common with something else.
func (f importFile) shared(n int) Common {
	return Common{ID: f.ID, Count: n, What: f.what() + " at " + when(f.At)}
}

// shared is what a trigger by hand has in common with something else.
func (e *Earlier) shared() Common {
	return Common{ID: e.ID, Count: 1, What: "triggered by hand at " + e.when() + ", which " + e.Outcome}
}

// Describe describes it for people, with the word for a trigger, such as "row".
func (c Common) Describe(noun string) string {
	switch c.Count {
	case 0:
		return fmt.Sprintf("nobody can tell whether these %ss are the same as ones that were %s: %s", noun, c.What, c.doubt)
	case 1:
		return "1 " + noun + " matches one already " + c.What
	}
	return words.Count(c.Count, noun) + " match ones already " + c.What
}

// Overlap is what earlier sends have in common with an import. Rows are alike if they have
// the same event and customer, and the same values where the event requires one.
type Overlap []Common

// IDs identifies what the operator has seen.
func (o Overlap) IDs() (ids []string) {
	for _, each := range o {
		ids = append(ids, each.ID)
	}
	return ids
}

// Refusal returns an error, with exit.Usage, if an import must not begin. With again, it may
// begin after what the operator has seen. A doubt, which has no count, is one that a person who has seen it can
// override.
func (o Overlap) Refusal(again bool, seen []string) error {
	for _, each := range o {
		switch {
		case !again && each.Count > 0:
			return exit.With(exit.Usage, "nothing was imported: %s: the same event and customer, and the same values where the event "+
				"requires one. Look before you pass --again, which adds them once more", each.Describe("row"))
		case !slices.Contains(seen, each.ID):
			return exit.With(exit.Usage, "nothing was imported: %s, after the plan was shown", each.Describe("row"))
		}
	}
	return nil
}

// Why nobody can tell whether triggers are the same.
const (
	otherShape     = "the event has got other required parameters since then"
	namedOtherwise = "the values are the same, but some name the customer by id, and some by address"
)

// isComparable reports whether the triggers of the import can be compared with earlier ones.
func (i Import) isComparable(shape alike.Shape) bool {
	return len(i.Triggers.Tokens) == 0 || slices.Equal(shape, i.Shape)
}

// LookForImport returns what earlier imports and triggers have in common with an import.
func (l *Log) LookForImport(i Import) (Overlap, error) {
	found, err := l.overlap(i)
	if err != nil {
		return nil, exit.With(exit.Unexpected, "nothing was imported: cannot read what was sent before: %w", err)
	}
	return found, nil
}

func (l *Log) overlap(i Import) (found Overlap, err error) {
	for each, err := range l.imports() {
		if err != nil {
			return nil, err
		}
		if !isSameService(each.Host, i.Host) || !isSameEvent(each.EventID, each.EventName, i.EventID, i.EventName) ||
			each.Outbox == i.Outbox && each.Plan == i.Plan && !each.whole {
			continue // the rest of an import that was killed is no repetition
		}
		if !i.isComparable(each.Shape) {
			found = append(found, each.shared(0).doubtful(otherShape))
			continue
		}
		common, err := each.common(i.Triggers)
		if err != nil {
			return nil, err
		}
		if common != nil {
			found = append(found, *common)
		}
	}
	byHand, err := l.triggersLike(i)
	return append(found, byHand...), err
}

// triggersLike returns the triggers by hand that are like one of an import.
func (l *Log) triggersLike(i Import) (found []Common, err error) {
	lines, err := l.read()
	if err != nil {
		return nil, err
	}
	outcomes := outcomesOf(lines)
	for _, each := range lines {
		if each.Event == nil || !isSameService(each.Host, i.Host) || l.now().Sub(each.At) >= importWindow ||
			!isSameEvent(each.Event.ID, each.Event.Name, i.EventID, i.EventName) {
			continue
		}
		doubt := ""
		switch tokens := each.Event.Tokens; {
		case !i.isComparable(each.Event.Shape):
			doubt = otherShape
		case i.Triggers.Has(tokens):
		case i.Triggers.MayHave(tokens):
			doubt = namedOtherwise
		default:
			continue
		}
		outcome, ended := outcomes[each.ID]
		if e := l.earlier(each, outcome, ended); e != nil {
			common := e.shared()
			if doubt != "" {
				common = common.doubtful(doubt)
			}
			found = append(found, common)
		}
	}
	return found, nil
}

// BegunImport is an import that has been written down.
type BegunImport struct{ path string }

// BeginImport writes down that an import begins. It refuses, with exit.Usage, one with rows
// that were sent before, unless again is true and the operator has seen them. If the file
// cannot be written, nothing may be imported.
func (l *Log) BeginImport(ctx context.Context, i Import, again bool, seen []string) (*BegunImport, error) {
	entry := imported{rand.Text(), i.Host, i.EventID, i.EventName, i.Shape, i.Outbox, i.Title, i.Plan, l.now().UTC(), len(i.Triggers.Tokens)}
	begun := &BegunImport{filepath.Join(l.importFolder(), fmt.Sprintf("%d-%s%s", entry.At.UnixNano(), entry.ID, importBegun))}
	err := l.locked(ctx, func() error {
		l.removeOld()
		found, err := l.overlap(i)
		if err == nil {
			err = found.Refusal(again, seen)
		}
		if err == nil {
			err = l.writeImport(begun.path, entry, i.Triggers.Tokens)
		}
		return err
	})
	if own := new(exit.Error); err != nil && !errors.As(err, &own) {
		err = exit.With(exit.Unexpected, "nothing was imported: cannot write down that this import begins: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return begun, nil
}

// Undo forgets an import that has added nothing.
func (b *BegunImport) Undo() error { return os.Remove(b.path) }

// Done writes down that all rows were imported.
func (b *BegunImport) Done() error {
	return os.Rename(b.path, wholeName(b.path))
}
