package outbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

func TestNewNamesEveryBadOptionAtOnce(t *testing.T) {
	store, err := sqlite.New(t.Context(), openDB(t, "sqlite", t.TempDir()+"/program.db"))
	require.NoError(t, err)
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
