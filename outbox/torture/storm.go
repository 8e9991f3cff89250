package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/outbox"
)

// slowness is where 50 ms pass between the check of the deadline and the network.
const slowness = 50 * time.Millisecond

// The parts of a client that can be slow.
const (
	slowHook    = "hook"
	slowLimiter = "limiter"
	slowDialer  = "dialer"
)

// storms stops workers for longer than their leases, while their entries are resent with
// care.
func (t *torture) storms(ctx context.Context) ([]row, error) {
	slow := []string{"", slowHook, slowLimiter, slowDialer}
	rows, problems := make([]row, len(slow)), make([]error, len(slow))
	var group sync.WaitGroup
	for i, part := range slow {
		group.Go(func() { rows[i], problems[i] = t.storm(ctx, part) })
	}
	group.Wait()
	return rows, errors.Join(problems...)
}

// maxRounds limits how often workers are stopped to get enough entries that are resent.
const maxRounds = 10

func (t *torture) storm(ctx context.Context, slow string) (row, error) {
	victims, slots, least := 4, 256, 1000
	if t.quick {
		victims, slots, least = 1, 64, 20
	}
	// Of SQLite, a stopped worker could hold the lock that the others need.
	r, err := t.newRun(ctx, t.server, false, 0, settings{Delay: 20 * time.Millisecond})
	if err != nil {
		return row{}, err
	}
	defer r.close()
	r.flags.FailDials, r.flags.Slots, r.flags.Slow = 0, slots, slow
	if err := r.startWorkers(victims); err != nil {
		return row{}, err
	}
	resent, rounds := 0, 0
	for ; resent < least && rounds < maxRounds; rounds++ {
		n, err := r.stopAndResend(ctx, victims*slots*8)
		if err != nil {
			return row{}, err
		}
		resent += n
	}
	if err := r.end(ctx); err != nil {
		return row{}, err
	}
	found, err := r.truth(ctx)
	name := "default client"
	if slow != "" {
		name = fmt.Sprintf("%s of %s", slow, slowness)
	}
	if err == nil && found.twice > 0 {
		err = r.printTwice(ctx, name)
	}
	return row{What: "workers stopped for longer than the lease while entries are resent, " + name,
		Required: fmt.Sprintf("of at least %d resent entries, none carried out twice, none in the wrong state, none lost", least),
		Measured: fmt.Sprintf("of %d resent entries, %d carried out twice, %d in the wrong state, %d of %d lost; %d rounds", resent, found.twice,
			found.wrong, r.total-found.sum, r.total, rounds),
		OK: resent >= least && found.twice == 0 && found.wrong == 0 && found.sum == r.total}, err
}

// stopAndResend adds entries, and stops the workers while they send them, until another
// worker has sent what was resent.
func (r *run) stopAndResend(ctx context.Context, added int) (resent int, err error) {
	r.total += added
	if _, _, err := r.box.EnqueueAll(ctx, items(r.total)); err != nil {
		return 0, err
	}
	if err := r.at(ctx, 1-0.6*float64(added)/float64(r.total)); err != nil {
		return 0, err
	}
	r.note(time.Now(), "workers stopped", "")
	for _, w := range r.workers {
		w.signal(syscall.SIGSTOP)
	}
	other, err := startWorker(r.flags)
	if err != nil {
		return 0, err
	}
	defer other.kill()
	if resent, err = r.resendWithCare(ctx); err != nil {
		return 0, err
	}
	r.note(time.Now(), "workers go on", "")
	for _, w := range r.workers {
		w.signal(syscall.SIGCONT)
	}
	time.Sleep(3 * time.Second) // in which they may send nothing that they had claimed
	return resent, other.stop()
}

// resendWithCare resends entries that became unclear and that the service has not carried
// out, until all of them are accepted.
func (r *run) resendWithCare(ctx context.Context) (resent int, err error) {
	err = until(ctx, patience, "the resent entries", func() (bool, error) {
		time.Sleep(time.Second)
		keys, young, err := r.notCarriedOut(ctx)
		if err != nil {
			return false, err
		}
		begun := time.Now()
		decisions, err := r.box.Resend(ctx, keys...)
		for _, d := range decisions {
			if d.Changed {
				resent++
				r.note(begun, "resent", d.Key)
			}
		}
		if err != nil || len(keys) > 0 || young > 0 {
			return false, err
		}
		counts, err := r.box.Counts(ctx)
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
	for entry, err := range r.box.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			return nil, 0, err
		}
		if time.Since(entry.SettledAt) < settling {
			young++
			continue
		}
		unclear = append(unclear, entry.Key)
	}
	told, err := r.service.ask("report")
	for _, key := range unclear {
		if told.Carried[key] == 0 {
			keys = append(keys, key)
		}
	}
	return keys, young, err
}

// moment is when something happened to the entry with a key, or to all entries.
type moment struct {
	at        time.Time
	what, key string
}

func (r *run) note(at time.Time, what, key string) {
	r.moments = append(r.moments, moment{at, what, key})
}

// printTwice prints the history of each entry that was carried out twice.
func (r *run) printTwice(ctx context.Context, name string) error {
	told, err := r.service.ask("report")
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(told.Arrived)) {
		if len(told.Arrived[key]) < 2 {
			continue
		}
		entry, err := r.box.Get(ctx, key)
		if err != nil {
			return err
		}
		fmt.Printf("carried out twice, %s: %s\n", name, history(entry, r.moments, told.Arrived[key]))
	}
	return nil
}

// history returns what happened to an entry, in order, with the times.
func history(entry outbox.Entry, moments []moment, arrived []time.Time) string {
	all := []moment{{at: entry.EnqueuedAt, what: "enqueued"}}
	if !entry.SettledAt.IsZero() {
		all = append(all, moment{at: entry.SettledAt, what: string(entry.State)})
	}
	for _, at := range arrived {
		all = append(all, moment{at: at, what: "carried out"})
	}
	for _, m := range moments {
		if m.key == entry.Key || m.key == "" && m.at.After(entry.EnqueuedAt) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	text := fmt.Sprintf("%s, %d attempts", entry.Key, entry.Attempts)
	for _, m := range all {
		text += fmt.Sprintf(", %s %s", m.at.Local().Format("15:04:05.000000"), m.what)
	}
	return text
}
