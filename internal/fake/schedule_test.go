package fake_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/fake"
)

func pushAt(date, zone string) string {
	return fmt.Sprintf(`{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-later",
		"schedule_date":{"schedule_date":%q,"timezone":%q}}`, date, zone)
}

// push carries out a push notification broadcast without a network, and returns its problems.
func push(s *fake.Server, body string) map[string][]string {
	r := httptest.NewRequest(http.MethodPost, pushPath, strings.NewReader(body))
	r.Header.Set("X-Authorization", s.APIKey())
	r.Header.Set("Content-Type", "application/json")
	return s.Replay(r, 0).Problems
}

var inThePast = map[string][]string{"schedule_date.schedule_date": {"must not be in the past"}}

func TestSchedulesAreRefusedFromMoreThanAMinuteAgo(t *testing.T) {
	tests := []struct {
		now, zone     string
		valid, passed string // a second apart
	}{
		{"2040-01-01T00:00:00Z", "UTC", "2039-12-31 23:59:00", "2039-12-31 23:58:59"},
		{"2040-01-01T00:00:00Z", "Europe/Paris", "2040-01-01 00:59:00", "2040-01-01 00:58:59"},
		{"2040-01-01T00:00:00Z", "America/New_York", "2039-12-31 18:59:00", "2039-12-31 18:58:59"},
		{"2040-01-01T00:00:00Z", "UTC", "2039-12-31 23:59", "2039-12-31 23:58"},
		{"2040-01-01T00:00:00Z", "UTC", "2040-01-01", "2039-12-31"}, // the start of the day
		{"2040-01-01T00:00:00Z", "Asia/Tokyo", "2039-12-31T18:59:00-05:00", "2039-12-31T18:58:59-05:00"},
		{"2040-10-28T00:30:00Z", "Europe/Paris", "2040-10-28T02:29:00+02:00", "2040-10-28T02:28:59+02:00"},
		// Clocks go back, so that an hour occurs twice.
		{"2040-10-28T01:30:00Z", "Europe/Paris", "2040-10-28 02:29:00", "2040-10-28 02:28:59"},
		{"2040-10-28T00:30:00Z", "Europe/Paris", "2040-10-28 02:00:00", "2040-10-28 01:59:59"},
		{"2040-11-04T06:30:00Z", "America/New_York", "2040-11-04 01:29:00", "2040-11-04 01:28:59"},
		{"2040-11-04T05:30:00Z", "America/New_York", "2040-11-04 01:00:00", "2040-11-04 00:59:59"},
	}
	for _, test := range tests {
		t.Run(test.zone+" at "+test.now, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now, err := time.Parse(time.RFC3339, test.now)
				require.NoError(t, err)
				time.Sleep(time.Until(now))
				s := fake.New(fake.Config{})
				assert.Empty(t, push(s, pushAt(test.valid, test.zone)))
				assert.Equal(t, inThePast, push(s, pushAt(test.passed, test.zone)))
				assert.Len(t, s.Effects(), 1)
			})
		})
	}
}

func TestSchedulesInAnUnknownZoneAreNotJudged(t *testing.T) {
	for zone, problem := range map[string]string{
		"":                "is required",
		"Local":           "must be a time zone such as Europe/Berlin",
		"Europe/Atlantis": "must be a time zone such as Europe/Berlin",
	} {
		want := map[string][]string{"schedule_date.timezone": {problem}}
		assert.Equal(t, want, push(fake.New(fake.Config{}), pushAt("2001-01-01 00:00:00", zone)), zone)
	}
}

func TestSchedulesOfEmailsAreJudgedToo(t *testing.T) {
	s := serve(t, fake.Config{})
	later := strings.Replace(emailBody, `"send-now"`,
		`"send-later","schedule_date":{"schedule_date":"2001-01-01 00:00:00","timezone":"UTC"}`, 1)
	status, _ := s.post(t, emailPath, later)
	assert.Equal(t, http.StatusUnprocessableEntity, status)
	assert.Equal(t, inThePast, s.last(t).Problems)
	assert.Empty(t, s.Effects())
}

func TestSchedulesAreJudgedWhenTheirRequestArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fake.New(fake.Config{})
		s.AddRule(once(fake.Fault{Kind: fake.Slow, After: fake.Duration(time.Hour)}))
		inHalfAnHour := pushAt(time.Now().Add(30*time.Minute).UTC().Format(time.DateTime), "UTC")
		assert.Empty(t, push(s, inHalfAnHour), "it is carried out after an hour")
		assert.Equal(t, inThePast, push(s, inHalfAnHour), "it arrives after an hour")
	})
}
