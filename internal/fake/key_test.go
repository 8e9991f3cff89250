package fake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/fake"
)

// spellings are ways to write text within a JSON string. Each of them is read as text
// sooner or later.
func spellings(text string) map[string]string {
	each := func(format string) string {
		var all strings.Builder
		for _, c := range []byte(text) {
			fmt.Fprintf(&all, format, c)
		}
		return all.String()
	}
	return map[string]string{
		"plain":                      text,
		"escaped as in JSON":         each(`\u%04x`),
		"escaped as in a URL":        each(`%%%02X`),
		"escaped once within a text": text[:4] + each(`%%%02x`)[len("%66")*4:],
	}
}

func TestServerShowsItsKeyNowhereInARequest(t *testing.T) {
	for spelling, key := range spellings(fake.DefaultAPIKey) {
		t.Run(spelling, func(t *testing.T) {
			s := serve(t, fake.Config{})
			s.AddEvents(fake.Event{ID: "e"})
			for _, part := range []string{"/", "/v1/events?name=", "/v1/customers?emails=", "/v1/events?"} {
				s.get(t, part+strings.ReplaceAll(key, `\`, "%5C"))
			}
			r := s.request(t, http.MethodGet, eventsPath, "")
			r.Header.Set("X-Value", "before "+key+" after")
			send(t, r)
			s.post(t, eventsPath, "not JSON "+key)
			s.post(t, pushPath, strings.Replace(pushBody, `"m"`, `"`+key+`"`, 1))
			s.post(t, triggerPath, `{"event_id":"e","payload":{"email":"ada@example.com","order":"`+key+`"}}`)

			assert.Equal(t, "[API key]", effects[fake.PushBroadcast](s)[0].Params.Message)
			assert.Equal(t, "[API key]", effects[fake.Trigger](s)[0].Params.Values["order"])
			var created string // params have no JSON
			for _, e := range s.all() {
				created += fmt.Sprintf("%+v", e.Effect)
				e.Effect = nil
			}
			for _, shown := range []any{s.Requests(), created, s.all()} {
				dump, err := json.Marshal(shown)
				require.NoError(t, err)
				text := string(dump) + fmt.Sprintf("%+v", shown)
				assert.NotContains(t, text, fake.DefaultAPIKey)
				assert.NotContains(t, text, key)
			}
		})
	}
}

func TestServerShowsItsKeyNotEvenInNames(t *testing.T) {
	s := serve(t, fake.Config{})
	key := s.APIKey()
	r := s.request(t, key, "/v1/events?"+key+"=1", "")
	r.Header.Set(key, "1")
	send(t, r)
	assert.NotContains(t, strings.ToLower(fmt.Sprintf("%+v", s.last(t).Request)), key)
}

func TestServerAcceptsOnlyItsOwnKey(t *testing.T) {
	s := serve(t, fake.Config{Key: "another-key"})
	status, _ := s.get(t, eventsPath)
	assert.Equal(t, http.StatusOK, status)
	r := s.request(t, http.MethodGet, eventsPath, "")
	r.Header.Set("X-Authorization", fake.DefaultAPIKey)
	status, _ = send(t, r)
	assert.Equal(t, http.StatusUnauthorized, status)
	assert.Equal(t, []string{fake.DefaultAPIKey}, s.last(t).Request.Header["X-Authorization"], "what was sent is recorded")
	assert.True(t, s.last(t).ForeignKey)
}
