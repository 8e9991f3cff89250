package intent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func emptyLog(t *testing.T) *Log {
	return newLog(filepath.Join(t.TempDir(), "messaging", "sends.jsonl"))
}

var broadcast = Send{Host: "api.example.com", Operation: "send", Body: []byte(`{"email":"ada@example.com"}`)}

func begin(t *testing.T, log *Log, s Send) *Intent {
	t.Helper()
	begun, err := log.Begin(t.Context(), s, false, nil)
	require.NoError(t, err)
	return begun
}

// kill ends a send as the end of its process does.
func kill(begun *Intent) { _ = begun.flight.Unlock() }

func requireRefused(t *testing.T, log *Log, s Send, want string) {
	t.Helper()
	_, err := log.Begin(t.Context(), s, false, nil)
	require.ErrorContains(t, err, want)
	assert.Equal(t, exit.Usage, exit.CodeOf(err))
	_, err = log.Begin(t.Context(), s, true, nil)
	require.ErrorContains(t, err, "after the plan was shown")
	seen, err := log.Look(s)
	require.NoError(t, err)
	again, err := log.Begin(t.Context(), s, true, []string{seen.Last.ID})
	require.NoError(t, err, "--again allows it")
	_, err = log.Begin(t.Context(), s, true, []string{seen.Last.ID})
	require.Error(t, err, "once")
	t.Cleanup(func() { kill(again) }) // it is in progress until then, and not until its lock is collected
}

func TestLogRefusesWhatMayHaveBeenSent(t *testing.T) {
	t.Run("accepted", func(t *testing.T) {
		log := emptyLog(t)
		require.NoError(t, begin(t, log, broadcast).Done(messaging.DeliveryAccepted, exit.Done))
		requireRefused(t, log, broadcast, "was accepted")
	})
	t.Run("unknown, however long ago", func(t *testing.T) {
		log := emptyLog(t)
		require.NoError(t, begin(t, log, broadcast).Done(messaging.DeliveryUnknown, exit.Unknown))
		log.now = func() time.Time { return time.Now().Add(1000 * time.Hour) }
		requireRefused(t, log, broadcast, "may have been carried out")
	})
	t.Run("without an outcome", func(t *testing.T) {
		log := emptyLog(t)
		kill(begin(t, log, broadcast))
		log.now = func() time.Time { return time.Now().Add(1000 * time.Hour) }
		requireRefused(t, log, broadcast, "has no recorded outcome")
	})
}

func TestLogAllowsWhatWasNotCarriedOut(t *testing.T) {
	for _, delivery := range []messaging.Delivery{messaging.DeliveryNotSent, messaging.DeliveryRejected} {
		log := emptyLog(t)
		require.NoError(t, begin(t, log, broadcast).Done(delivery, exit.NotDone))
		begin(t, log, broadcast)
	}
}

func TestLogAllowsTheSameAfterADay(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, begin(t, log, broadcast).Done(messaging.DeliveryAccepted, exit.Done))
	log.now = func() time.Time { return time.Now().Add(window) }
	begin(t, log, broadcast)
}

func TestLogTellsSendsApart(t *testing.T) {
	log := emptyLog(t)
	begin(t, log, broadcast)
	begin(t, log, Send{Host: "127.0.0.1:8077#1", Operation: broadcast.Operation, Body: broadcast.Body})
	begin(t, log, Send{Host: "127.0.0.1:8077#2", Operation: broadcast.Operation, Body: broadcast.Body})
	begin(t, log, Send{Host: broadcast.Host, Operation: "trigger", Body: broadcast.Body})
	begin(t, log, Send{Host: broadcast.Host, Operation: broadcast.Operation, Body: []byte(`{"email":"bda@example.com"}`)})
}

func TestLogIsPrivateAndHoldsNoContent(t *testing.T) {
	log := emptyLog(t)
	begin(t, log, broadcast)
	info, err := os.Stat(log.Path())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	content, err := os.ReadFile(log.Path())
	require.NoError(t, err)
	assert.NotContains(t, string(content), "ada")
}

func TestLogCutsOffALineThatACrashTore(t *testing.T) {
	log := emptyLog(t)
	kill(begin(t, log, broadcast))
	content, err := os.ReadFile(log.Path())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log.Path(), append(content, content[:20]...), 0o600))
	requireRefused(t, log, broadcast, "has no recorded outcome")
	content, err = os.ReadFile(log.Path())
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(content), "\n"))
}

func TestLogSendsNothingIfItCannotBeReadOrWritten(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, os.MkdirAll(log.Path(), 0o700)) // a folder is in its place
	_, err := log.Begin(t.Context(), broadcast, true, nil)
	require.ErrorContains(t, err, "nothing was sent: cannot write down that this send begins")
	assert.Equal(t, exit.Unexpected, exit.CodeOf(err))

	log = emptyLog(t)
	begin(t, log, broadcast)
	content, err := os.ReadFile(log.Path())
	require.NoError(t, err)
	for _, damage := range []string{"broken\n{}\n", "null\n", "{}\n", "\x00\x00\x00"} {
		require.NoError(t, os.WriteFile(log.Path(), append(slices.Clone(content), damage...), 0o600))
		_, err = log.Begin(t.Context(), broadcast, true, nil)
		require.ErrorContains(t, err, "line 2 is broken")
	}
}

func TestLogLetsOneOfManyBegin(t *testing.T) {
	log := emptyLog(t)
	var begun sync.Map
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			other := newLog(log.path) // as in another process
			if _, err := other.Begin(context.Background(), broadcast, false, nil); err == nil {
				begun.Store(i, true)
			}
		})
	}
	group.Wait()
	count := 0
	begun.Range(func(_, _ any) bool { count++; return true })
	assert.Equal(t, 1, count)
}

func TestLogRefusesToRepeatWhatIsInProgress(t *testing.T) {
	log := emptyLog(t)
	begun := begin(t, log, broadcast)
	_, err := log.Begin(t.Context(), broadcast, true, []string{begun.id})
	require.ErrorContains(t, err, "another process has been sending exactly this to api.example.com since")
	require.NoError(t, begun.Done(messaging.DeliveryUnknown, exit.Unknown))
	_, err = log.Begin(t.Context(), broadcast, true, []string{begun.id})
	require.NoError(t, err)
	left, err := filepath.Glob(log.Path() + ".?*")
	require.NoError(t, err)
	assert.Len(t, left, 2, "the lock, and the file of the send in progress")
}

func TestLogTakesAnUnknownDeliveryForUnknown(t *testing.T) {
	for _, delivery := range []string{`"delivery":"probably",`, ""} {
		log := emptyLog(t)
		begun := begin(t, log, broadcast)
		require.NoError(t, begun.Done(messaging.DeliveryNotSent, exit.NotDone))
		content, err := os.ReadFile(log.Path())
		require.NoError(t, err)
		changed := strings.Replace(string(content), `"delivery":"not_sent",`, delivery, 1)
		require.NoError(t, os.WriteFile(log.Path(), []byte(changed), 0o600))
		requireRefused(t, log, broadcast, "may have been carried out")
	}
}

func TestOutcomeIsNotGluedToALineThatACrashTore(t *testing.T) {
	log := emptyLog(t)
	begun := begin(t, log, broadcast)
	file, err := os.OpenFile(log.Path(), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"id":"tor`)
	require.NoError(t, errors.Join(err, file.Close()))
	require.NoError(t, begun.Done(messaging.DeliveryAccepted, exit.Done))
	requireRefused(t, log, broadcast, "was accepted")
}

func TestLogWaitsForItsLockForALimitedTime(t *testing.T) {
	log := emptyLog(t)
	begun := begin(t, log, broadcast)
	log.patience = 20 * time.Millisecond
	other := flock.New(log.Path() + ".lock")
	require.NoError(t, other.Lock())
	defer other.Close()
	require.ErrorContains(t, begun.Done(messaging.DeliveryAccepted, exit.Done), "another process has held the lock")
}

func TestLogIgnoresTheOrderOfRecipients(t *testing.T) {
	log := emptyLog(t)
	to := func(recipients string) Send {
		return Send{Host: "h", Operation: "send", Broadcast: true,
			Body: []byte(`{"recipients":{"customers":[` + recipients + `]},"subject":"s"}`)}
	}
	kill(begin(t, log, to(`{"id":"a"},{"id":"b"}`)))
	requireRefused(t, log, to(`{"id":"b"},{"id":"a"}`), "has no recorded outcome")
}

func TestLogRefusesABroadcastThatPeopleTakeForAnEarlierOne(t *testing.T) {
	send := func(body string) Send {
		return Send{Host: "h", Operation: "send", Broadcast: true, Body: []byte(body)}
	}
	log := emptyLog(t)
	const both = `"recipients":[{"customers":[{"email":"a@x.test"},{"email":"b@x.test"}]}]`
	first := send(`{` + both + `,"subject":"Sale!","message":"<p>Only today</p>"}`)
	require.NoError(t, begin(t, log, first).Done(messaging.DeliveryAccepted, exit.Done))
	const toA, toC = `"recipients":[{"customers":[{"email":"a@x.test"}]}]`, `"recipients":[{"customers":[{"email":"c@x.test"}]}]`
	for body, want := range map[string]string{
		`{` + toC + `,"subject":"Sale","message":"<b>only</b> today."}`: "a broadcast with the same subject and message",
		`{"all_customers":true,"subject":"SALE"}`:                       "a broadcast with the same subject",
		`{` + toA + `,"subject":"New sale","message":"Only today"}`:     "a broadcast with the same message",
		`{` + toA + `,"subject":"New sale","message":"<style>p{}</style><title>x</title><p hidden>7</p><p>Only today</p>"}`: "a broadcast " +
			"with the same message",
		`{` + both + `,"subject":"Sale 2","message":"Also today"}`: "",
	} {
		seen, err := log.Look(send(body))
		require.NoError(t, err)
		assert.Nil(t, seen.Last, body)
		if want == "" {
			assert.Empty(t, seen.Similar, body)
			continue
		}
		require.Len(t, seen.Similar, 1, body)
		assert.Equal(t, want, seen.Similar[0].Like)
		require.ErrorContains(t, seen.Refusal(false, nil), "not sent: "+want+" was accepted (")
		require.ErrorContains(t, seen.Refusal(true, nil), "after the plan was shown")
		assert.NoError(t, seen.Refusal(true, seen.Seen()))
	}
	seen, err := log.Look(first)
	require.NoError(t, err)
	assert.NotNil(t, seen.Last)
	assert.Empty(t, seen.Similar, "it is the same send")

	other := send(`{"all_customers":true,"subject":"SALE"}`)
	other.Operation = "push"
	seen, err = log.Look(other)
	require.NoError(t, err)
	assert.Empty(t, seen.Similar, "another channel")
	log.now = func() time.Time { return time.Now().Add(window) }
	seen, err = log.Look(send(`{"all_customers":true,"subject":"SALE"}`))
	require.NoError(t, err)
	assert.Empty(t, seen.Similar, "a day later")
}

func TestABroadcastWithoutLettersIsKnownByWhatItShows(t *testing.T) {
	send := func(subject, message string) Send {
		return Send{Host: "h", Operation: "send", Broadcast: true, Body: fmt.Appendf(nil, `{"subject":%q,"message":%q}`, subject, message)}
	}
	log := emptyLog(t)
	require.NoError(t, begin(t, log, send("🎉 ❤", `<img src="https://acme.test/a.png">`)).Done(messaging.DeliveryAccepted, exit.Done))
	for _, same := range []Send{send("🎉❤\ufe0f", "other"), send("other", `<img  src='https://acme.test/a.png' >`)} {
		seen, err := log.Look(same)
		require.NoError(t, err)
		assert.Len(t, seen.Similar, 1, string(same.Body))
	}
	seen, err := log.Look(send("🎉", `<img src="https://acme.test/b.png">`))
	require.NoError(t, err)
	assert.Empty(t, seen.Similar)
}

func TestAfterALostAnswerABroadcastIsLikeAnEarlierOneByItsWordsOrItsCustomers(t *testing.T) {
	send := func(customer, subject, message string) Send {
		return Send{Host: "h", Operation: "send", Broadcast: true,
			Body: fmt.Appendf(nil, `{"recipients":[{"customers":[{"email":%q}]}],"subject":%q,"message":%q}`, customer, subject, message)}
	}
	first := send("a@x.test", "Report 1", "As of 10:00, Monday")
	const bySubject = "a broadcast with the same subject apart from numbers and dates,"
	const byMessage = "a broadcast with the same message apart from numbers and dates,"
	for _, test := range []struct {
		next                   Send
		later                  time.Duration
		afterLost, afterAccept string
	}{
		{next: send("b@x.test", "Report 2", "As of 9:01, yesterday"), afterLost: bySubject},
		{next: send("b@x.test", "Report", "As of tomorrow"), afterLost: bySubject},
		{next: send("b@x.test", "Report v2, 2026-01-02", "Something else"), afterLost: bySubject},
		{next: send("b@x.test", "Another", "As of 9:01:30 PM, Tuesday, 3 Mar"), afterLost: byMessage},
		{next: send("b@x.test", "Report", "As of 9:01, Monday"), later: 9 * window,
			afterLost: "a broadcast with the same subject and message apart from numbers and dates,"},
		{next: send("b@x.test", "Another", "As of 9:01, Monday"), afterLost: byMessage},
		{next: send("b@x.test", "Another", "Something else")},
		{next: send("A@x.test", "Another", "Something else"), afterLost: "another broadcast to the same customers"},
		{next: send("a@x.test", "Another", "Something else"), later: window},
		{next: send("a@x.test", "REPORT 1", "Something else"),
			afterLost: "a broadcast with the same subject", afterAccept: "a broadcast with the same subject"},
	} {
		for delivery, want := range map[messaging.Delivery]string{
			messaging.DeliveryUnknown: test.afterLost, messaging.DeliveryAccepted: test.afterAccept, messaging.DeliveryNotSent: "",
		} {
			log := emptyLog(t)
			require.NoError(t, begin(t, log, first).Done(delivery, exit.Done))
			log.now = func() time.Time { return time.Now().Add(test.later) }
			seen, err := log.Look(test.next)
			require.NoError(t, err)
			if want == "" {
				assert.Empty(t, seen.Similar, "%s after %v", test.next.Body, delivery)
				continue
			}
			require.Len(t, seen.Similar, 1, "%s after %v", test.next.Body, delivery)
			assert.Equal(t, want, seen.Similar[0].Like)
		}
	}
}

func TestABroadcastThatSomebodyHasRepeatedIsSettled(t *testing.T) {
	send := func(subject string) Send {
		return Send{Host: "h", Operation: "send", Broadcast: true,
			Body: fmt.Appendf(nil, `{"recipients":[{"customers":[{"email":"a@x.test"}]}],"subject":%q}`, subject)}
	}
	log := emptyLog(t)
	require.NoError(t, begin(t, log, send("Lost")).Done(messaging.DeliveryUnknown, exit.Unknown))
	seen, err := log.Look(send("Other"))
	require.NoError(t, err)
	require.ErrorContains(t, seen.Refusal(false, nil), "not sent: another broadcast to the same customers may have been carried out (")

	seen, err = log.Look(send("Lost"))
	require.NoError(t, err)
	assert.Empty(t, seen.Similar, "it is the same send")
	again, err := log.Begin(t.Context(), send("Lost"), true, seen.Seen())
	require.NoError(t, err)
	seen, err = log.Look(send("Other"))
	require.NoError(t, err)
	assert.Empty(t, seen.Similar, "in progress")
	require.NoError(t, again.Done(messaging.DeliveryAccepted, exit.Done))
	seen, err = log.Look(send("Other"))
	require.NoError(t, err)
	assert.Empty(t, seen.Similar)
}

func TestAScheduledBroadcastCountsUntilADayAfterItsTime(t *testing.T) {
	const body = `{"recipients":[{"customers":[{"email":"a@x.test"}]}],"subject":"Sale","message":"a"`
	send := func(rest string) Send {
		return Send{Host: "h", Operation: "send", Broadcast: true, Body: []byte(body + rest + "}")}
	}
	log := emptyLog(t)
	due := time.Now().Add(10 * window)
	require.NoError(t, begin(t, log, send(fmt.Sprintf(`,"schedule_date":{"schedule_date":%q,"timezone":"UTC"}`,
		due.UTC().Format(time.DateTime)))).Done(messaging.DeliveryAccepted, exit.Done))
	for after, similar := range map[time.Duration]int{0: 1, 9 * window: 1, 10*window + time.Hour: 1, 11*window + time.Hour: 0} {
		log.now = func() time.Time { return time.Now().Add(after) }
		seen, err := log.Look(send(""))
		require.NoError(t, err)
		assert.Len(t, seen.Similar, similar, after)
	}
}

func TestAMessageIsTheSameWithEntitiesAndWithoutLetters(t *testing.T) {
	for first, second := range map[string]string{
		`"subject":"a","message":"<p>Caf&eacute; &amp; bar</p>"`: `"subject":"b","message":"café bar"`,
		`"subject":"a","message":"<img src='promo.png'>"`:        `"subject":"b","message":"<img src='promo.png'>"`,
		`"subject":"!!!","message":"a"`:                          `"subject":"!!!","message":"b"`,
	} {
		log := emptyLog(t)
		send := func(body string) Send {
			return Send{Host: "h", Operation: "send", Broadcast: true, Body: []byte("{" + body + "}")}
		}
		require.NoError(t, begin(t, log, send(first)).Done(messaging.DeliveryAccepted, exit.Done))
		seen, err := log.Look(send(second))
		require.NoError(t, err)
		assert.Len(t, seen.Similar, 1, first)
		seen, err = log.Look(send(`"subject":"c","message":"<img src='other.png'>"`))
		require.NoError(t, err)
		assert.Empty(t, seen.Similar)
	}
}

func TestLogRefusesASecondBroadcastToTheSameCustomersAtTheSameTime(t *testing.T) {
	scheduled := func(at, zone, subject, customers string) Send {
		return Send{Host: "h", Operation: "send", Broadcast: true, Body: fmt.Appendf(nil, `{"recipients":[{"customers":[%s]}],`+
			`"schedule_date":{"schedule_date":%q,"timezone":%q},"subject":%q,"message":%[4]q}`, customers, at, zone, subject)}
	}
	altered := func(s Send, old, new string) Send {
		s.Body = bytes.Replace(s.Body, []byte(old), []byte(new), 1)
		return s
	}
	const both = `{"email":"a@x.test"},{"email":"b@x.test"}`
	first := scheduled("2100-01-01 09:00:00", "UTC", "Sale", both)
	log := emptyLog(t)
	require.NoError(t, begin(t, log, first).Done(messaging.DeliveryAccepted, exit.Done))
	log.now = func() time.Time { return time.Now().Add(100 * window) }
	for name, second := range map[string]Send{
		"another subject":    scheduled("2100-01-01 09:00:00", "UTC", "Corrected", both),
		"the same subject":   altered(first, `"message":"Sale"`, `"message":"New"`),
		"a group in no list": altered(first, `[{"customers":[`+both+`]}]`, `{"customers":[`+both+`]}`),
		"another time zone":  scheduled("2100-01-01 10:00:00", "Europe/Berlin", "Corrected", both),
		"an id in addition": scheduled("2100-01-01 09:00:00", "UTC", "Corrected",
			`{"email":"a@x.test","customer_id":"1"},{"email":"b@x.test"}`),
		"names and the order": scheduled("2100-01-01 09:00:00", "UTC", "Corrected", `{"email":"B@x.test","first_name":"B"},{"email":"a@x.test"}`),
	} {
		seen, err := log.Look(second)
		require.NoError(t, err)
		require.Len(t, seen.Similar, 1, name)
		require.ErrorContains(t, seen.Refusal(false, nil), "to the same customers, at the same time, was accepted (", name)
	}
	requireRefused(t, log, first, "exactly this was sent")
	named := func(subject, customers string) Send {
		return scheduled("2100-01-01 09:00:00", "UTC", subject, customers)
	}
	require.NoError(t, begin(t, log, named("By id", `{"email":"c@x.test","customer_id":"3"}`)).Done(messaging.DeliveryAccepted, exit.Done))
	for _, customers := range []string{`{"customer_id":"3"}`, `{"email":"c@x.test"}`, `{"email":"d@x.test","customer_id":"3"}`} {
		seen, err := log.Look(named("Again", customers))
		require.NoError(t, err)
		assert.Len(t, seen.Similar, 1, customers)
	}
	corrected := scheduled("2100-01-01 09:00:00", "UTC", "Corrected", both)
	for name, second := range map[string]Send{
		"another time":     scheduled("2100-01-02 09:00:00", "UTC", "Corrected", both),
		"another customer": scheduled("2100-01-01 09:00:00", "UTC", "Corrected", both+`,{"email":"c@x.test"}`),
		"all customers":    altered(corrected, `"recipients":[{"customers":[`+both+`]}]`, `"all_customers":true`),
	} {
		seen, err := log.Look(second)
		require.NoError(t, err)
		assert.Empty(t, seen.Similar, name)
	}
}
