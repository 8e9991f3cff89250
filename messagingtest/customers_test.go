package messagingtest_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// broadcastTo sends a broadcast to customers, which are JSON objects separated by commas.
func broadcastTo(t *testing.T, s *messagingtest.Server, customers string) reply {
	t.Helper()
	return post(t, s, pushPath, `{"subject":"Hello","message":"Hello.","schedule_type":"send-now",
		"recipients":{"type":"customer","customers":[`+customers+`]}}`)
}

// storedParams returns the parameters of all customers of the server.
func storedParams(s *messagingtest.Server) []messaging.CustomerParams {
	var params []messaging.CustomerParams
	for _, c := range s.Customers() {
		params = append(params, c.CustomerParams)
	}
	return params
}

func TestCustomersAreCreatedOrUpdatedByTheirIdentifiers(t *testing.T) {
	tests := []struct {
		name      string
		options   []messagingtest.Option
		customers string
		want      []messaging.CustomerParams
	}{
		{"each new identifier creates a customer, in order", nil,
			`{"email":"ada@example.com"},{"customer_id":"c-2"},{"customer_id":"c-3","email":"grace@example.com"}`,
			[]messaging.CustomerParams{{Email: "ada@example.com"}, {CustomerID: "c-2"}, {CustomerID: "c-3", Email: "grace@example.com"}}},
		{"a known customer id updates its customer", nil,
			`{"customer_id":"c-1","first_name":"Ada"},{"customer_id":"c-1","last_name":"Lovelace"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", FirstName: "Ada", LastName: "Lovelace"}}},
		{"a known email address in upper case updates its customer", nil,
			`{"email":"ada@example.com","first_name":"Ada"},{"email":"ADA@example.com","phone_no":"+44123"}`,
			[]messaging.CustomerParams{{Email: "ADA@example.com", FirstName: "Ada", PhoneNo: "+44123"}}},
		{"a known email address in lower case updates its customer", nil,
			`{"email":"ADA@example.com","first_name":"Ada"},{"email":"ada@example.com"}`,
			[]messaging.CustomerParams{{Email: "ada@example.com", FirstName: "Ada"}}},
		{"a missing or empty field keeps its value", nil,
			`{"customer_id":"c-1","first_name":"Ada","last_name":"Byron"},{"customer_id":"c-1","first_name":"","last_name":"Lovelace"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", FirstName: "Ada", LastName: "Lovelace"}}},
		{"an identifier from an update is found", nil,
			`{"customer_id":"c-1"},{"customer_id":"c-1","email":"ada@example.com"},{"email":"ada@example.com","first_name":"Ada"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com", FirstName: "Ada"}}},
		{"a former email address can be used by a new customer", nil,
			`{"customer_id":"c-1"},{"customer_id":"c-2","email":"Old@example.com"},{"customer_id":"c-2","email":"new@example.com"},
				{"email":"old@example.com"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1"}, {CustomerID: "c-2", Email: "new@example.com"}, {Email: "old@example.com"}}},
		{"a former customer id can be used by a new customer", nil,
			`{"customer_id":"old","email":"ada@example.com"},{"customer_id":"new","email":"ada@example.com"},{"customer_id":"old"}`,
			[]messaging.CustomerParams{{CustomerID: "new", Email: "ada@example.com"}, {CustomerID: "old"}}},
		{"an email address is not taken from another customer", nil,
			`{"customer_id":"c-1"},{"email":"ada@example.com"},{"customer_id":"c-1","email":"Ada@example.com","first_name":"Grace"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", FirstName: "Grace"}, {Email: "ada@example.com"}}},
		{"with CustomerID, email addresses do not identify a customer",
			[]messagingtest.Option{messagingtest.IdentifyByCustomerID()},
			`{"customer_id":"c-1","email":"ada@example.com"},{"customer_id":"c-2","email":"ada@example.com"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}, {CustomerID: "c-2", Email: "ada@example.com"}}},
		{"with Email, customer ids do not identify a customer", []messagingtest.Option{messagingtest.IdentifyByEmail()},
			`{"customer_id":"c-1","email":"ada@example.com"},{"customer_id":"c-1","email":"grace@example.com"},
				{"customer_id":"c-9","email":"ada@example.com"}`,
			[]messaging.CustomerParams{{CustomerID: "c-9", Email: "ada@example.com"}, {CustomerID: "c-1", Email: "grace@example.com"}}},
		{"devices are added, or replaced if the token is the same", nil,
			`{"customer_id":"c-1","devices":[{"device_type":"ios","device_token":"a"},{"device_type":"ios","device_token":"b"}]},
				{"customer_id":"c-1","devices":[{"device_type":"android","device_token":"a"},{"device_type":"web","device_token":"c"}]}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Devices: []messaging.Device{
				{Type: "android", Token: "a"}, {Type: "ios", Token: "b"}, {Type: "web", Token: "c"}}}}},
	}
	for _, test := range tests {
		t.Run(test.name+", in one broadcast", func(t *testing.T) {
			s := messagingtest.NewServer(t, test.options...)
			require.Equal(t, http.StatusOK, broadcastTo(t, s, test.customers).StatusCode)
			assert.Equal(t, test.want, storedParams(s))
		})
		t.Run(test.name+", in several broadcasts", func(t *testing.T) {
			s := messagingtest.NewServer(t, test.options...)
			var customers []json.RawMessage
			require.NoError(t, json.Unmarshal([]byte("["+test.customers+"]"), &customers))
			for _, customer := range customers {
				require.Equal(t, http.StatusOK, broadcastTo(t, s, string(customer)).StatusCode)
			}
			assert.Equal(t, test.want, storedParams(s))
		})
	}
}

func TestCustomersRequireTheIdentifier(t *testing.T) {
	byID := broadcastTo(t, messagingtest.NewServer(t, messagingtest.IdentifyByCustomerID()), `{"email":"ada@example.com"}`)
	assert.Equal(t, "recipients.0.customers.0.customer_id: is required as the customer identifier", byID.problems(t))
	byEmail := broadcastTo(t, messagingtest.NewServer(t, messagingtest.IdentifyByEmail()), `{"customer_id":"c-1"}`)
	assert.Equal(t, "recipients.0.customers.0.email: is required as the customer identifier", byEmail.problems(t))
}

func TestCustomersWithDuplicateIdentifiersAreFoundInOrder(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.AddCustomers(messaging.Customer{CustomerID: "c-1", Email: "ada@example.com"},
		messaging.Customer{CustomerID: "c-1", Email: "ADA@example.com"})
	broadcastTo(t, s, `{"customer_id":"c-1","first_name":"by id"}`)
	broadcastTo(t, s, `{"email":"ada@example.com","last_name":"by address"}`)
	assert.Equal(t, []messaging.CustomerParams{
		{CustomerID: "c-1", Email: "ada@example.com", FirstName: "by id", LastName: "by address"},
		{CustomerID: "c-1", Email: "ADA@example.com"},
	}, storedParams(s))
	_, err := s.Client().Customers.Get(t.Context(), "c-1")
	assert.Error(t, err, "the client returns an error for two customers with one id")
}

func TestCustomersThatShareAnAddressAreFoundOneAfterTheOther(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.AddEvents(messaging.Event{ID: "e"})
	s.AddCustomers(messaging.Customer{CustomerID: "c-1", Email: "shared@example.com"},
		messaging.Customer{CustomerID: "c-2", Email: "Shared@example.com"})
	broadcastTo(t, s, `{"customer_id":"c-1","email":"own@example.com"}`)
	post(t, s, triggerPath, `{"event_id":"e","payload":{"customer":{"email":"shared@example.com","first_name":"Grace"}}}`)
	assert.Equal(t, []messaging.CustomerParams{
		{CustomerID: "c-1", Email: "own@example.com"},
		{CustomerID: "c-2", Email: "shared@example.com", FirstName: "Grace"},
	}, storedParams(s))
}

func TestCustomersThatWereAddedGetDefaults(t *testing.T) {
	byID := []messagingtest.Option{messagingtest.IdentifyByCustomerID()}
	for name, test := range map[string]struct {
		options []messagingtest.Option
		added   messaging.Customer
		hasID   bool
	}{
		"no identifier":                           {nil, messaging.Customer{FirstName: "Ada"}, true},
		"an email address":                        {nil, messaging.Customer{Email: "ada@example.com"}, false},
		"an email address that is not sufficient": {byID, messaging.Customer{Email: "ada@example.com"}, true},
	} {
		s := messagingtest.NewServer(t, test.options...)
		before := time.Now().Truncate(time.Second)
		s.AddCustomers(test.added, test.added)
		require.Len(t, s.Customers(), 2)
		one, other := s.Customers()[0], s.Customers()[1]
		if test.hasID {
			assert.Len(t, one.CustomerID, 36, name)
			assert.NotEqual(t, one.CustomerID, other.CustomerID, name)
		} else {
			assert.Empty(t, one.CustomerID, name)
		}
		for _, at := range []time.Time{one.CreatedAt, one.UpdatedAt, one.LastInteraction} {
			assert.WithinRange(t, at, before, time.Now(), name)
		}
	}
}

func TestCustomersAreListedInTheFormOfTheService(t *testing.T) {
	s := messagingtest.NewServer(t)
	paris := time.FixedZone("CEST", 2*60*60)
	s.AddCustomers(messaging.Customer{
		CustomerID: "c-1", FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.com", PhoneNo: "+44123",
		CreatedAt:       time.Date(2030, 5, 1, 11, 30, 0, 999_999_999, paris),
		UpdatedAt:       time.Date(2030, 5, 2, 11, 30, 0, 0, paris),
		LastInteraction: time.Date(2030, 5, 3, 11, 30, 0, 0, paris),
		Providers:       []string{"firebase", "apns"},
	}, messaging.Customer{
		Email: "grace@example.com",
		Extra: map[string]json.RawMessage{
			"customer_created_at": json.RawMessage(`"0000-00-00"`), "updated_at": json.RawMessage(`null`),
			"last_interaction": json.RawMessage(`"never"`), "score": json.RawMessage(`{"open":0.5}`),
			"providers": json.RawMessage(`7`),
		},
	})
	assert.JSONEq(t, `{"success":true,"message":"Customers fetched successfully","data":{
		"data":[
			{"customer_id":"c-1","first_name":"Ada","last_name":"Lovelace","email":"ada@example.com","phone_no":"+44123",
			 "customer_created_at":"2030-05-01T09:30:00Z","updated_at":"2030-05-02T09:30:00Z","providers":"firebase,apns",
			 "last_interaction":"2030-05-03T09:30:00Z"},
			{"customer_id":"","first_name":"","last_name":"","email":"grace@example.com","phone_no":"",
			 "customer_created_at":"0000-00-00","updated_at":null,"providers":7,"last_interaction":"never","score":{"open":0.5}}],
		"meta":{"has_next_page":false,"has_prev_page":false,"next_page_cursor":null,"prev_page_cursor":null,"per_page":20}}}`,
		get(t, s, "/v1/customers").Body)
}

func TestCustomersWithAnInvalidExtraPanic(t *testing.T) {
	s := messagingtest.NewServer(t)
	assert.Panics(t, func() {
		s.AddCustomers(messaging.Customer{Email: "ada@example.com", Extra: map[string]json.RawMessage{"score": json.RawMessage(`{`)}})
	})
}

func TestCustomersHaveTheTimesOfTheirRequests(t *testing.T) {
	s := messagingtest.NewServer(t)
	synctest.Test(t, func(t *testing.T) {
		broadcast := func() {
			r := httptest.NewRequest(http.MethodPost, pushPath, strings.NewReader(changed(t, validPush,
				`{"recipients":{"type":"customer","customers":[{"email":"ada@example.com"}]}}`)))
			r.Header.Set("X-Authorization", s.APIKey())
			r.Header.Set("Content-Type", "application/json")
			s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		}
		start := time.Now().UTC()
		time.Sleep(1500 * time.Millisecond)
		broadcast()
		time.Sleep(time.Hour)
		broadcast()
		c := s.Customers()[0]
		assert.Equal(t, start.Add(time.Second), c.CreatedAt, "times are truncated to the second")
		assert.Equal(t, start.Add(time.Hour+time.Second), c.UpdatedAt)
		assert.Equal(t, start.Add(time.Hour+time.Second), c.LastInteraction)
	})
}

func TestCustomersAreFiltered(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.AddCustomers(
		messaging.Customer{CustomerID: "a", Email: "a@example.com"},
		messaging.Customer{CustomerID: "b", Email: "B@example.com"},
		messaging.Customer{CustomerID: "c"},
		messaging.Customer{Email: "d@example.com"},
	)
	for query, want := range map[string][]string{ // the customer id of each customer, or its email address
		"":                                   {"a", "b", "c", "d@example.com"},
		"customer_ids=&emails=":              {"a", "b", "c", "d@example.com"},
		"customer_ids=b":                     {"b"},
		"customer_ids=c,a":                   {"a", "c"}, // in the order of the list
		"customer_ids=A":                     nil,
		"emails=A@example.com,b@example.com": {"a", "b"}, // in any case
		"emails=z@example.com":               nil,
		"customer_ids=a,b,c&emails=b@example.com,d@example.com": {"b"},
		"customer_ids=,":        nil,
		"emails=,a@example.com": {"a"}, // an empty one is not that of a customer without one
	} {
		var list struct {
			Data struct {
				Data []struct {
					CustomerID string `json:"customer_id"`
					Email      string
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(get(t, s, "/v1/customers?"+query).Body), &list))
		var found []string
		for _, c := range list.Data.Data {
			found = append(found, cmp.Or(c.CustomerID, c.Email))
		}
		assert.Equal(t, want, found, query)
	}
}
