package fake_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/messaging-go/messaging/internal/fake"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	emailPath   = "/v1/broadcast/send/email"
	pushPath    = "/v1/broadcast/send/push-notification"
	eventsPath  = "/v1/events"
	triggerPath = "/v1/events/trigger"

	emailBody = `{"sender_email":"news@acme.test","sender_name":"Acme","email":"news@acme.test","subject":"Moved","message":"<p>Hi</p>",` +
		`"message_type":"announcement","schedule_type":"send-now","recipients":{"type":"customer","customers":[` +
		`{"email":"ada@example.com"},{"email":"grace@example.com","devices":[{"device_type":"ios","device_token":"t"}]}]}}`
	pushBody  = `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`
	eventBody = `{"name":"order shipped","description":"d","parameters":[{"name":"shipped_at","type":"Timestamp","required":true}]}`
)

func pushTo(customers string) string {
	return `{"subject":"s","message":"m","schedule_type":"send-now","recipients":{"type":"customer","customers":[` + customers + `]}}`
}

// served is a server on a port, whose exchanges are observed.
type served struct {
	*fake.Server
	http *httptest.Server

	mu        sync.Mutex
	exchanges []*fake.Exchange
}

func serve(t *testing.T, config fake.Config) *served {
	t.Helper()
	s := new(served)
	config.Observe = s.observe
	s.Server = fake.New(config)
	s.http = httptest.NewServer(s.Server)
	t.Cleanup(func() {
		s.Close()
		s.http.Close()
	})
	return s
}

func (s *served) observe(e *fake.Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exchanges = append(s.exchanges, e)
}

func (s *served) all() []*fake.Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exchanges
}

// last returns the latest exchange. Since it is observed before its response is sent,
// there is nothing to wait for.
func (s *served) last(t *testing.T) *fake.Exchange {
	t.Helper()
	require.NotEmpty(t, s.all())
	return s.all()[len(s.all())-1]
}

// request returns a request with the API key.
func (s *served) request(t *testing.T, method, target, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.http.URL+target, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("X-Authorization", s.APIKey())
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (s *served) get(t *testing.T, target string) (status int, body string) {
	t.Helper()
	return send(t, s.request(t, http.MethodGet, target, ""))
}

func (s *served) post(t *testing.T, path, body string) (status int, response string) {
	t.Helper()
	return send(t, s.request(t, http.MethodPost, path, body))
}

func send(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(content)
}

// effects returns the effects of one kind.
func effects[T any](s *served) (all []*T) {
	for _, effect := range s.Effects() {
		if effect, ok := effect.(*T); ok {
			all = append(all, effect)
		}
	}
	return all
}

// always is a rule by which the next requests fail with a status.
func always(status int) fake.Rule {
	return fake.Rule{Probability: 1, Fault: fake.Fault{Kind: fake.Status, Status: status}}
}

func once(fault fake.Fault) fake.Rule { return fake.Rule{Count: 1, Probability: 1, Fault: fault} }
