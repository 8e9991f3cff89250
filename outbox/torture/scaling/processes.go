package main

import (
	"context"
	"fmt"
	"time"
)

func whole(f float64) string { return fmt.Sprintf("%.0f", f) }

// sending is how long a send takes that does not go nowhere at once.
const sending = 20 * time.Millisecond

// enough returns how many entries n processes cannot send in a measurement.
func (l *lab) enough(perSecond float64) int {
	return int(perSecond * (2*l.warm + l.window).Seconds())
}

// delivered measures a task on a new outbox.
func (l *lab) delivered(ctx context.Context, n int, t task, parameters ...string) (float64, error) {
	s, err := newStore(ctx, l.server, parameters...)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if err := s.add(ctx, pendingRows, l.enough(25_000)); err != nil {
		return 0, err
	}
	if err := s.vacuum(ctx); err != nil {
		return 0, err
	}
	t.Databases = []string{s.url}
	return l.rate(n, t)
}

// processes measures more processes on one database.
func (l *lab) processes(ctx context.Context) (table, error) {
	t := table{{"processes", "deliveries/s, sends that cost nothing", "deliveries/s, sends of 20 ms"}}
	for n := 1; n <= min(l.most, 8); n *= 2 {
		free, err := l.delivered(ctx, n, task{InFlight: 64})
		if err != nil {
			return nil, err
		}
		slow, err := l.delivered(ctx, n, task{InFlight: 64, SendDelay: sending})
		if err != nil {
			return nil, err
		}
		t = append(t, []string{fmt.Sprint(n), whole(free), whole(slow)})
	}
	return t, nil
}

// connections measures more connections for one process.
func (l *lab) connections(ctx context.Context) (table, error) {
	t := table{{"connections in the pool", "deliveries/s, sends that cost nothing", "deliveries/s, database 2 ms away"}}
	for n := 1; n <= l.most; n *= 2 {
		pool := fmt.Sprintf("pool_max_conns=%d", n)
		near, err := l.delivered(ctx, 1, task{InFlight: 64}, pool)
		if err != nil {
			return nil, err
		}
		away, err := l.delivered(ctx, 1, task{InFlight: 64, Distance: 2 * time.Millisecond}, pool)
		if err != nil {
			return nil, err
		}
		t = append(t, []string{fmt.Sprint(n), whole(near), whole(away)})
	}
	return t, nil
}
