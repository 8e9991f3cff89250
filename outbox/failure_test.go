package outbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

func TestAClaimThatIsCommittedAfterItsErrorIsUndoneAndNotSent(t *testing.T) {
	service, o, w := openWatched(t, outbox.WithInFlight(3))
	keys := keysOf(6)
	enqueue(t, o, keys...)
	w.set(faults{lateClaim: 100 * time.Millisecond})
	stop := run(t, o)
	committed := func(e outbox.Entry) bool { return e.Attempts > 0 }
	eventually(t, func() bool { return slices.ContainsFunc(listAll(t, o), committed) })
	assert.Zero(t, service.requests(), "nothing is sent without a claim that is certain")
	w.set(faults{})
	eventuallyAccepted(t, o, 6)
	stop()
	w.late.Wait()
	service.carriedOutOnce(t, keys...)
}

func TestDeliverReturnsWhenTheStoreIsClosed(t *testing.T) {
	store, service := openStore(t, filepath.Join(t.TempDir(), "outbox.db")), newService()
	service.always(acceptAfter(func() { _ = store.Close() }))
	o := newBox(t, store, service.client(t))
	enqueue(t, o, "order")
	_, err := o.Deliver(context.Background(), "order")
	require.ErrorContains(t, err, "the outcomes of entries (1) could not be recorded, so they become unclear")
	require.ErrorContains(t, err, "the store is closed")
}

func TestAnOutcomeThatTheDatabaseDoesNotRecordDoesNotStopTheOthers(t *testing.T) {
	service, o, w := openWatched(t)
	service.respondTo(map[string]response{"poison": reject})
	w.set(faults{beforeSettle: func(outcomes []ledger.Outcome) error {
		for _, s := range outcomes {
			if strings.Contains(s.Error, "422") {
				return errBroken
			}
		}
		return nil
	}})
	enqueue(t, o, "poison", "good")
	run(t, o)
	eventuallyIs(t, o, "good", outbox.Accepted)
	enqueue(t, o, "later")
	eventuallyIs(t, o, "later", outbox.Accepted)
	assert.Equal(t, outbox.Sending, stateOf(t, o, "poison"))
	w.set(faults{})
	eventuallyIs(t, o, "poison", outbox.Rejected)
}

func TestEveryDatabaseStoresEveryErrorText(t *testing.T) {
	messages := map[string]string{
		"NUL":               "before\x00after",
		"invalid UTF-8":     "before\xff\xfeafter",
		"half a surrogate":  "before\xed\xa0\x80after",
		"no characters":     "before\ufdd0\ufffe\U0010ffffafter",
		"quotes":            `before'"\{}after`,
		"one long rune cut": "before" + strings.Repeat("\U0001F600", 1000),
	}
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t, messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error {
			return errors.New(messages[keyOf(p)])
		})), outbox.Fast())
		for name := range messages {
			enqueue(t, o, name)
			assert.Equal(t, outbox.Delivered{Rejected: 1}, deliver(t, o, name))
			entry := entryOf(t, o, name)
			assert.Contains(t, entry.Error, "before", name)
			assert.LessOrEqual(t, len(entry.Error), 1000, name)
		}
	})
}

func TestABodyIsErasedFromAllFiles(t *testing.T) {
	for name, work := range map[string]func(*testing.T, box){
		"Run":        func(t *testing.T, o box) { run(t, o) },
		"DeliverDue": func(t *testing.T, o box) { assert.Equal(t, 1, deliverDue(t, o, 1).Accepted) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "outbox.db")
			o := newBox(t, openStore(t, path), newService().client(t), outbox.Fast())
			enqueue(t, o, "order")
			found := func() (n int) {
				for _, suffix := range []string{"", "-wal", "-shm"} {
					content, err := os.ReadFile(path + suffix)
					require.NoError(t, err)
					n += strings.Count(string(content), "ada@example.com")
				}
				return n
			}
			require.Positive(t, found())
			work(t, o)
			eventually(t, func() bool { return found() == 0 })
			assert.Equal(t, outbox.Accepted, stateOf(t, o, "order"))
		})
	}
}

func TestAStopAfterTheClaimReturnsTheEntryOfRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	service, o := openFile(t).start(t, outbox.WithSealer(reversed{func() error { cancel(); return nil }}))
	enqueue(t, o, "order")
	require.NoError(t, o.Run(ctx))
	entry := entryOf(t, o, "order")
	assert.Equal(t, outbox.Pending, entry.State)
	assert.Equal(t, "not begun: the process was stopped", entry.Error)
	assert.Zero(t, service.requests())
}

func TestInvalidKeysAreUnknown(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.always(reject)
		enqueue(t, o, "order-\uFFFD")
		for _, key := range []string{"order-\xff", "a\x00b", ""} {
			assert.Equal(t, outbox.Delivered{Absent: []string{key}}, deliver(t, o, key))
			assert.Zero(t, changed(resend(t, o, key)))
			_, err := o.Get(t.Context(), key)
			require.ErrorIs(t, err, outbox.ErrNoEntry)
			_, err = o.Prepared(t.Context(), key)
			require.ErrorIs(t, err, outbox.ErrNoEntry)
		}
		assert.Zero(t, service.requests())
	})
}

func TestAProbeThatFindsNothingLeavesTheBreakerForTheNext(t *testing.T) {
	db := openFile(t)
	service, o := db.start(t)
	service.always(unauthorize)
	enqueue(t, o, "order")
	deliver(t, o, "order")
	db.claim(t, "order")
	service.always(accept)
	time.Sleep(50 * time.Millisecond) // until a probe is due
	assert.Equal(t, outbox.Delivered{Busy: []string{"order"}, Absent: []string{"unknown"}, More: true, RetryAfter: 500 * time.Millisecond},
		deliver(t, o, "order", "unknown"))
	enqueue(t, o, "other")
	assert.Equal(t, outbox.Delivered{Accepted: 1}, deliver(t, o, "other"))
}

func TestNewFailsIfEachConnectionOpensItsOwnDatabaseInMemory(t *testing.T) {
	pool := openDB(t, "sqlite", ":memory:")
	_, err := sqlite.New(t.Context(), pool)
	require.EqualError(t, err, "outbox: sqlite: each connection would open its own in-memory database: use a file, or db.SetMaxOpenConns(1)")
	shared := openDB(t, "sqlite", "file:shared?mode=memory&cache=shared")
	_, err = sqlite.New(t.Context(), shared)
	require.NoError(t, err)
	single := openDB(t, "sqlite", ":memory:")
	single.SetMaxOpenConns(1)
	o := newBox(t, mustStore(t, single), newService().client(t))
	enqueue(t, o, "order")
	assert.Equal(t, outbox.Delivered{Accepted: 1}, deliver(t, o, "order"))
}

func TestAReaderDoesNotStopACommitInAnotherJournalMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.db")
	db := openDB(t, "sqlite", "file:"+path+"?_pragma=journal_mode(DELETE)&_pragma=busy_timeout(5)")
	o := newBox(t, mustStore(t, db), newService().client(t))
	enqueue(t, o, "first")
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	rows, err := conn.QueryContext(t.Context(), `SELECT * FROM outbox_entry`)
	require.NoError(t, err)
	require.True(t, rows.Next())
	time.AfterFunc(300*time.Millisecond, func() { _ = errors.Join(rows.Close(), conn.Close()) })
	enqueue(t, o, "second")
}

func TestAFileThatWasRemovedIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox.db")
	own, logs := openDB(t, "sqlite", path), new(logs)
	store := openStore(t, path)
	o := newBox(t, store, newService().client(t), outbox.Fast(), outbox.WithLogger(logs.logger()))
	enqueue(t, o, "before")
	tx, err := own.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	require.NoError(t, os.Remove(path))
	const removed = "the file of the database was removed or replaced"
	_, err = o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: request(t, "order")})
	require.ErrorContains(t, err, removed)
	_, err = o.EnqueueTx(t.Context(), tx, outbox.Item{Key: "order", Prepared: request(t, "order")})
	require.ErrorContains(t, err, removed)
	_, err = o.Counts(t.Context())
	require.ErrorContains(t, err, removed)
	stop, ended := begin(o)
	eventually(t, func() bool { return logs.has("cannot look for entries") && logs.has(removed) })
	openStore(t, path) // another program creates it again
	_, err = o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: request(t, "order")})
	require.ErrorContains(t, err, removed)
	stop()
	<-ended
}

func TestErasedBodiesAreTidiedWithoutAWaitForAReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.db")
	db := openDB(t, "sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(20000)")
	store := mustStore(t, db)
	o := newBox(t, store, newService().client(t))
	enqueue(t, o, "order")
	reader, err := db.Conn(t.Context())
	require.NoError(t, err)
	var n int
	_, err = reader.ExecContext(t.Context(), `BEGIN`)
	require.NoError(t, err)
	require.NoError(t, reader.QueryRowContext(t.Context(), `SELECT count(*) FROM outbox_entry`).Scan(&n))
	dismiss(t, o, "order")
	began := time.Now()
	require.NoError(t, ledger.Open(store.Ledger()).Tidy(t.Context()))
	assert.Less(t, time.Since(began), 10*time.Second, "SQLite holds the write lock in the meantime")
	_, err = reader.ExecContext(t.Context(), `COMMIT`)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.NoError(t, ledger.Open(store.Ledger()).Tidy(t.Context()))
	info, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	assert.Zero(t, info.Size(), "the next time, the log is truncated")
}
