package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

func TestNoticesArePlainWords(t *testing.T) {
	var text bytes.Buffer
	others := true
	log := notices(output.New(output.Flags{}, &text, &text, func(string) (string, bool) { return "", false }), func() bool { return others })
	until := time.Now().Add(time.Hour)
	waiting := words.Clock(until)
	claimed := func() {
		log.Info("outbox: other processes have claimed entries; those whose process is gone become unclear when their leases end",
			"entries", 332, "until", until)
	}
	claimed()
	log.Warn("outbox: entries are unclear because their process did not report an outcome in time", "entries", 1)
	log.Warn("outbox: entries are unclear because their process did not report an outcome in time", "entries", 8)
	log.Warn("outbox: the gate is closed; only probes are sent", "operation", "trigger event", "reason", "status 502")
	log.Info("outbox: the gate is open again", "operation", "trigger event")
	log.Error("outbox: cannot claim entries; retrying", "error", "disk full")
	others = false
	claimed()
	others, until = true, time.Now().Add(-time.Second)
	claimed()
	assert.Equal(t, "waiting until "+waiting+" for 332 entries of another process; "+
		"anything it hasn't recorded by then becomes unclear\n"+
		"1 entry is now unclear: the process sending it did not record the outcome in time\n"+
		"8 entries are now unclear: the process sending them did not record the outcome in time\n"+
		"the service is failing (trigger event: status 502): sending one request at a time until it recovers\n"+
		"the service has recovered; sending continues\n"+
		"cannot claim entries; retrying (error: disk full)\n", text.String())
}
