package messagingtest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestInMemoryFaultsAreThoseOfAServerOnAPort(t *testing.T) {
	once := messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1})
	for name, test := range map[string]struct {
		fault     messagingtest.Fault
		delivery  messaging.Delivery
		isErr     error
		arrived   int
		effects   int
		fakedTime time.Duration
	}{
		"no fault":             {messagingtest.Fault{}, messaging.DeliveryAccepted, nil, 1, 1, 0},
		"a lost answer":        {messagingtest.AnswerLost(), messaging.DeliveryUnknown, nil, 1, 1, 0},
		"not reached":          {messagingtest.NotReached(), messaging.DeliveryNotSent, syscall.ECONNREFUSED, 0, 0, 0},
		"an error":             {messagingtest.Status(503), messaging.DeliveryUnknown, messaging.ErrServer, 1, 0, 0},
		"too many requests":    {messagingtest.RateLimited(time.Hour), messaging.DeliveryRejected, messaging.ErrRateLimited, 1, 0, 0},
		"a malformed answer":   {messagingtest.Malformed("<html>"), messaging.DeliveryUnknown, nil, 1, 1, 0},
		"a slow answer":        {messagingtest.Slow(20 * time.Second), messaging.DeliveryAccepted, nil, 1, 1, 20 * time.Second},
		"an attempt's timeout": {messagingtest.Slow(time.Hour), messaging.DeliveryUnknown, messaging.ErrAttemptTimeout, 1, 1, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := messagingtest.NewServer(t, messagingtest.InMemory())
				client := s.Client(once)
				require.NoError(t, pushToAll(t, client), "this leaves an idle connection")
				s.Fail("", 1, test.fault)
				start := time.Now()

				err := pushToAll(t, client)

				assert.Equal(t, test.fakedTime, time.Since(start))
				assert.Equal(t, test.delivery, messaging.DeliveryOf(err))
				if test.isErr != nil {
					require.ErrorIs(t, err, test.isErr)
				}
				synctest.Wait() // for a request that the client gave up
				assert.Len(t, s.Requests(), 1+test.arrived)
				assert.Len(t, s.PushBroadcasts(), 1+test.effects)
				require.NoError(t, pushToAll(t, client), "the fault is gone")
			})
		})
	}
}

func TestInMemoryCloseEndsADelayAndWaitsForTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := messagingtest.NewServer(t, messagingtest.InMemory())
		s.Fail("", 1, messagingtest.Slow(time.Hour))
		sent := make(chan error, 1)
		go func() { sent <- pushToAll(t, s.Client(messaging.WithAttemptTimeout(2*time.Hour))) }()
		synctest.Wait()
		require.Len(t, s.Requests(), 1)
		require.Empty(t, s.PushBroadcasts())

		start := time.Now()

		s.Close()

		require.NoError(t, <-sent)
		assert.Zero(t, time.Since(start))
		assert.Len(t, s.PushBroadcasts(), 1)
		err := pushToAll(t, s.Client())
		assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err), "the server no longer listens")
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

func TestInMemoryListsAreReadToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := messagingtest.NewServer(t, messagingtest.InMemory())
		s.AddCustomers(make([]messaging.Customer, 50)...)
		read := 0
		for _, err := range s.Client().Customers.All(t.Context(), messaging.CustomerListParams{}) {
			require.NoError(t, err)
			read++
		}
		assert.Equal(t, 50, read)

		for _, err := range s.Client().Customers.All(t.Context(), messaging.CustomerListParams{}) {
			require.NoError(t, err)
			break // while the next page is fetched
		}
	})
}

func TestInMemoryBodiesOfAnySizeArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := messagingtest.NewServer(t, messagingtest.InMemory())
		large := toEveryone
		large.Message = strings.Repeat("m", 1<<20)
		_, err := s.Client().Broadcasts.SendPush(t.Context(), large)
		require.NoError(t, err)
		assert.Equal(t, large, s.PushBroadcasts()[0].Params)

		large.Message = strings.Repeat("m", 17<<20)
		_, err = s.Client().Broadcasts.SendPush(t.Context(), large)
		var refused *messaging.APIError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, http.StatusRequestEntityTooLarge, refused.StatusCode)
	})
}

func TestInMemoryServerWorksOutsideOfABubble(t *testing.T) {
	s := messagingtest.NewServer(t, messagingtest.InMemory())
	require.NoError(t, pushToAll(t, s.Client()))
	assert.Len(t, s.PushBroadcasts(), 1)
}

func TestInMemoryServerHasNoURL(t *testing.T) {
	s := messagingtest.NewServer(t, messagingtest.InMemory())
	assert.PanicsWithValue(t, "messagingtest: URL: a server with InMemory has none", func() { s.URL() })
}

// handled is a transport that calls a handler.
type handled struct{ handler http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	h.handler.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

func TestInMemoryPipeIsReplacedByAnotherHTTPClient(t *testing.T) {
	s := messagingtest.NewServer(t, messagingtest.InMemory())
	elsewhere := messagingtest.NewServer(t)
	require.NoError(t, pushToAll(t, s.Client(messaging.WithHTTPClient(&http.Client{Transport: handled{elsewhere.Handler()}}))))
	assert.Empty(t, s.Requests())
	assert.Len(t, elsewhere.PushBroadcasts(), 1)
}
