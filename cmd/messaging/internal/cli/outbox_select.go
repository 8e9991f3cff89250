package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/outbox"
)

// selected is what the operator decides about.
type selected struct {
	Ledger      string
	Filter      outbox.Filter
	Keys        []string
	Count       int
	Largest     int64 // id
	ByState     map[outbox.State]int
	ByOperation map[string]int

	shown   []string // the first keys, for the plan
	ids     []int64
	tried   []int32   // the attempts of each
	oldest  time.Time // when the first of the triggers that can be sent again was added
	entries hash.Hash // of the ids and states, and of the attempts, so that a digest confirms one resend
}

func newSelected(b *box) selected {
	return selected{Ledger: b.ledger.Title, ByState: map[outbox.State]int{}, ByOperation: map[string]int{}, entries: sha256.New()}
}

// selectMatching selects the entries that match a filter, in the order of their ids.
func selectMatching(ctx context.Context, b *box, filter outbox.Filter) (selected, error) {
	s := newSelected(b)
	s.Filter = filter
	for e, err := range b.List(ctx, outbox.ListParams{Filter: filter}) {
		if err != nil {
			return s, err
		}
		s.add(e)
	}
	return s, nil
}

func selectKeys(ctx context.Context, b *box, keys []string) (selected, error) {
	s := newSelected(b)
	s.Keys = keys
	for _, key := range keys {
		e, err := b.Get(ctx, key)
		switch {
		case errors.Is(err, outbox.ErrNoEntry):
			return s, exit.With(exit.NotFound, "%s has no entry with the key %q; nothing was changed", b.ledger.Title, key)
		case err != nil:
			return s, err
		}
		s.add(e)
	}
	return s, nil
}

func (s *selected) add(e outbox.Entry) {
	s.Count++
	s.Largest = max(s.Largest, e.ID)
	s.ByState[e.State]++
	s.ByOperation[e.Operation]++
	if len(s.shown) < shownKeys {
		s.shown = append(s.shown, e.Key)
	}
	s.ids, s.tried = append(s.ids, e.ID), append(s.tried, int32(e.Attempts))
	if isTrigger(e) && (s.oldest.IsZero() || e.EnqueuedAt.Before(s.oldest)) {
		s.oldest = e.EnqueuedAt
	}
	_, _ = fmt.Fprintln(s.entries, e.ID, e.State, e.Attempts, e.SettledAt.UnixMilli()) // a hash returns no error
}

// shownKeys is how many keys a plan shows.
const shownKeys = 5

// keys lists the first keys.
func (s selected) keys() string {
	text := strings.Join(s.shown, ", ")
	if more := s.Count - len(s.shown); more > 0 {
		text += " and " + words.Thousands(more) + " more"
	}
	return text
}

// all ranges over the entries as they are now. Some may be gone.
func (s selected) all(ctx context.Context, b *box) iter.Seq2[outbox.Entry, error] {
	return func(yield func(outbox.Entry, error) bool) {
		for _, key := range s.Keys {
			e, err := b.Get(ctx, key)
			if errors.Is(err, outbox.ErrNoEntry) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		if len(s.Keys) > 0 {
			return
		}
		for e, err := range b.List(ctx, outbox.ListParams{Filter: s.Filter}) {
			if err == nil && !s.isShown(e) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// isShown reports whether an entry is as the operator has seen it: one that was sent again since then
// may have been carried out again.
func (s selected) isShown(e outbox.Entry) bool {
	i, shown := slices.BinarySearch(s.ids, e.ID)
	return shown && s.tried[i] == int32(e.Attempts)
}

// digest is that of what the operator confirms: the filter or the keys, the largest id, and
// the id, the state and the last attempt of every entry.
func (s selected) digest() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it holds texts, numbers and times
	}
	sum := sha256.Sum256(s.entries.Sum(text))
	return hex.EncodeToString(sum[:])
}

// otherThan counts the entries in other states.
func (s selected) otherThan(states []outbox.State) (n int) {
	for state, count := range s.ByState {
		if !slices.Contains(states, state) {
			n += count
		}
	}
	return n
}

// selectedBatch is how many entries are decided about together.
const selectedBatch = 500

// next returns the keys of the next selected entries that still match, and the id after
// which to go on. That is 0 at the end.
func (s selected) next(ctx context.Context, b *box, after int64) (keys []string, last int64, err error) {
	for e, err := range b.List(ctx, outbox.ListParams{Filter: s.Filter, After: after, Limit: selectedBatch}) {
		if err != nil {
			return nil, 0, err
		}
		last = e.ID
		if s.isShown(e) {
			keys = append(keys, e.Key)
		}
	}
	return keys, last, nil
}
