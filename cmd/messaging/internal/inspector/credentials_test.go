package inspector_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestCredentialsAreRecordedNowhere(t *testing.T) {
	f := start(t, records.Demo())
	f.do("POST", f.api+"/v1/events/"+testKey+"?auth_key=secret-1&x="+testKey, `{"name":"`+testKey+`","promo_key":"kept"}`,
		header("X-Authorization", testKey, "X-Access-Key", "secret-2", "X-Jwt", "secret-3", "Referer", "http://x/"+testKey,
			"Content-Type", "application/json", "X-Api-Key", "secret-4"))
	for _, path := range []string{"/api/requests/1", "/requests/1?tab=exchange", "/requests/1?tab=copy",
		"/api/requests/1/body", "/"} {
		body := f.do("GET", f.ui+path, "", func(*http.Request) {}).Body
		if path == "/" { // the page shows the key to people who want to use it
			assert.NotContains(t, body, "secret-")
			continue
		}
		assert.NotContains(t, body, testKey, path)
		assert.NotContains(t, body, "secret-", path)
	}
	assert.Contains(t, f.get("/api/requests/1").Body, `"promo_key":"kept"`)
	assert.Contains(t, f.get("/api/requests/1").Body, `"foreign_key":true`)
}
