package outbox_test

import (
	"context"
	"database/sql"
	"log"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
)

// The functions of this file are on the pages README.md and OPERATIONS.md.

// remind records a reminder in the transaction of its order. It is sent when it is due.
func remind(ctx context.Context, tx *sql.Tx, o *outbox.Outbox[outbox.SQLTx], key string, p *messaging.Prepared, due time.Time) error {
	_, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: p, NotBefore: due})
	return err
}

// login sends a one-time password ahead of any newsletters, only while it is valid, and rather twice than never.
func login(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], key string, p *messaging.Prepared, validUntil time.Time) error {
	_, err := o.Enqueue(ctx, outbox.Item{Key: key, Prepared: p, NotAfter: validUntil, Priority: outbox.High, Repeatable: true})
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
	case d.Reason == outbox.ReasonAbsent:
		log.Print("no entry has this key: it was never enqueued, or deleted after WithKeepSettled")
	case d.Reason == outbox.ReasonSending:
		log.Print("too late: the reminder is being sent")
	default:
		log.Print("the reminder is already ", d.State) // accepted, or dismissed by an earlier call
	}
	return tx.Commit()
}

// resolve decides about every unclear entry. carriedOut finds out what happened.
func resolve(ctx context.Context, o *outbox.Outbox[outbox.SQLTx], carriedOut func(*messaging.Prepared) (bool, error)) error {
	for entry, err := range o.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			return err
		}
		p, err := o.Prepared(ctx, entry.Key) // Recipients, a method of p, returns who it is for
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
			log.Print(d.Key, " was not changed: ", d.Reason)
		default:
			log.Print(d.Key, " was not changed: ", d.Reason, "; try again after ", d.RetryAt)
		}
	}
	return nil
}

// sample is an outbox in the database of a shop.
type sample struct {
	service *messagingtest.Server
	db      *sql.DB
	store   outbox.Store[outbox.SQLTx]
	o       *outbox.Outbox[outbox.SQLTx]
}

// onEverySample runs a test on SQLite and on Postgres.
func onEverySample(t *testing.T, test func(t *testing.T, s sample)) {
	for name, open := range map[string]func(testing.TB) (*sql.DB, outbox.Store[outbox.SQLTx]){
		"SQLite": openProgram, "Postgres": openProgramOnPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			db, store := open(t)
			service := messagingtest.NewServer(t)
			test(t, sample{service, db, store, newBox(t, store, service.Client())})
		})
	}
}

// email is a broadcast to one customer.
func email(t *testing.T, template string) *messaging.Prepared {
	p, err := messaging.EmailBroadcastParams{SenderEmail: "news@acme.test", SenderName: "Acme", Email: "ada@example.com", Subject: "News",
		Message: "News", EmailTemplateID: template, MessageType: "announcement",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	require.NoError(t, err)
	return p
}

func TestTheSamplesOfThePagesRemindAndCancel(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		remindOnce := func() {
			tx, err := s.db.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, remind(t.Context(), tx, s.o, "order-1-reminder", email(t, "welcome"), time.Now().AddDate(0, 0, 7)))
			require.NoError(t, tx.Commit())
		}
		remindOnce()
		assert.WithinDuration(t, time.Now().AddDate(0, 0, 7), entryOf(t, s.o, "order-1-reminder").DueAt, time.Hour)
		for _, order := range []string{"1", "1", "2"} { // again, and one that has no reminder
			require.NoError(t, cancel(t.Context(), s.db, s.o, order))
		}
		remindOnce() // the key is used
		assert.Equal(t, outbox.Dismissed, stateOf(t, s.o, "order-1-reminder"))
		assert.Zero(t, deliverDue(t, s.o, 10))
	})
}

func TestTheSamplesOfThePagesSendAPasswordFirst(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		for _, key := range []string{"news 1", "news 2"} {
			_, err := s.o.Enqueue(t.Context(), outbox.Item{Key: key, Prepared: email(t, "news")})
			require.NoError(t, err)
		}
		require.NoError(t, login(t.Context(), s.o, "login", email(t, "password"), time.Now().Add(time.Hour)))
		deliverDue(t, s.o, 1)
		assert.Equal(t, outbox.Accepted, stateOf(t, s.o, "login"))
		require.NoError(t, cron(t.Context(), s.o))
		assert.Len(t, s.service.EmailBroadcasts(), 3)
	})
}

func TestTheSamplesOfThePagesResolveUnclearEntries(t *testing.T) {
	onEverySample(t, func(t *testing.T, s sample) {
		ctx := t.Context()
		_, err := s.o.Enqueue(ctx, outbox.Item{Key: "news", Prepared: email(t, "welcome")})
		require.NoError(t, err)
		for _, sent := range []bool{false, true} {
			s.service.Fail("", 1, messagingtest.AnswerLost())
			another := newBox(t, s.store, s.service.Client()) // whose breakers are closed
			_, err := another.Deliver(ctx, "news")
			require.NoError(t, err)
			require.Equal(t, outbox.Unclear, stateOf(t, s.o, "news"))
			require.NoError(t, resolve(ctx, s.o, func(p *messaging.Prepared) (bool, error) {
				to, err := p.Recipients()
				assert.Contains(t, to.Emails, "ada@example.com")
				return sent, err
			}))
		}
		assert.Equal(t, outbox.Dismissed, stateOf(t, s.o, "news"))
		assert.Len(t, s.service.EmailBroadcasts(), 2)
	})
}

func TestTheCodeInTheREADMEIsCompiledAndRun(t *testing.T) {
	compiled := ""
	for _, path := range []string{"examples/first/main.go", "examples/first/main_test.go", "samples_test.go"} {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		compiled += withoutIndentation(string(source))
	}
	pages := ""
	for _, path := range []string{"README.md", "OPERATIONS.md"} {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		pages += string(page)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(pages, -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		assert.True(t, strings.Contains(compiled, withoutIndentation(block[1])), "no example or test has this code:\n%s", block[1])
	}
}

func withoutIndentation(source string) string {
	var lines strings.Builder
	for line := range strings.Lines(source) {
		lines.WriteString(strings.TrimSpace(line) + "\n")
	}
	return lines.String()
}
