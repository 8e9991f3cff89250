package outbox_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	catalog "github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

func TestEnqueueOfAPresentKeyReturnsTheEntry(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t))
		first := add(t, o, outbox.Item{Key: "order"})
		assert.Equal(t, outbox.Entry{ID: first.ID, Key: "order", Operation: "trigger event", State: outbox.Pending,
			Delivery: messaging.DeliveryNotSent, EnqueuedAt: first.EnqueuedAt, DueAt: first.EnqueuedAt}, first)
		assert.WithinDuration(t, time.Now(), first.EnqueuedAt, time.Hour)

		again := add(t, o, outbox.Item{Key: "order", NotBefore: time.Now().Add(time.Hour)})
		assert.True(t, again.Present)
		again.Present = false
		assert.Equal(t, first, again, "NotBefore is not compared")

		_, err := o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: request(t, "another")})
		require.ErrorIs(t, err, outbox.ErrKeyConflict)
		assert.EqualError(t, err, `outbox: enqueue entry "order": key already used for a different request`)
		assert.Equal(t, []string{"order"}, listed(t, o, outbox.Filter{}))
	})
}

func TestEnqueueComparesKeysByteByByte(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t))
		keys := []string{"order", "Order", "order ", "ordér", "orde\u0301r", "ordér ", strings.Repeat("x", 255)}
		enqueue(t, o, keys...)
		assert.Equal(t, keys, listed(t, o, outbox.Filter{}))
	})
}

func TestEnqueueTxFailsInATransactionOfAnotherDatabase(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		// The same database stands for another one: with another key, and without the tables.
		o := db.new(t, newService().client(t))
		for _, change := range []string{`UPDATE outbox_meta SET digest_key = substr(digest_key, 2)`, `ALTER TABLE outbox_meta RENAME TO other`} {
			db.exec(t, change)
			err := db.within(t, o, func(tx inTx) error {
				_, err := tx.enqueue("order", request(t, "order"))
				return err
			})
			require.ErrorContains(t, err, "the transaction belongs to another database")
			assert.Empty(t, listed(t, o, outbox.Filter{}))
		}
	})
}

func TestEnqueueNamesWhatIsInvalid(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t))
		done, cancel := context.WithCancel(t.Context())
		cancel()
		valid := request(t, "order")
		for _, test := range []struct {
			name string
			ctx  context.Context
			item outbox.Item
			want string
		}{
			{"an empty key", t.Context(), outbox.Item{Prepared: valid}, "the key must not be empty"},
			{"a long key", t.Context(), outbox.Item{Key: strings.Repeat("x", 256), Prepared: valid}, "the key must have at most 255 bytes"},
			{"a control character", t.Context(), outbox.Item{Key: "a\nb", Prepared: valid}, "the key must not contain control characters"},
			{"invalid UTF-8", t.Context(), outbox.Item{Key: "a\xff", Prepared: valid}, "the key must be valid UTF-8"},
			{"no request", t.Context(), outbox.Item{Key: "order"}, "Prepared must not be nil; use a Prepare method"},
			{"a zero request", t.Context(), outbox.Item{Key: "order", Prepared: new(messaging.Prepared)}, "Prepared is zero; use a Prepare method"},
			{"a late NotBefore", t.Context(), outbox.Item{Key: "order", Prepared: valid, NotBefore: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
				"NotBefore must not be after the year 9999"},
			{"an unknown priority", t.Context(), outbox.Item{Key: "order", Prepared: valid, Priority: 2}, "Priority must be Low, Normal or High"},
			{"a context that is done", done, outbox.Item{Key: "order", Prepared: valid}, "context canceled"},
		} {
			t.Run(test.name, func(t *testing.T) {
				_, err := o.Enqueue(test.ctx, test.item)
				require.EqualError(t, err, fmt.Sprintf("outbox: enqueue entry %q: %s", test.item.Key, test.want))
			})
		}
		assert.Empty(t, listed(t, o, outbox.Filter{}))
	})
}

func TestEnqueueNeverStoresARequestOfDo(t *testing.T) {
	var ofDo *messaging.Prepared
	client := newService().client(t, messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error {
		ofDo = p
		return errBroken
	}))
	o := openFile(t).new(t, client)
	later := json.RawMessage(`{"of a later version": 1}`) // has recipients that are not modeled
	for _, prepared := range everySend(t) {
		send, body := catalog.Named(prepared.Operation()), json.RawMessage(prepared.Body())
		for name, request := range map[string]messaging.Request{
			"no name":                      {Method: send.Method, Path: send.Path, Body: body},
			"an unknown name":              {Operation: "archive event", Method: send.Method, Path: send.Path, Body: body},
			"a name and another path":      {Operation: send.Name, Method: send.Method, Path: send.Path + "/archive", Body: later},
			"a name and another method":    {Operation: send.Name, Method: http.MethodPut, Path: send.Path, Body: later},
			"a name and no body":           {Operation: send.Name, Method: send.Method, Path: send.Path},
			"a name and a body of no kind": {Operation: send.Name, Method: send.Method, Path: send.Path, Body: []int{1}},
			"everything and a query": {Operation: send.Name, Method: send.Method, Path: send.Path, Body: body,
				Query: url.Values{"dry": {"1"}}},
		} {
			_, err := client.Do(t.Context(), request)
			require.ErrorIs(t, err, errBroken)
			_, err = o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: ofDo})
			require.EqualError(t, err, "outbox: enqueue entry \"order\": "+
				"a request of Client.Do cannot be stored; use a Prepare method", name)
		}
	}
	assert.Empty(t, listed(t, o, outbox.Filter{}))
}

// everySend returns a request of each operation that can be stored.
func everySend(t *testing.T) []*messaging.Prepared {
	to := messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})
	event, err := messaging.EventCreateParams{Name: "shipped", Description: "shipped", Parameters: []messaging.EventParameter{}}.Prepare()
	require.NoError(t, err)
	push, err := messaging.PushBroadcastParams{Subject: "Shipped", Message: "shipped", To: to}.Prepare()
	require.NoError(t, err)
	return []*messaging.Prepared{event, push, email(t, "welcome"), request(t, "order")}
}

func TestEnqueueStoresEverySend(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t))
		var names []string
		for send := range catalog.Sends() {
			names = append(names, send.Name)
			p, err := messaging.ParsePrepared(send.Name, []byte(`{"z": 1.50, "a": "<>"}`)) // members of a later version
			require.NoError(t, err)
			_, err = p.Recipients()
			require.Error(t, err)
			entry, err := o.Enqueue(t.Context(), outbox.Item{Key: send.Name, Prepared: p})
			require.NoError(t, err)
			assert.Equal(t, send.Name, entry.Operation)
			stored, err := o.Prepared(t.Context(), send.Name)
			require.NoError(t, err)
			assert.Equal(t, send.Name, stored.Operation())
			assert.Equal(t, p.Body(), stored.Body())
		}
		require.NoError(t, o.PauseAll(t.Context()))
		assert.ElementsMatch(t, names, countsOf(t, o).Paused)
	})
}

func TestAnEntryThatCannotBeReadStaysPending(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		enqueue(t, o, "order")
		db.exec(t, `UPDATE outbox_entry SET operation = 'archive event'`)
		assert.Equal(t, []string{"order"}, deliver(t, o, "order").Later)
		_, err := o.Prepared(t.Context(), "order")
		require.ErrorContains(t, err, `outbox: read entry "order": this version of package messaging cannot read the stored request: `)
		require.ErrorContains(t, err, "unknown operation")
		assert.Zero(t, service.requests())
	})
}

func TestEnqueueAllAddsWhatCameBeforeAnError(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t))
		enqueue(t, o, "order-00001")
		keys := keysOf(10)
		pulled := 0
		withSeventh := func(seventh outbox.Item, err error) func(func(outbox.Item, error) bool) {
			return func(yield func(outbox.Item, error) bool) {
				for i, key := range keys {
					pulled = i
					if i == 6 && !yield(seventh, err) || i != 6 && !yield(outbox.Item{Key: key, Prepared: request(t, key)}, nil) {
						return
					}
				}
			}
		}
		all, err := o.EnqueueAll(t.Context(), withSeventh(outbox.Item{}, errBroken))
		require.ErrorIs(t, err, errBroken)
		assert.Equal(t, outbox.Enqueued{Added: 5, Present: 1}, all)
		assert.Equal(t, 6, pulled)

		all, err = o.EnqueueAll(t.Context(), withSeventh(outbox.Item{Key: "no request"}, nil))
		require.EqualError(t, err, `outbox: enqueue entry "no request": Prepared must not be nil; use a Prepare method`)
		assert.Equal(t, outbox.Enqueued{Present: 6}, all)
		assert.Equal(t, 6, pulled)

		all, err = o.EnqueueAll(t.Context(), withSeventh(outbox.Item{Key: "order-00002", Prepared: request(t, "another")}, nil))
		require.ErrorIs(t, err, outbox.ErrKeyConflict)
		require.ErrorContains(t, err, `"order-00002"`)
		assert.Equal(t, outbox.Enqueued{Added: 3, Present: 6}, all)

		all, err = o.EnqueueAll(t.Context(), items(t, []string{"twice", "twice"}))
		require.NoError(t, err)
		assert.Equal(t, outbox.Enqueued{Added: 1, Present: 1}, all, "a key twice in a batch counts as present")
		assert.Equal(t, []string{"order-00001", "order-00000", "order-00002"}, listed(t, o, outbox.Filter{Limit: 3}), "ids are in order")
	})
}

// reversed is a Sealer that stands for encryption.
type reversed struct {
	beforeOpen func() error // nil does nothing
}

func (r reversed) Seal(_ context.Context, entryKey string, body []byte) ([]byte, error) {
	sealed := bytes.Clone(body)
	for i, b := range body {
		sealed[len(sealed)-1-i] = b ^ 0xff
	}
	return sealed, nil
}

func (r reversed) Open(ctx context.Context, entryKey string, sealed []byte) ([]byte, error) {
	if r.beforeOpen != nil {
		if err := r.beforeOpen(); err != nil {
			return nil, err
		}
	}
	return r.Seal(ctx, entryKey, sealed)
}

// aead is a Sealer that binds the key of the entry to its body.
type aead struct{ cipher.AEAD }

func (a aead) Seal(_ context.Context, entryKey string, body []byte) ([]byte, error) {
	return a.AEAD.Seal(nil, make([]byte, a.NonceSize()), body, []byte(entryKey)), nil // a test needs no random nonce
}

func (a aead) Open(_ context.Context, entryKey string, sealed []byte) ([]byte, error) {
	return a.AEAD.Open(nil, make([]byte, a.NonceSize()), sealed, []byte(entryKey))
}

func TestASealedBodyThatWasCopiedIntoAnotherRowIsNotSent(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		block, err := aes.NewCipher(make([]byte, 16))
		require.NoError(t, err)
		gcm, err := cipher.NewGCM(block)
		require.NoError(t, err)
		service, o := db.start(t, outbox.WithSealer(aead{gcm}))
		enqueue(t, o, "ada", "grace")
		db.exec(t, `UPDATE outbox_entry SET body = (SELECT body FROM outbox_entry WHERE key = 'ada') WHERE key = 'grace'`)
		delivered := deliver(t, o, "ada", "grace")
		assert.Equal(t, []any{1, []string{"grace"}}, []any{delivered.Accepted, delivered.Later})
		_, err = o.Prepared(t.Context(), "grace")
		require.ErrorContains(t, err, "open sealed request")
		assert.Equal(t, 1, service.carriedOut("ada"))
	})
}

func TestSealedRequestsAreSentAndNotReadableInTheDatabase(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithSealer(reversed{}))
		enqueue(t, o, "order")
		assert.True(t, add(t, o, outbox.Item{Key: "order"}).Present, "sealing does not change what the same request is")

		stored, err := db.ledger.Request(t.Context(), "order")
		require.NoError(t, err)
		assert.NotContains(t, string(stored.Body), "ada@example.com")
		p, err := o.Prepared(t.Context(), "order")
		require.NoError(t, err)
		assert.Equal(t, request(t, "order").Body(), p.Body())

		without := db.new(t, service.client(t), outbox.Fast())
		assert.Equal(t, []string{"order"}, deliver(t, without, "order").Later,
			"an outbox without the Sealer does not reject what it cannot open")
		assert.Equal(t, map[string]outbox.Breaker{triggerEvent: {Reason: "the request is sealed; set WithSealer"}}, countsOf(t, without).Breakers)

		db.shift(t, -time.Hour, "not_before") // the wait after an attempt
		broken := db.new(t, service.client(t), outbox.Fast(), outbox.WithSealer(reversed{func() error { return errBroken }}))
		assert.Equal(t, []string{"order"}, deliver(t, broken, "order").Later)
		assert.Equal(t, map[string]outbox.Breaker{triggerEvent: {Reason: "open sealed request"}}, countsOf(t, broken).Breakers)

		db.shift(t, -time.Hour, "not_before")
		assert.Equal(t, outbox.Delivered{Accepted: 1}, deliver(t, o, "order"))
		assert.Equal(t, 1, service.carriedOut("order"))
	})
}

func TestAcceptedAndDismissedRequestsAreErased(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		enqueue(t, o, "accepted", "dismissed")
		service.respondTo(map[string]response{"dismissed": reject})
		deliver(t, o, "accepted", "dismissed")
		p, err := o.Prepared(t.Context(), "dismissed")
		require.NoError(t, err, "the request of a rejected entry is kept")
		assert.Equal(t, request(t, "dismissed").Body(), p.Body())
		assert.NotEmpty(t, entryOf(t, o, "dismissed").Error)
		assert.Equal(t, 1, changed(dismiss(t, o, "dismissed", "unknown")))
		assert.Empty(t, entryOf(t, o, "dismissed").Error)
		for _, state := range []string{"accepted", "dismissed"} {
			_, err = o.Prepared(t.Context(), state)
			require.EqualError(t, err, fmt.Sprintf("outbox: read entry %q: request erased: entry is %s", state, state))
		}
		_, err = o.Prepared(t.Context(), "unknown")
		require.ErrorIs(t, err, outbox.ErrNoEntry)
		_, err = o.Get(t.Context(), "unknown")
		require.ErrorIs(t, err, outbox.ErrNoEntry)
	})
}

func TestPresentComparesItemsWithTheEntriesAndWritesNothing(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.WithSealer(reversed{func() error { return errors.New("nothing is opened") }}))
		enqueue(t, o, "present", "dismissed", "conflict")
		dismiss(t, o, "dismissed")
		before := listAll(t, o)
		items := itemsOf(t, "absent", "present", "dismissed", "conflict", "absent")
		items[3].Prepared = request(t, "another")
		found, err := o.Present(t.Context(), items...)
		require.NoError(t, err)
		assert.Equal(t, []outbox.Presence{outbox.Absent, outbox.Present, outbox.Present, outbox.Conflict, outbox.Absent}, found)
		assert.Equal(t, before, listAll(t, o))

		_, err = o.Present(t.Context(), items[0], outbox.Item{Key: "no request"})
		require.EqualError(t, err, `outbox: look for entry "no request": Prepared must not be nil; use a Prepare method`)
		none, err := o.Present(t.Context())
		require.NoError(t, err)
		assert.Empty(t, none)
	})
}

func TestAPriorityIsAWord(t *testing.T) {
	all := []outbox.Priority{outbox.Low, outbox.Normal, outbox.High}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	assert.JSONEq(t, `["low", "normal", "high"]`, string(text))
	var read []outbox.Priority
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, all, read)
	assert.Zero(t, outbox.Normal)
	require.EqualError(t, new(outbox.Priority).UnmarshalText([]byte("urgent")),
		`outbox: unknown priority "urgent"; the priorities are ["high" "normal" "low"]`)
	_, err = outbox.Priority(7).MarshalText()
	require.EqualError(t, err, "outbox: unknown priority 7")
	assert.Equal(t, "high unknown priority -3", fmt.Sprint(outbox.High, " ", outbox.Priority(-3)))
}

func TestNewNamesEveryBadOptionAtOnce(t *testing.T) {
	_, store := openProgram(t)
	client := newService().client(t)
	o, err := outbox.New(store, client, outbox.WithInFlight(0), outbox.WithKeepSettled(0), outbox.WithSendTimeout(time.Second-1), nil,
		outbox.WithRateLimiter(nil), outbox.WithSealer(nil), outbox.WithLogger(nil), outbox.WithOnSettled(nil), outbox.WithInFlight(10_001))
	require.EqualError(t, err, "outbox: new: WithInFlight: n must be 1 to 10000; WithSendTimeout: limit must be at least 1s; "+
		"option 4 must not be nil; WithRateLimiter: limiter must not be nil; WithSealer: sealer must not be nil; "+
		"WithLogger: logger must not be nil; WithOnSettled: settled must not be nil; WithInFlight: n must be 1 to 10000")
	assert.Nil(t, o)
	_, err = outbox.New[any](nil, nil, outbox.WithInFlight(-1))
	require.EqualError(t, err, "outbox: new: store must not be nil; client must not be nil; WithInFlight: n must be 1 to 10000")
}

func itemsOf(t testing.TB, keys ...string) (all []outbox.Item) {
	for _, key := range keys {
		all = append(all, outbox.Item{Key: key, Prepared: request(t, key)})
	}
	return all
}

func TestWhatIsEnqueuedFollowsItsTransactionAllOrNone(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		enqueue(t, o, "m")
		for _, end := range []error{errBroken, nil} {
			require.ErrorIs(t, db.within(t, o, func(tx inTx) error {
				entry, err := tx.enqueue("one", request(t, "one"))
				require.NoError(t, err)
				assert.False(t, entry.Present)
				_, err = tx.enqueue("m", request(t, "another"))
				require.ErrorIs(t, err, outbox.ErrKeyConflict)
				again, err := tx.enqueue("one", request(t, "one"))
				require.NoError(t, err, "the transaction can be used after the conflict")
				assert.True(t, again.Present)

				entries, err := tx.enqueueAll(itemsOf(t, "z", "m", "a", "z")...)
				require.NoError(t, err)
				var keys []string
				var present []bool
				for _, e := range entries {
					keys, present = append(keys, e.Key), append(present, e.Present)
				}
				assert.Equal(t, []string{"z", "m", "a", "z"}, keys)
				assert.Equal(t, []bool{false, true, false, true}, present)

				conflicting := itemsOf(t, "b", "m", "c", "a")
				conflicting[1].Prepared = request(t, "another")
				entries, err = tx.enqueueAll(conflicting...)
				require.ErrorIs(t, err, outbox.ErrKeyConflict)
				require.ErrorContains(t, err, `"m"`)
				assert.Empty(t, entries)
				_, err = tx.enqueueAll(itemsOf(t, "d")...)
				require.NoError(t, err, "the transaction is usable")
				return end
			}), end)
			if end != nil {
				assert.Equal(t, []string{"m"}, listed(t, o, outbox.Filter{}))
			}
		}
		run(t, o)
		eventuallyAccepted(t, o, 5)
		assert.ElementsMatch(t, []string{"m", "one", "a", "z", "d"}, listed(t, o, outbox.Filter{}))
		service.carriedOutOnce(t, "m", "one", "a", "z", "d")
	})
}

// failingTx is a transaction that fails at one of its INSERT statements.
type failingTx struct {
	*sql.Tx
	inserts int // that succeed
	fail    func() error
}

func (f *failingTx) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	if strings.HasPrefix(statement, "INSERT") {
		if f.inserts--; f.inserts < 0 {
			if err := f.fail(); err != nil {
				return nil, err
			}
		}
	}
	return f.Tx.QueryContext(ctx, statement, args...)
}

func TestEnqueueAllTxThatFailsOnSQLiteAddsNoneAndTheRestIsCommitted(t *testing.T) {
	for name, inserts := range map[string]int{"at the first statement": 0, "at the second statement": 1, "in the second batch": 11} {
		t.Run(name, func(t *testing.T) {
			program, store := openProgram(t)
			o := newBox(t, store, newService().client(t))
			for _, canceled := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tx, err := program.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				_, err = tx.ExecContext(t.Context(), `CREATE TABLE IF NOT EXISTS orders (id INTEGER)`)
				require.NoError(t, err)
				_, err = o.EnqueueAllTx(ctx, &failingTx{tx, inserts, func() error {
					if canceled {
						cancel()
						return nil
					}
					return errBroken
				}}, itemsOf(t, keysOf(1250)...)...)
				require.Error(t, err)
				_, err = o.EnqueueTx(t.Context(), tx, outbox.Item{Key: "another", Prepared: request(t, "another")})
				require.NoError(t, err)
				require.NoError(t, tx.Commit())
				assert.Equal(t, []string{"another"}, listed(t, o, outbox.Filter{}))
			}
		})
	}
}

func TestTheSameKeysInOppositeOrderDoNotDeadlock(t *testing.T) {
	for name, enqueue := range map[string]func(*testing.T, *database, box, []outbox.Item) error{
		"EnqueueAllTx": func(t *testing.T, db *database, o box, items []outbox.Item) error {
			return db.within(t, o, func(tx inTx) error {
				_, err := tx.enqueueAll(items...)
				return err
			})
		},
		"EnqueueAll": func(t *testing.T, _ *database, o box, items []outbox.Item) error {
			_, err := o.EnqueueAll(t.Context(), each(items))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := openPgx(t)
			o := db.new(t, newService().client(t))
			forward := itemsOf(t, keysOf(3000)...) // more than one statement adds
			backward := slices.Clone(forward)
			slices.Reverse(backward)
			var group sync.WaitGroup
			for _, items := range [][]outbox.Item{forward, backward, forward, backward} {
				group.Go(func() { assert.NoError(t, enqueue(t, db, o, items)) })
			}
			group.Wait()
			assert.Len(t, listed(t, o, outbox.Filter{}), len(forward))
		})
	}
}

func TestDismissTxWithdrawsAnEntryInTheTransactionThatCancels(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		enqueue(t, o, "kept", "withdrawn", "doubtful", "claimed")
		db.crash(t, "doubtful")
		db.endLeases(t)
		require.Equal(t, 1, changed(resend(t, o, "doubtful")))
		db.claim(t, "claimed")
		db.whileLocked(t, o, "kept", func() {}) // is rolled back
		assert.Equal(t, outbox.Pending, stateOf(t, o, "kept"))
		require.NoError(t, db.within(t, o, func(tx inTx) error {
			decisions, err := tx.dismiss("withdrawn", "unknown", "doubtful", "claimed", "withdrawn")
			for i := range decisions {
				decisions[i].RetryAt = time.Time{}
			}
			assert.Equal(t, []outbox.Decision{
				{Key: "withdrawn", Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryNotSent},
				{Key: "unknown", Reason: outbox.ReasonAbsent},
				{Key: "doubtful", Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryUnknown},
				{Key: "claimed", State: outbox.Sending, Delivery: messaging.DeliveryUnknown, Reason: outbox.ReasonSending},
				{Key: "withdrawn", Changed: true, State: outbox.Dismissed, Delivery: messaging.DeliveryNotSent},
			}, decisions)
			return err
		}))
		assert.Equal(t, outbox.Delivered{Accepted: 1}, deliver(t, o, "kept", "withdrawn", "doubtful"))
		assert.Equal(t, 1, service.requests())
	})
}

func TestAnOpenTransactionDelaysOnlyTheOutcomesOfItsOwnEntries(t *testing.T) {
	db := openPgx(t)
	_, o := db.start(t)
	enqueue(t, o, "locked", "free")
	token := db.crash(t, "locked", "free")
	outcomes := []ledger.Outcome{{ID: entryOf(t, o, "locked").ID, Token: token, State: ledger.Accepted},
		{ID: entryOf(t, o, "free").ID, Token: token, State: ledger.Accepted}}
	db.whileLocked(t, o, "locked", func() {
		settled, _, err := db.ledger.Settle(t.Context(), outcomes)
		require.NoError(t, err)
		assert.Equal(t, []ledger.Settled{ledger.Locked, ledger.Applied}, settled)
	})
	settled, _, err := db.ledger.Settle(t.Context(), outcomes)
	require.NoError(t, err)
	assert.Equal(t, []ledger.Settled{ledger.Applied, ledger.Applied}, settled)
}

func TestWhatIsNoTransactionIsRejected(t *testing.T) {
	db := openDB(t, "sqlite", filepath.Join(t.TempDir(), "program.db"))
	o := newBox(t, mustStore(t, db), newService().client(t))
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = o.EnqueueTx(t.Context(), nil, outbox.Item{Key: "order", Prepared: request(t, "order")})
	require.EqualError(t, err, `outbox: enqueue entry "order": tx must not be nil`)
	for _, tx := range []outbox.SQLTx{db, conn, (*sql.Tx)(nil)} {
		_, err := o.EnqueueTx(t.Context(), tx, outbox.Item{Key: "order", Prepared: request(t, "order")})
		require.ErrorIs(t, err, outbox.ErrNoTransaction)
		_, err = o.EnqueueAllTx(t.Context(), tx, itemsOf(t, "order")...)
		require.ErrorIs(t, err, outbox.ErrNoTransaction)
		_, err = o.DismissTx(t.Context(), tx, "order")
		require.ErrorIs(t, err, outbox.ErrNoTransaction)
	}
	assert.Empty(t, listed(t, o, outbox.Filter{}))
}

func TestResendAllAndDismissAllGoThroughWhatTheFilterSelects(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.always(reject)
		keys := append(keysOf(520), "unclear")
		enqueue(t, o, keys...)
		deliver(t, o, keys[:520]...)
		db.crash(t, "unclear")
		for _, invalid := range []outbox.Filter{{}, {State: outbox.Accepted}, {State: outbox.Pending}, {State: "other"}} {
			_, err := o.ResendAll(t.Context(), invalid)
			require.Error(t, err)
		}
		decided, err := o.ResendAll(t.Context(), outbox.Filter{State: outbox.Unclear})
		require.NoError(t, err)
		assert.Equal(t, outbox.Decided{Skipped: 1, RetryAt: decided.RetryAt}, decided)
		assert.True(t, decided.RetryAt.After(time.Now()))
		past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		for _, none := range []outbox.Filter{
			{State: outbox.Rejected, Operation: "create event"},
			{State: outbox.Rejected, EnqueuedAfter: future},
			{State: outbox.Rejected, EnqueuedBefore: past},
			{State: outbox.Rejected, ErrorContains: "INVALID"},
		} {
			decided, err := o.ResendAll(t.Context(), none)
			require.NoError(t, err)
			assert.Zero(t, decided)
		}
		decided, err = o.ResendAll(t.Context(), outbox.Filter{State: outbox.Rejected, Operation: triggerEvent, EnqueuedAfter: past,
			EnqueuedBefore: future, ErrorContains: "invalid"})
		require.NoError(t, err)
		assert.Equal(t, outbox.Decided{Changed: 520}, decided)
		decided, err = o.DismissAll(t.Context(), outbox.Filter{State: outbox.Pending})
		require.NoError(t, err)
		assert.Equal(t, outbox.Decided{Changed: 520}, decided)
	})
}
