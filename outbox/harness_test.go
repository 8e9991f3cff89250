package outbox_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlite"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// The tests wait more than they work, so more of them run at a time than there are
// processors.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4")
	goleak.VerifyTestMain(m)
}

// box is an Outbox without the type of its transactions.
type box interface {
	Enqueue(context.Context, outbox.Item) (outbox.Entry, error)
	EnqueueAll(context.Context, iter.Seq2[outbox.Item, error]) (outbox.Enqueued, error)
	Run(context.Context) error
	Deliver(context.Context, ...string) (outbox.Delivered, error)
	Get(context.Context, string) (outbox.Entry, error)
	List(context.Context, outbox.Filter) iter.Seq2[outbox.Entry, error]
	Counts(context.Context) (outbox.Counts, error)
	Resend(context.Context, ...string) ([]outbox.Decision, error)
	Dismiss(context.Context, ...string) ([]outbox.Decision, error)
	ResendAll(context.Context, outbox.Filter) (outbox.Decided, error)
	DismissAll(context.Context, outbox.Filter) (outbox.Decided, error)
	DeliverDue(context.Context, int) (outbox.Delivered, error)
	Pause(context.Context, ...string) error
	Resume(context.Context, ...string) error
	PauseAll(context.Context) error
	ResumeAll(context.Context) error
	Quarantine(context.Context) (int, error)
	Present(context.Context, ...outbox.Item) ([]outbox.Presence, error)
	Prepared(context.Context, string) (*messaging.Prepared, error)
	HoldBodies(bytes int64) (release func())
}

// inTx are the methods of an Outbox in one transaction.
type inTx struct {
	enqueue    func(key string, p *messaging.Prepared) (outbox.Entry, error)
	enqueueAll func(items ...outbox.Item) ([]outbox.Entry, error)
	dismiss    func(keys ...string) ([]outbox.Decision, error)
}

// database is one database, for any number of outboxes in it.
type database struct {
	name string // the path or the URL, for another process; only of a SQLite file and of Postgres with pgx
	// new returns an outbox as another process would have it.
	new func(t testing.TB, client *messaging.Client, opts ...outbox.Option) box
	// within calls fn with the methods of o in a transaction of the program, and commits it
	// if fn returns nil.
	within func(t testing.TB, o box, fn func(inTx) error) error
	exec   func(t testing.TB, statement string)
	// ledger is the ledger of a store. Tests use it to act as a process that crashes.
	ledger ledger.Ledger
	doubts map[string]int // of entries, as of their last claim by claim
	// watched, unless it is nil, is what new outboxes have between them and the ledger.
	watched  *watched
	isSQLite bool
}

// kind is a kind of store.
type kind struct {
	name string
	open func(testing.TB) *database
}

var kinds = []kind{
	{"SQLite file", openFile},
	{"Postgres with pgx", openPgx},
	{"SQLite of the program, one connection", openSQLite},
	{"Postgres with database sql", openPostgresSQL},
}

// onEveryDatabase runs a test for each kind of store.
func onEveryDatabase(t *testing.T, test func(t *testing.T, db *database)) {
	onDatabases(t, kinds, test)
}

// onBothDatabases runs a test on SQLite and on Postgres, if the driver does not matter.
func onBothDatabases(t *testing.T, test func(t *testing.T, db *database)) {
	onDatabases(t, kinds[:2], test)
}

func onDatabases(t *testing.T, kinds []kind, test func(t *testing.T, db *database)) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, kind.open(t))
		})
	}
}

func newBox[Tx any](t testing.TB, store outbox.Store[Tx], client *messaging.Client, opts ...outbox.Option) *outbox.Outbox[Tx] {
	o, err := outbox.New(store, client, opts...)
	require.NoError(t, err)
	return o
}

// databaseOf returns the database of the stores that open returns. transact calls a function
// in a transaction of the program.
func databaseOf[Tx any](t testing.TB, open func(testing.TB) outbox.Store[Tx],
	transact func(testing.TB, func(Tx) error) error, exec func(testing.TB, string)) *database {
	db := &database{exec: exec, doubts: make(map[string]int), ledger: ledger.Open(open(t).Ledger())}
	db.new = func(t testing.TB, client *messaging.Client, opts ...outbox.Option) box {
		store := open(t)
		if db.watched != nil {
			store = watchedStore[Tx]{db.watched, ledger.Open(store.Ledger())}
		}
		return newBox(t, store, client, opts...)
	}
	db.within = func(t testing.TB, o box, fn func(inTx) error) error {
		of := o.(*outbox.Outbox[Tx])
		return transact(t, func(tx Tx) error {
			return fn(inTx{
				enqueue: func(key string, p *messaging.Prepared) (outbox.Entry, error) {
					return of.EnqueueTx(t.Context(), tx, outbox.Item{Key: key, Prepared: p})
				},
				enqueueAll: func(items ...outbox.Item) ([]outbox.Entry, error) { return of.EnqueueAllTx(t.Context(), tx, items...) },
				dismiss:    func(keys ...string) ([]outbox.Decision, error) { return of.DismissTx(t.Context(), tx, keys...) },
			})
		})
	}
	return db
}

// watch puts a ledger that a test can watch, and make fail, between new outboxes and the
// database.
func (db *database) watch() *watched {
	db.watched = &watched{base: db.ledger}
	return db.watched
}

// start returns a service and an outbox with short waits that sends to it.
func (db *database) start(t testing.TB, opts ...outbox.Option) (*service, box) {
	service := newService()
	return service, db.new(t, service.client(t), append([]outbox.Option{outbox.Fast()}, opts...)...)
}

// openWatched is start in a file whose ledger is watched.
func openWatched(t testing.TB, opts ...outbox.Option) (*service, box, *watched) {
	db := openFile(t)
	w := db.watch()
	service, o := db.start(t, opts...)
	return service, o, w
}

// whileLocked calls do while a transaction of the program has dismissed an entry, which it takes back.
func (db *database) whileLocked(t testing.TB, o box, key string, do func()) {
	require.ErrorIs(t, db.within(t, o, func(tx inTx) error {
		_, err := tx.dismiss(key)
		require.NoError(t, err)
		do()
		return errBroken
	}), errBroken)
}

// openStore opens a store in a SQLite file.
func openStore(t testing.TB, path string) *sqlitefile.Store {
	store, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func openFile(t testing.TB) *database { return openFileAt(t, filepath.Join(t.TempDir(), "outbox.db")) }

func openFileAt(t testing.TB, path string) *database {
	open := func(t testing.TB) outbox.Store[outbox.SQLTx] { return openStore(t, path) }
	own := openDB(t, "sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	db := databaseOf(t, open, transactSQL(own), execSQL(own))
	db.name, db.isSQLite = path, true
	return db
}

// openProgram opens a SQLite database of the program, with one connection.
func openProgram(t testing.TB) (*sql.DB, outbox.Store[outbox.SQLTx]) {
	db := openDB(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "program.db")+
		"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	db.SetMaxOpenConns(1)
	return db, mustStore(t, db)
}

func mustStore(t testing.TB, db *sql.DB) *sqlite.Store {
	store, err := sqlite.New(t.Context(), db)
	require.NoError(t, err)
	return store
}

// openWith opens what a program opens with database/sql.
func openWith(t testing.TB, program *sql.DB, store outbox.Store[outbox.SQLTx]) *database {
	return databaseOf(t, func(testing.TB) outbox.Store[outbox.SQLTx] { return store }, transactSQL(program), execSQL(program))
}

func openSQLite(t testing.TB) *database {
	program, store := openProgram(t)
	db := openWith(t, program, store)
	db.isSQLite = true
	return db
}

func openPgx(t testing.TB) *database {
	url := pgtest.URL(t)
	require.NoError(t, postgres.Migrate(t.Context(), openPool(t, url)))
	return openPgxAt(t, url)
}

func openPool(t testing.TB, url string) *pgxpool.Pool {
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func openPgxAt(t testing.TB, url string) *database {
	pool := openPool(t, url)
	open := func(t testing.TB) outbox.Store[pgx.Tx] {
		store, err := postgres.New(t.Context(), openPool(t, url))
		require.NoError(t, err)
		return store
	}
	db := databaseOf(t, open, func(t testing.TB, fn func(pgx.Tx) error) error { return pgx.BeginFunc(t.Context(), pool, fn) },
		func(t testing.TB, statement string) {
			_, err := pool.Exec(t.Context(), statement)
			require.NoError(t, err)
		})
	db.name = url
	return db
}

// openProgramOnPostgres opens a Postgres database of the program with database/sql.
func openProgramOnPostgres(t testing.TB) (*sql.DB, outbox.Store[outbox.SQLTx]) {
	db := openDB(t, "pgx", pgtest.URL(t))
	require.NoError(t, postgres.Migrate(t.Context(), db))
	store, err := postgres.NewSQL(t.Context(), db)
	require.NoError(t, err)
	return db, store
}

func openPostgresSQL(t testing.TB) *database {
	program, store := openProgramOnPostgres(t)
	return openWith(t, program, store)
}

func openDB(t testing.TB, driver, source string) *sql.DB {
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func execSQL(db *sql.DB) func(testing.TB, string) {
	return func(t testing.TB, statement string) {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
}

func transactSQL(db *sql.DB) func(testing.TB, func(outbox.SQLTx) error) error {
	return func(t testing.TB, fn func(outbox.SQLTx) error) error {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		if err := fn(tx); err != nil {
			require.NoError(t, tx.Rollback())
			return err
		}
		return tx.Commit()
	}
}

// shift moves the times in columns of all entries that have them, by SQL on SQLite or Postgres.
func (db *database) shift(t testing.TB, by time.Duration, columns ...string) {
	for _, column := range columns {
		amount := fmt.Sprint(by.Milliseconds())
		if !db.isSQLite {
			amount = "interval '" + amount + " milliseconds'"
		}
		db.exec(t, fmt.Sprintf(`UPDATE outbox_entry SET %s = %[1]s + %s WHERE %[1]s IS NOT NULL`, column, amount))
	}
}

// endLeases makes every lease end in the past.
func (db *database) endLeases(t testing.TB) { db.shift(t, -time.Hour, "claimed_at", "lease_until") }

// tryClaim claims what there is, for a minute.
func (db *database) tryClaim(t testing.TB, claim ledger.Claim) []ledger.Claimed {
	claim.Lease, claim.MaxBytes = time.Minute, mib
	claimed, err := db.ledger.Claim(t.Context(), claim)
	require.NoError(t, err)
	return claimed
}

// claim claims entries as a process does that then crashes.
func (db *database) claim(t testing.TB, keys ...string) ledger.Token {
	token := ledger.Token{1}
	claimed := db.tryClaim(t, ledger.Claim{Token: token, Limit: len(keys), Look: triggers, Keys: keys})
	require.Len(t, claimed, len(keys))
	for _, e := range claimed {
		db.doubts[e.Key] = e.Doubts
	}
	return token
}

func (db *database) unclaim(t testing.TB, token ledger.Token, want int) {
	n, err := db.ledger.Unclaim(t.Context(), token)
	require.NoError(t, err)
	assert.Equal(t, want, n)
}

// triggerEvent is the operation of request.
const triggerEvent = "trigger event"

// triggers are the entries of request that wait for no time.
var triggers = ledger.Look{Class: ledger.Class{Operation: triggerEvent, Lane: ledger.Normal}}

// changed counts the decisions that changed an entry.
func changed(decisions []outbox.Decision) (n int) {
	for _, d := range decisions {
		if d.Changed {
			n++
		}
	}
	return n
}

// service is the service behind a client. It counts what it carried out.
type service struct {
	mu      sync.Mutex
	done    map[string]int
	asked   int
	respond func(key string) response // nil accepts
}

// response is how the service responds to a request.
type response struct {
	status     int
	body       string
	retryAfter string
	lost       bool // although it was carried out
	unreached  bool // the connection fails, before anything is sent
	before     func()
}

var (
	accept      = response{status: 200, body: `{"success": true, "data": true}`}
	reject      = response{status: 422, body: `{"success": false, "message": "invalid"}`}
	unauthorize = response{status: 401, body: `{"success": false}`}
	forbid      = response{status: 403, body: `{"success": false}`}
	missing     = response{status: 404, body: `{"success": false}`}
	fail        = response{status: 503, body: `{"success": false}`}
	lose        = response{lost: true}
	disconnect  = response{unreached: true}
)

// acceptAfter calls a function before a request is carried out.
func acceptAfter(before func()) response {
	return response{status: 200, body: accept.body, before: before}
}

func newService() *service { return &service{done: make(map[string]int)} }

func (s *service) client(t testing.TB, opts ...messaging.Option) *messaging.Client {
	client, err := messaging.NewClient("https://service.test", "test-key-1", append(opts,
		messaging.WithHTTPClient(&http.Client{Transport: s}),
		messaging.WithHooks(messaging.Hooks{CallStart: func(ctx context.Context, _ messaging.CallInfo) context.Context {
			return context.WithValue(ctx, preparedKey{}, new([]byte))
		}}),
		messaging.WithGuard(func(ctx context.Context, p *messaging.Prepared) error {
			*ctx.Value(preparedKey{}).(*[]byte) = p.Body()
			return nil
		}))...)
	require.NoError(t, err)
	return client
}

func (s *service) set(respond func(key string) response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.respond = respond
}

// respondTo sets the responses to some keys. The other requests are accepted.
func (s *service) respondTo(responses map[string]response) {
	s.set(func(key string) response {
		if r, ok := responses[key]; ok {
			return r
		}
		return accept
	})
}

func (s *service) always(r response) { s.set(func(string) response { return r }) }

var errBroken = errors.New("broken")

// RoundTrip carries out a request.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked++
	respond := s.respond
	s.mu.Unlock()
	response := accept
	if respond != nil { // a connection fails before the body is read
		content, err := bodyOf(r)
		if err != nil {
			return nil, err
		}
		response = respond(keyIn(content))
		if response.unreached {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
	}
	if response.before != nil {
		response.before()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if response.lost || response.status == 200 {
		s.mu.Lock()
		s.done[keyIn(content)]++
		s.mu.Unlock()
	}
	if response.lost {
		return nil, errBroken
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if response.retryAfter != "" {
		header.Set("Retry-After", response.retryAfter)
	}
	return &http.Response{StatusCode: response.status, Header: header, Request: r,
		Body: io.NopCloser(strings.NewReader(response.body))}, nil
}

// bodyOf returns the body without reading it, because a failed connection must leave it
// unread.
func bodyOf(r *http.Request) ([]byte, error) {
	body, ok := r.Context().Value(preparedKey{}).(*[]byte)
	if !ok {
		return nil, errors.New("not a client of the service")
	}
	return *body, nil
}

type preparedKey struct{}

// carriedOut returns how often the request of a key was carried out.
func (s *service) carriedOut(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[key]
}

// carriedOutOnce checks that the request of each key was carried out once.
func (s *service) carriedOutOnce(t testing.TB, keys ...string) {
	for _, key := range keys {
		assert.Equal(t, 1, s.carriedOut(key), key)
	}
}

func (s *service) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// request returns a request that the service counts under key.
func request(t testing.TB, key string) *messaging.Prepared {
	p, err := messaging.EventTriggerParams{EventID: "event", Email: "ada@example.com", Values: map[string]any{"key": key}}.Prepare()
	require.NoError(t, err)
	return p
}

// enqueue enqueues a request for each key, which is new.
func enqueue(t testing.TB, o box, keys ...string) {
	all, err := o.EnqueueAll(t.Context(), items(t, keys))
	require.NoError(t, err)
	require.Equal(t, outbox.Enqueued{Added: len(keys)}, all)
}

// add enqueues an item, with a request that the service counts under its key unless it has one.
func add(t testing.TB, o box, item outbox.Item) outbox.Entry {
	if item.Prepared == nil {
		item.Prepared = request(t, item.Key)
	}
	entry, err := o.Enqueue(t.Context(), item)
	require.NoError(t, err)
	return entry
}

func deliver(t testing.TB, o box, keys ...string) outbox.Delivered {
	delivered, err := o.Deliver(t.Context(), keys...)
	require.NoError(t, err)
	return delivered
}

func deliverDue(t testing.TB, o box, limit int) outbox.Delivered {
	delivered, err := o.DeliverDue(t.Context(), limit)
	require.NoError(t, err)
	return delivered
}

func resend(t testing.TB, o box, keys ...string) []outbox.Decision {
	decisions, err := o.Resend(t.Context(), keys...)
	require.NoError(t, err)
	return decisions
}

func dismiss(t testing.TB, o box, keys ...string) []outbox.Decision {
	decisions, err := o.Dismiss(t.Context(), keys...)
	require.NoError(t, err)
	return decisions
}

func quarantine(t testing.TB, o box) int {
	n, err := o.Quarantine(t.Context())
	require.NoError(t, err)
	return n
}

func countsOf(t testing.TB, o box) outbox.Counts {
	counts, err := o.Counts(t.Context())
	require.NoError(t, err)
	return counts
}

// keysOf returns n keys.
func keysOf(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("order-%05d", i)
	}
	return keys
}

// items are requests for the keys.
func items(t testing.TB, keys []string) iter.Seq2[outbox.Item, error] {
	return each(itemsOf(t, keys...))
}

// each yields items without an error.
func each(items []outbox.Item) iter.Seq2[outbox.Item, error] {
	return func(yield func(outbox.Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func entryOf(t testing.TB, o box, key string) outbox.Entry {
	entry, err := o.Get(t.Context(), key)
	require.NoError(t, err)
	return entry
}

func stateOf(t testing.TB, o box, key string) outbox.State { return entryOf(t, o, key).State }

// eventuallyAccepted waits until so many entries are accepted.
func eventuallyAccepted(t testing.TB, o box, n int) {
	t.Helper()
	eventually(t, func() bool { return countsOf(t, o).Accepted == n })
}

// eventuallyIs waits until an entry is in a state.
func eventuallyIs(t testing.TB, o box, key string, state outbox.State) {
	t.Helper()
	eventually(t, func() bool { return stateOf(t, o, key) == state })
}

// begin calls Run until the returned function is called. Its error arrives when it ends.
func begin(o box) (stop func(), ended <-chan error) {
	ctx, cancel := context.WithCancel(context.Background())
	end := make(chan error, 1)
	go func() { end <- o.Run(ctx) }()
	return cancel, end
}

// run calls Run until the test ends or the returned function is called.
func run(t testing.TB, o box) (stop func()) {
	cancel, ended := begin(o)
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(5 * time.Minute):
			t.Error("Run does not end")
		}
	})
	t.Cleanup(stop)
	return stop
}

// eventually waits for a condition that only a database can tell about. Its limit only ends
// a test that hangs: with -race on a busy machine, a test can take a minute.
func eventually(t testing.TB, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 5*time.Minute, 10*time.Millisecond)
}

func listAll(t testing.TB, o box) []outbox.Entry {
	entries, err := messaging.Collect(o.List(t.Context(), outbox.Filter{}))
	require.NoError(t, err)
	return entries
}

// listed returns the keys of what List returns.
func listed(t testing.TB, o box, p outbox.Filter) (keys []string) {
	for entry, err := range o.List(t.Context(), p) {
		require.NoError(t, err)
		keys = append(keys, entry.Key)
	}
	return keys
}

// keyOf returns the key that request has put into a request.
func keyOf(p *messaging.Prepared) string { return keyIn(p.Body()) }

// keyIn returns the key in a body. It does not decode the body, which may be large.
func keyIn(body []byte) string {
	_, rest, _ := bytes.Cut(body, []byte(`"key":"`))
	key, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(key)
}

// logs collects what is logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logs) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// warmUps is how many entries warmUp sends.
const warmUps = 63

// warmUp has entries accepted until many requests may be in flight.
func warmUp(t testing.TB, o box) {
	var keys []string
	for i := range warmUps {
		keys = append(keys, fmt.Sprint("warm up ", i))
	}
	enqueue(t, o, keys...)
	deliver(t, o, keys...)
}

// base is a ledger under a name that leaves Ledger to a method.
type base = ledger.Ledger

// watchedStore is a store with a watched ledger. What is in a transaction of the caller
// goes to tx.
type watchedStore[Tx any] struct {
	*watched
	tx ledger.TxLedger[Tx]
}

func (s watchedStore[Tx]) Ledger() ledger.Handle[Tx] { return ledger.NewHandle[Tx](s) }

func (s watchedStore[Tx]) InsertTx(ctx context.Context, tx Tx, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	s.inserting(entries)
	return s.tx.InsertTx(ctx, tx, entries)
}

func (s watchedStore[Tx]) RemoveTx(ctx context.Context, tx Tx, ids []int64) error {
	return s.tx.RemoveTx(ctx, tx, ids)
}

func (s watchedStore[Tx]) DismissTx(ctx context.Context, tx Tx, keys []string) ([]ledger.Decision, error) {
	return s.tx.DismissTx(ctx, tx, keys)
}

// watched is a ledger that knows what passes through it, and whose database fails as the
// test asks.
type watched struct {
	base
	late sync.WaitGroup

	mu      sync.Mutex
	faults  faults
	batches []weight // that were inserted
	claims  []weight
	looks   []ledger.Look
}

// weight is the size of a batch.
type weight struct{ entries, bytes int }

// faults are how a database fails.
type faults struct {
	broken       error // of every call
	afterClaim   func([]ledger.Claimed) ([]ledger.Claimed, error)
	claim        error                        // of a claim, and none is committed
	lateClaim    time.Duration                // a claim fails, and is committed that much later
	beforeSettle func([]ledger.Outcome) error // an error is returned, and nothing is recorded
	locked       func([]ledger.Outcome)       // other transactions have locked all entries
	afterSettle  func() error
	purge        func(context.Context, int) (int, error) // takes the place of a purge
}

func (w *watched) set(faults faults) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = faults
}

func (w *watched) get() faults {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults
}

func (w *watched) inserting(entries []ledger.NewEntry) {
	batch := weight{entries: len(entries)}
	for _, e := range entries {
		batch.bytes += len(e.Body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append(w.batches, batch)
}

// claimed is the sum of the claims since the first n, and their number.
func (w *watched) claimed(n int) (sum weight, claims int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, claim := range w.claims[n:] {
		sum.entries += claim.entries
		sum.bytes += claim.bytes
	}
	return sum, len(w.claims) - n
}

// looksAt returns the positions from which a class was looked at.
func (w *watched) looksAt(class ledger.Class) (positions []ledger.Position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, look := range w.looks {
		if look.Class == class {
			positions = append(positions, look.After)
		}
	}
	return positions
}

func (w *watched) Insert(ctx context.Context, entries []ledger.NewEntry) ([]ledger.Inserted, error) {
	w.inserting(entries)
	return w.base.Insert(ctx, entries)
}

func (w *watched) Due(ctx context.Context, looks []ledger.Look) ([]ledger.Due, error) {
	w.mu.Lock()
	w.looks = append(w.looks, looks...)
	w.mu.Unlock()
	if now := w.get(); now.broken != nil {
		return nil, now.broken
	}
	return w.base.Due(ctx, looks)
}

func (w *watched) Claim(ctx context.Context, claim ledger.Claim) ([]ledger.Claimed, error) {
	now := w.get()
	if err := cmp.Or(now.broken, now.claim); err != nil {
		return nil, err
	}
	if now.lateClaim > 0 {
		w.late.Go(func() {
			time.Sleep(now.lateClaim)
			_, _ = w.base.Claim(context.WithoutCancel(ctx), claim)
		})
		return nil, errBroken
	}
	claimed, err := w.base.Claim(ctx, claim)
	size := 0
	for _, e := range claimed {
		size += len(e.Body)
	}
	w.mu.Lock()
	w.claims = append(w.claims, weight{len(claimed), size})
	w.mu.Unlock()
	if len(claimed) > 0 && now.afterClaim != nil {
		return now.afterClaim(claimed)
	}
	return claimed, err
}

func (w *watched) Settle(ctx context.Context, outcomes []ledger.Outcome) ([]ledger.Settled, time.Time, error) {
	now := w.get()
	if now.broken != nil {
		return nil, time.Time{}, now.broken
	}
	if now.locked != nil {
		locked := make([]ledger.Settled, len(outcomes))
		for i := range locked {
			locked[i] = ledger.Locked
		}
		now.locked(outcomes)
		return locked, time.Time{}, nil
	}
	if now.beforeSettle != nil {
		if err := now.beforeSettle(outcomes); err != nil {
			return nil, time.Time{}, err
		}
	}
	applied, at, err := w.base.Settle(ctx, outcomes)
	if err == nil && now.afterSettle != nil {
		err = now.afterSettle()
	}
	return applied, at, err
}

func (w *watched) Purge(ctx context.Context, keep time.Duration, limit int) (int, error) {
	if now := w.get(); now.purge != nil {
		return now.purge(ctx, limit)
	}
	return w.base.Purge(ctx, keep, limit)
}
