package inspector_test

import (
	"html"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestCredentialsAreRecordedNowhere(t *testing.T) {
	f := start(t, records.Demo())
	f.do("POST", f.api+"/v1/events/"+testKey+"?auth_key=secret-1&x="+testKey, `{"name":"`+testKey+`","promo_key":"kept"}`,
		header("X-Authorization", testKey, "X-Access-Key", "secret-2", "X-Jwt", "secret-3", "Referer", "http://x/"+testKey,
			"Content-Type", "application/json", "X-Api-Key", "secret-4"))
	f.shows("/", "!secret-") // the page shows the key to people who want to use it
	for _, path := range []string{"/api/requests/1", "/requests/1?tab=exchange", "/requests/1?tab=copy", "/api/requests/1/body"} {
		f.shows(path, "!"+testKey, "!secret-")
	}
	f.shows("/api/requests/1", `"promo_key":"kept"`, `"foreign_key":true`)
}

func TestARefusedKeyIsExplainedAndReplacedByTheRightOne(t *testing.T) {
	f := start(t, records.Demo())
	for i, test := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{}, "no X-Authorization header"},
		{http.Header{"X-Authorization": {""}}, "X-Authorization is empty"},
		{http.Header{"Authorization": {"Bearer " + testKey}}, "the key is in Authorization instead of X-Authorization"},
		{http.Header{"X-Api-Key": {testKey}}, "the key is in X-Api-Key instead of X-Authorization"},
		{http.Header{"X-Authorization": {"Bearer " + testKey}}, `"Bearer " before the key in X-Authorization`},
		{http.Header{"X-Authorization": {"live-1"}}, "The API key is not that of this sandbox: it belongs to another"},
		{http.Header{"Authorization": {"live-1"}}, "The API key is not that of this sandbox: it belongs to another"},
	} {
		number := 2*i + 1
		require.Equal(t, 401, f.sendWith(test.header, "GET", "/v1/events", ""))
		path := "/requests/" + strconv.Itoa(number)
		page := html.UnescapeString(f.get(path).Body)
		assert.Contains(t, page, test.want)
		copied := html.UnescapeString(f.get(path+"?tab=copy").Body + f.get(path+"?tab=replay").Body)
		assert.Contains(t, copied, `curl -g "$MESSAGING_BASE_URL"/v1/events`+" \\\n  "+`-H "X-Authorization: $MESSAGING_API_KEY"</code>`)
		assert.Equal(t, 1, strings.Count(copied, `class="primary"`), "one button is what people press without reading")
		for _, key := range []string{testKey, "live-1"} {
			assert.NotContains(t, page+copied, key)
		}
		_, detail := f.replayed(`{"number":` + strconv.Itoa(number) + `}`)
		assert.Contains(t, detail, `"status":200`)
	}
	assert.Equal(t, 422, f.post("/api/replay", `{"number":1,"as_sent":true}`).Status)
}

func TestTheRightKeyIsNotCalledWrong(t *testing.T) {
	f := start(t, records.Demo())
	f.fault(`{"count":1,"fault":{"kind":"status","status":401}}`)
	for i, change := range []func(*http.Request){header(), header("Authorization", "Basic eHl6")} {
		f.do("GET", f.api+"/v1/events", "", header("X-Authorization", testKey), change)
		f.shows("/requests/"+strconv.Itoa(i+1), "!instead of X-Authorization", "!The service expects the API key")
	}
}
