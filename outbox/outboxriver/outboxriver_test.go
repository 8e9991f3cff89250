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
}

func newStage(t *testing.T) *stage {
	s := &stage{messagingtest.NewServer(t), pgtest.Pool(t)}
	require.NoError(t, migrate(t.Context(), s.pool))
	return s
}

// number asks the database for a number.
func (s *stage) number(t *testing.T, query string) (n int) {
	require.NoError(t, s.pool.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// process is what a process has: an outbox, and a River client that works for it.
type process struct {
	*stage
	o    *outbox.Outbox[pgx.Tx]
	jobs *river.Client[pgx.Tx]
}

func (s *stage) process(t *testing.T) process {
	store, err := postgres.New(t.Context(), s.pool)
	require.NoError(t, err)
	o, err := outbox.New(store, s.service.Client())
	require.NoError(t, err)
	config := &river.Config{Logger: slog.New(slog.DiscardHandler)}
	outboxriver.Register(config, o)
	return process{s, o, s.start(t, config)}
}

// start starts a River client, until the test ends.
func (s *stage) start(t *testing.T, config *river.Config) *river.Client[pgx.Tx] {
	jobs, err := river.NewClient(riverpgxv5.New(s.pool), config)
	require.NoError(t, err)
	require.NoError(t, jobs.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		require.NoError(t, jobs.Stop(ctx))
	})
	return jobs
}

func request(t *testing.T, key string) *messaging.Prepared {
	p, err := messaging.PushBroadcastParams{Subject: key, Message: "An order has shipped",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	require.NoError(t, err)
	return p
}

// enqueue enqueues an item with its job, in a transaction that ends with an error or nil.
func (p process) enqueue(t *testing.T, item outbox.Item, end error) {
	item.Prepared = request(t, item.Key)
	require.ErrorIs(t, pgx.BeginFunc(t.Context(), p.pool, func(tx pgx.Tx) error {
		_, err := outboxriver.EnqueueTx(t.Context(), p.jobs, p.o, tx, item)
		require.NoError(t, err)
		return end
	}), end)
}

func (p process) entry(t *testing.T, key string) outbox.Entry {
	entry, err := p.o.Get(t.Context(), key)
	require.NoError(t, err)
	return entry
}

func (p process) eventuallyIs(t *testing.T, key string, state outbox.State) {
	t.Helper()
	eventually(t, func() bool { return p.entry(t, key).State == state })
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 5*time.Minute, 10*time.Millisecond)
}

func TestEachEntryIsSentOnceByThreeClients(t *testing.T) {
	p := newStage(t).process(t)
	for range 2 {
		p.process(t)
	}
	items, once := make([]outbox.Item, 60), make(map[string]int)
	for i := range items {
		key := fmt.Sprintf("order-%d", i)
		items[i], once[key] = outbox.Item{Key: key, Prepared: request(t, key)}, 1
	}
	for range 2 { // the second time, all are present
		require.NoError(t, pgx.BeginFunc(t.Context(), p.pool, func(tx pgx.Tx) error {
			_, err := outboxriver.EnqueueAllTx(t.Context(), p.jobs, p.o, tx, items...)
			return err
		}))
	}
	for _, item := range items {
		p.eventuallyIs(t, item.Key, outbox.Accepted)
	}
	sent := make(map[string]int)
	for _, push := range p.service.PushBroadcasts() {
		sent[push.Params.Subject]++
	}
	assert.Equal(t, once, sent)
	assert.Zero(t, p.number(t, `SELECT count(*) FROM river_job WHERE args::text LIKE '%ada%'`), "a job contains nothing of a request")
}

func TestEnqueueTxAddsEntryAndJobTogether(t *testing.T) {
	p := newStage(t).process(t)
	p.enqueue(t, outbox.Item{Key: "rolled back"}, assert.AnError)
	p.enqueue(t, outbox.Item{Key: "committed"}, nil)
	p.enqueue(t, outbox.Item{Key: "scheduled", NotBefore: time.Now().Add(time.Hour)}, nil)
	p.eventuallyIs(t, "committed", outbox.Accepted)
	assert.Len(t, p.service.PushBroadcasts(), 1)
	assert.Equal(t, outbox.Pending, p.entry(t, "scheduled").State)
}

func TestNothingIsStrandedWhenRiverIsTheOnlyEngine(t *testing.T) {
	p := newStage(t).process(t)
	require.NoError(t, p.o.PauseAll(t.Context()))
	_, err := p.o.Enqueue(t.Context(), outbox.Item{Key: "without a job", Prepared: request(t, "4711")})
	require.NoError(t, err)
	require.NoError(t, p.o.ResumeAll(t.Context()))
	p.eventuallyIs(t, "without a job", outbox.Accepted)
}

// otherProgram is a job of another program on the same River.
type otherProgram struct{}

func (otherProgram) Kind() string { return "other_program" }

// newLed returns a process where another program leads, so that the periodic jobs of the outbox are
// never inserted.
func newLed(t *testing.T) process {
	s := newStage(t)
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[otherProgram]) error { return nil }))
	s.start(t, &river.Config{Logger: slog.New(slog.DiscardHandler), Workers: workers,
		Queues: map[string]river.QueueConfig{"other": {MaxWorkers: 1}}})
	eventually(t, func() bool { return s.number(t, `SELECT count(*) FROM river_leader`) == 1 })
	return s.process(t)
}

func TestEntriesAreSentWhileAnotherProgramLeads(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, l process){
		"a reminder": func(t *testing.T, l process) {
			l.enqueue(t, outbox.Item{Key: "entry", NotBefore: time.Now().Add(3 * time.Second)}, nil)
		},
		"the service fails": func(t *testing.T, l process) {
			l.service.Fail("", 3, messagingtest.Status(502))
			l.enqueue(t, outbox.Item{Key: "unclear"}, nil)
			l.eventuallyIs(t, "unclear", outbox.Unclear)
			l.enqueue(t, outbox.Item{Key: "entry", Repeatable: true}, nil)
		},
		"a denial": func(t *testing.T, l process) {
			l.service.Fail("", 1, messagingtest.Status(403))
			l.enqueue(t, outbox.Item{Key: "entry"}, nil)
			eventually(t, func() bool {
				entry := l.entry(t, "entry")
				return entry.State == outbox.Pending && entry.Attempts == 1
			})
			_, err := l.pool.Exec(t.Context(), `UPDATE outbox_entry SET not_before = now()`)
			require.NoError(t, err)
		},
		"a resend": func(t *testing.T, l process) {
			l.service.Fail("", 1, messagingtest.Status(422))
			l.enqueue(t, outbox.Item{Key: "entry"}, nil)
			l.eventuallyIs(t, "entry", outbox.Rejected)
			_, err := l.o.Resend(t.Context(), "entry")
			require.NoError(t, err)
		},
		"a resume": func(t *testing.T, l process) {
			require.NoError(t, l.o.PauseAll(t.Context()))
			l.enqueue(t, outbox.Item{Key: "entry"}, nil)
			eventually(t, func() bool { // its job found nothing to do
				return l.number(t, `SELECT count(*) FROM river_job WHERE state = 'completed'`) > 0
			})
			require.NoError(t, l.o.ResumeAll(t.Context()))
		},
		"a killed worker": func(t *testing.T, l process) {
			l.enqueue(t, outbox.Item{Key: "first"}, nil)
			l.eventuallyIs(t, "first", outbox.Accepted)
			require.NoError(t, l.jobs.Stop(t.Context()))
			l.enqueue(t, outbox.Item{Key: "entry"}, nil)
			for _, kill := range []string{
				`state = 'available'`, // the job of the entry
				`id = (SELECT min(id) FROM river_job WHERE state = 'scheduled')`,
			} {
				_, err := l.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now(), attempt = 1
					WHERE queue = 'messaging_outbox' AND `+kill)
				require.NoError(t, err)
			}
			began := time.Now()
			l.process(t).eventuallyIs(t, "entry", outbox.Accepted)
			assert.Less(t, time.Since(began), 20*time.Second)
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
		l.enqueue(t, outbox.Item{Key: fmt.Sprint("entry ", i)}, nil)
		l.eventuallyIs(t, fmt.Sprint("entry ", i), outbox.Accepted)
	}
	rings := l.number(t, `SELECT count(*) FROM river_job WHERE unique_key IS NOT NULL`)
	assert.Positive(t, rings)
	assert.Equal(t, l.number(t, `SELECT count(DISTINCT scheduled_at) FROM river_job WHERE unique_key IS NOT NULL`), rings)
}
