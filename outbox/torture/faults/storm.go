package faults

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/service"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// maxRounds limits how often workers are paused to get enough entries that are resent.
const maxRounds = 10

// storm pauses workers for longer than their leases, while their entries are resent with
// care. It does so on Postgres: a paused worker could hold the lock of a SQLite file.
func (l Lab) storm(ctx context.Context, name string, slow bool) ([]report.Row, error) {
	victims, least := 4, l.Entries/10
	if least < 1000 {
		victims = 1
	}
	r, err := l.newRun(ctx, l.Server, 0, &service.Service{Delay: 20 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.task.FailDials, r.task.InFlight, r.task.SlowDials = 0, 256, slow
	if err := r.start(victims); err != nil {
		return nil, err
	}
	resent, rounds := 0, 0
	for ; resent < least && rounds < maxRounds; rounds++ {
		n, err := r.pauseAndResend(ctx, victims*r.task.InFlight*8)
		if err != nil {
			return nil, err
		}
		resent += n
	}
	if err := r.end(ctx); err != nil {
		return nil, err
	}
	found, err := r.truth(ctx)
	if resent < least && err == nil {
		err = fmt.Errorf("only %d entries were resent, %d are needed", resent, least)
	}
	atOnce := 2 * r.task.InFlight // as in limit
	return []report.Row{found.row(fmt.Sprintf("%s: %d entries", name, resent), rounds*victims*atOnce)}, err
}

// pauseAndResend adds entries, and pauses the workers while they send them, until another
// worker has sent what was resent.
func (r *run) pauseAndResend(ctx context.Context, added int) (resent int, err error) {
	r.total += added
	if _, err := r.db.EnqueueAll(ctx, worker.Items(r.total)); err != nil {
		return 0, err
	}
	if err := r.at(ctx, 1-0.6*float64(added)/float64(r.total)); err != nil {
		return 0, err
	}
	for _, w := range r.workers {
		w.Signal(syscall.SIGSTOP)
	}
	other, err := r.task.Start()
	if err != nil {
		return 0, err
	}
	defer other.Kill()
	if resent, err = r.resendWithCare(ctx); err != nil {
		return 0, err
	}
	for _, w := range r.workers {
		w.Signal(syscall.SIGCONT)
	}
	time.Sleep(3 * time.Second) // in which they may send nothing that they had claimed
	return resent, other.Stop()
}

// resendWithCare resends entries that became unclear and that the service has not carried
// out, until all of them are accepted.
func (r *run) resendWithCare(ctx context.Context) (resent int, err error) {
	err = process.Until(ctx, "the resent entries", func() (bool, error) {
		time.Sleep(time.Second)
		keys, young, err := r.notCarriedOut(ctx)
		if err != nil {
			return false, err
		}
		decisions, err := r.db.Resend(ctx, keys...)
		for _, d := range decisions {
			resent += btoi(d.Changed)
		}
		if err != nil || len(keys) > 0 || young > 0 {
			return false, err
		}
		counts, err := r.db.Counts(ctx)
		return err == nil && counts.Pending+counts.Sending == 0, err
	})
	return resent, err
}

// settling is how long a request that its client has given up may take to arrive.
const settling = 5 * time.Second

// notCarriedOut returns the unclear entries that the service has not carried out. young is
// for how many it is too early to know.
func (r *run) notCarriedOut(ctx context.Context) (keys []string, young int, err error) {
	var unclear []string
	for entry, err := range r.db.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			return nil, 0, err
		}
		if time.Since(entry.SettledAt) < settling {
			young++
			continue
		}
		unclear = append(unclear, entry.Key)
	}
	carried := r.service.Carried()
	return slices.DeleteFunc(unclear, func(key string) bool { return carried[key] > 0 }), young, nil
}
