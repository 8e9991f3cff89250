package ledger

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Scan is the Scan method of a row.
type Scan = func(into ...any) error

// Unit is the unit in which a database returns times, as whole numbers since 1970.
type Unit time.Duration

// Time returns the zero time for NULL.
func (u Unit) Time(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return time.UnixMicro(*n * int64(u) / int64(time.Microsecond))
}

// Number is the opposite of Time.
func (u Unit) Number(t time.Time) int64 { return t.UnixMicro() / (int64(u) / int64(time.Microsecond)) }

// Duration returns a positive duration, or the longest one for a time in thousands of years.
func (u Unit) Duration(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(u))) * time.Duration(u)
}

// Entry scans the columns of an entry: id, key, operation, digest, state, attempts, doubts,
// delivery, error, created_at, not_before, settled_at, not_after, lease_until, priority,
// repeatable, the size of the body and the current time.
func (u Unit) Entry(row Scan) (e Entry, err error) {
	var enqueued, notBefore, now int64
	var settled, notAfter, lease *int64
	err = row(&e.ID, &e.Key, &e.Operation, &e.Digest, &e.State, &e.Attempts, &e.Doubts, &e.Delivery, &e.Error, &enqueued, &notBefore,
		&settled, &notAfter, &lease, &e.Priority, &e.Repeatable, &e.Size, &now)
	if err != nil {
		return e, err
	}
	due := cmp.Or(notBefore, enqueued)
	e.EnqueuedAt, e.NotBefore, e.SettledAt, e.NotAfter = u.Time(&enqueued), u.Time(&due), u.Time(settled), u.Time(notAfter)
	e.Position, e.DueIn = Position{Time: notBefore, ID: e.ID}, u.Duration(notBefore-now)
	if notAfter != nil {
		e.Left = u.Duration(*notAfter - now)
	}
	if lease != nil {
		e.LeaseLeft = u.Duration(*lease - now)
	}
	return e, nil
}

// Claimed scans the columns of an entry, body, sealed, denials, and whether another entry was
// accepted since the last denial.
func (u Unit) Claimed(row Scan) (c Claimed, err error) {
	c.Entry, err = u.Entry(func(into ...any) error { return row(append(into, &c.Body, &c.Sealed, &c.Denials, &c.AcceptedSince)...) })
	return c, err
}

// FilterSQL has the conditions of a dialect, each with the number of its parameter as %d.
type FilterSQL struct {
	Unit
	AfterID, Operation, EnqueuedAfter, EnqueuedBefore, ErrorContains string
}

// Where returns the condition that an entry matches the filter and has a larger id, and the
// parameters of the condition.
func (s FilterSQL) Where(f Filter, after int64) (condition string, args []any) {
	var all []string
	and := func(condition string, value any) {
		args = append(args, value)
		all = append(all, fmt.Sprintf(condition, len(args)))
	}
	and(s.AfterID, after)
	if f.State >= 0 { // a condition without a parameter can use its partial index
		all = append(all, fmt.Sprintf(`state = %d`, f.State))
	}
	if f.Operation != "" {
		and(s.Operation, f.Operation)
	}
	if !f.EnqueuedAfter.IsZero() {
		and(s.EnqueuedAfter, s.Number(f.EnqueuedAfter))
	}
	if !f.EnqueuedBefore.IsZero() {
		and(s.EnqueuedBefore, s.Number(f.EnqueuedBefore))
	}
	if f.ErrorContains != "" {
		and(s.ErrorContains, f.ErrorContains)
	}
	return strings.Join(all, ` AND `), args
}
