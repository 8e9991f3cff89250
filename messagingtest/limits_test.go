package messagingtest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func push(customers string) string {
	return `{"subject":"s","message":"m","schedule_type":"send-now","recipients":{"type":"customer","customers":[` + customers + `]}}`
}

func TestServerThatIsFullRefusesNewCustomersAndChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		options []messagingtest.Option
		fits    string
		full    string
	}{
		"by email address": {nil, `{"email":"b@x.test"},{"email":"B@X.test"},{"email":"a@x.test"}`, `{"email":"b@x.test"},{"email":"c@x.test"}`},
		"by id":            {nil, `{"customer_id":"2"},{"customer_id":"2"},{"customer_id":"1"}`, `{"customer_id":"3"}, {"customer_id":"2"}`},
		"by id alone": {[]messagingtest.Option{messagingtest.WithIdentifier(messagingtest.CustomerID)},
			`{"customer_id":"2","email":"b@x.test"},{"customer_id":"2","email":"c@x.test"}`,
			`{"customer_id":"3","email":"b@x.test"},{"customer_id":"4"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := messagingtest.NewServer(t, append(test.options, messagingtest.WithMaxRecords(2))...)
			s.AddCustomers(messaging.Customer{CustomerID: "1", Email: "a@x.test"})
			refused := post(t, s, pushPath, push(test.full))
			assert.Equal(t, http.StatusInsufficientStorage, refused.StatusCode)
			assert.Contains(t, refused.Body, "stores at most 2 customers; this limit is not one of the real service")
			assert.Len(t, s.Customers(), 1)
			assert.Empty(t, s.PushBroadcasts())
			assert.Equal(t, http.StatusOK, post(t, s, pushPath, push(test.fits)).StatusCode)
			assert.Len(t, s.Customers(), 2)
			assert.Equal(t, http.StatusOK, post(t, s, pushPath, push(test.fits)).StatusCode, "known customers need no room")
		})
	}
}

func TestServerThatIsFullRefusesTriggersEmailsAndEvents(t *testing.T) {
	s := messagingtest.NewServer(t, messagingtest.WithMaxRecords(1))
	s.AddEvents(messaging.Event{ID: "e", Name: "e"})
	s.AddCustomers(messaging.Customer{CustomerID: "1", Email: "a@x.test"})
	assert.Equal(t, http.StatusInsufficientStorage, post(t, s, triggerPath, `{"event_id":"e","payload":{"email":"b@x.test"}}`).StatusCode)
	assert.Equal(t, http.StatusOK, post(t, s, triggerPath, `{"event_id":"e","payload":{"email":"a@x.test"}}`).StatusCode)
	assert.Len(t, s.Triggers(), 1)
	email := changed(t, validEmail, `{"recipients":{"type":"customer","customers":[{"email":"b@x.test"}]}}`)
	assert.Equal(t, http.StatusInsufficientStorage, post(t, s, emailPath, email).StatusCode)
	assert.Empty(t, s.EmailBroadcasts())
	refused := post(t, s, "/v1/events", `{"name":"n","description":"d","parameters":[]}`)
	assert.Equal(t, http.StatusInsufficientStorage, refused.StatusCode)
	assert.Contains(t, refused.Body, "at most 1 event definitions")
	assert.Len(t, s.Events(), 1)
}

func TestFaultsAreNotTakenByARequestWithoutFault(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.FailNext(1, messagingtest.Status(http.StatusBadGateway))
	serve := func(change func(*http.Request) *http.Request) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", strings.NewReader(""))
		r.Header.Set("X-Authorization", s.APIKey())
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, change(r))
		return w.Code
	}
	require.Equal(t, http.StatusOK, serve(func(r *http.Request) *http.Request {
		return r.WithContext(messagingtest.WithoutFault(r.Context()))
	}))
	require.Equal(t, http.StatusBadGateway, serve(func(r *http.Request) *http.Request { return r }), "the fault is still there")
}
