package intent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func TestASandboxIsTheSameServiceWithItsStartAndWithout(t *testing.T) {
	const withStart, without = "127.0.0.1:8077#shop", "127.0.0.1:8077"
	for _, hosts := range [][2]string{{withStart, without}, {without, withStart}} {
		first, second := hosts[0], hosts[1]
		at := func(host string, s Send) Send { s.Host = host; return s }
		of := func(host string, i Import) Import { i.Host = host; return i }

		log := emptyLog(t)
		require.NoError(t, begin(t, log, at(first, broadcast)).Done(messaging.DeliveryAccepted, exit.Done))
		requireRefused(t, log, at(second, broadcast), "exactly this was sent to 127.0.0.1:8077 at")

		log = emptyLog(t)
		sale := Send{Operation: "send", Broadcast: true, Body: []byte(`{"subject":"Sale","message":"a"}`)}
		require.NoError(t, begin(t, log, at(first, sale)).Done(messaging.DeliveryAccepted, exit.Done))
		sale.Body = []byte(`{"subject":"Sale","message":"b"}`)
		_, err := log.Begin(t.Context(), at(second, sale), false, nil)
		require.ErrorContains(t, err, "the same subject")

		log = emptyLog(t)
		require.NoError(t, begin(t, log, at(first, triggerOf(2))).Done(messaging.DeliveryAccepted, exit.Done))
		assert.Equal(t, []int{1}, counts(t, log, of(second, importOf("a", 2))))

		log = emptyLog(t)
		require.NoError(t, beginImport(t, log, of(first, importOf("a", 2))).Done())
		assert.Equal(t, []int{1}, counts(t, log, of(second, importOf("b", 2))))
		requireLikeRefused(t, log, at(second, triggerOf(2)), "was imported into a.db (")
	}
}

func TestAResendMeetsWhatWasSentToTheSandboxUnderItsOtherName(t *testing.T) {
	log := emptyLog(t)
	shape := alike.Shape{{Name: "order", Type: messaging.ParameterText}}
	again := Resend{EventID: "ev_1", Customer: messaging.CustomerParams{Email: "ada@example.com"},
		Values: map[string]any{"order": "A-1"}, Added: log.now().Add(-time.Hour)}
	byHand := triggerOf(shape.Tokens("", again.Customer, again.Values)[0])
	byHand.Host, byHand.Trigger.Shape = "127.0.0.1:8077", shape
	i := importOf("a", byHand.Trigger.Tokens[0])
	i.Host, i.Shape = byHand.Host, shape
	require.NoError(t, beginImport(t, log, i).Done())
	seen, err := log.Look(byHand)
	require.NoError(t, err)
	_, err = log.Begin(t.Context(), byHand, true, seen.Seen())
	require.NoError(t, err)

	found, err := log.LookForResend("127.0.0.1:8077#shop", again.Added, func(yield func(Resend, error) bool) { yield(again, nil) })
	require.NoError(t, err)
	assert.Len(t, found, 2, "the import and the trigger")
}
