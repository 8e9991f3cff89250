package outboxriver_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/outboxriver"
	"github.com/messaging-go/messaging/outbox/postgres"
)

// stage is a service and a database.
type stage struct {
	service *messagingtest.Server
	pool    *pgxpool.Pool
	event   *messaging.Event
}

func newStage(t *testing.T) *stage {
	s := &stage{service: messagingtest.NewServer(t), pool: pgtest.Pool(t)}
	require.NoError(t, postgres.Migrate(t.Context(), s.pool))
	migrator, err := rivermigrate.New(riverpgxv5.New(s.pool), nil)
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	s.event, err = s.service.Client().Events.Create(t.Context(), messaging.EventCreateParams{Name: "shipped",
		Description: "An order has shipped",
		Parameters:  []messaging.EventParameter{{Name: "order", Type: messaging.ParameterText, Required: true}}})
	require.NoError(t, err)
	return s
}

// process starts what a process has: an outbox and a River client that works.
func (s *stage) process(t *testing.T) (*outbox.Outbox[pgx.Tx], *river.Client[pgx.Tx]) {
	store, err := postgres.New(t.Context(), s.pool)
	require.NoError(t, err)
	o, err := outbox.New(store, s.service.Client())
	require.NoError(t, err)
	return o, start(t, s, o)
}

// start starts a River client that works for an outbox.
func start(t *testing.T, s *stage, o *outbox.Outbox[pgx.Tx]) *river.Client[pgx.Tx] {
	config := &river.Config{
		Logger: slog.New(slog.DiscardHandler),
	}
	outboxriver.Register(config, o)
	client, err := river.NewClient(riverpgxv5.New(s.pool), config)
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		require.NoError(t, client.Stop(ctx))
	})
	return client
}

func (s *stage) request(t *testing.T, key string) *messaging.Prepared {
	p, err := messaging.EventTriggerParams{Definition: s.event, Email: "ada@example.com", Values: map[string]any{"order": key}}.Prepare()
	require.NoError(t, err)
	return p
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 5*time.Minute, 10*time.Millisecond)
}

func TestEachEntryIsSentOnceByThreeClients(t *testing.T) {
	s := newStage(t)
	o, client := s.process(t)
	for range 2 {
		s.process(t)
	}
	const n = 60
	keys := make([]string, n)
	items := make([]outbox.Item, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("order-%d", i)
		items[i] = outbox.Item{Key: keys[i], Prepared: s.request(t, keys[i])}
	}
	for range 2 { // the second time, all are present
		require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
			_, err := outboxriver.EnqueueAllTx(t.Context(), client, o, tx, items...)
			return err
		}))
	}
	eventually(t, func() bool {
		counts, err := o.Counts(t.Context())
		require.NoError(t, err)
		return counts.Accepted == n
	})
	sent := make(map[string]int)
	for _, trigger := range s.service.Triggers() {
		sent[trigger.Params.Values["order"].(string)]++
	}
	for _, key := range keys {
		assert.Equal(t, 1, sent[key], key)
	}
	var personal int
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE args::text LIKE '%ada%'`).Scan(&personal))
	assert.Zero(t, personal, "a job contains nothing of a request")
}

func TestEnqueueTxAddsEntryAndJobTogether(t *testing.T) {
	s := newStage(t)
	o, client := s.process(t)
	enqueue := func(item outbox.Item, end error) {
		item.Prepared = s.request(t, item.Key)
		err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
			_, err := outboxriver.EnqueueTx(t.Context(), client, o, tx, item)
			require.NoError(t, err)
			return end
		})
		require.ErrorIs(t, err, end)
	}
	enqueue(outbox.Item{Key: "rolled back"}, assert.AnError)
	enqueue(outbox.Item{Key: "committed"}, nil)
	enqueue(outbox.Item{Key: "scheduled", NotBefore: time.Now().Add(time.Hour)}, nil)
	eventually(t, func() bool {
		entry, err := o.Get(t.Context(), "committed")
		require.NoError(t, err)
		return entry.State == outbox.Accepted
	})
	assert.Len(t, s.service.Triggers(), 1)
	scheduled, err := o.Get(t.Context(), "scheduled")
	require.NoError(t, err)
	assert.Equal(t, outbox.Pending, scheduled.State)
}

func TestNothingIsStrandedWhenRiverIsTheOnlyEngine(t *testing.T) {
	s := newStage(t)
	o, _ := s.process(t)
	_, err := o.Enqueue(t.Context(), outbox.Item{Key: "without a job", Prepared: s.request(t, "4711")})
	require.NoError(t, err)
	require.NoError(t, o.PauseAll(t.Context()))
	_, err = o.Enqueue(t.Context(), outbox.Item{Key: "paused", Prepared: s.request(t, "4712")})
	require.NoError(t, err)
	require.NoError(t, o.ResumeAll(t.Context()))
	eventually(t, func() bool { return len(s.service.Triggers()) == 2 })
}

func TestAJobOfAProcessThatIsGoneStrandsNothing(t *testing.T) {
	s := newStage(t)
	o, client := s.process(t)
	require.NoError(t, client.Stop(t.Context()))
	require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := outboxriver.EnqueueTx(t.Context(), client, o, tx, outbox.Item{Key: "first", Prepared: s.request(t, "first")})
		return err
	}))
	_, err := s.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now(), attempt = 1 WHERE state = 'available'`)
	require.NoError(t, err)
	began := time.Now()
	o, _ = s.process(t)
	eventually(t, func() bool {
		entry, err := o.Get(t.Context(), "first")
		require.NoError(t, err)
		return entry.State == outbox.Accepted
	})
	assert.Less(t, time.Since(began), 20*time.Second)
}

// otherProgram is a job of another program on the same River.
type otherProgram struct{}

func (otherProgram) Kind() string { return "other_program" }

// led is a stage where another program leads, so that the periodic jobs of the outbox are never
// inserted. enqueue enqueues an item with its job.
type led struct {
	*stage
	o       *outbox.Outbox[pgx.Tx]
	enqueue func(item outbox.Item)
	stop    func() // stops the process
}

func newLed(t *testing.T) led {
	s := newStage(t)
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[otherProgram]) error { return nil }))
	other, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{Logger: slog.New(slog.DiscardHandler), Workers: workers,
		Queues: map[string]river.QueueConfig{"other": {MaxWorkers: 1}}})
	require.NoError(t, err)
	require.NoError(t, other.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, other.Stop(context.Background())) })
	eventually(t, func() bool {
		var leaders int
		require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_leader`).Scan(&leaders))
		return leaders == 1
	})
	o, client := s.process(t)
	return led{s, o, func(item outbox.Item) {
		item.Prepared = s.request(t, item.Key)
		require.NoError(t, pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
			_, err := outboxriver.EnqueueTx(t.Context(), client, o, tx, item)
			return err
		}))
	}, func() { require.NoError(t, client.Stop(t.Context())) }}
}

func (l led) eventuallyIs(t *testing.T, key string, state outbox.State) {
	t.Helper()
	eventually(t, func() bool {
		entry, err := l.o.Get(t.Context(), key)
		require.NoError(t, err)
		return entry.State == state
	})
}

func TestEntriesAreSentWhileAnotherProgramLeads(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, l led){
		"a reminder": func(t *testing.T, l led) {
			l.enqueue(outbox.Item{Key: "entry", NotBefore: time.Now().Add(3 * time.Second)})
		},
		"the service fails": func(t *testing.T, l led) {
			l.service.Fail("", 3, messagingtest.Status(502))
			l.enqueue(outbox.Item{Key: "unclear"})
			l.eventuallyIs(t, "unclear", outbox.Unclear)
			l.enqueue(outbox.Item{Key: "entry", Repeatable: true})
		},
		"a denial": func(t *testing.T, l led) {
			l.service.Fail("", 1, messagingtest.Status(403))
			l.enqueue(outbox.Item{Key: "entry"})
			eventually(t, func() bool {
				entry, err := l.o.Get(t.Context(), "entry")
				require.NoError(t, err)
				return entry.State == outbox.Pending && entry.Attempts == 1
			})
			_, err := l.pool.Exec(t.Context(), `UPDATE outbox_entry SET not_before = now()`)
			require.NoError(t, err)
		},
		"a resend": func(t *testing.T, l led) {
			l.service.Fail("", 1, messagingtest.Status(422))
			l.enqueue(outbox.Item{Key: "entry"})
			l.eventuallyIs(t, "entry", outbox.Rejected)
			_, err := l.o.Resend(t.Context(), "entry")
			require.NoError(t, err)
		},
		"a resume": func(t *testing.T, l led) {
			require.NoError(t, l.o.PauseAll(t.Context()))
			l.enqueue(outbox.Item{Key: "entry"})
			eventually(t, func() bool { // its job found nothing to do
				var completed int
				require.NoError(t, l.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'completed'`).Scan(&completed))
				return completed > 0
			})
			require.NoError(t, l.o.ResumeAll(t.Context()))
		},
		"a killed worker": func(t *testing.T, l led) {
			l.enqueue(outbox.Item{Key: "first"})
			l.eventuallyIs(t, "first", outbox.Accepted)
			l.stop()
			l.enqueue(outbox.Item{Key: "entry"})
			for _, kill := range []string{
				`state = 'available'`, // the job of the entry
				`id = (SELECT min(id) FROM river_job WHERE state = 'scheduled')`,
			} {
				_, err := l.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now(), attempt = 1
					WHERE queue = 'messaging_outbox' AND `+kill)
				require.NoError(t, err)
			}
			l.process(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLed(t)
			test(t, l)
			l.eventuallyIs(t, "entry", outbox.Accepted)
		})
	}
}

func TestARingIsUniqueInItsSecond(t *testing.T) {
	l := newLed(t)
	for i := range 6 {
		l.enqueue(outbox.Item{Key: fmt.Sprint("entry ", i)})
		l.eventuallyIs(t, fmt.Sprint("entry ", i), outbox.Accepted)
	}
	var rings, seconds int
	require.NoError(t, l.pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT scheduled_at) FROM river_job
		WHERE unique_key IS NOT NULL`).Scan(&rings, &seconds))
	assert.Positive(t, rings)
	assert.Equal(t, seconds, rings)
}
