// Package faults tries to make an outbox send an entry twice or lose one. It kills, stops and
// pauses its workers, breaks its database, restores backups, and compares the state of each
// entry with what the service carried out.
package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/service"
)

// Head is the head of the table.
var Head = []string{"fault", "entries", "carried out twice", "lost", "in the wrong state", "unclear", "result"}

// Lab determines where and how much is tried.
type Lab struct {
	Server  string // the URL of Postgres
	Dir     string // for SQLite files
	Entries int
	Times   int // that a process is killed or stopped
}

// fault is what happens again and again while entries are sent.
type fault struct {
	name    string
	inflict func(*run, context.Context, int) error
	seldom  bool // since it takes long
	// gentle means that the fault itself makes no entry unclear.
	gentle bool
	// everywhere means that each fault affects every worker.
	everywhere bool
}

var (
	killed     = fault{name: "kill -9", inflict: (*run).kill}
	terminated = fault{name: "SIGTERM", inflict: (*run).terminate, gentle: true}
	paused     = fault{name: "paused for longer than the lease", inflict: (*run).pause, seldom: true}
	crash      = fault{name: "Postgres crashes and restarts", inflict: (*run).fail, seldom: true, everywhere: true}
	takeover   = fault{name: "the primary fails and its synchronous standby takes over", inflict: (*run).fail, seldom: true, everywhere: true}
	clockJumps = fault{name: "the clock of Postgres jumps", inflict: (*run).jump, seldom: true, gentle: true}
	backedUp   = fault{name: "backups", inflict: (*run).backUp, seldom: true, gentle: true}
)

// scenario is a fault on a database.
type scenario struct {
	fault
	place place
	river bool
}

// place is where the database of a scenario is.
type place string

const (
	onSQLite place = "SQLite"
	shared   place = "Postgres"
	own      place = "own Postgres"
	standby  place = "Postgres with a standby"
)

// workers is how many workers a scenario has.
const workers = 3

func (s scenario) String() string {
	if s.river {
		return s.name + ", Postgres with River"
	}
	return fmt.Sprintf("%s, %s", s.name, s.place)
}

var scenarios = []scenario{
	{fault: killed, place: onSQLite}, {fault: killed, place: shared}, {fault: killed, place: shared, river: true},
	{fault: terminated, place: onSQLite}, {fault: terminated, place: shared},
	{fault: paused, place: onSQLite}, {fault: paused, place: shared},
	{fault: crash, place: own}, {fault: takeover, place: standby}, {fault: clockJumps, place: shared},
	{fault: backedUp, place: onSQLite}, {fault: backedUp, place: own},
}

// Parts returns a part for each scenario, and the storms.
func Parts(l Lab) []report.Part {
	var parts []report.Part
	for _, s := range scenarios {
		parts = append(parts, report.Part{Name: s.String(),
			Do: func(ctx context.Context) ([]report.Row, error) { return l.disturb(ctx, s) }})
	}
	for _, slow := range []bool{false, true} {
		name := "resent while paused, Postgres"
		if slow {
			name += ", slow connections"
		}
		parts = append(parts, report.Part{Name: name,
			Do: func(ctx context.Context) ([]report.Row, error) { return l.storm(ctx, name, slow) }})
	}
	return parts
}

// failing is a server that can fail, and works again when Fail returns.
type failing interface {
	Fail(context.Context) error
	Close()
}

// server returns the URL of the server for a scenario, "" for SQLite, and the server if the
// scenario has its own.
func (l Lab) server(ctx context.Context, at place) (url string, server failing, err error) {
	switch at {
	case shared:
		return l.Server, nil, nil
	case own:
		s, err := pgserver.Start(ctx)
		if err != nil {
			return "", nil, err
		}
		return s.URL, s, nil
	case standby:
		p, err := pgserver.StartPair(ctx)
		if err != nil {
			return "", nil, err
		}
		return p.URL, p, nil
	}
	return "", nil, nil
}

// disturb runs a scenario: workers send, faults happen at regular points on the way, and the
// states are compared with the truth.
func (l Lab) disturb(ctx context.Context, s scenario) (rows []report.Row, err error) {
	url, server, err := l.server(ctx, s.place)
	if err != nil {
		return nil, err
	}
	if server != nil {
		defer server.Close()
	}
	r, err := l.newRun(ctx, url, l.Entries, &service.Service{Rejects: true, Loses: true, Delay: 5 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.server, r.task.River = server, s.river
	times := l.Times
	if s.seldom {
		times = min(times, 5)
	}
	if err := r.suffer(ctx, s.fault, times); err != nil {
		return nil, err
	}
	found, err := r.truth(ctx)
	if err != nil {
		return nil, err
	}
	rows = []report.Row{found.row(s.String(), s.limit(found.lostResponses, times, r.task.InFlight))}
	if len(r.backups) > 0 {
		restored, err := r.restore(ctx)
		return append(rows, restored), err
	}
	return rows, nil
}

// limit is how many entries may be unclear.
func (f fault) limit(lostResponses, times, inFlight int) int {
	if f.gentle {
		return lostResponses
	}
	atOnce := 2 * inFlight // being sent, being recorded, and claimed ahead
	if f.everywhere {
		atOnce *= workers
	}
	return lostResponses + times*atOnce
}

const (
	sendTimeout = 2 * time.Second
	// lease is how long a worker may hold an entry: the send timeout and 15 s.
	lease = sendTimeout + 15*time.Second
	// beyond is longer than a lease.
	beyond = lease + 3*time.Second
)
