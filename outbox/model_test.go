package outbox_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// TestTheOutboxBehavesLikeItsModel calls random methods, and lets processes crash and
// report late, in a database and in a model of a few lines, and compares both after each
// step.
func TestTheOutboxBehavesLikeItsModel(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		m := &model{T: t, db: db, service: newService(), random: rand.New(rand.NewPCG(seed, 0)), entries: make(map[string]*modelEntry)}
		m.service.set(func(string) response { return m.next })
		m.box = m.newBox()
		for range modelSteps {
			m.step()
			m.compare()
		}
	})
}

const (
	modelSteps = 250
	modelKeys  = 8
)

type model struct {
	*testing.T
	db      *database
	box     box
	service *service
	next    response // of the service
	random  *rand.Rand

	entries map[string]*modelEntry
	order   []string // of the keys that were added
	crashed []crashedSend
	tokens  byte
	log     []string
}

// modelEntry is what is known of an entry.
type modelEntry struct {
	state      outbox.State
	body       string
	repeatable bool
	erased     bool
	attempts   int
	doubts     int                // about sends of which nobody will know what they did
	delivery   messaging.Delivery // of the last attempt that has an outcome
	token      ledger.Token
	over       bool // the lease of a sending entry
	guarded    bool // an unclear entry, because its process may be alive
	future     bool // not due
	carried    int  // by the service, or by a process that crashed later
	sent       int  // to the service
	resent     bool
}

// unknown is an outcome of which nobody knows whether the request was carried out.
func (e *modelEntry) unknown() {
	if e.repeatable && e.doubts < 4 {
		e.state, e.future, e.doubts = outbox.Pending, true, e.doubts+1
		return
	}
	e.state = outbox.Unclear
}

// known is what the entry tells about all of its sends.
func (e *modelEntry) known() messaging.Delivery {
	if e.state == outbox.Sending || e.state == outbox.Unclear || e.doubts > 0 && e.state != outbox.Accepted {
		return messaging.DeliveryUnknown
	}
	return e.delivery
}

// crashedSend is a claim whose process has not reported.
type crashedSend struct {
	key   string
	id    int64
	token ledger.Token
	// What it would report, unless its claim is undone, since nothing was sent.
	state    ledger.State
	delivery messaging.Delivery
	doubts   int
	undone   bool
}

// newBox returns an outbox as a new process has it: with a closed breaker, and about to
// sweep.
func (m *model) newBox() box {
	return m.db.new(m.T, m.service.client(m.T), outbox.Fast(), outbox.WithWaits(2*time.Hour, 2*time.Hour))
}

func (m *model) step() {
	key := fmt.Sprintf("key-%d", m.random.IntN(modelKeys))
	steps := []func(string) string{m.enqueue, m.enqueueTx, m.deliver, m.deliver, m.crash, m.reportLate, m.timePasses, m.sweep,
		m.resend, m.dismiss, m.quarantine}
	i := m.random.IntN(len(steps))
	if i == len(steps)-1 && m.random.IntN(4) > 0 { // a quarantine changes everything
		i = 2
	}
	m.log = append(m.log, steps[i](key))
}

// add is the model of enqueuing.
func (m *model) add(key, body string, future, repeatable bool) error {
	e, ok := m.entries[key]
	switch {
	case ok && e.body == body:
		return nil
	case ok:
		return outbox.ErrKeyConflict
	}
	m.entries[key] = &modelEntry{state: outbox.Pending, body: body, future: future, repeatable: repeatable,
		delivery: messaging.DeliveryNotSent}
	m.order = append(m.order, key)
	return nil
}

func (m *model) body(key string) string {
	if m.random.IntN(8) == 0 {
		return "another request of " + key
	}
	return key
}

func (m *model) enqueue(key string) string {
	body, future := m.body(key), m.random.IntN(6) == 0
	item := outbox.Item{Key: key, Prepared: request(m, body), Repeatable: m.random.IntN(2) == 0}
	if future {
		item.NotBefore = time.Now().Add(time.Hour)
	}
	_, present := m.entries[key]
	got, err := m.box.Enqueue(m.Context(), item)
	require.ErrorIs(m, err, m.add(key, body, future, item.Repeatable))
	if err == nil {
		require.Equal(m, present, got.Present)
	}
	return fmt.Sprintf("enqueue %s %v", key, err)
}

func (m *model) enqueueTx(key string) string {
	body, rollback := m.body(key), m.random.IntN(2) == 0
	err := m.db.within(m.T, m.box, func(tx inTx) error {
		_, err := tx.enqueue(key, request(m, body))
		if rollback {
			return errBroken
		}
		require.ErrorIs(m, err, m.add(key, body, false, false))
		return nil
	})
	require.Equal(m, rollback, err != nil)
	return fmt.Sprintf("enqueueTx %s rolled back %v", key, rollback)
}

func (m *model) deliver(key string) string {
	outcomes := []struct {
		response response
		state    outbox.State
		delivery messaging.Delivery
	}{{accept, outbox.Accepted, messaging.DeliveryAccepted}, {accept, outbox.Accepted, messaging.DeliveryAccepted},
		{reject, outbox.Rejected, messaging.DeliveryRejected}, {lose, outbox.Unclear, messaging.DeliveryUnknown},
		{fail, outbox.Unclear, messaging.DeliveryUnknown}, {disconnect, outbox.Pending, messaging.DeliveryNotSent},
		{unauthorize, outbox.Pending, messaging.DeliveryRejected}}
	outcome := outcomes[m.random.IntN(len(outcomes))]
	m.next = outcome.response
	m.sweepModel()
	e, ok := m.entries[key]
	if ok && e.state == outbox.Pending && !e.future {
		e.state, e.delivery, e.token = outcome.state, outcome.delivery, ledger.Token{0xff} // a random one
		e.attempts++
		if e.state == outbox.Unclear {
			e.unknown()
		}
		if outcome.response.lost || outcome.response.status == 200 {
			e.carried++
			e.sent++
		}
		e.erased = e.state == outbox.Accepted
	}
	delivered := deliver(m, m.newBox(), key)
	var want outbox.Delivered
	switch {
	case !ok:
		want.Absent = []string{key}
	case e.state == outbox.Accepted:
		want.Accepted = 1
	case e.state == outbox.Rejected:
		want.Rejected = 1
	case e.state == outbox.Unclear:
		want.Unclear = 1
	case e.state == outbox.Sending:
		want.More, want.Busy, want.RetryAfter = true, []string{key}, 500*time.Millisecond
	case e.state == outbox.Pending:
		want.More, want.Later, want.RetryAfter = true, []string{key}, delivered.RetryAfter
	}
	require.Equal(m, want, delivered)
	return fmt.Sprintf("deliver %s %v", key, outcome.response.status)
}

// crash claims an entry, may send it, and does not report.
func (m *model) crash(key string) string {
	m.tokens++
	token := ledger.Token{m.tokens}
	claimed := m.db.tryClaim(m, ledger.Claim{Token: token, Limit: 1, Look: triggers, Keys: []string{key}})
	e, ok := m.entries[key]
	claimable := ok && e.state == outbox.Pending && !e.future
	require.Equal(m, claimable, len(claimed) == 1)
	if !claimable {
		return "crash " + key + " without a claim"
	}
	e.state, e.token, e.over = outbox.Sending, token, false
	e.attempts++
	require.Equal(m, e.doubts, claimed[0].Doubts)
	late := crashedSend{key: key, id: claimed[0].ID, token: token, doubts: e.doubts}
	switch m.random.IntN(5) {
	case 0:
		late.state, late.delivery = ledger.Accepted, messaging.DeliveryAccepted
		e.carried++
	case 1:
		late.state, late.delivery = ledger.Rejected, messaging.DeliveryRejected
	case 2:
		late.state = ledger.Unclear
		if e.repeatable && e.doubts < 4 {
			late.state, late.doubts = ledger.Pending, e.doubts+1
		}
	case 3:
		late.state, late.delivery = ledger.Pending, messaging.DeliveryNotSent
	case 4:
		late.undone = true
	}
	m.crashed = append(m.crashed, late)
	return fmt.Sprintf("crash %s, and would report %v", key, late)
}

// reportLate lets a process that seemed to have crashed report its outcome.
func (m *model) reportLate(string) string {
	if len(m.crashed) == 0 {
		return "nothing to report"
	}
	i := m.random.IntN(len(m.crashed))
	late := m.crashed[i]
	m.crashed = slices.Delete(m.crashed, i, i+1)
	e := m.entries[late.key]
	mine := e.token == late.token
	if late.undone {
		return m.undo(e, mine, late)
	}
	applied, _, err := m.db.ledger.Settle(m.Context(), []ledger.Outcome{{ID: late.id, Token: late.token, State: late.state,
		Delivery: late.delivery, Doubts: late.doubts}})
	require.NoError(m, err)
	final := late.state == ledger.Accepted || late.state == ledger.Rejected
	states := []outbox.State{outbox.Pending, outbox.Sending, outbox.Accepted, outbox.Rejected, outbox.Unclear}
	want := mine && (e.state == outbox.Sending || e.state == outbox.Unclear || e.state == outbox.Pending && final ||
		e.state == outbox.Dismissed && late.state == ledger.Accepted)
	if want {
		e.state, e.delivery, e.doubts, e.guarded, e.future = states[late.state], late.delivery, late.doubts, false, false
		e.erased = e.state == outbox.Accepted
	}
	require.Equal(m, want || mine && e.state == states[late.state], applied[0] == ledger.Applied, "%v", m.log)
	return fmt.Sprintf("%s reports %d late", late.key, late.state)
}

// undo undoes a claim of which nothing was sent.
func (m *model) undo(e *modelEntry, mine bool, late crashedSend) string {
	want := 0
	if mine && (e.state == outbox.Sending || e.state == outbox.Unclear || e.state == outbox.Pending) {
		want = 1
		e.state, e.doubts, e.token, e.guarded, e.over = outbox.Pending, late.doubts, ledger.Token{}, false, false
		e.attempts--
	}
	n, err := m.db.ledger.Unclaim(m.Context(), late.token)
	require.NoError(m, err)
	require.Equal(m, want, n, "%v", m.log)
	return fmt.Sprintf("undo the claim of %s: %d", late.key, n)
}

func (m *model) timePasses(string) string {
	m.db.endLeases(m.T)
	m.db.shift(m.T, -10*time.Hour, "not_before")
	for _, e := range m.entries {
		e.over, e.guarded, e.future = e.state == outbox.Sending, false, false
	}
	return "time passes"
}

func (m *model) sweepModel() (n int) {
	for _, e := range m.entries {
		if e.state == outbox.Sending && e.over {
			e.unknown()
			e.guarded, e.over = e.state == outbox.Unclear, false
			n++
		}
	}
	return n
}

func (m *model) sweep(string) string {
	swept := m.db.sweep(m)
	require.Equal(m, m.sweepModel(), swept.Unclear+swept.Pending)
	return fmt.Sprintf("sweep %v", swept)
}

func (m *model) resend(key string) string {
	e, ok := m.entries[key]
	want := 0
	if ok && (e.state == outbox.Rejected || e.state == outbox.Unclear && !e.guarded) {
		want = 1
		if e.state == outbox.Rejected { // no process can report an outcome now
			e.token = ledger.Token{}
		} else {
			e.doubts++
		}
		e.state, e.delivery, e.resent, e.future = outbox.Pending, messaging.DeliveryNotSent, true, false
	}
	got := changed(resend(m, m.box, key))
	require.Equal(m, want, got, "%v", m.log)
	return fmt.Sprintf("resend %s: %d", key, got)
}

func (m *model) dismiss(key string) string {
	e, ok := m.entries[key]
	want := 0
	if ok && (e.state == outbox.Pending || e.state == outbox.Rejected || e.state == outbox.Unclear) {
		want = 1
		if e.state == outbox.Unclear {
			e.doubts++
		}
		e.state, e.erased, e.guarded = outbox.Dismissed, true, false
	}
	got := changed(dismiss(m, m.box, key))
	require.Equal(m, want, got, "%v", m.log)
	return fmt.Sprintf("dismiss %s: %d", key, got)
}

func (m *model) quarantine(string) string {
	want := 0
	for _, e := range m.entries {
		if e.state == outbox.Pending || e.state == outbox.Sending || e.state == outbox.Rejected {
			want++
			e.guarded = e.state == outbox.Sending
			e.state, e.token, e.over = outbox.Unclear, ledger.Token{}, false
		}
	}
	got := quarantine(m, m.box)
	require.Equal(m, want, got)
	return fmt.Sprintf("quarantine %d", got)
}

// compare compares everything in the database with the model.
func (m *model) compare() {
	var counts outbox.Counts
	of := map[outbox.State]*int{outbox.Pending: &counts.Pending, outbox.Sending: &counts.Sending, outbox.Accepted: &counts.Accepted,
		outbox.Rejected: &counts.Rejected, outbox.Unclear: &counts.Unclear, outbox.Dismissed: &counts.Dismissed}
	for _, e := range m.entries {
		*of[e.state]++
	}
	got := countsOf(m, m.box)
	got.OldestPending = 0
	require.Equal(m, counts, got, "%v", m.log)
	var order []string
	for _, entry := range listAll(m, m.box) {
		order = append(order, entry.Key)
		e := m.entries[entry.Key]
		require.Equal(m, e.state, entry.State, "%s after %v", entry.Key, m.log)
		require.Equal(m, e.attempts, entry.Attempts, "%s after %v", entry.Key, m.log)
		if e.state == outbox.Accepted {
			require.Positive(m, e.carried, "%s is accepted and was not carried out, after %v", entry.Key, m.log)
		}
		require.Equal(m, e.sent, m.service.carriedOut(e.body), "%s after %v", entry.Key, m.log)
		require.Equal(m, e.repeatable, entry.Repeatable)
		require.Equal(m, e.known(), entry.Delivery, "%s after %v", entry.Key, m.log)
		if entry.Delivery == messaging.DeliveryNotSent || entry.Delivery == messaging.DeliveryRejected {
			require.Zero(m, e.carried, "%s was carried out, and says that it was not, after %v", entry.Key, m.log)
		}
		if !e.resent && !e.repeatable {
			require.LessOrEqual(m, e.carried, 1, "%s was carried out twice, after %v", entry.Key, m.log)
		}
		p, err := m.box.Prepared(m.Context(), entry.Key)
		require.Equal(m, e.erased, err != nil, "%s after %v", entry.Key, m.log)
		if err == nil {
			require.Equal(m, request(m, e.body).Body(), p.Body())
		}
	}
	require.Equal(m, m.order, order)
}
