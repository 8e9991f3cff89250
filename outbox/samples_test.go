package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

// The functions of this file are in the README.

// The tables of Postgres must exist: call postgres.Migrate when you deploy.
func Example_postgres() {
	ctx := context.Background()
	client, err := messaging.NewClient(os.Getenv("MESSAGING_BASE_URL"), os.Getenv("MESSAGING_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}

	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL")) // postgres://user@host:5432/shop
	if err != nil {
		log.Fatal(err)
	}
	store, err := postgres.NewSQL(ctx, db)
	if err != nil {
		log.Fatal(err)
	}

	o, err := outbox.New(store, client)
	if err != nil {
		log.Fatal(err)
	}
	if err := o.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// newsletter enqueues an email to each customer, by customer ID and address.
func newsletter(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], customers map[string]string) error {
	items := func(yield func(outbox.Item, error) bool) {
		for id, address := range customers {
			p, err := messaging.EmailBroadcastParams{
				SenderEmail: "news@acme.test",
				SenderName:  "Acme",
				Email:       address,
				Subject:     "We have moved",
				Message:     "<p>Our new address is …</p>",
				MessageType: "announcement",
				To:          messaging.ToCustomers(messaging.CustomerParams{Email: address}),
			}.Prepare()
			if !yield(outbox.Item{Key: "moved-" + id, Prepared: p}, err) {
				return
			}
		}
	}
	added, present, err := o.EnqueueAll(ctx, items)
	log.Print(added, " were added, ", present, " were there already")
	return err
}

// remind records a reminder in the transaction of its order. It is sent when it is due.
func remind(ctx context.Context, tx *sql.Tx, o *outbox.Outbox[outbox.SQLTx], key string, p *messaging.Prepared, due time.Time) error {
	_, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: p, NotBefore: due})
	return err
}

// login sends a one-time password ahead of any newsletters, and only while it is valid.
func login(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], key string, p *messaging.Prepared, validUntil time.Time) error {
	_, err := o.Enqueue(ctx, outbox.Item{Key: key, Prepared: p, NotAfter: validUntil, Urgent: true})
	return err
}

// cron sends what is due, and returns.
func cron(ctx context.Context, o *outbox.Outbox[outbox.SQLTx]) error {
	delivered, err := o.DeliverDue(ctx, 10_000)
	log.Print(delivered.Accepted, " accepted, ", delivered.Rejected, " rejected, ", delivered.Unclear, " unclear")
	return err
}

// cancel cancels an order and withdraws its reminder, both or neither.
func cancel(ctx context.Context, db *sql.DB, o *outbox.Outbox[outbox.SQLTx], order string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	// … cancel the order, in tx
	decisions, err := o.DismissTx(ctx, tx, "order-"+order+"-reminder")
	if err != nil {
		return err
	}
	switch d := decisions[0]; {
	case d.Changed && d.Delivery == messaging.DeliveryUnknown:
		log.Print("the reminder was unclear: an earlier send may have been carried out")
	case d.Changed:
		log.Print("the reminder will not be sent")
	case d.Why == outbox.WhyUnknown:
		log.Print("no entry has this key: it was never enqueued, or deleted after WithKeepSettled")
	case d.Why == outbox.WhySending:
		log.Print("too late: the reminder is being sent")
	default:
		log.Print("the reminder is already ", d.State) // accepted, or dismissed by an earlier call
	}
	return tx.Commit()
}

// postpone replaces a reminder by one with another time, in the transaction tx.
func postpone(ctx context.Context, tx *sql.Tx, o *outbox.Outbox[outbox.SQLTx], key, newKey string, p *messaging.Prepared,
	due time.Time) error {
	decisions, err := o.DismissTx(ctx, tx, key)
	if err != nil {
		return err
	}
	switch d := decisions[0]; {
	case d.Why == outbox.WhyUnknown:
		return errors.New("no entry has the key " + key)
	case d.Changed && d.Delivery == messaging.DeliveryUnknown:
		return errors.New("an earlier send may have been carried out; roll back, find out, and then decide")
	case !d.Changed:
		return nil // it was sent, is being sent, or was withdrawn: there is nothing to postpone
	}
	return remind(ctx, tx, o, newKey, p, due)
}

// resolve decides about every unclear entry. carriedOut finds out what happened.
func resolve(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], carriedOut func(*messaging.Prepared) (bool, error)) error {
	for entry, err := range o.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			return err
		}
		p, err := o.Prepared(ctx, entry.Key) // p.Recipients() returns the intended recipients
		if err != nil {
			return err
		}
		sent, err := carriedOut(p)
		if err != nil {
			return err
		}
		decide := o.Resend
		if sent {
			decide = o.Dismiss
		}
		decisions, err := decide(ctx, entry.Key)
		if err != nil {
			return err
		}
		switch d := decisions[0]; {
		case d.Changed:
			log.Print(d.Key, " is now ", d.State)
		case d.RetryAt.IsZero():
			log.Print(d.Key, " was not changed: ", d.Why)
		default:
			log.Print(d.Key, " was not changed: ", d.Why, "; try again after ", d.RetryAt)
		}
	}
	return nil
}

// resendRejected resends the emails that were rejected because of their template.
func resendRejected(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], since time.Time) error {
	filter := outbox.Filter{
		State:         outbox.Rejected,
		Operation:     "send email broadcast",
		ErrorContains: "email_template_id",
		EnqueuedAfter: since,
	}
	for entry, err := range o.List(ctx, filter) { // look first
		if err != nil {
			return err
		}
		log.Print(entry.Key, ": ", entry.Error)
	}
	decided, err := o.ResendAll(ctx, filter)
	if err != nil {
		return err
	}
	log.Print(decided.Changed, " are pending again, ", decided.Skipped, " were left out") // such as after their NotAfter
	return nil
}

// sending returns the keys of the entries of an operation that are being sent.
func sending(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], operation string) (keys []string, err error) {
	filter := outbox.Filter{State: outbox.Sending, Operation: operation}
	for entry, err := range o.List(ctx, filter) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, entry.Key)
	}
	return keys, nil
}

// sample is an outbox in the database of a shop, as the README opens it.
type sample struct {
	service *messagingtest.Server
	db      *sql.DB
	store   outbox.Store[outbox.SQLTx]
	o       *outbox.Outbox[outbox.SQLTx]
}

// onEverySample runs a test on SQLite and on Postgres.
func onEverySample(t *testing.T, test func(t *testing.T, s sample)) {
	open := func(t *testing.T, db *sql.DB, store outbox.Store[outbox.SQLTx], err error) {
		require.NoError(t, err)
		service := messagingtest.NewServer(t)
		test(t, sample{service, db, store, newBox(t, store, service.Client())})
	}
	t.Run("SQLite", func(t *testing.T) {
		const settings = "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)"
		db := openDB(t, "sqlite", filepath.Join(t.TempDir(), "shop.db")+settings)
		store, err := sqlite.New(t.Context(), db)
		open(t, db, store, err)
	})
	t.Run("Postgres", func(t *testing.T) {
		db := openDB(t, "pgx", pgtest.URL(t))
		require.NoError(t, postgres.Migrate(t.Context(), db))
		store, err := postgres.NewSQL(t.Context(), db)
		open(t, db, store, err)
	})
}

// email is a broadcast to one customer.
func email(t *testing.T, template string) *messaging.Prepared {
	p, err := messaging.EmailBroadcastParams{SenderEmail: "news@acme.test", SenderName: "Acme", Email: "ada@example.com", Subject: "News",
		Message: "News", EmailTemplateID: template, MessageType: "announcement",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	require.NoError(t, err)
	return p
}

// in calls fn in a transaction, and commits it.
func (s sample) in(t *testing.T, fn func(*sql.Tx) error) {
	tx, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, fn(tx))
	require.NoError(t, tx.Commit())
}

func (s sample) entry(t *testing.T, key string) outbox.Entry {
	entry, err := s.o.Get(t.Context(), key)
	require.NoError(t, err)
	return entry
}

func TestTheSamplesOfTheREADMERemindPostponeAndCancel(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		ctx, due := t.Context(), time.Now().AddDate(0, 0, 7)
		s.in(t, func(tx *sql.Tx) error { return remind(ctx, tx, s.o, "order-1-reminder", email(t, "welcome"), due) })
		s.in(t, func(tx *sql.Tx) error {
			return postpone(ctx, tx, s.o, "order-1-reminder", "order-2-reminder", email(t, "welcome"), due.AddDate(0, 0, 7))
		})
		s.in(t, func(tx *sql.Tx) error {
			return postpone(ctx, tx, s.o, "order-1-reminder", "order-3-reminder", email(t, "welcome"), due.AddDate(0, 0, 7))
		})
		assert.Equal(t, outbox.Dismissed, s.entry(t, "order-1-reminder").State)
		assert.WithinDuration(t, due.AddDate(0, 0, 7), s.entry(t, "order-2-reminder").NotBefore, time.Millisecond)
		_, err := s.o.Get(ctx, "order-3-reminder")
		require.ErrorIs(t, err, outbox.ErrNoEntry)
		for range 2 {
			require.NoError(t, cancel(ctx, s.db, s.o, "2"))
		}
		require.NoError(t, cancel(ctx, s.db, s.o, "3"))
		s.in(t, func(tx *sql.Tx) error { return remind(ctx, tx, s.o, "order-2-reminder", email(t, "welcome"), due) }) // the key is used
		assert.Equal(t, outbox.Dismissed, s.entry(t, "order-2-reminder").State)
		delivered, err := s.o.DeliverDue(ctx, 10)
		require.NoError(t, err)
		assert.Zero(t, delivered)
	})
}

func TestTheSamplesOfTheREADMEDoNotPostponeWhatMayHaveBeenSent(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		ctx := t.Context()
		s.service.Fail("", 1, messagingtest.AnswerLost())
		_, err := s.o.Enqueue(ctx, outbox.Item{Key: "reminder", Prepared: email(t, "welcome")})
		require.NoError(t, err)
		_, err = s.o.DeliverDue(ctx, 1)
		require.NoError(t, err)
		for key, want := range map[string]string{"reminder": "may have been carried out", "remindre": "no entry has the key remindre"} {
			tx, err := s.db.BeginTx(ctx, nil)
			require.NoError(t, err)
			require.ErrorContains(t, postpone(ctx, tx, s.o, key, "later", email(t, "welcome"), time.Now()), want)
			require.NoError(t, tx.Rollback())
		}
		assert.Equal(t, outbox.Unclear, s.entry(t, "reminder").State)
	})
}

func TestTheSamplesOfTheREADMESendFromCron(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		_, err := s.o.Enqueue(t.Context(), outbox.Item{Key: "news", Prepared: email(t, "welcome")})
		require.NoError(t, err)
		require.NoError(t, cron(t.Context(), s.o))
		assert.Equal(t, outbox.Accepted, stateOf(t, s.o, "news"))
	})
}

func TestTheSamplesOfTheREADMESendAPasswordFirst(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		ctx := t.Context()
		customers := map[string]string{"1": "ada@example.com", "2": "grace@example.com", "3": "alan@example.com"}
		for range 2 {
			require.NoError(t, newsletter(ctx, s.o, customers))
		}
		require.NoError(t, login(ctx, s.o, "login", email(t, "password"), time.Now().Add(time.Hour)))
		_, err := s.o.DeliverDue(ctx, 1)
		require.NoError(t, err)
		assert.Equal(t, outbox.Accepted, s.entry(t, "login").State)
		_, err = s.o.DeliverDue(ctx, 10)
		require.NoError(t, err)
		assert.Len(t, s.service.EmailBroadcasts(), 4)
	})
}

func TestTheSamplesOfTheREADMEResendRejectedEmails(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		ctx, since := t.Context(), time.Now().Add(-time.Hour)
		s.service.Fail("send email broadcast", 1, messagingtest.Status(422,
			`{"success": false, "message": "The given data was invalid.", "errors": {"email_template_id": ["is unknown"]}}`))
		_, err := s.o.Enqueue(ctx, outbox.Item{Key: "news", Prepared: email(t, "welcom")})
		require.NoError(t, err)
		_, err = s.o.DeliverDue(ctx, 1)
		require.NoError(t, err)
		assert.Equal(t, outbox.Rejected, s.entry(t, "news").State)
		require.Error(t, s.o.Pause(ctx, "send email broadcast", "send email broadcasts"))
		counts, err := s.o.Counts(ctx)
		require.NoError(t, err)
		assert.Empty(t, counts.Paused, "a misspelled operation pauses nothing")
		require.NoError(t, s.o.Pause(ctx, "send email broadcast"))
		busy, err := sending(ctx, s.o, "send email broadcast")
		require.NoError(t, err)
		assert.Empty(t, busy)
		require.NoError(t, resendRejected(ctx, s.o, since))
		delivered, err := s.o.Deliver(ctx, "news")
		require.NoError(t, err)
		assert.Equal(t, []string{"news"}, delivered.Paused)
		eventually(t, func() bool { // paused entries become older, too
			counts, err := s.o.Counts(ctx)
			require.NoError(t, err)
			return counts.OldestPending > 0
		})
		require.NoError(t, s.o.ResumeAll(ctx))
		delivered, err = s.o.Deliver(ctx, "news")
		require.NoError(t, err)
		assert.Equal(t, 1, delivered.Accepted)
	})
}

func TestTheSamplesOfTheREADMEResolveUnclearEntries(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		ctx := t.Context()
		_, err := s.o.Enqueue(ctx, outbox.Item{Key: "news", Prepared: email(t, "welcome")})
		require.NoError(t, err)
		for _, sent := range []bool{false, true} {
			s.service.Fail("", 1, messagingtest.AnswerLost())
			another := newBox(t, s.store, s.service.Client()) // whose breakers are closed
			_, err := another.Deliver(ctx, "news")
			require.NoError(t, err)
			require.Equal(t, outbox.Unclear, s.entry(t, "news").State)
			require.NoError(t, resolve(ctx, s.o, func(p *messaging.Prepared) (bool, error) {
				to, err := p.Recipients()
				assert.Contains(t, to.Emails, "ada@example.com")
				return sent, err
			}))
		}
		assert.Equal(t, outbox.Dismissed, s.entry(t, "news").State)
		assert.Len(t, s.service.EmailBroadcasts(), 2)
	})
}
