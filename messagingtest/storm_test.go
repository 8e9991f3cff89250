package messagingtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/messagingtest"
)

// storm makes concurrent sends with a server, some of them with its own transport and some
// without. Each send has a subject of its own.
type storm struct {
	t       *testing.T
	server  *messagingtest.Server
	clients []*messaging.Client

	mu         sync.Mutex
	seen       []*fake.Exchange
	deliveries map[string]messaging.Delivery // by subject
}

func newStorm(t *testing.T) *storm {
	t.Helper()
	st := &storm{t: t, deliveries: make(map[string]messaging.Delivery)}
	st.server = messagingtest.NewServer(t, messagingtest.Observe(st.observe))
	foreign := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	t.Cleanup(foreign.CloseIdleConnections)
	once := messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1})
	st.clients = []*messaging.Client{st.server.Client(once), st.server.Client(once, messaging.WithHTTPClient(foreign))}
	return st
}

func (st *storm) observe(e *fake.Exchange) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.seen = append(st.seen, e)
}

// send sends a broadcast and keeps its delivery.
func (st *storm) send(ctx context.Context, client *messaging.Client, subject string) messaging.Delivery {
	_, err := client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{Subject: subject, Message: "m",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "shared@example.com"},
			messaging.CustomerParams{Email: subject + "@example.com"})})
	delivery := messaging.DeliveryOf(err)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.deliveries[subject] = delivery
	return delivery
}

// run runs rounds of several workers at the same time.
func (st *storm) run(workers, rounds int, round func(random *rand.Rand, client *messaging.Client, subject string)) {
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for i := range rounds {
				round(random, st.clients[worker%len(st.clients)], fmt.Sprintf("s%d-%d", worker, i))
			}
		})
	}
	all.Wait()
}

// effects returns how often each subject was carried out, and checks that the exchanges are
// numbered without a gap.
func (st *storm) effects() map[string]int {
	effects := make(map[string]int)
	for i, e := range st.seen {
		require.Equal(st.t, i+1, e.Number)
		if broadcast, ok := e.Effect.(*fake.PushBroadcast); ok {
			effects[broadcast.Params.Subject]++
		}
	}
	return effects
}

// requireHonest checks that no send was carried out twice, and that each was carried out if
// its delivery says so.
func (st *storm) requireHonest(effects map[string]int) {
	for subject, delivery := range st.deliveries {
		switch delivery {
		case messaging.DeliveryAccepted:
			require.Equal(st.t, 1, effects[subject], subject)
		case messaging.DeliveryUnknown:
			require.LessOrEqual(st.t, effects[subject], 1, subject)
		default:
			require.Zero(st.t, effects[subject], subject)
		}
	}
}

// subjects returns the subjects of the records, each of which must occur once.
func (st *storm) subjects() map[string]bool {
	subjects := make(map[string]bool)
	for _, broadcast := range st.server.PushBroadcasts() {
		assert.False(st.t, subjects[broadcast.Params.Subject], "%s is recorded twice", broadcast.Params.Subject)
		subjects[broadcast.Params.Subject] = true
	}
	return subjects
}

func TestServerLosesAndDoublesNothingInAStormOfFaults(t *testing.T) {
	const workers, rounds = 8, 40
	st := newStorm(t)
	faults := []messagingtest.Fault{{}, messagingtest.Status(418), messagingtest.RateLimited(time.Second), messagingtest.AnswerLost(),
		messagingtest.Malformed("{"), messagingtest.NotReached(), messagingtest.Slow(time.Microsecond)}
	queued := make(map[string]int)
	st.run(workers, rounds, func(random *rand.Rand, client *messaging.Client, subject string) {
		fault := faults[random.IntN(len(faults))]
		st.mu.Lock()
		queued[fault.Kind()]++
		st.mu.Unlock()
		st.server.Fail("", 1, fault)
		st.send(t.Context(), client, subject)
	})

	taken := make(map[string]int)
	for _, e := range st.seen {
		taken[e.Fault]++
	}
	for _, delivery := range st.deliveries {
		if delivery == messaging.DeliveryNotSent {
			taken["not_reached"]++ // such a request does not arrive
		}
	}
	assert.Equal(t, queued, taken, "each fault is taken by one request")
	assert.Len(t, st.deliveries, workers*rounds)
	effects := st.effects()
	st.requireHonest(effects)
	assert.Len(t, st.subjects(), len(effects))
	assert.Len(t, st.server.Customers(), len(effects)+1)
	assert.Len(t, st.server.Requests(), len(st.seen))
	assert.Equal(t, messaging.DeliveryAccepted, st.send(t.Context(), st.clients[0], "after"), "no fault is left")
}

func TestServerIsEmptyAfterAResetInAStorm(t *testing.T) {
	const workers, rounds = 8, 40
	st := newStorm(t)
	st.run(workers, rounds, func(random *rand.Rand, client *messaging.Client, subject string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		switch random.IntN(8) {
		case 0:
			st.server.Reset()
		case 1:
			st.server.Fail("", 2, messagingtest.AnswerLost())
		case 2:
			st.server.Fail("", 1, messagingtest.NotReached())
		case 3:
			st.server.Fail("send push broadcast", 2, messagingtest.Status(503))
		case 4:
			st.server.Fail("", 1, messagingtest.Slow(time.Millisecond))
			time.AfterFunc(time.Duration(random.IntN(1000))*time.Microsecond, cancel)
		case 5:
			addOneOfEach(st.server)
		case 6:
			st.subjects()
			returnedSlices(st.server)
		}
		st.send(ctx, client, subject)
	})
	st.server.Close()

	st.requireHonest(st.effects())
	st.server.Reset()
	for name, returned := range returnedSlices(st.server) {
		assert.Zero(t, returned.Len(), name)
	}
}
