package main

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging"
	catalog "github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/service"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// BenchmarkSideBySide sends the same requests to one service in several ways. A request takes 5 ms, and 1 % of the responses are
// lost. The process that sends is killed 20 times.
func BenchmarkSideBySide(b *testing.B) {
	entries, kills := 10_000, 20
	if testing.Short() {
		entries, kills = 1000, 2
	}
	for i, w := range ways {
		b.Run("way="+w.name, func(b *testing.B) {
			for b.Loop() {
				compare(b, i, entries, kills)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func compare(b *testing.B, i, entries, kills int) {
	b.Helper()
	to := &service.Service{Loses: true, Delay: 5 * time.Millisecond}
	to.Start()
	defer to.Close()
	database := create(b, ways[i].kind, "pool_max_conns=40") // in the loop, each request needs a connection
	c, err := ways[i].open(b.Context(), database, nil)
	must(b, err)
	defer c.close()
	must(b, c.fill(b.Context(), entries))
	disturb(b, senderTask{i, database, to.URL()}, to, entries, kills)
	must(b, process.Until(b.Context(), "the end", func() (bool, error) {
		left, err := c.left(b.Context())
		return err == nil && left == 0, err
	}))
	to.Close() // which waits for the last requests
	unknown, err := c.unknown(b.Context())
	must(b, err)
	r := judge(entries, unknown, to)
	if _, isOurs := c.(ours); r.lost > 0 || isOurs && r.twice > 0 {
		b.Errorf("%+v", r)
	}
	b.ReportMetric(float64(r.twice), "twice")
	b.ReportMetric(float64(r.afterLoss), "twice-after-loss")
	b.ReportMetric(float64(r.lost), "lost")
	b.ReportMetric(float64(r.unknown), "unknown")
	b.ReportMetric(float64(r.unknownCarried), "unknown-carried-out")
}

// disturb runs the process that sends and kills it at even steps, the same for every way of sending. It reports the rate
// before the first kill.
func disturb(b *testing.B, t senderTask, to *service.Service, entries, kills int) {
	b.Helper()
	var sender *process.Process
	start := func() {
		var err error
		sender, err = process.Start(senderName, t)
		must(b, err)
		b.Cleanup(sender.Kill)
	}
	at := func(part float64) { until(b, func() bool { return to.Done() >= int(part*float64(entries)) }) }
	start()
	at(0.02)
	began, before := time.Now(), to.Done()
	at(0.3)
	b.ReportMetric(float64(to.Done()-before)/time.Since(began).Seconds(), "deliveries/s")
	for i := range kills {
		at(0.3 + 0.55*float64(i)/float64(kills))
		sender.Kill()
		start()
	}
}

// result is what became of one way.
type result struct {
	// twice counts the requests that were carried out more than once, and afterLoss those
	// among them that had lost a response.
	twice, afterLoss int
	// lost counts the requests that were not carried out and are not listed as unknown.
	lost int
	// unknown counts the requests that are listed as unknown, and unknownCarried those among
	// them that were carried out.
	unknown, unknownCarried int
}

// judge compares what the service carried out with what was to be sent.
func judge(entries int, unknown []string, to *service.Service) (r result) {
	carried := to.Carried()
	listed := make(map[string]bool, len(unknown))
	for _, key := range unknown {
		listed[key] = true
		if carried[key] > 0 {
			r.unknownCarried++
		}
	}
	r.unknown = len(listed)
	for i := range entries {
		key := worker.Key(i)
		if carried[key] == 0 && !listed[key] {
			r.lost++
		}
		if carried[key] > 1 {
			r.twice++
			if _, lost := to.Fate(key); lost {
				r.afterLoss++
			}
		}
	}
	return r
}

func TestJudgeDistinguishesLostFromUnknown(t *testing.T) {
	to := &service.Service{}
	to.Start()
	defer to.Close()
	for _, i := range []int{0, 1, 1, 2} {
		body := strings.NewReader(`{"payload":{"key":"` + worker.Key(i) + `"}}`)
		response, err := http.Post(to.URL()+catalog.TriggerEvent.Path, "application/json", body)
		must(t, err)
		_ = response.Body.Close()
	}

	got := judge(5, []string{worker.Key(2), worker.Key(3)}, to)

	if want := (result{twice: 1, lost: 1, unknown: 2, unknownCarried: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// callers is how many connections BenchmarkEnqueueTx uses at a time.
const callers = 48

// BenchmarkEnqueueTx enqueues in transactions that do nothing else. The loop does a plain INSERT of the same bytes, into
// a table with a primary key, a unique index and a partial one.
func BenchmarkEnqueueTx(b *testing.B) {
	for _, w := range []way{oursOnPostgres, riverAlone, byLoop} {
		b.Run("way="+w.name, enqueueing(b, w))
	}
}

// number makes keys unique.
var number atomic.Int64

func enqueueing(tb testing.TB, w way) func(*testing.B) {
	tb.Helper()
	database := create(tb, onPostgres, "pool_max_conns=48")
	c, err := w.open(tb.Context(), database, nil)
	must(tb, err)
	tb.Cleanup(c.close)
	pool, err := pgxpool.New(tb.Context(), database)
	must(tb, err)
	tb.Cleanup(pool.Close)
	request, err := messaging.PushBroadcastParams{Subject: "Reminder", Message: strings.Repeat("Doors open at eight. ", 20),
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	must(tb, err)
	return func(b *testing.B) {
		b.SetParallelism(callers / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				item := outbox.Item{Key: fmt.Sprint(number.Add(1)), Prepared: request}
				err := pgx.BeginFunc(b.Context(), pool, func(tx pgx.Tx) error { return c.enqueueTx(b.Context(), tx, item) })
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	}
}
