package sandbox

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/internal/fake"
)

// secretNames are names of header fields and query parameters that hold a credential.
var secretNames = []string{
	"X-Auth-Key", "Access-Key", "api_key", "apikey", "key", "X-Auth-Token", "refresh_token", "token", "client_secret", "X-Secret",
	"session", "X_Session", "session_id", "X-Session-Id", "X-Jwt", "id_jwt", "jwt", "pass", "user-pass", "passwd", "db_passwd",
	"password", "DB_PASSWORD", "Authorization", "proxy-authorization", "Cookie", "signature", "sig", "bearer", "x-auth", "auth",
}

func TestARequestIsKeptWithoutTheValuesOfSecretNames(t *testing.T) {
	r := fake.Request{Header: http.Header{"X-Authorization": {""}, "Cookie": {"", "session=live-1"}}, Query: url.Values{}}
	want := url.Values{}
	for _, name := range secretNames {
		r.Header.Add(name, "live")
		r.Query[name], want[name] = []string{"live", "live"}, []string{"REDACTED"}
	}
	for _, name := range []string{"cursor", "emails", "customer_ids", "per_page", "Author", "Accept", "keyword", "sessions",
		"compass-course"} {
		r.Query[name], want[name] = []string{"value"}, []string{"value"}
	}
	r.Query["empty_key"], want["empty_key"] = []string{""}, []string{""}
	withoutCredentials(&r)
	assert.Equal(t, want, r.Query)
	assert.Equal(t, []string{""}, r.Header["X-Authorization"], "it shows that a credential was empty")
	delete(r.Header, "X-Authorization")
	for name, values := range r.Header {
		assert.Equal(t, []string{"REDACTED"}, values, name)
	}
}
