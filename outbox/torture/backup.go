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
	sent := after.Requests - told.Requests
	return row{What: fmt.Sprintf("restore of backups made during the sends, %s", r.kind()),
		Required: fmt.Sprintf("each opens and has all %d entries, none of them in the wrong state; nothing is sent after Quarantine", r.total),
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
	sum, pending := 0, 0
	for entry, err := range o.List(ctx, outbox.ListParams{}) {
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
	if err != nil {
		return 0, 0, err
	}
	wrong += btoi(counts.Pending != pending) + max(sum, r.total) - min(sum, r.total)
	if _, err := o.Quarantine(ctx); err != nil {
		return 0, 0, err
	}
	flags := r.flags
	flags.Database = b.database
	w, err := startWorker(flags)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(time.Second) // in which nothing may be sent
	return wrong, again, w.stop()
}

func (r *run) kind() string {
	if r.db.file != nil {
		return "SQLite"
	}
	return "Postgres"
}
