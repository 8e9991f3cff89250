package hostile_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// FuzzRetryAfter checks that no Retry-After header leads to a negative wait, and that
// a number of seconds is read exactly.
func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{
		"", "0", "5", "-5", "+5", "1.5", "1e99", "NaN", " 5", "9223372036", "9223372037", "9999999999", strings.Repeat("9", 30),
		"Sun, 06 Nov 2044 08:49:37 GMT", "Sunday, 06-Nov-44 08:49:37 GMT", "Sun Nov  6 08:49:37 2044", "Fri, 31 Dec 1999 23:59:59 GMT",
		"Fri, 31 Dec 9999 23:59:59 GMT", "soon",
	} {
		f.Add(value, "Sun, 06 Nov 2044 08:49:30 GMT")
		f.Add(value, "yesterday")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		answers := scripted.RoundTripper(func(*http.Request) (*http.Response, error) {
			header := http.Header{"Retry-After": {value}, "Date": {date}}
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: header, Body: http.NoBody}, nil
		})
		client, err := messaging.NewClient("https://api.example.com", "fuzz-key", messaging.WithHTTPClient(&http.Client{Transport: answers}))
		require.NoError(t, err)

		_, err = client.Broadcasts.SendPush(t.Context(), messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers()})
		var refusal *messaging.APIError
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, 1, refusal.Attempts)
		require.GreaterOrEqual(t, refusal.RetryAfter, time.Duration(0))
		if len(value) < 9 && value != "" && strings.Trim(value, "0123456789") == "" {
			seconds, err := time.ParseDuration(value + "s")
			require.NoError(t, err)
			require.Equal(t, seconds, refusal.RetryAfter)
		}
	})
}

// FuzzBaseURL checks any base URL and path: either they are refused without being
// quoted, or the request goes to the host of the base URL, below its path.
func FuzzBaseURL(f *testing.F) {
	for _, base := range []string{
		"https://api.example.com", "https://api.example.com/", "https://api.example.com/tenants/a%2Fb//",
		"http://127.0.0.1:8080", "http://[::1]/x",
		"http://api.example.com", "https://user:secret@api.example.com", "https://api.example.com?x", "https://api.example.com#", "ftp://x",
		"https://:443", "//x", "", "\x00", "api.example.com:443", "https://api.example.com:65535", "https://api.example.com:65536",
		"https://api.example.com:0", "https://api.example.com:", "https://api.example.com:https",
	} {
		for _, path := range []string{"/v1/unknown", "v1/segments", "v1/a%2F..%2Fb", "/v1/../admin", "//evil.example.com/x",
			"https://evil.example.com", `\\evil`, "/v1/%2e%2e/x", "v1?x=1", "", "%zz"} {
			f.Add(base, path)
		}
	}
	f.Fuzz(func(t *testing.T, base, path string) {
		var sent *http.Request
		answers := scripted.RoundTripper(func(r *http.Request) (*http.Response, error) {
			sent = r
			return nil, errors.New("no answer")
		})
		client, err := messaging.NewClient(base, "fuzz-key", messaging.WithHTTPClient(&http.Client{Transport: answers}))
		if err != nil {
			require.ErrorIs(t, err, messaging.ErrValidation)
			return
		}
		_, err = client.Do(t.Context(), messaging.Request{Method: http.MethodPost, Path: path})
		require.Error(t, err)
		if sent == nil {
			require.ErrorIs(t, err, messaging.ErrValidation)
			return
		}
		asked, err := url.Parse(base)
		require.NoError(t, err)
		require.Equal(t, asked.Hostname(), sent.URL.Hostname())
		require.Equal(t, asked.Port(), sent.URL.Port())
		require.Equal(t, asked.Scheme, sent.URL.Scheme)
		require.Empty(t, sent.URL.RawQuery)
		require.True(t, strings.HasPrefix(sent.URL.EscapedPath(), strings.TrimRight(asked.EscapedPath(), "/")+"/"))
		require.NotContains(t, strings.Split(sent.URL.Path, "/"), "..")
	})
}

// FuzzAPIKey checks any key: it is refused without being quoted, or sent unchanged.
func FuzzAPIKey(f *testing.F) {
	for _, key := range []string{"", " ", "secret-key", "secret key", "secret\nkey", "secret\x00key", "sécret-key", " secret-key",
		"secret-key\r\n", "Bearer secret-key", "bearer  secret-key", "Bearersecret-key", strings.Repeat("k", 4096), strings.Repeat("k", 4097)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		sent := ""
		answers := scripted.RoundTripper(func(r *http.Request) (*http.Response, error) {
			sent = r.Header.Get("X-Authorization")
			return nil, errors.New("no answer")
		})
		client, err := messaging.NewClient("https://api.example.com", key, messaging.WithHTTPClient(&http.Client{Transport: answers}))
		if err == nil {
			_, err = client.Broadcasts.SendPush(t.Context(), messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers()})
			require.Error(t, err)
			require.Equal(t, key, sent)
		}
		if len(key) > 8 { // a shorter one can stand in any text
			require.NotContains(t, err.Error(), key)
		}
	})
}

// FuzzSchedule checks any date and zone: they are sent if they are a time to come that package
// time reads unchanged, and [messaging.ScheduleAt] writes that time in UTC.
func FuzzSchedule(f *testing.F) {
	for _, date := range []string{"2099-11-01 01:30:00", "2099-03-08 02:30:00", "2099-05-01 10:20:30", "2026-05-01 10:20:30",
		"1900-01-01 00:00:00",
		"0001-01-01 00:00:00", "0000-01-01 00:00:00", "9999-12-31 23:59:59", "2026-02-29 10:20:30",
		"2026-05-01", "2026-05-01 1:20:30", "2026-05-01 1:20:30.5",
		"2026-05-01 10:20:30.5", "2026-05-01T10:20:30Z", "0000-00-00 00:00:00", "tomorrow", "", "\xff"} {
		for _, zone := range []string{"UTC", "America/New_York", "Europe/Amsterdam", "Australia/Lord_Howe", "Pacific/Apia",
			"Local", "", "+01:00", "\xff"} {
			f.Add(date, zone)
		}
	}
	f.Fuzz(func(t *testing.T, date, zone string) {
		_, err := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers(),
			Schedule: &messaging.Schedule{Date: date, Timezone: zone}}.Prepare()
		location, unknown := time.LoadLocation(zone)
		read, unreadable := time.Parse(time.DateTime, date)
		if unknown != nil || zone == "" || zone == "Local" || unreadable != nil || read.Format(time.DateTime) != date || read.IsZero() {
			require.ErrorIs(t, err, messaging.ErrValidation)
			return
		}
		at, unreadable := time.ParseInLocation(time.DateTime, date, location)
		require.NoError(t, unreadable)
		if at.Format(time.DateTime) != date { // clocks skip it
			require.ErrorIs(t, err, messaging.ErrValidation)
			return
		}
		switch ahead := time.Until(at); { // whichever of the two an hour is that occurs twice
		case ahead < -24*time.Hour:
			require.ErrorIs(t, err, messaging.ErrValidation)
		case ahead > 24*time.Hour:
			require.NoError(t, err)
		}
		if year := at.UTC().Year(); year >= 0 && year <= 9999 { // no date has another year
			require.Equal(t, &messaging.Schedule{Date: at.UTC().Format(time.DateTime), Timezone: "UTC"}, messaging.ScheduleAt(at))
		}
	})
}

// storedSeeds are stored forms of a Prepared: valid ones, and ones that guards must not
// take for something else.
var storedSeeds = []struct{ operation, body string }{
	{"send email broadcast", `{"email":"a@b.c","cc":["d@e.f"],
		"recipients":{"type":"customer","customers":[{"customer_id":"c","email":"g@h.i"}]}}`},
	{"send push broadcast", `{"all_customers":true,
		"recipients":[{"type":"segment","segments":["s"]},{"type":"customer","customers":[{"email":"a@b.c"}]}]}`},
	{"send push broadcast", `{"recipients":{"type":"customer",
		"customers":[{"email":"a@b.c","Email":"d@e.f","phone_no":"+1","devices":[{}]}]}}`},
	{"trigger event", `{"event_id":"e","payload":{"email":"a@b.c","customer":{"customer_id":"c"},"deep":[[[{}]]]}}`},
	{"create event", `{"name":"n","description":"d","parameters":[]}`},
	{"create event", `{"name":"\ud800","all_customers":true}`}, {"do", `{}`}, {"trigger event", `[`}, {"", ``},
}

// addSeeds adds storedSeeds, and the requests of every send.
func addSeeds(f *testing.F, add func(operation, body string)) {
	for _, seed := range storedSeeds {
		add(seed.operation, seed.body)
	}
	for _, send := range scripted.Sends() {
		for _, build := range send.Requests {
			p, err := build().Prepare()
			require.NoError(f, err)
			add(p.Operation(), string(p.Body()))
		}
	}
}

// What ParsePrepared takes is kept as it is, and whoever encoding/json finds in the body is
// among the recipients, or there is an error.
func FuzzStoredPrepared(f *testing.F) {
	addSeeds(f, func(operation, body string) { f.Add(operation, []byte(body)) })
	f.Fuzz(func(t *testing.T, operation string, body []byte) {
		p, err := messaging.ParsePrepared(operation, body)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Equal(t, operation, p.Operation())
		require.Equal(t, string(body), string(p.Body()))
		found, err := p.Recipients()
		if err != nil {
			require.Equal(t, messaging.Recipients{}, found)
			return
		}
		var document map[string]any
		require.NoError(t, json.Unmarshal(p.Body(), &document))
		if document["all_customers"] == true {
			require.True(t, found.Everyone)
		}
		payload, _ := document["payload"].(map[string]any)
		for _, holder := range []map[string]any{document, payload} {
			requireAmong(t, found.Emails, holder["email"])
			requireAmong(t, found.Emails, holder["cc"])
			requireAmong(t, found.Emails, holder["bcc"])
			requireReached(t, found, holder["recipients"])
		}
		requireReached(t, found, payload["customer"])
	})
}

// requireReached requires that every customer and segment within a value is found.
func requireReached(t *testing.T, found messaging.Recipients, value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			requireReached(t, found, element)
		}
	case map[string]any:
		requireAmong(t, found.CustomerIDs, value["customer_id"])
		requireAmong(t, found.Emails, value["email"])
		requireAmong(t, found.Phones, value["phone_no"])
		requireAmong(t, found.Segments, value["segments"])
		requireReached(t, found, value["customers"])
	}
}

// requireAmong requires that a string, or each string of a list, is in a list.
func requireAmong(t *testing.T, list []string, value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			requireAmong(t, list, element)
		}
	case string:
		if value != "" {
			require.Contains(t, list, value)
		}
	}
}
