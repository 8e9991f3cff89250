package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	_ "modernc.org/sqlite"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// backUp makes a backup with VACUUM INTO or pg_dump, and restores it elsewhere.
func (r *run) backUp(ctx context.Context, i int) error {
	if server, ok := r.server.(*pgserver.Server); ok {
		restored, err := server.Dump(ctx, r.task.Database, fmt.Sprintf("restored_%d", i))
		r.backups = append(r.backups, restored)
		return err
	}
	into, err := worker.Create(ctx, "", r.dir)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+r.task.Database+"?_pragma=busy_timeout(30000)")
	if err != nil {
		return err
	}
	r.backups = append(r.backups, into)
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, into)
	return errors.Join(err, db.Close())
}

// restored is what became of all backups.
type restored struct {
	missing, wrong int // entries
	again          int // entries that would be sent a second time without Quarantine
}

// restore opens the backups when everything was sent, and starts a worker on each after
// Quarantine.
func (r *run) restore(ctx context.Context) (report.Row, error) {
	before := r.service.Requests()
	var all restored
	for _, b := range r.backups {
		if err := r.open(ctx, b, &all); err != nil {
			return report.Row{}, err
		}
	}
	sent := r.service.Requests() - before - len(r.backups) // one new entry each
	return report.Judged(all.missing == 0 && all.wrong == 0 && sent == 0 && all.again > 0,
		fmt.Sprintf("%d backups restored, Quarantine, send", len(r.backups)), fmt.Sprint(len(r.backups)*r.total), fmt.Sprint(sent),
		fmt.Sprint(all.missing), fmt.Sprint(all.wrong), fmt.Sprintf("%d second sends prevented", all.again)), nil
}

// open compares a backup with what the service carried out, and sends from it after
// Quarantine.
func (r *run) open(ctx context.Context, database string, all *restored) error {
	db, err := worker.Open(ctx, database, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := r.compare(ctx, db, all); err != nil {
		return err
	}
	if _, err := db.Quarantine(ctx); err != nil {
		return err
	}
	task := r.task
	task.Database = database
	w, err := task.Start()
	if err != nil {
		return err
	}
	return errors.Join(r.sendOne(ctx, db, database), w.Stop())
}

// compare counts the entries of a backup that are missing, that are in a state that was
// never true, and that would be sent again.
func (r *run) compare(ctx context.Context, db *worker.Database, all *restored) error {
	carried, entries := r.service.Carried(), 0
	for entry, err := range db.List(ctx, outbox.Filter{}) {
		if err != nil {
			return err
		}
		entries++
		switch n := carried[entry.Key]; entry.State {
		case outbox.Accepted:
			all.wrong += btoi(n == 0 || tooOften(entry, n))
		case outbox.Rejected:
			all.wrong += btoi(n != 0)
		case outbox.Pending:
			all.again += n
		}
	}
	all.missing += r.total - entries
	return nil
}

// sendOne waits until a restored database has sent a new entry, which comes after all that
// would be sent again.
func (r *run) sendOne(ctx context.Context, db *worker.Database, database string) error {
	key := "restored in " + database
	for rejected, lost := r.service.Fate(key); rejected || lost; rejected, lost = r.service.Fate(key) {
		key += "."
	}
	if _, err := db.Enqueue(ctx, worker.ItemOf(key)); err != nil {
		return err
	}
	return process.Until(ctx, "a send after the restore", func() (bool, error) {
		entry, err := db.Get(ctx, key)
		return err == nil && entry.State == outbox.Accepted, err
	})
}
