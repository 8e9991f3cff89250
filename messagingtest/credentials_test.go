package messagingtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

// liveKey is a credential of another service, which a misconfigured program sends here.
const liveKey = "live-0123456789-canary"

// secretNames are names of header fields and query parameters that hold a credential.
var secretNames = []string{
	"X-Auth-Key", "Access-Key", "api_key", "apikey", "key", "X-Auth-Token", "refresh_token", "token", "client_secret", "X-Secret",
	"session", "X_Session", "session_id", "X-Session-Id", "X-Jwt", "id_jwt", "jwt", "pass", "user-pass", "passwd", "db_passwd",
	"password", "DB_PASSWORD", "Authorization", "proxy-authorization", "Cookie", "signature", "sig", "bearer", "x-auth", "auth",
}

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

// jsonEscape and urlEscape are escape sequences that printable characters can have.
var jsonEscape, urlEscape = regexp.MustCompile(`\\(u00[2-7][0-9a-fA-F]|["\\/])`), regexp.MustCompile(`%[2-7][0-9a-fA-F]`)

// quotes reports whether a text contains another one, as it is or escaped up to twice.
func quotes(text, quoted string, levels int) bool {
	if strings.Contains(strings.ToLower(text), quoted) {
		return true
	}
	unescape := func(escape *regexp.Regexp) string {
		return escape.ReplaceAllStringFunc(text, func(sequence string) string {
			if len(sequence) == len(`\\`) {
				return sequence[1:]
			}
			code, _ := strconv.ParseUint(sequence[len(sequence)-2:], 16, 8)
			return string(rune(code))
		})
	}
	return levels > 0 && strings.ContainsAny(text, `\%`) &&
		(quotes(unescape(jsonEscape), quoted, levels-1) || quotes(unescape(urlEscape), quoted, levels-1))
}

// textsOf returns every string and byte slice that can be reached from a value.
func textsOf(v reflect.Value, texts []string) []string {
	switch v.Kind() {
	case reflect.String:
		return append(texts, v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return textsOf(v.Elem(), texts)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(texts, string(v.Bytes()))
		}
		for _, element := range v.Seq2() {
			texts = textsOf(element, texts)
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			texts = textsOf(value, textsOf(key, texts))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			texts = textsOf(field, texts)
		}
	}
	return texts
}

// requireShowsNoCredentials checks all that a server returns and prints. what is what was
// sent.
func requireShowsNoCredentials(t *testing.T, what string, s *messagingtest.Server, o *observed, logged *bytes.Buffer) {
	t.Helper()
	shown := map[string][]string{"the log": {logged.String()}}
	look := func(at string, value reflect.Value) {
		if at != "the server" { // whose fields refer to each other
			shown[at] = textsOf(value, nil)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			shown[at] = append(shown[at], fmt.Sprintf(verb, value.Interface()))
		}
		if dump, err := json.Marshal(value.Interface()); err == nil {
			shown[at] = append(shown[at], string(dump))
		}
	}
	for name, returned := range returnedSlices(s) {
		look("Server."+name, returned)
	}
	look("the exchanges", reflect.ValueOf(o.all()))
	look("the server", reflect.ValueOf(s))
	for at, texts := range shown {
		for _, text := range texts {
			for _, secret := range []string{s.APIKey(), liveKey} {
				require.False(t, quotes(text, secret, 1), "%s is shown by %s: %s", what, at, text)
			}
		}
	}
}

// captureLog returns what the standard logger writes during a test.
func captureLog(t *testing.T) *bytes.Buffer {
	t.Helper()
	logged, before := new(bytes.Buffer), log.Writer()
	log.SetOutput(logged)
	t.Cleanup(func() { log.SetOutput(before) })
	return logged
}

func TestServerShowsNoCredentialsInQueriesAndHeaders(t *testing.T) {
	logged := captureLog(t)
	s, o := newObserved(t)
	header := newRequest(t, s, http.MethodGet, "/v1/events", "")
	query := url.Values{}
	for _, name := range secretNames {
		header.Header[http.CanonicalHeaderKey(name)] = []string{liveKey, liveKey}
		query.Add(name, liveKey)
		query.Add(name, liveKey)
	}
	send(t, header)
	get(t, s, "/v1/events?"+query.Encode())

	for _, name := range secretNames {
		assert.Equal(t, []string{"REDACTED"}, s.Requests()[0].Header[http.CanonicalHeaderKey(name)], name)
		assert.Equal(t, []string{"REDACTED"}, s.Requests()[1].Query[name], name)
	}
	requireShowsNoCredentials(t, "a value of a secret name", s, o, logged)
}

func TestServerShowsWhatIsNoCredentialByItsName(t *testing.T) {
	s := messagingtest.NewServer(t)
	query := url.Values{}
	for _, name := range []string{"cursor", "emails", "customer_ids", "per_page", "Author", "Accept",
		"keyword", "sessions", "compass-course"} {
		query.Set(name, "value")
	}
	get(t, s, "/v1/events?"+query.Encode())
	assert.Equal(t, query, s.Requests()[0].Query)
}

func TestServerShowsItsKeyNowhereInARequest(t *testing.T) {
	logged := captureLog(t)
	for spelling, key := range spellings(messagingtest.NewServer(t).APIKey()) {
		s, o := newObserved(t)
		for _, part := range []string{"/", "/v1/events?name=", "/v1/customers?emails=", "/v1/events?"} {
			get(t, s, part+strings.ReplaceAll(key, `\`, "%5C"))
		}
		r := newRequest(t, s, http.MethodGet, "/v1/events", "")
		r.Header.Set("X-Value", "before "+key+" after")
		send(t, r)
		for _, path := range []string{"/v1/events", "/elsewhere"} {
			post(t, s, path, "not JSON "+key)
		}
		s.AddEvents(shipped)
		for o := range service.Sends() {
			body := changed(t, validBodies[o], `{"message":"`+key+`","description":"`+key+`","email":"ada@example.com",`+
				`"payload":{"email":"ada@example.com","order":"`+key+`","at":"`+key+`"}}`)
			for _, fault := range []messagingtest.Fault{{}, messagingtest.Malformed("{")} {
				s.FailNext(1, fault)
				require.Equal(t, http.StatusOK, post(t, s, o.Path, body).StatusCode, o.Name)
			}
		}
		requireShowsNoCredentials(t, "the key, "+spelling+",", s, o, logged)
		assert.Equal(t, "[API key]", s.PushBroadcasts()[0].Message)
		assert.Equal(t, "[API key]", s.Triggers()[0].Values["order"])
	}
}

func TestServerShowsItsKeyNowhereInALongBody(t *testing.T) {
	s := messagingtest.NewServer(t)
	for spelling, key := range spellings(s.APIKey()) {
		for _, before := range []int{0, 64<<10 - 20, 64 << 10, 200<<10 - 10} {
			before := `{"a":"` + strings.Repeat(" ", before)
			post(t, s, "/v1/events", before+key+`"}`)
			recorded := s.Requests()[len(s.Requests())-1].Body
			require.Equal(t, before+`[API key]"}`, string(recorded), spelling)
		}
	}
}

func TestServerShowsItsKeyNowhereEvenInNames(t *testing.T) {
	logged := captureLog(t)
	s, o := newObserved(t)
	key := s.APIKey()
	r := newRequest(t, s, key, "/v1/events?"+key+"=1", "")
	r.Header.Set(key, "1")
	send(t, r)
	post(t, s, pushPath, changed(t, validPush, `{"`+key+`":1}`))
	requireShowsNoCredentials(t, "the key in a name", s, o, logged)
	require.Len(t, s.PushBroadcasts(), 1)
}

func TestServerShowsTheKeyOfARequestNowhereInIt(t *testing.T) {
	logged := captureLog(t)
	s, o := newObserved(t)
	for _, key := range spellings(liveKey) {
		r := newRequest(t, s, http.MethodPost, "/"+liveKey+"?name="+liveKey, `{"name":"`+key+`"}`)
		r.Header.Set("X-Authorization", liveKey)
		r.Header.Set("X-Value", liveKey)
		send(t, r)
	}
	requireShowsNoCredentials(t, "a foreign key", s, o, logged)
	assert.True(t, o.last(t).ForeignKey)
}

func TestServerFailuresDoNotQuoteAKey(t *testing.T) {
	s := messagingtest.NewServer(t)
	_, err := messagingtest.Start(messagingtest.WithHistory(-1))
	require.Error(t, err)
	require.NotContains(t, err.Error(), s.APIKey())
	defer func() { require.NotContains(t, fmt.Sprint(recover()), s.APIKey()) }()
	s.Client(messaging.WithHeader("X-Authorization", s.APIKey()))
}

func TestRequestsShowThatACredentialWasEmpty(t *testing.T) {
	s := messagingtest.NewServer(t)
	r := newRequest(t, s, http.MethodGet, "/v1/events?api_key=&token=live-1", "")
	r.Header["X-Authorization"] = []string{""}
	r.Header["Cookie"] = []string{"", "session=live-1"}
	send(t, r)
	got := s.Requests()[0]
	assert.Equal(t, []string{""}, got.Header["X-Authorization"])
	assert.Equal(t, []string{"REDACTED"}, got.Header["Cookie"])
	assert.Equal(t, url.Values{"api_key": {""}, "token": {"REDACTED"}}, got.Query)
}
