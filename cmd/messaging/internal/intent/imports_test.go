package intent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// tokenOf returns a token that stands for a small number, of an id if its highest bit is set. Any
// other token stays as it is.
func tokenOf(n alike.Token) alike.Token {
	const byID = 1 << 63
	if n&^byID > 1000 {
		return n
	}
	return n&byID | n&^byID<<2 | 1
}

func importOf(outbox string, numbers ...alike.Token) Import {
	set := new(alike.Set)
	for _, n := range numbers {
		set.Add(alike.Tokens{tokenOf(n)})
	}
	set.Sort()
	return Import{Host: "api.example.com", EventID: "ev_1", EventName: "order shipped", Outbox: outbox, Title: outbox + ".db", Triggers: set}
}

func beginImport(t *testing.T, log *Log, i Import) *BegunImport {
	t.Helper()
	begun, err := log.BeginImport(t.Context(), i, false, nil)
	require.NoError(t, err)
	return begun
}

// counts returns how many rows each earlier send has in common with an import.
func counts(t *testing.T, log *Log, i Import) (n []int) {
	t.Helper()
	found, err := log.LookForImport(i)
	require.NoError(t, err)
	for _, each := range found {
		n = append(n, each.Count)
	}
	return n
}

func triggerOf(n alike.Token) Send {
	return Send{Host: "api.example.com", Operation: "trigger event", Body: []byte{byte(n)},
		Trigger: &Trigger{ID: "ev_1", Name: "order shipped", Tokens: alike.Tokens{tokenOf(n)}}}
}

func TestAnImportMeetsEarlierOnes(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, beginImport(t, log, importOf("a", 2, 4, 6)).Done())
	assert.Equal(t, []int{2}, counts(t, log, importOf("b", 4, 6, 8)))
	assert.Empty(t, counts(t, log, importOf("b", 8)))
	assert.Equal(t, []int{1}, counts(t, log, importOf("a", 2)), "under another key, in the same outbox")

	for name, change := range map[string]func(*Import){
		"renamed":       func(i *Import) { i.EventName = "order sent" },
		"created again": func(i *Import) { i.EventID, i.EventName = "ev_2", "Order-Shipped" },
	} {
		i := importOf("b", 2)
		change(&i)
		assert.Equal(t, []int{1}, counts(t, log, i), name)
	}
	for name, change := range map[string]func(*Import){
		"another event":   func(i *Import) { i.EventID, i.EventName = "ev_2", "order canceled" },
		"another service": func(i *Import) { i.Host = "test.example.com" },
	} {
		i := importOf("b", 2)
		change(&i)
		assert.Empty(t, counts(t, log, i), name)
	}
}

func TestAnImportThatWasKilledGoesOnAndIsKnownToOthers(t *testing.T) {
	log := emptyLog(t)
	beginImport(t, log, importOf("a", 2, 4))
	assert.Empty(t, counts(t, log, importOf("a", 4)))
	corrected := importOf("a", 4)
	corrected.Plan = "of a file that was corrected"
	assert.Equal(t, []int{1}, counts(t, log, corrected))
	found, err := log.LookForImport(importOf("b", 4))
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Describe("row"), "1 row matches one already imported, in part at least, into a.db at ")
}

func TestTheSecondOfTwoImportsAtOnceIsRefused(t *testing.T) {
	log := emptyLog(t)
	first, second := importOf("a", 2, 4), importOf("b", 4)
	assert.Empty(t, counts(t, log, first))
	assert.Empty(t, counts(t, log, second), "both plans are shown")
	beginImport(t, log, first)
	for _, again := range []bool{false, true} {
		_, err := log.BeginImport(t.Context(), second, again, nil)
		require.ErrorContains(t, err, "nothing was imported: 1 row matches one already imported, in part at least, into a.db at ")
		assert.Equal(t, exit.Usage, exit.CodeOf(err))
	}
	found, err := log.LookForImport(second)
	require.NoError(t, err)
	_, err = log.BeginImport(t.Context(), second, true, found.IDs())
	require.NoError(t, err)
}

func TestImportsAndTriggersByHandMeet(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, begin(t, log, triggerOf(2)).Done(messaging.DeliveryAccepted, exit.Done))
	require.NoError(t, begin(t, log, triggerOf(4)).Done(messaging.DeliveryRejected, exit.Invalid))
	require.NoError(t, begin(t, log, triggerOf(6)).Done(messaging.DeliveryUnknown, exit.Unknown))
	assert.Equal(t, []int{1, 1}, counts(t, log, importOf("a", 2, 4, 6)))

	require.NoError(t, beginImport(t, log, importOf("b", 8)).Done())
	requireLikeRefused(t, log, triggerOf(8), "was imported into b.db (")
}

func requireLikeRefused(t *testing.T, log *Log, s Send, want string) {
	t.Helper()
	_, err := log.Begin(t.Context(), s, false, nil)
	require.ErrorContains(t, err, "with the same required values, "+want)
	assert.Equal(t, exit.Usage, exit.CodeOf(err))
	_, err = log.Begin(t.Context(), s, true, nil)
	require.ErrorContains(t, err, "after the plan was shown")
	seen, err := log.Look(s)
	require.NoError(t, err)
	_, err = log.Begin(t.Context(), s, true, seen.Seen())
	require.NoError(t, err)
}

func TestATriggerIsRefusedAfterOneThatIsLikeIt(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, begin(t, log, triggerOf(2)).Done(messaging.DeliveryAccepted, exit.Done))
	other := triggerOf(2)
	other.Body = []byte("with another value")
	requireLikeRefused(t, log, other, "was accepted (")

	log = emptyLog(t)
	require.NoError(t, begin(t, log, triggerOf(2)).Done(messaging.DeliveryAccepted, exit.Done))
	log.now = func() time.Time { return time.Now().Add(window) }
	begin(t, log, other) // on the next day
}

func TestImportsAreForgottenAfterSixDays(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, beginImport(t, log, importOf("a", 2)).Done())
	require.NoError(t, begin(t, log, triggerOf(4)).Done(messaging.DeliveryAccepted, exit.Done))
	log.now = func() time.Time { return time.Now().Add(importWindow - time.Minute) }
	assert.Equal(t, []int{1, 1}, counts(t, log, importOf("b", 2, 4)))
	log.now = func() time.Time { return time.Now().Add(importWindow + time.Second) }
	assert.Empty(t, counts(t, log, importOf("b", 2, 4)))

	beginImport(t, log, importOf("b", 2))
	files, err := os.ReadDir(log.importFolder())
	require.NoError(t, err)
	assert.Len(t, files, 1, "the old file is removed")
}

func TestAnImportIsRefusedIfWhatIsRememberedCannotBeRead(t *testing.T) {
	log := emptyLog(t)
	begun := beginImport(t, log, importOf("a", 2, 4))
	require.NoError(t, os.Truncate(begun.path, 20))
	_, err := log.LookForImport(importOf("b", 8))
	require.ErrorContains(t, err, "is broken; move the file away after you have looked at it")
	assert.Equal(t, exit.Unexpected, exit.CodeOf(err))
	_, err = log.Begin(t.Context(), triggerOf(8), false, nil)
	require.ErrorContains(t, err, "is broken")
}

func TestAnImportIsRefusedIfItCannotBeWrittenDown(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(log.path), 0o700))
	require.NoError(t, os.WriteFile(log.importFolder(), nil, 0o600))
	_, err := log.BeginImport(t.Context(), importOf("a", 2), false, nil)
	require.ErrorContains(t, err, "nothing was imported")
	assert.Equal(t, exit.Unexpected, exit.CodeOf(err))
}

func TestTheFileOfAnImportIsFoundWhileItGetsItsOtherName(t *testing.T) {
	log := emptyLog(t)
	begun := beginImport(t, log, importOf("a", 2))
	f := importFile{path: begun.path}
	require.NoError(t, begun.Done())
	common, err := f.with(alike.Tokens{tokenOf(2)})
	require.NoError(t, err)
	assert.NotNil(t, common)
}

func TestOnlyTheUserCanReadWhatIsRemembered(t *testing.T) {
	log := emptyLog(t)
	begun := beginImport(t, log, importOf("a", 2))
	info, err := os.Stat(begun.path)
	require.NoError(t, err)
	if filepath.Separator == '/' {
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	content, err := os.ReadFile(begun.path)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(content), `{"id":"`))
}

func TestAResendDoesNotMeetTheImportThatAddedIt(t *testing.T) {
	log := emptyLog(t)
	began := time.Date(2030, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	log.now = func() time.Time { return began }
	shape := alike.Shape{{Name: "order", Type: messaging.ParameterText}}
	added := Resend{EventID: "ev_1", Customer: messaging.CustomerParams{Email: "ada@example.com"},
		Values: map[string]any{"order": "A-1"}, Added: began.Truncate(time.Millisecond)} // as the outbox keeps it
	i := importOf("a", shape.Tokens("", added.Customer, added.Values)[0])
	i.Shape = shape
	require.NoError(t, beginImport(t, log, i).Done())
	found, err := log.LookForResend("api.example.com", added.Added, func(yield func(Resend, error) bool) { yield(added, nil) })
	require.NoError(t, err)
	assert.Empty(t, found)
}

func TestAResendMeetsWhatWasSentSince(t *testing.T) {
	log := emptyLog(t)
	shape := alike.Shape{{Name: "order", Type: messaging.ParameterText}}
	resend := func(order string, added time.Duration) Resend {
		return Resend{EventID: "ev_1", Customer: messaging.CustomerParams{Email: "ada@example.com"},
			Values: map[string]any{"order": order}, Added: log.now().Add(added)}
	}
	tokens := shape.Tokens("", messaging.CustomerParams{Email: "ada@example.com"}, map[string]any{"order": "A-1"})
	i := importOf("a", tokens[0])
	i.Shape = shape
	require.NoError(t, beginImport(t, log, i).Done())
	byHand := triggerOf(tokens[0])
	byHand.Trigger.Shape = shape
	_, err := log.Begin(t.Context(), byHand, true, nil)
	require.Error(t, err)
	seen, err := log.Look(byHand)
	require.NoError(t, err)
	_, err = log.Begin(t.Context(), byHand, true, seen.Seen())
	require.NoError(t, err)

	look := func(host string, resends ...Resend) (Overlap, error) {
		return log.LookForResend(host, log.now().Add(-2*time.Hour), func(yield func(Resend, error) bool) {
			for _, each := range resends {
				if !yield(each, nil) {
					return
				}
			}
		})
	}
	found, err := look("api.example.com", resend("a1", -time.Hour), resend("A-2", -time.Hour))
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Contains(t, found[0].Describe("trigger"), "1 trigger matches one already imported into a.db at ")
	assert.Contains(t, found[1].Describe("trigger"), "1 trigger matches one already triggered by hand at ")
	for name, each := range map[string]Resend{"another order": resend("A-2", -time.Hour), "what was added later": resend("A-1", time.Hour)} {
		found, err = look("api.example.com", each)
		require.NoError(t, err)
		assert.Empty(t, found, name)
	}
	found, err = look("test.example.com", resend("A-1", -time.Hour))
	require.NoError(t, err)
	assert.Empty(t, found)

	created := resend("A-1", -time.Hour)
	created.EventID = "ev_2"
	again := importOf("b", 99)
	again.EventID, again.EventName, again.Shape = "ev_2", "Order shipped", shape
	require.NoError(t, beginImport(t, log, again).Done())
	found, err = look("api.example.com", created)
	require.NoError(t, err)
	assert.Len(t, found, 2, "of an event that was created again under its name")

	_, err = log.LookForResend("api.example.com", log.now().Add(time.Hour), func(func(Resend, error) bool) { t.Error("nothing came later") })
	require.NoError(t, err)
}

func TestASendThatTheOperatorDidNotSeeIsNotHiddenByOthers(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, beginImport(t, log, importOf("a", 2)).Done())
	seen, err := log.Look(triggerOf(2))
	require.NoError(t, err)
	other := triggerOf(2)
	other.Body = []byte("by another operator")
	running, err := log.Begin(t.Context(), other, true, seen.Seen())
	require.NoError(t, err)

	mine := triggerOf(2)
	mine.Body = []byte("mine")
	_, err = log.Begin(t.Context(), mine, true, seen.Seen())
	require.ErrorContains(t, err, "is in progress")
	again, err := log.Look(mine)
	require.NoError(t, err)
	require.Len(t, again.Similar, 2)
	_, err = log.Begin(t.Context(), mine, true, again.Seen())
	require.ErrorContains(t, err, "is in progress", "which --again does not repeat")

	require.NoError(t, running.Done(messaging.DeliveryAccepted, exit.Done))
	_, err = log.Begin(t.Context(), mine, true, seen.Seen())
	require.ErrorContains(t, err, "after the plan was shown")
	_, err = log.Begin(t.Context(), mine, true, again.Seen())
	require.NoError(t, err)
}

func TestOldFilesOfImportsAreRemovedByTheNextSend(t *testing.T) {
	log := emptyLog(t)
	begun := beginImport(t, log, importOf("a", 2))
	require.NoError(t, os.WriteFile(begun.path+".tmp", []byte("of a killed import"), 0o600))
	log.now = func() time.Time { return time.Now().Add(importWindow + time.Second) }
	begin(t, log, triggerOf(4))
	files, err := os.ReadDir(log.importFolder())
	require.NoError(t, err)
	assert.Empty(t, files)
}

func TestTheSameValuesForAnIDAndForAnAddressMayBeForOneCustomer(t *testing.T) {
	shape := alike.Shape{{Name: "order", Type: messaging.ParameterText}}
	trigger := func(customer messaging.CustomerParams, order string) Send {
		tokens := shape.Tokens("", customer, map[string]any{"order": order})
		return Send{Host: "api.example.com", Operation: "trigger event", Body: fmt.Append(nil, customer, order), Trigger: &Trigger{ID: "ev_1",
			Shape: shape, Tokens: tokens, In: func(alike.Shape) (alike.Tokens, bool) { return tokens, true }}}
	}
	imported := func(outbox string, s Send) Import {
		i := importOf(outbox)
		i.Shape = shape
		i.Triggers.Add(s.Trigger.Tokens)
		i.Triggers.Sort()
		return i
	}
	address, id := messaging.CustomerParams{Email: "ada@example.com"}, messaging.CustomerParams{CustomerID: "7"}
	const maybe = "for a customer who may be the same (one is named by an id and the other by an address), "
	for _, pair := range [][2]messaging.CustomerParams{{address, id}, {id, address}} {
		log := emptyLog(t)
		require.NoError(t, begin(t, log, trigger(pair[0], "A-1")).Done(messaging.DeliveryAccepted, exit.Done))
		begin(t, log, trigger(pair[1], "A-2"))
		_, err := log.Begin(t.Context(), trigger(pair[1], "A-1"), false, nil)
		require.ErrorContains(t, err, maybe+"was accepted (")

		found, err := log.LookForImport(imported("b", trigger(pair[1], "A-1")))
		require.NoError(t, err)
		require.Len(t, found, 1)
		assert.Regexp(t, `^nobody can tell whether these rows are the same as ones that were triggered by hand at .*: `+
			`the values are the same, but some name the customer by id, and some by address$`, found[0].Describe("row"))
		found, err = log.LookForResend("api.example.com", time.Time{}, func(yield func(Resend, error) bool) {
			yield(Resend{EventID: "ev_1", Customer: pair[1], Values: map[string]any{"order": "A-1"}}, nil)
		})
		require.NoError(t, err)
		require.Len(t, found, 1)

		log = emptyLog(t)
		require.NoError(t, beginImport(t, log, imported("a", trigger(pair[0], "A-1"))).Done())
		_, err = log.Begin(t.Context(), trigger(pair[1], "A-1"), false, nil)
		require.ErrorContains(t, err, maybe+"was imported into a.db (")
		begin(t, log, trigger(pair[1], "A-2"))
		found, err = log.LookForImport(imported("b", trigger(pair[1], "A-1")))
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.NoError(t, found.Refusal(false, found.IDs()), "a person decides")
		require.ErrorContains(t, found.Refusal(false, nil), "after the plan was shown")
		require.ErrorContains(t, found.Refusal(true, nil), "after the plan was shown")
		found, err = log.LookForImport(imported("b", trigger(pair[1], "A-3")))
		require.NoError(t, err)
		assert.Empty(t, found)
	}
}

func TestAnEventThatRequiresOtherValuesThanBeforeIsStillTheSame(t *testing.T) {
	text := func(name string) alike.Parameter { return alike.Parameter{Name: name, Type: messaging.ParameterText} }
	before, now := alike.Shape{text("order")}, alike.Shape{text("carrier"), text("order")}
	trigger := func(shape alike.Shape, order string) Send {
		in := func(shape alike.Shape) (alike.Tokens, bool) {
			values := map[string]any{"order": order, "carrier": "post"}
			return shape.Tokens("ada@example.com", messaging.CustomerParams{}, values), !slices.Contains(shape, text("number"))
		}
		tokens, _ := in(shape)
		return Send{Host: "api.example.com", Operation: "trigger event", Body: []byte(order + fmt.Sprint(shape)),
			Trigger: &Trigger{ID: "ev_1", Name: "order shipped", Shape: shape, Tokens: tokens, In: in}}
	}
	imported := func(outbox string, shape alike.Shape, order string) Import {
		i := importOf(outbox, trigger(shape, order).Trigger.Tokens[:]...)
		i.Shape = shape
		return i
	}
	log := emptyLog(t)
	require.NoError(t, begin(t, log, trigger(before, "A-1")).Done(messaging.DeliveryAccepted, exit.Done))
	requireLikeRefused(t, log, trigger(now, "A-1"), "was accepted (")
	begin(t, log, trigger(now, "A-2"))

	log = emptyLog(t)
	require.NoError(t, beginImport(t, log, imported("a", now, "A-1")).Done())
	requireLikeRefused(t, log, trigger(before, "A-1"), "was imported into a.db (")
	begin(t, log, trigger(before, "A-2"))

	renamed := alike.Shape{text("number")}
	log = emptyLog(t)
	require.NoError(t, begin(t, log, trigger(renamed, "A-1")).Done(messaging.DeliveryAccepted, exit.Done))
	_, err := log.Begin(t.Context(), trigger(before, "A-2"), false, nil)
	require.ErrorContains(t, err, "not sent: a trigger of this event, when it required values that it does not have now, was accepted (")
	log = emptyLog(t)
	require.NoError(t, beginImport(t, log, imported("a", renamed, "A-1")).Done())
	_, err = log.Begin(t.Context(), trigger(before, "A-2"), false, nil)
	require.ErrorContains(t, err, "when it required values that it does not have now, was imported into a.db (")

	log = emptyLog(t)
	require.NoError(t, begin(t, log, trigger(before, "A-1")).Done(messaging.DeliveryAccepted, exit.Done))
	require.NoError(t, beginImport(t, log, imported("a", before, "A-2")).Done())
	found, err := log.LookForImport(imported("b", now, "A-2"))
	require.NoError(t, err)
	require.Len(t, found, 2)
	for _, each := range found {
		assert.Regexp(t, "^nobody can tell .*: the event has got other required parameters since then$", each.Describe("row"))
	}
	assert.Empty(t, counts(t, log, Import{Host: "api.example.com", EventID: "ev_1", Shape: now, Triggers: new(alike.Set)}), "nothing is new")
}
