//go:build !race

package messaging_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// What hooks and guards need is only allocated if there are any. The numbers are those
// of the last version that had neither. With the race detector, pools lose their buffers
// at random.
func TestHooksAndGuardsThatAreUnsetAllocateNothing(t *testing.T) {
	over := scripted.RoundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	})
	allocations := func(call scripted.Call, opts ...messaging.Option) float64 {
		client := scripted.NewClientOver(t, "https://api.example.com", &http.Client{Transport: over}, opts...)
		return testing.AllocsPerRun(100, func() { _ = call(context.Background(), client) })
	}
	tests := map[string]struct {
		call scripted.Call
		most float64
	}{"list": {scripted.ReadCustomers, 41}, "trigger": {scripted.TriggerEvent, 40}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			unset := allocations(test.call)
			assert.LessOrEqual(t, unset, test.most)
			hooked := allocations(test.call, messaging.WithHooks(messaging.Hooks{
				CallDone: func(context.Context, messaging.CallInfo, messaging.CallResult) {}}))
			assert.Greater(t, hooked, unset, "or this test measures nothing")
		})
	}
}
