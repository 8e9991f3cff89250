package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/sqlite"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

func TestAClaimThatIsCommittedAfterItsErrorIsUndoneAndNotSent(t *testing.T) {
	service := newService()
	o, f := openFaulty(t, service.client(t), outbox.WithInFlight(3))
	keys := keysOf(6)
	enqueue(t, o, keys...)
	f.set(faults{lateClaim: 100 * time.Millisecond})
	stop := run(t, o)
	eventually(t, func() bool { // the first has been committed
		found, err := f.Find(t.Context(), keys)
		require.NoError(t, err)
		attempts := 0
		for _, e := range found {
			attempts += e.Attempts
		}
		return attempts > 0
	})
	assert.Zero(t, service.requests(), "nothing is sent without a claim that is certain")
	f.set(faults{})
	eventually(t, func() bool {
		counts, err := o.Counts(t.Context())
		require.NoError(t, err)
		return counts.Accepted == 6
	})
	stop()
	f.late.Wait()
	for _, key := range keys {
		assert.Equal(t, 1, service.carriedOut(key), key)
	}
}

func TestUnclaimAppliesToItsTokenAlone(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "order")
		token := db.claim(t, "order")
		n, err := db.ledger.Unclaim(t.Context(), ledger.Token{9})
		require.NoError(t, err)
		assert.Zero(t, n)
		n, err = db.ledger.Unclaim(t.Context(), token)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Equal(t, outbox.Pending, stateOf(t, o, "order"))

		token = db.crash(t, "order") // its commit showed up, and its lease ended before it was found
		assert.Equal(t, outbox.Unclear, stateOf(t, o, "order"))
		n, err = db.ledger.Unclaim(t.Context(), token)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		delivered, err := o.Deliver(t.Context(), "order")
		require.NoError(t, err)
		assert.Equal(t, outbox.Delivered{Accepted: 1}, delivered)
	})
}

func TestDeliverReturnsWhenTheStoreIsClosed(t *testing.T) {
	store, err := sqlitefile.Open(t.Context(), filepath.Join(t.TempDir(), "outbox.db"))
	require.NoError(t, err)
	service := newService()
	service.always(response{status: 200, body: accept.body, before: func(*http.Request) { _ = store.Close() }})
	o := newBox(t, store, service.client(t), nil)
	enqueue(t, o, "order")
	_, err = o.Deliver(context.Background(), "order")
	require.ErrorContains(t, err, "the outcomes of entries (1) could not be recorded, so they become unclear")
	require.ErrorContains(t, err, "the store is closed")
}

func TestAnOutcomeThatTheDatabaseDoesNotRecordDoesNotStopTheOthers(t *testing.T) {
	service := newService()
	service.set(func(key string) response {
		if key == "poison" {
			return reject
		}
		return accept
	})
	o, f := openFaulty(t, service.client(t))
	f.set(faults{recording: func(outcomes []ledger.Outcome) error {
		for _, s := range outcomes {
			if strings.Contains(s.Error, "422") {
				return errBroken
			}
		}
		return nil
	}})
	enqueue(t, o, "poison", "good")
	run(t, o)
	eventually(t, func() bool { return stateOf(t, o, "good") == outbox.Accepted })
	enqueue(t, o, "later")
	eventually(t, func() bool { return stateOf(t, o, "later") == outbox.Accepted })
	assert.Equal(t, outbox.Sending, stateOf(t, o, "poison"))
	f.set(faults{})
	eventually(t, func() bool { return stateOf(t, o, "poison") == outbox.Rejected })
}

func TestEveryDatabaseStoresEveryErrorText(t *testing.T) {
	for name, message := range map[string]string{
		"NUL":               "before\x00after",
		"invalid UTF-8":     "before\xff\xfeafter",
		"half a surrogate":  "before\xed\xa0\x80after",
		"no characters":     "before\ufdd0\ufffe\U0010ffffafter",
		"quotes":            `before'"\{}after`,
		"one long rune cut": "before" + strings.Repeat("\U0001F600", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, db *database) {
				o := db.new(t, newService().client(t, messaging.WithGuard(func(context.Context, *messaging.Prepared) error {
					return errors.New(message)
				})), outbox.Fast())
				enqueue(t, o, "order")
				delivered, err := o.Deliver(t.Context(), "order")
				require.NoError(t, err)
				assert.Equal(t, outbox.Delivered{Rejected: 1}, delivered)
				entry, err := o.Get(t.Context(), "order")
				require.NoError(t, err)
				assert.Contains(t, entry.Error, "before")
				assert.LessOrEqual(t, len(entry.Error), 1000)
			})
		})
	}
}

func TestABodyIsErasedFromAllFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox.db")
	store, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	o := newBox(t, store, newService().client(t), []outbox.Option{outbox.Fast()})
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
	run(t, o)
	eventually(t, func() bool { return found() == 0 })
	assert.Equal(t, outbox.Accepted, stateOf(t, o, "order"))
}

func TestDismissErasesTheTextOfTheError(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		service.always(reject)
		o := db.new(t, service.client(t), outbox.Fast())
		enqueue(t, o, "order")
		_, err := o.Deliver(t.Context(), "order")
		require.NoError(t, err)
		_, err = o.Dismiss(t.Context(), "order")
		require.NoError(t, err)
		entry, err := o.Get(t.Context(), "order")
		require.NoError(t, err)
		assert.Empty(t, entry.Error)
	})
}

// failing is a Limiter that allows n and then fails.
type failing struct{ n *int }

func (f failing) Wait(context.Context) error {
	if *f.n--; *f.n < 0 {
		return errBroken
	}
	return nil
}

func TestDeliverReturnsWhatItKnowsWithAnError(t *testing.T) {
	db, n := openFile(t), 1
	o := db.new(t, newService().client(t), outbox.Fast(), outbox.WithRateLimiter(failing{&n}))
	enqueue(t, o, "a", "b")
	delivered, err := o.Deliver(t.Context(), "a", "b")
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, 1, delivered.Accepted)
	assert.Equal(t, []string{"b"}, delivered.Later)
}

func TestALimiterThatPermitsNothingSendsNothing(t *testing.T) {
	for name, call := range map[string]func(box) error{
		"Deliver": func(o box) error {
			_, err := o.Deliver(t.Context(), keysOf(3)...)
			return err
		},
		"DeliverDue": func(o box) error {
			_, err := o.DeliverDue(t.Context(), 3)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			service, none := newService(), 0
			o := openFile(t).new(t, service.client(t), outbox.Fast(), outbox.WithRateLimiter(failing{&none}))
			enqueue(t, o, keysOf(3)...)
			for range 10 {
				require.ErrorIs(t, call(o), errBroken)
			}
			assert.Zero(t, service.requests())
		})
	}
}

// cancelling is a Sealer that ends a context when a request is opened, after its claim.
type cancelling struct {
	reversed
	cancel context.CancelFunc
}

func (c cancelling) Open(ctx context.Context, sealed []byte) ([]byte, error) {
	c.cancel()
	return c.reversed.Open(ctx, sealed)
}

func TestAStopAfterTheClaimReturnsTheEntryInRunAndNotInDeliver(t *testing.T) {
	db, service := openFile(t), newService()
	ctx, cancel := context.WithCancel(t.Context())
	o := db.new(t, service.client(t), outbox.Fast(), outbox.WithSealer(cancelling{cancel: cancel}))
	enqueue(t, o, "order")
	require.NoError(t, o.Run(ctx))
	entry, err := o.Get(t.Context(), "order")
	require.NoError(t, err)
	assert.Equal(t, outbox.Pending, entry.State)
	assert.Equal(t, "not begun: the process was stopped", entry.Error)
	assert.Zero(t, service.requests())

	ctx, cancel = context.WithCancel(t.Context())
	o = db.new(t, service.client(t), outbox.Fast(), outbox.WithSealer(cancelling{cancel: cancel}))
	delivered, err := o.Deliver(ctx, "order")
	require.NoError(t, err)
	assert.Equal(t, outbox.Delivered{Accepted: 1}, delivered)
}

func TestInvalidKeysAreUnknown(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		service.always(reject)
		o := db.new(t, service.client(t), outbox.Fast())
		enqueue(t, o, "order-\uFFFD")
		for _, key := range []string{"order-\xff", "a\x00b", ""} {
			delivered, err := o.Deliver(t.Context(), key)
			require.NoError(t, err)
			assert.Equal(t, outbox.Delivered{Unknown: []string{key}}, delivered)
			n, err := o.Resend(t.Context(), key)
			require.NoError(t, err)
			assert.Zero(t, changed(n))
			_, err = o.Get(t.Context(), key)
			require.ErrorIs(t, err, outbox.ErrNoEntry)
			_, err = o.Prepared(t.Context(), key)
			require.ErrorIs(t, err, outbox.ErrNoEntry)
		}
		assert.Zero(t, service.requests())
	})
}

func TestSettleTellsOutcomesOfOneEntryApart(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "order")
		token := db.claim(t, "order")
		entry, err := o.Get(t.Context(), "order")
		require.NoError(t, err)
		applied, _, err := db.ledger.Settle(t.Context(), []ledger.Outcome{
			{ID: entry.ID, Token: token, State: ledger.Accepted}, {ID: entry.ID, Token: ledger.Token{9}, State: ledger.Rejected}})
		require.NoError(t, err)
		assert.Equal(t, []ledger.Settled{ledger.Applied, ledger.Ignored}, applied)
	})
}

func TestAnOutcomeThatIsRecordedAgainDoesNotUndoTheResendOfARejectedEntry(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.Fast())
		enqueue(t, o, "order")
		token := db.claim(t, "order")
		assert.True(t, db.settle(t, o, token, "order", ledger.Rejected, 0))
		n, err := o.Resend(t.Context(), "order")
		require.NoError(t, err)
		require.Equal(t, 1, changed(n))
		assert.False(t, db.settle(t, o, token, "order", ledger.Rejected, 0))
		assert.Equal(t, outbox.Pending, stateOf(t, o, "order"))
	})
}

func TestAProbeThatFindsNothingLeavesTheBreakerForTheNext(t *testing.T) {
	db, service := openFile(t), newService()
	service.always(unauthorize)
	o := db.new(t, service.client(t), outbox.Fast())
	enqueue(t, o, "order")
	_, err := o.Deliver(t.Context(), "order")
	require.NoError(t, err)
	db.claim(t, "order")
	service.always(accept)
	time.Sleep(50 * time.Millisecond) // until a probe is due
	delivered, err := o.Deliver(t.Context(), "order", "unknown")
	require.NoError(t, err)
	assert.Equal(t, outbox.Delivered{Busy: []string{"order"}, Unknown: []string{"unknown"}, More: true, RetryAfter: 500 * time.Millisecond},
		delivered)
	enqueue(t, o, "other")
	delivered, err = o.Deliver(t.Context(), "other")
	require.NoError(t, err)
	assert.Equal(t, outbox.Delivered{Accepted: 1}, delivered)
}

func TestOpenFailsForADatabaseInMemory(t *testing.T) {
	_, err := sqlitefile.Open(t.Context(), ":memory:")
	require.EqualError(t, err, `outbox: open: path must name a file, not ":memory:"`)
	_, err = sqlitefile.Open(t.Context(), "")
	require.EqualError(t, err, "outbox: open: path must not be empty")
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
	o := newBox(t, mustStore(t, single), newService().client(t), nil)
	enqueue(t, o, "order")
	delivered, err := o.Deliver(t.Context(), "order")
	require.NoError(t, err)
	assert.Equal(t, outbox.Delivered{Accepted: 1}, delivered)
}

func TestAReaderDoesNotStopACommitInAnotherJournalMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.db")
	db := openDB(t, "sqlite", "file:"+path+"?_pragma=journal_mode(DELETE)&_pragma=busy_timeout(5)")
	o := newBox(t, mustStore(t, db), newService().client(t), nil)
	enqueue(t, o, "first")
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	rows, err := conn.QueryContext(t.Context(), `SELECT * FROM outbox_entry`)
	require.NoError(t, err)
	require.True(t, rows.Next())
	time.AfterFunc(300*time.Millisecond, func() { _ = errors.Join(rows.Close(), conn.Close()) })
	enqueue(t, o, "second")
}

func mustStore(t *testing.T, db *sql.DB) *sqlite.Store {
	store, err := sqlite.New(t.Context(), db)
	require.NoError(t, err)
	return store
}

func TestAFileThatWasRemovedIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox.db")
	store, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	own := openDB(t, "sqlite", path)
	logs := new(logs)
	o := newBox(t, store, newService().client(t), []outbox.Option{outbox.Fast(), outbox.WithLogger(logs.logger())})
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
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.Run(ctx) }()
	eventually(t, func() bool { return logs.has("cannot look for entries") && logs.has(removed) })
	other, err := sqlitefile.Open(t.Context(), path) // another program creates it again
	require.NoError(t, err)
	require.NoError(t, other.Close())
	_, err = o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: request(t, "order")})
	require.ErrorContains(t, err, removed)
	cancel()
	<-ended
}

func TestErasedBodiesAreTidiedWithoutAWaitForAReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.db")
	db := openDB(t, "sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(20000)")
	store, err := sqlite.New(t.Context(), db)
	require.NoError(t, err)
	o := newBox(t, store, newService().client(t), nil)
	enqueue(t, o, "order")
	reader, err := db.Conn(t.Context())
	require.NoError(t, err)
	var n int
	_, err = reader.ExecContext(t.Context(), `BEGIN`)
	require.NoError(t, err)
	require.NoError(t, reader.QueryRowContext(t.Context(), `SELECT count(*) FROM outbox_entry`).Scan(&n))
	_, err = o.Dismiss(t.Context(), "order")
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, store.Ledger().Tidy(t.Context()))
	assert.Less(t, time.Since(began), 10*time.Second, "SQLite holds the write lock in the meantime")
	_, err = reader.ExecContext(t.Context(), `COMMIT`)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.NoError(t, store.Ledger().Tidy(t.Context()))
	info, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	assert.Zero(t, info.Size(), "the next time, the log is truncated")
}
