package exit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/messagingtest"
)

var create = messaging.EventCreateParams{Name: "n", Description: "d", Parameters: []messaging.EventParameter{}}

func TestCodesFollowTheOutcomeOfACall(t *testing.T) {
	for _, each := range []struct {
		fault      messagingtest.Fault
		send, read exit.Code
	}{
		{messagingtest.AnswerLost(), exit.Unknown, exit.NotDone},
		{messagingtest.Status(http.StatusInternalServerError, "{}"), exit.Unknown, exit.NotDone},
		{messagingtest.Status(http.StatusServiceUnavailable, "{}"), exit.Unknown, exit.NotDone},
		{messagingtest.Status(http.StatusNotImplemented, "{}"), exit.NotDone, exit.NotDone},
		{messagingtest.Status(http.StatusFound, ""), exit.Unknown, exit.Unexpected},
		{messagingtest.Status(http.StatusBadRequest, "<html>"), exit.Invalid, exit.Invalid},
		{messagingtest.Status(http.StatusConflict, "{}"), exit.Invalid, exit.Invalid},
		{messagingtest.Status(http.StatusUnauthorized, `{"success":false}`), exit.Denied, exit.Denied},
		{messagingtest.Status(http.StatusForbidden, `{"success":false}`), exit.Denied, exit.Denied},
		{messagingtest.Status(http.StatusNotFound, `{"success":false}`), exit.NotDone, exit.NotDone}, // of a proxy, or a wrong base URL
		{messagingtest.Status(http.StatusNotFound, "<html>"), exit.NotDone, exit.NotDone},
		{messagingtest.Status(http.StatusUnprocessableEntity, `{"success":false}`), exit.Invalid, exit.Invalid},
		{messagingtest.RateLimited(time.Hour), exit.RateLimited, exit.RateLimited},
		{messagingtest.Status(http.StatusOK, `{"success":false}`), exit.Invalid, exit.Invalid},
		{messagingtest.Malformed("<html>"), exit.Unknown, exit.Unexpected},
		{messagingtest.Malformed(`{"success":true,"data":7}`), exit.Done, exit.Unexpected},
	} {
		server := messagingtest.NewServer(t)
		client := server.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
		server.Fail("", 1, each.fault)
		_, err := client.Events.Create(t.Context(), create)
		assert.Equal(t, each.send, exit.CodeOf(err), "%v", err)
		assert.Equal(t, each.send == exit.Unknown, exit.ObjectOf(err).Delivery == "unknown", "%v", err)
		server.Fail("", 1, each.fault)
		_, err = messaging.Collect(client.Events.All(t.Context(), messaging.EventListParams{}))
		assert.Equal(t, each.read, exit.CodeOf(err), "%v", err)
		assert.NotEqual(t, "unknown", exit.ObjectOf(err).Delivery, "a read changes nothing: %v", err)
		server.Fail("", 1, each.fault)
		_, err = client.Customers.Get(t.Context(), "c-1")
		assert.Equal(t, each.read, exit.CodeOf(err), "not found is a record, and not a status: %v", err)
		_, err = client.Customers.Get(t.Context(), "c-1")
		assert.Equal(t, exit.NotFound, exit.CodeOf(err), "%v", err)
	}
}

func TestCodesOfWhatNeverLeft(t *testing.T) {
	client, err := messaging.NewClient("http://127.0.0.1:1", "a-key-of-the-tests",
		messaging.WithAllowOnly(), messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)
	_, err = client.Events.Trigger(t.Context(), messaging.EventTriggerParams{})
	assert.Equal(t, exit.Invalid, exit.CodeOf(err))
	_, err = client.Events.Trigger(t.Context(), messaging.EventTriggerParams{EventID: "e", Email: "ada@example.com"})
	assert.Equal(t, exit.Usage, exit.CodeOf(err), "a guard refused it")
	_, err = client.Events.Create(t.Context(), create)
	assert.Equal(t, exit.NotDone, exit.CodeOf(err))
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.Events.Create(interrupted, create)
	assert.Equal(t, exit.Interrupted, exit.CodeOf(err))
	_, err = client.Events.List(interrupted, messaging.EventListParams{})
	assert.Equal(t, exit.Interrupted, exit.CodeOf(err))
	assert.Equal(t, exit.Unexpected, exit.CodeOf(errors.New("a full disk")))
	assert.Equal(t, exit.Done, exit.CodeOf(nil))
}

func TestCodesOfSeveralErrorsAreTheMostUrgent(t *testing.T) {
	order := []exit.Code{9, 7, 4, 3, 5, 6, 8, 12, 2, 10, 11, 130, 1}
	assert.Equal(t, order, exit.Order)
	for i := range order[1:] {
		joined := errors.Join(exit.With(order[i+1], "b"), fmt.Errorf("wrapped: %w", exit.With(order[i], "a")))
		assert.Equal(t, order[i], exit.CodeOf(joined))
	}
}
