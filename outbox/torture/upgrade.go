package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/version02"
)

// upgrading is how many processes upgrade a database at once.
const upgrading = 20

// upgrades upgrades databases that version 0.2 made.
func (t *torture) upgrades(ctx context.Context) (rows []row, err error) {
	for _, db := range t.databases() {
		states, err := t.upgradeStates(ctx, db.name, db.server)
		if err != nil {
			return rows, err
		}
		million, err := t.upgradeMillion(ctx, db.name, db.server)
		if err != nil {
			return rows, err
		}
		rows = append(rows, states, million)
	}
	return rows, nil
}

// newVersion02 returns a database of version 0.2 with an entry in each state and more
// pending ones.
func (t *torture) newVersion02(ctx context.Context, server string, more int) (name string, err error) {
	if server == "" {
		name = newFile(t.dir)
		if err := os.WriteFile(name, version02.SQLite, 0o600); err != nil {
			return "", err
		}
		return name, executeFile(ctx, name,
			fmt.Sprintf(`UPDATE outbox_entry SET lease_until = (unixepoch() + 3600) * 1000 WHERE key = '%s'`, version02.Alive),
			fmt.Sprintf(`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d)
				INSERT INTO outbox_entry (key, digest, operation, body, sealed, not_before, created_at)
				SELECT 'more ' || n, digest, operation, body, sealed, not_before, created_at FROM n, outbox_entry
				WHERE %d > 0 AND key = 'pending'`, more, more))
	}
	if name, err = newEmptySchema(ctx, server); err != nil {
		return "", err
	}
	u, err := url.Parse(name)
	if err != nil {
		return "", err
	}
	statements := strings.Split(strings.TrimSpace(version02.Postgres(u.Query().Get("search_path"))), ";\n")
	return name, execute(ctx, name, append(statements,
		fmt.Sprintf(`UPDATE outbox_entry SET lease_until = now() + interval '1 hour' WHERE key = '%s'`, version02.Alive),
		fmt.Sprintf(`INSERT INTO outbox_entry (key, digest, operation, body, sealed, not_before, created_at)
			SELECT 'more ' || n, digest, operation, body, sealed, not_before, created_at FROM generate_series(1, %d) AS n, outbox_entry
			WHERE key = 'pending'`, more), `ANALYZE outbox_entry`)...)
}

// upgrade lets many processes upgrade a database at once. It returns the first error.
func upgrade(name string) error {
	ended := make(chan error, upgrading)
	for range upgrading {
		go func() {
			w, err := startWorker(workerFlags{Database: name, Migrate: true})
			if err == nil {
				err = w.ended()
			}
			ended <- err
		}()
	}
	var first error
	for range upgrading {
		if err := <-ended; first == nil {
			first = err
		}
	}
	return first
}

// upgradeStates upgrades a database with an entry in each state, and sends what is due and
// then what can be resent.
func (t *torture) upgradeStates(ctx context.Context, kind, server string) (row, error) {
	name, err := t.newVersion02(ctx, server, 0)
	if err != nil {
		return row{}, err
	}
	if err := upgrade(name); err != nil {
		return row{}, err
	}
	r := &run{torture: t, path: name}
	defer r.close()
	if err := r.openExisting(ctx, settings{}); err != nil {
		return row{}, err
	}
	changed, sum, keys := 0, 0, []string(nil)
	for entry, err := range r.box.List(ctx, outbox.ListParams{}) {
		if err != nil {
			return row{}, err
		}
		state, _, _ := strings.Cut(entry.Key, ",")
		changed += btoi(string(entry.State) != state)
		sum++
		keys = append(keys, entry.Key)
	}
	wrong, err := r.sendUpgraded(ctx, keys)
	return row{What: fmt.Sprintf("%d processes upgrade a database of version 0.2 at once, %s", upgrading, kind),
		Required: fmt.Sprintf("%d entries in the same states, and each that can be sent is then sent once", version02.Entries),
		Measured: fmt.Sprintf("%d entries, %d in another state, %d then not sent as often as they have to be", sum, changed, wrong),
		OK:       sum == version02.Entries && changed == 0 && wrong == 0}, err
}

// sendUpgraded sends what is due, then resends what can be, and returns how many entries
// were not sent as often as they have to be.
func (r *run) sendUpgraded(ctx context.Context, keys []string) (wrong int, err error) {
	if err := r.startWorkers(1); err != nil {
		return 0, err
	}
	const due, resent = 3, 4
	for _, total := range []int{due, due + resent} {
		if err := until(ctx, patience, "the sends after the upgrade", func() (bool, error) {
			told, err := r.service.ask("total")
			return told.Total == total, err
		}); err != nil {
			return 0, err
		}
		if _, err := r.box.Resend(ctx, keys...); err != nil {
			return 0, err
		}
	}
	time.Sleep(time.Second) // in which nothing more may be sent
	told, err := r.service.ask("report")
	for _, key := range keys {
		state, what, _ := strings.Cut(key, ",")
		sent := state == "unclear" || state == "rejected" || state == "pending" && what != " not before 2099"
		wrong += btoi(told.Carried[key] != btoi(sent))
	}
	return wrong, err
}

// upgradeMillion upgrades a million entries while other statements go on, and measures how
// long one of them waits at most.
func (t *torture) upgradeMillion(ctx context.Context, kind, server string) (row, error) {
	name, err := t.newVersion02(ctx, server, t.million)
	if err != nil {
		return row{}, err
	}
	if server != "" {
		defer func() { _ = dropSchema(context.Background(), name) }()
	}
	load, limit := loadFile, 10*time.Second // the busy timeout that the README recommends
	if server != "" {
		load, limit = loadServer, 2500*time.Millisecond
	}
	var longest longest
	took, err := longest.during(ctx, name, load)
	if err != nil {
		return row{}, err
	}
	return t.judged(fmt.Sprintf("longest wait of another statement while %d processes upgrade %d entries, %s", upgrading, t.million, kind),
		fmt.Sprintf("≤ %s", limit), fmt.Sprintf("%s, of %d statements; the upgrade took %.1f s", longest.wait.Round(10*time.Millisecond),
			longest.count, took.Seconds()), longest.wait <= limit && longest.count > 0), nil
}

// during upgrades a database while other statements go on.
func (l *longest) during(ctx context.Context, name string, load func(context.Context, string, *longest)) (took time.Duration, err error) {
	loaded, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var held error
	if isPostgres(name) {
		begun := make(chan struct{})
		group.Go(func() { held = hold(loaded, name, begun) })
		<-begun
	}
	for range 4 {
		group.Go(func() { load(loaded, name, l) })
	}
	start := time.Now()
	err = upgrade(name)
	took = time.Since(start)
	stop()
	group.Wait()
	return took, errors.Join(err, held, l.problem)
}

// longest is the longest of many waits.
type longest struct {
	mu      sync.Mutex
	wait    time.Duration
	count   int
	problem error
}

func (l *longest) measure(do func() error) bool {
	start := time.Now()
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait, l.count = max(l.wait, time.Since(start)), l.count+1
	if err != nil {
		l.problem = err
	}
	return err == nil
}

// loadFile writes to the entries in a SQLite file until ctx ends.
func loadFile(ctx context.Context, name string, l *longest) {
	for ctx.Err() == nil && l.measure(func() error {
		return executeFile(context.WithoutCancel(ctx), name,
			fmt.Sprintf(`UPDATE outbox_entry SET attempts = attempts + 1 WHERE key = 'more %d'`, 1+rand.N(1000)))
	}) {
		time.Sleep(10 * time.Millisecond)
	}
}

// loadServer writes to entries on Postgres until ctx ends.
func loadServer(ctx context.Context, name string, l *longest) {
	background := context.WithoutCancel(ctx)
	conn, err := connect(background, name)
	if err != nil {
		l.measure(func() error { return err })
		return
	}
	defer func() { _ = conn.Close(background) }()
	for ctx.Err() == nil && l.measure(func() error {
		_, err := conn.Exec(background, `UPDATE outbox_entry SET attempts = attempts + 1 WHERE key = $1`,
			fmt.Sprintf("more %d", 1+rand.N(1000)))
		return err
	}) {
		time.Sleep(5 * time.Millisecond)
	}
}

// hold has transactions open on Postgres that the upgrade has to wait for, until ctx ends.
// begun is closed when there is one.
func hold(ctx context.Context, name string, begun chan struct{}) error {
	background := context.WithoutCancel(ctx)
	conn, err := connect(background, name)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(background) }()
	begin := sync.OnceFunc(func() { close(begun) })
	defer begin()
	for err == nil && ctx.Err() == nil {
		err = pgx.BeginFunc(background, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(background, `SELECT FROM outbox_entry LIMIT 1`)
			begin()
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
			return err
		})
		time.Sleep(300 * time.Millisecond)
	}
	return err
}
