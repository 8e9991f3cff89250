package outbox_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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
	_ "github.com/jackc/pgx/v5/stdlib"
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// box is an Outbox without the type of its transactions.
type box interface {
	Enqueue(context.Context, outbox.Item) (outbox.Entry, error)
	EnqueueAll(context.Context, iter.Seq2[outbox.Item, error]) (int, int, error)
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
	Prepared(context.Context, string) (*messaging.Prepared, error)
}

// enqueuer is EnqueueTx in one transaction.
type enqueuer func(key string, p *messaging.Prepared) (outbox.Entry, error)

// inTx are the methods of an Outbox in one transaction.
type inTx struct {
	enqueueAll func(items ...outbox.Item) ([]outbox.Entry, error)
	dismiss    func(keys ...string) ([]outbox.Decision, error)
}

func inTxOf[Tx any](t testing.TB, o box, tx Tx) inTx {
	of := o.(*outbox.Outbox[Tx])
	return inTx{
		enqueueAll: func(items ...outbox.Item) ([]outbox.Entry, error) { return of.EnqueueAllTx(t.Context(), tx, items...) },
		dismiss:    func(keys ...string) ([]outbox.Decision, error) { return of.DismissTx(t.Context(), tx, keys...) },
	}
}

// database is one database, for any number of outboxes in it.
type database struct {
	kind string
	name string // the path or the URL, for another process; only of a SQLite file and of Postgres with pgx
	// new returns an outbox as another process would have it.
	new func(t testing.TB, client *messaging.Client, opts ...outbox.Option) box
	// inTx calls fn in a transaction of the program, and commits it if fn returns nil.
	inTx func(t testing.TB, o box, fn func(enqueuer) error) error
	exec func(t testing.TB, statement string)
	// within calls fn with the methods of o in a transaction, and commits it if fn returns
	// nil.
	within func(t testing.TB, o box, fn func(inTx) error) error
	// ledger is the ledger of a store. Tests use it to act as a process that crashes.
	ledger   ledger.Ledger
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
			db := kind.open(t)
			db.kind = kind.name
			test(t, db)
		})
	}
}

func newBox[Tx any](t testing.TB, store outbox.Store[Tx], client *messaging.Client, opts []outbox.Option) *outbox.Outbox[Tx] {
	o, err := outbox.New(store, client, opts...)
	require.NoError(t, err)
	return o
}

func openFile(t testing.TB) *database {
	path := filepath.Join(t.TempDir(), "outbox.db")
	open := func(t testing.TB) *sqlitefile.Store {
		store, err := sqlitefile.Open(t.Context(), path)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	}
	store := open(t)
	own := openDB(t, "sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	return &database{
		new: func(t testing.TB, client *messaging.Client, opts ...outbox.Option) box {
			return newBox(t, open(t), client, opts)
		},
		inTx:     inSQLTx(own),
		exec:     execSQL(own),
		within:   withinSQL(own),
		ledger:   store.Ledger(),
		name:     path,
		isSQLite: true,
	}
}

func openSQLite(t testing.TB) *database {
	path := filepath.Join(t.TempDir(), "program.db")
	db := openDB(t, "sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	db.SetMaxOpenConns(1)
	store, err := sqlite.New(t.Context(), db)
	require.NoError(t, err)
	return &database{
		new: func(t testing.TB, client *messaging.Client, opts ...outbox.Option) box {
			return newBox(t, store, client, opts)
		},
		inTx:     inSQLTx(db),
		exec:     execSQL(db),
		within:   withinSQL(db),
		ledger:   store.Ledger(),
		isSQLite: true,
	}
}

func openPgx(t testing.TB) *database {
	pool := pgtest.Pool(t)
	require.NoError(t, postgres.Migrate(t.Context(), pool))
	store, err := postgres.New(t.Context(), pool)
	require.NoError(t, err)
	return &database{
		new: func(t testing.TB, client *messaging.Client, opts ...outbox.Option) box {
			return newBox(t, store, client, opts)
		},
		inTx: func(t testing.TB, o box, fn func(enqueuer) error) error {
			return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				return fn(func(key string, p *messaging.Prepared) (outbox.Entry, error) {
					return o.(*outbox.Outbox[pgx.Tx]).EnqueueTx(t.Context(), tx, outbox.Item{Key: key, Prepared: p})
				})
			})
		},
		within: func(t testing.TB, o box, fn func(inTx) error) error {
			return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return fn(inTxOf(t, o, tx)) })
		},
		exec: func(t testing.TB, statement string) {
			_, err := pool.Exec(t.Context(), statement)
			require.NoError(t, err)
		},
		ledger: store.Ledger(),
		name:   pool.Config().ConnString(),
	}
}

func openPostgresSQL(t testing.TB) *database {
	db := openDB(t, "pgx", pgtest.URL(t))
	require.NoError(t, postgres.Migrate(t.Context(), db))
	store, err := postgres.NewSQL(t.Context(), db)
	require.NoError(t, err)
	return &database{
		new: func(t testing.TB, client *messaging.Client, opts ...outbox.Option) box {
			return newBox(t, store, client, opts)
		},
		inTx:   inSQLTx(db),
		exec:   execSQL(db),
		within: withinSQL(db),
		ledger: store.Ledger(),
	}
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

func inSQLTx(db *sql.DB) func(testing.TB, box, func(enqueuer) error) error {
	return func(t testing.TB, o box, fn func(enqueuer) error) error {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		err = fn(func(key string, p *messaging.Prepared) (outbox.Entry, error) {
			return o.(*outbox.Outbox[outbox.SQLTx]).EnqueueTx(t.Context(), tx, outbox.Item{Key: key, Prepared: p})
		})
		if err != nil {
			require.NoError(t, tx.Rollback())
			return err
		}
		return tx.Commit()
	}
}

func withinSQL(db *sql.DB) func(testing.TB, box, func(inTx) error) error {
	return func(t testing.TB, o box, fn func(inTx) error) error {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		if err := fn(inTxOf[outbox.SQLTx](t, o, tx)); err != nil {
			require.NoError(t, tx.Rollback())
			return err
		}
		return tx.Commit()
	}
}

// endLeases makes every lease end in the past.
func (db *database) endLeases(t testing.TB) {
	if db.isSQLite {
		db.exec(t, `UPDATE outbox_entry SET claimed_at = claimed_at - 3600000, lease_until = lease_until - 3600000 WHERE lease_until IS NOT NULL`)
		return
	}
	db.exec(t, `UPDATE outbox_entry SET claimed_at = claimed_at - interval '1 hour', lease_until = lease_until - interval '1 hour'
		WHERE lease_until IS NOT NULL`)
}

// claim claims entries as a process does that then crashes.
func (db *database) claim(t testing.TB, keys ...string) ledger.Token {
	token := ledger.Token{1}
	claimed, err := db.ledger.Claim(t.Context(), ledger.Claim{Token: token, Lease: time.Minute,
		Limit: len(keys), Look: triggers, Keys: keys, MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.Len(t, claimed, len(keys))
	return token
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
	before     func(*http.Request)
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

func (s *service) always(r response) { s.set(func(string) response { return r }) }

var errBroken = errors.New("broken")

// RoundTrip carries out a request.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked++
	respond := s.respond
	s.mu.Unlock()
	var sent struct {
		Payload struct {
			Key string `json:"key"`
		} `json:"payload"`
	}
	response := accept
	if respond != nil { // a connection fails before the body is read
		content, err := bodyOf(r)
		if err != nil {
			return nil, err
		}
		_ = json.Unmarshal(content, &sent)
		response = respond(sent.Payload.Key)
		if response.unreached {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}
	}
	if response.before != nil {
		response.before(r)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &sent); err != nil {
		return nil, err
	}
	if response.lost || response.status == 200 {
		s.mu.Lock()
		s.done[sent.Payload.Key]++
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

func enqueue(t testing.TB, o box, keys ...string) {
	for _, key := range keys {
		_, err := o.Enqueue(t.Context(), outbox.Item{Key: key, Prepared: request(t, key)})
		require.NoError(t, err)
	}
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
	return func(yield func(outbox.Item, error) bool) {
		for _, key := range keys {
			if !yield(outbox.Item{Key: key, Prepared: request(t, key)}, nil) {
				return
			}
		}
	}
}

func stateOf(t testing.TB, o box, key string) outbox.State {
	entry, err := o.Get(t.Context(), key)
	require.NoError(t, err)
	return entry.State
}

// run calls Run until the test ends or the returned function is called.
func run(t testing.TB, o box) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx) }()
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

func listed(t testing.TB, o box, p outbox.Filter) (keys []string) {
	for entry, err := range o.List(t.Context(), p) {
		require.NoError(t, err)
		keys = append(keys, entry.Key)
	}
	return keys
}

// keyOf returns the key that request has put into a request.
func keyOf(p *messaging.Prepared) string {
	var sent struct {
		Payload struct {
			Key string `json:"key"`
		} `json:"payload"`
	}
	_ = json.Unmarshal(p.Body(), &sent)
	return sent.Payload.Key
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
	_, err := o.Deliver(t.Context(), keys...)
	require.NoError(t, err)
}
