package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/outboxriver"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
)

// distance is the time that a round trip takes to each of several databases.
const distance = 20 * time.Millisecond

// databases measures keys that are spread over several servers by one process. The servers
// are on this machine and share its processors, so each is far away: what limits one of
// them is time, as it is the disk elsewhere.
func (l *lab) databases(ctx context.Context) (table, error) {
	t := table{{"databases", "deliveries/s", "of one database"}}
	var first float64
	for n := 1; n <= min(l.most, 4); n *= 2 {
		rate, err := l.spread(ctx, n)
		if err != nil {
			return nil, err
		}
		if n == 1 {
			first = rate
		}
		t = append(t, []string{fmt.Sprint(n), whole(rate), fmt.Sprintf("%.2f", rate/first)})
	}
	return t, nil
}

// spread measures n servers.
func (l *lab) spread(ctx context.Context, n int) (float64, error) {
	work := task{InFlight: 64, Distance: distance}
	for range n {
		server, err := pgserver.Start(ctx)
		if err != nil {
			return 0, err
		}
		defer server.Close()
		s, err := newStore(ctx, server.URL, "pool_max_conns=4")
		if err != nil {
			return 0, err
		}
		defer s.close()
		if err := s.add(ctx, pendingRows, l.enough(10_000)); err != nil {
			return 0, err
		}
		work.Databases = append(work.Databases, s.url)
	}
	return l.rate(1, work)
}

// river measures outboxriver beside Run.
func (l *lab) river(ctx context.Context) (table, error) {
	t := table{{"processes", "deliveries/s, Run", "deliveries/s, outboxriver"}}
	for n := 1; n <= min(l.most, 4); n *= 2 {
		alone, err := l.delivered(ctx, n, task{InFlight: 64})
		if err != nil {
			return nil, err
		}
		s, err := newStore(ctx, l.server)
		if err != nil {
			return nil, err
		}
		defer s.close()
		if err := s.permit(ctx, l.enough(20_000)); err != nil {
			return nil, err
		}
		permitted, err := l.rate(n, task{Databases: []string{s.url}, InFlight: 64, River: true})
		if err != nil {
			return nil, err
		}
		t = append(t, []string{fmt.Sprint(n), whole(alone), whole(permitted)})
	}
	return t, nil
}

// permit adds n entries with their permits.
func (s *store) permit(ctx context.Context, n int) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(s.pool), nil)
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	client, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{})
	if err != nil {
		return err
	}
	items := make([]outbox.Item, n)
	for i := range items {
		key := fmt.Sprintf("order-%07d", i)
		items[i] = outbox.Item{Key: key, Prepared: request(key)}
	}
	for some := range slices.Chunk(items, 1000) {
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			_, err := outboxriver.EnqueueAllTx(ctx, client, s.outbox, tx, some...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
