package sends

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// testRecord is a record with a clock.
type testRecord struct {
	*Record
	t   *testing.T
	now time.Time
}

func newRecord(t *testing.T) *testRecord {
	r := &testRecord{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	r.Record = &Record{filepath.Join(t.TempDir(), "state", "sends.jsonl"), func() time.Time { return r.now }}
	return r
}

var news = Send{Service: "api.example.com", Account: "1f2e3d4c",
	Shown: Shown{Profile: "production", Host: "api.example.com", Operation: "send push broadcast", SHA256: Sum([]byte("news"))}}

// withBody returns the send with other bytes.
func (s Send) withBody(body string) Send {
	s.SHA256 = Sum([]byte(body))
	return s
}

// sent begins a send, which must not be blocked, and writes down its delivery, if there is one.
func (r *testRecord) sent(send Send, delivery messaging.Delivery) Send {
	r.t.Helper()
	begun, err := r.Begin(r.t.Context(), send, "")
	require.NoError(r.t, err)
	if delivery != messaging.DeliveryUnknown {
		_, err = r.Settle(r.t.Context(), begun.ID, delivery, true)
		require.NoError(r.t, err)
	}
	return begun
}

func (r *testRecord) isBlocked(send Send) bool {
	r.t.Helper()
	found, err := r.Blocking(send)
	require.NoError(r.t, err)
	_, refused := r.Begin(r.t.Context(), send, "")
	if found != nil {
		assert.Equal(r.t, found.isOpen(), exit.CodeOf(refused) == exit.Unknown, "%v", refused)
		assert.Equal(r.t, !found.isOpen(), exit.CodeOf(refused) == exit.AlreadySent, "%v", refused)
		assert.Equal(r.t, found.ID, exit.ObjectOf(refused).ID)
	} else {
		assert.NoError(r.t, refused)
	}
	return found != nil
}

func TestASendBlocksTheSameOneByItsDeliveryAndItsAge(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		delivery messaging.Delivery
		due, age time.Duration
		blocked  bool
	}{
		{messaging.DeliveryRejected, 0, 0, false},
		{messaging.DeliveryNotSent, 0, 0, false},
		{messaging.DeliveryAccepted, 0, 23*time.Hour - time.Second, true},
		{messaging.DeliveryAccepted, 0, 23 * time.Hour, false},
		{messaging.DeliveryAccepted, 2 * day, 2*day + 23*time.Hour - time.Second, true}, // it counts from its schedule
		{messaging.DeliveryAccepted, 2 * day, 2*day + 23*time.Hour, false},
		{messaging.DeliveryUnknown, 0, 365 * day, true},
	} {
		r := newRecord(t)
		send := news
		if c.due > 0 {
			due := r.now.Add(c.due)
			send.Due = &due
		}
		r.sent(send, c.delivery)
		r.now = r.now.Add(c.age)
		assert.Equal(t, c.blocked, r.isBlocked(news), "%+v", c)
	}
}

func TestASendIsTheSameByItsServiceItsBytesAndItsProfileOrItsKey(t *testing.T) {
	for _, c := range []struct {
		what    string
		change  func(*Send)
		blocked bool
	}{
		{"nothing", func(*Send) {}, true},
		{"service", func(s *Send) { s.Service = "127.0.0.1:8077#2" }, false},
		{"operation", func(s *Send) { s.Operation = "send email broadcast" }, false},
		{"body", func(s *Send) { s.SHA256 = Sum([]byte("newS")) }, false},
		{"key of the profile", func(s *Send) { s.Account = "99999999" }, true},
		{"profile with the same key", func(s *Send) { s.Profile = "staging" }, true},
		{"environment with the same key", func(s *Send) { s.Profile = "" }, true},
		{"environment with another key", func(s *Send) { s.Profile, s.Account = "", "99999999" }, false},
		{"profile with another key", func(s *Send) { s.Profile, s.Account = "staging", "99999999" }, false},
	} {
		r := newRecord(t)
		r.sent(news, messaging.DeliveryUnknown)
		other := news
		c.change(&other)
		assert.Equal(t, c.blocked, r.isBlocked(other), c.what)
	}
	r := newRecord(t)
	environment := news
	environment.Profile = ""
	r.sent(environment, messaging.DeliveryUnknown)
	environment.Account = "99999999"
	assert.False(t, r.isBlocked(environment), "the environment is no profile")
}

func TestARepeatIsAllowedOnceAndKeepsTheOutcomeOfTheSendThatTheOperatorSaw(t *testing.T) {
	for _, delivery := range []messaging.Delivery{messaging.DeliveryUnknown, messaging.DeliveryAccepted} {
		r := newRecord(t)
		first := r.sent(news, delivery)
		_, err := r.Begin(t.Context(), news, "another id")
		assert.Error(t, err)
		second, err := r.Begin(t.Context(), news, first.ID)
		require.NoError(t, err)
		_, err = r.Begin(t.Context(), news, first.ID)
		assert.Equal(t, exit.Unknown, exit.CodeOf(err), "it was repeated already")
		list, err := r.List()
		require.NoError(t, err)
		require.Len(t, list, 2)
		assert.Equal(t, delivery, list[0].Delivery)
		assert.Equal(t, []bool{true, false}, []bool{list[0].Again, list[1].Again})
		_, err = r.Settle(t.Context(), second.ID, messaging.DeliveryNotSent, false)
		require.NoError(t, err)
		assert.False(t, r.isBlocked(news))
	}
}

func TestSettledSendsAreForgottenAfter30Days(t *testing.T) {
	r := newRecord(t)
	r.sent(news, messaging.DeliveryAccepted)
	lost, open, other := news.withBody("lost"), news.withBody("open"), news.withBody("other")
	r.sent(lost, messaging.DeliveryUnknown)
	r.sent(open, messaging.DeliveryUnknown)
	r.now = r.now.Add(keep + time.Second)
	list, err := r.List()
	require.NoError(t, err)
	require.Len(t, list, 3, "reading changes nothing")
	r.sent(other, messaging.DeliveryAccepted)
	list, err = r.List()
	require.NoError(t, err)
	require.Len(t, list, 3)
	assert.Equal(t, []string{lost.SHA256, open.SHA256, other.SHA256}, []string{list[0].SHA256, list[1].SHA256, list[2].SHA256})
}

func TestOnlyALastLineWithoutAnEndIsCutOff(t *testing.T) {
	r := newRecord(t)
	r.sent(news, messaging.DeliveryUnknown)
	content, err := os.ReadFile(r.Path())
	require.NoError(t, err)
	write := func(text string) { require.NoError(t, os.WriteFile(r.Path(), []byte(text), 0o600)) }

	write(string(content) + `{"id":"torn`)
	assert.True(t, r.isBlocked(news))
	other := news.withBody("other")
	r.sent(other, messaging.DeliveryAccepted)
	list, err := r.List()
	require.NoError(t, err)
	assert.Len(t, list, 2)

	newer := strings.Replace(string(content), `"version":1`, `"version":2,"due":[]`, 1)
	for broken, want := range map[string]string{"{\"id\":\"torn\n": "is broken", "null\n": "is broken", "{}\n": "is broken", "\n": "is broken",
		"\x00\x00\n": "is broken", newer: "was written by a newer messaging; use that one"} {
		write(broken + string(content))
		_, err := r.Blocking(news)
		assert.Equal(t, exit.NotDone, exit.CodeOf(err), broken)
		assert.ErrorContains(t, err, "line 1 "+want)
		_, err = r.Begin(t.Context(), other, "")
		assert.Equal(t, exit.NotDone, exit.CodeOf(err), broken)
	}
}

func TestARecordThatCannotBeWrittenStopsTheSend(t *testing.T) {
	r := newRecord(t)
	require.NoError(t, os.MkdirAll(r.Path(), 0o700))
	_, err := r.Begin(t.Context(), news, "")
	assert.Equal(t, exit.NotDone, exit.CodeOf(err))
	assert.ErrorContains(t, err, "nothing was sent: ")

	r = newRecord(t)
	r.sent(news, messaging.DeliveryUnknown)
	info, err := os.Stat(r.Path())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it is of its owner alone")
	lock := flock.New(r.Path() + ".lock")
	require.NoError(t, lock.Lock())
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Begin(ctx, news, "")
	assert.Equal(t, exit.Interrupted, exit.CodeOf(err), "%v", err)
}
