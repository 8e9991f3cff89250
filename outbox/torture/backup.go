package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/messaging-go/messaging/outbox"
)

// backup is a restored copy of a database, made while its entries were sent.
type backup struct {
	database string
	server   *cluster // nil unless the copy has its own
}

// backUp makes a backup, by two ways in turn, and restores it elsewhere.
func (r *run) backUp(ctx context.Context, i int) error {
	var copied backup
	var err error
	switch c, ok := r.own.(*cluster); {
	case !ok && i%2 == 0:
		copied, err = r.vacuumInto(ctx)
	case !ok:
		copied, err = r.backUpOnline(ctx)
	case i%2 == 0:
		copied, err = r.dump(ctx, c, i)
	default:
		copied, err = r.baseBackup(ctx, c)
	}
	r.backups = append(r.backups, copied)
	return err
}

// vacuumInto copies the SQLite file with VACUUM INTO.
func (r *run) vacuumInto(ctx context.Context) (backup, error) {
	return r.copyFile(ctx, func(conn *sql.Conn, into string) error {
		_, err := conn.ExecContext(ctx, `VACUUM INTO ?`, into)
		return err
	})
}

// backUpOnline copies the SQLite file with the online backup API.
func (r *run) backUpOnline(ctx context.Context) (backup, error) {
	return r.copyFile(ctx, func(conn *sql.Conn, into string) error {
		return conn.Raw(func(driver any) error {
			b, err := driver.(interface {
				NewBackup(string) (*sqlite.Backup, error)
			}).NewBackup(into)
			if err != nil {
				return err
			}
			_, err = b.Step(-1)
			return errors.Join(err, b.Finish())
		})
	})
}

func (r *run) copyFile(ctx context.Context, do func(conn *sql.Conn, into string) error) (b backup, err error) {
	db, err := sql.Open("sqlite", "file:"+r.path+"?_pragma=busy_timeout(30000)")
	if err != nil {
		return b, err
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return b, err
	}
	defer func() { _ = conn.Close() }()
	b.database = newFile(r.dir)
	return b, do(conn, b.database)
}

// dump copies the schema with pg_dump into another database of the server.
func (r *run) dump(ctx context.Context, c *cluster, i int) (backup, error) {
	u, err := url.Parse(r.path)
	if err != nil {
		return backup{}, err
	}
	file, name := filepath.Join(c.dir, fmt.Sprintf("dump-%d", i)), fmt.Sprintf("restored_%d", i)
	restored := strings.Replace(c.url, "/postgres?", "/"+name+"?", 1)
	if err := errors.Join(
		c.do("pg_dump", "-n", u.Query().Get("search_path"), "-f", file, c.url),
		execute(ctx, c.url, "CREATE DATABASE "+name)); err != nil {
		return backup{}, err
	}
	u.Path = "/" + name
	return backup{database: u.String()}, c.do("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, restored)
}

// baseBackup copies the server with pg_basebackup and starts the copy.
func (r *run) baseBackup(ctx context.Context, c *cluster) (b backup, err error) {
	u, err := url.Parse(r.path)
	if err != nil {
		return b, err
	}
	if b.server, err = c.copy(ctx, 0); err != nil {
		return b, err
	}
	u.Host = fmt.Sprintf("127.0.0.1:%d", b.server.port)
	b.database = u.String()
	return b, nil
}

// restore opens the backups when everything was sent. It counts the entries that a backup
// would send again, and checks that Quarantine keeps it from that.
func (r *run) restore(ctx context.Context) (row, error) {
	told, err := r.service.ask("report")
	if err != nil {
		return row{}, err
	}
	wrong, again := 0, 0
	for _, b := range r.backups {
		w, a, err := r.check(ctx, b, told)
		if b.server != nil {
			b.server.close()
		}
		if err != nil {
			return row{}, err
		}
		wrong, again = wrong+w, again+a
	}
	after, err := r.service.ask("total")
	sent := after.Requests - told.Requests - len(r.backups) // one new entry each
	return row{What: fmt.Sprintf("restore of backups made during the sends, %s", r.kind()),
		Required: fmt.Sprintf("each opens and has all %d entries, none of them in the wrong state; after Quarantine only new ones are sent",
			r.total),
		Measured: fmt.Sprintf("%d backups, %d entries missing or in the wrong state; Quarantine stopped %d second sends, %d were sent",
			len(r.backups), wrong, again, sent),
		OK: wrong == 0 && sent == 0 && again > 0 && len(r.backups) > 0}, err
}

// check compares a backup with what the service carried out by now, and starts a worker on
// it after Quarantine. wrong is how many entries are missing or in a state that was never
// true; again is how many would be sent a second time without Quarantine.
func (r *run) check(ctx context.Context, b backup, told report) (wrong, again int, err error) {
	db, err := openDatabase(ctx, b.database)
	if err != nil {
		return 0, 0, err
	}
	defer db.close()
	client, err := (&workerFlags{}).client()
	if err != nil {
		return 0, 0, err
	}
	o, err := db.outbox(client)
	if err != nil {
		return 0, 0, err
	}
	if wrong, again, err = r.compare(ctx, o, told); err != nil {
		return 0, 0, err
	}
	if _, err := o.Quarantine(ctx); err != nil {
		return 0, 0, err
	}
	flags := r.flags
	flags.Database = b.database
	w, err := startWorker(flags)
	if err != nil {
		return 0, 0, err
	}
	return wrong, again, errors.Join(r.sendOne(ctx, o, b), w.stop())
}

// sendOne waits until a restored database has sent a new entry, which comes after all that
// would be sent again.
func (r *run) sendOne(ctx context.Context, o box, b backup) error {
	key := "restored in " + b.database
	for rejected, lost := fate(key); rejected || lost; rejected, lost = fate(key) {
		key += "."
	}
	if _, err := o.Enqueue(ctx, outbox.Item{Key: key, Prepared: request(key)}); err != nil {
		return err
	}
	return until(ctx, patience, "a send after the restore", func() (bool, error) {
		entry, err := o.Get(ctx, key)
		return err == nil && entry.State == outbox.Accepted, err
	})
}

// compare compares the entries of a backup with what the service carried out.
func (r *run) compare(ctx context.Context, o box, told report) (wrong, again int, err error) {
	sum, pending := 0, 0
	for entry, err := range o.List(ctx, outbox.Filter{}) {
		if err != nil {
			return 0, 0, err
		}
		sum++
		carried := told.Carried[entry.Key]
		switch entry.State {
		case outbox.Accepted:
			wrong += btoi(carried != 1)
		case outbox.Rejected:
			wrong += btoi(carried != 0)
		case outbox.Pending:
			pending++
			again += carried
		}
	}
	counts, err := o.Counts(ctx)
	return wrong + btoi(counts.Pending != pending) + max(sum, r.total) - min(sum, r.total), again, err
}

// moves moves databases as the README describes it: paused, with a copy that goes on.
func (t *torture) moves(ctx context.Context) (rows []row, err error) {
	for _, db := range []struct {
		name  string
		place place
	}{{"SQLite", none}, {"Postgres", single}} {
		moved, err := t.move(ctx, db.name, db.place)
		if err != nil {
			return rows, err
		}
		rows = append(rows, moved)
	}
	return rows, nil
}

func (t *torture) move(ctx context.Context, name string, at place) (row, error) {
	server, own, err := t.serverOf(ctx, scenario{server: at})
	if err != nil {
		return row{}, err
	}
	if own != nil {
		defer own.close()
	}
	entries := min(t.entries, 5000)
	r, err := t.newRun(ctx, server, false, entries, settings{Delay: 50 * time.Millisecond}) // slow enough to stop on the way
	if err != nil {
		return row{}, err
	}
	defer r.close()
	r.own, r.flags.Slots, r.flags.SendTimeout = own, 8, 10*time.Second
	if err := r.startWorkers(2); err != nil {
		return row{}, err
	}
	if err := r.at(ctx, 0.3); err != nil {
		return row{}, err
	}
	pending, err := r.moveTo(ctx)
	if err != nil {
		return row{}, err
	}
	if err := r.end(ctx); err != nil {
		return row{}, err
	}
	found, err := r.truth(ctx)
	return row{What: "a paused outbox moves to a copy of its database, " + name,
		Required: fmt.Sprintf("%d entries, some of them moved, each sent once", entries),
		Measured: fmt.Sprintf("%d entries, %d pending in the copy, %d accepted, %d duplicates, %d in the wrong state", found.sum, pending,
			found.counts.Accepted, found.twice, found.wrong),
		OK: found.sum == entries && pending > 0 && found.counts.Accepted == entries && found.twice == 0 && found.wrong == 0}, err
}

// moveTo pauses, stops the workers, copies the database and goes on with the copy. It
// returns how many entries are pending in it.
func (r *run) moveTo(ctx context.Context) (pending int, err error) {
	if err := r.box.PauseAll(ctx); err != nil {
		return 0, err
	}
	if err := until(ctx, patience, "the end of the sends", func() (bool, error) {
		counts, err := r.box.Counts(ctx)
		return err == nil && counts.Sending == 0, err
	}); err != nil {
		return 0, err
	}
	for _, w := range r.workers {
		if err := w.stop(); err != nil {
			return 0, err
		}
	}
	r.workers = nil
	if err := r.backUp(ctx, 0); err != nil {
		return 0, err
	}
	r.db.close()
	if r.db, err = openDatabase(ctx, r.backups[0].database); err != nil {
		return 0, err
	}
	client, err := (&workerFlags{}).client()
	if err != nil {
		return 0, err
	}
	if r.box, err = r.db.outbox(client); err != nil {
		return 0, err
	}
	counts, err := r.box.Counts(ctx)
	if err != nil {
		return 0, err
	}
	r.flags.Database = r.backups[0].database
	return counts.Pending, errors.Join(r.box.ResumeAll(ctx), r.startWorkers(2))
}

func (r *run) kind() string {
	if r.db.file != nil {
		return "SQLite"
	}
	return "Postgres"
}
