package fake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
)

func TestHistoryIsKeptUnlessThereIsNone(t *testing.T) {
	for none, kept := range map[bool]int{false: 15, true: 0} {
		t.Run(fmt.Sprint("none: ", none), func(t *testing.T) {
			s := serve(t, fake.Config{NoHistory: none})
			s.AddEvents(fake.Event{ID: "e", Name: "n"})
			for i := range 5 {
				email := fmt.Sprintf("c%d@example.com", i)
				s.post(t, emailPath, emailBody)
				s.post(t, pushPath, strings.Replace(pushBody, `"s"`, `"`+email+`"`, 1))
				s.post(t, triggerPath, `{"event_id":"e","payload":{"email":"`+email+`"}}`)
			}
			require.Len(t, s.Effects(), kept)
			require.Len(t, s.Requests(), kept)
			if kept > 0 {
				assert.Equal(t, "c4@example.com", s.Effects()[kept-1].(*fake.Trigger).Params.Email)
				assert.Equal(t, triggerPath, s.Requests()[kept-1].Path)
			}
			assert.Len(t, s.Customers(), 7, "customers are not history")
			assert.Len(t, s.all(), 15, "every exchange is observed")
		})
	}
}

func TestResetRemovesEverythingAndRestartsNoID(t *testing.T) {
	s := serve(t, fake.Config{Identifier: fake.Email})
	fill := func() (event fake.Event) {
		s.AddTransactional(fake.Extra{"channel": json.RawMessage(`"sms"`)})
		s.post(t, emailPath, emailBody)
		s.post(t, eventsPath, eventBody)
		event = s.Events()[0]
		s.post(t, triggerPath, `{"event_id":"`+event.ID+`","payload":{"email":"eve@example.com","shipped_at":"2030-01-01T00:00:00Z"}}`)
		return event
	}
	before := fill()
	message, customers := s.Transactional()[0], s.Customers()
	rule := s.AddRule(always(500))

	s.Reset()

	assert.Empty(t, s.Requests())
	assert.Empty(t, s.Effects())
	assert.Empty(t, s.Customers())
	assert.Empty(t, s.Events())
	assert.Empty(t, s.Transactional())
	assert.Empty(t, s.Rules())
	status, _ := s.post(t, triggerPath, `{"event_id":"`+before.ID+`","payload":{"email":"eve@example.com"}}`)
	assert.Equal(t, http.StatusUnprocessableEntity, status, "no fault is left, and no event")

	after := fill()
	assert.NotEqual(t, before.ID, after.ID)
	assert.NotEqual(t, message["id"], s.Transactional()[0]["id"])
	require.Len(t, s.Customers(), len(customers))
	assert.Equal(t, customers[len(customers)-1].Number+1, s.Customers()[0].Number)
	assert.Greater(t, s.AddRule(always(500)), rule)
	assert.Equal(t, len(s.all()), s.last(t).Number)
}

func TestServerThatIsFullRefusesNewCustomersAndChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		identifier fake.Identifier
		fits, full string
	}{
		"by email address": {"", `{"email":"b@x.test"},{"email":"a@x.test"}`, `{"email":"b@x.test"},{"email":"c@x.test"}`},
		"by id":            {"", `{"customer_id":"2"},{"customer_id":"1"}`, `{"customer_id":"3"}, {"customer_id":"2"}`},
		"by id alone": {fake.CustomerID, `{"customer_id":"2","email":"b@x.test"}`,
			`{"customer_id":"3","email":"b@x.test"},{"customer_id":"4"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, fake.Config{MaxRecords: 2, Identifier: test.identifier})
			s.AddCustomers(fake.Customer{CustomerParams: messaging.CustomerParams{CustomerID: "1", Email: "a@x.test"}})
			status, body := s.post(t, pushPath, pushTo(test.full))
			assert.Equal(t, http.StatusInsufficientStorage, status)
			assert.Contains(t, body, "stores at most 2 customers; this limit is not one of the real service")
			assert.Len(t, s.Customers(), 1)
			assert.Empty(t, s.Effects())
			for _, known := range []bool{false, true} {
				status, body = s.post(t, pushPath, pushTo(test.fits))
				assert.Equal(t, http.StatusOK, status, body, known)
				assert.Len(t, s.Customers(), 2)
			}
		})
	}
}

func TestServerThatIsFullRefusesTriggersEmailsAndEvents(t *testing.T) {
	s := serve(t, fake.Config{MaxRecords: 1})
	s.AddEvents(fake.Event{ID: "e", Name: "e"})
	s.AddCustomers(fake.Customer{CustomerParams: messaging.CustomerParams{CustomerID: "1", Email: "a@x.test"}})
	for path, body := range map[string]string{
		triggerPath: `{"event_id":"e","payload":{"email":"b@x.test"}}`,
		emailPath:   emailBody,
		eventsPath:  eventBody,
	} {
		status, response := s.post(t, path, body)
		assert.Equal(t, http.StatusInsufficientStorage, status, path)
		assert.Contains(t, response, "stores at most 1 ")
	}
	assert.Empty(t, s.Effects())
	assert.Len(t, s.Events(), 1)
	status, _ := s.post(t, triggerPath, `{"event_id":"e","payload":{"email":"a@x.test"}}`)
	assert.Equal(t, http.StatusOK, status, "a known customer needs no room")
}

func TestServerReadsNoBodyOfMoreThan16MiB(t *testing.T) {
	s := fake.New(fake.Config{})
	for size, want := range map[int]int{fake.MaxBody: http.StatusBadRequest, fake.MaxBody + 1: http.StatusRequestEntityTooLarge} {
		r := httptest.NewRequest(http.MethodPost, eventsPath, strings.NewReader(strings.Repeat(" ", size)))
		r.Header.Set("X-Authorization", s.APIKey())
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		assert.Equal(t, want, w.Code, size)
	}
}
