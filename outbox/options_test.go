package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

func TestNewNamesWhatIsInvalid(t *testing.T) {
	store, err := sqlite.New(t.Context(), openDB(t, "sqlite", t.TempDir()+"/program.db"))
	require.NoError(t, err)
	client := newService().client(t)
	for want, opt := range map[string]outbox.Option{
		"outbox: InFlight must be 1 to 10000":         outbox.InFlight(0),
		"outbox: SendTimeout must be at least 1 s":    outbox.SendTimeout(time.Second - 1),
		"outbox: Rate must not be nil":                outbox.Rate(nil),
		"outbox: Seal must not be nil":                outbox.Seal(nil),
		"outbox: WithLogger must not be nil":          outbox.WithLogger(nil),
		"outbox: OnSettled must not be nil":           outbox.OnSettled(nil),
		"outbox: opts must not hold a nil option":     nil,
		"outbox: InFlight must be 1 to 10000 (again)": outbox.InFlight(10_001),
	} {
		_, err := outbox.New(store, client, opt)
		require.Error(t, err)
		assert.Contains(t, want, err.Error())
	}
	_, err = outbox.New(store, nil)
	require.EqualError(t, err, "outbox: client must not be nil")
	_, err = outbox.New[any](nil, client)
	require.EqualError(t, err, "outbox: store must not be nil")
}
