package inspector_test

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// keyCase is a way to send a key, and what the pages make of it.
type keyCase struct {
	header         http.Header
	row, note      string
	curl, sentWith string // of the copy, and of the replay as it was
}

var keyCases = map[string]keyCase{
	"no key": {nil, "no X-Authorization header", "There is no X-Authorization header",
		"", ""},
	"an empty one": {http.Header{"X-Authorization": {""}}, "X-Authorization is empty", "X-Authorization is empty: the variable",
		`-H "X-Authorization;"`, "X-Authorization"},
	"as a bearer": {http.Header{"Authorization": {"Bearer " + testKey}}, "the key is in Authorization instead of X-Authorization",
		"The API key is in Authorization instead of X-Authorization", `-H "Authorization: Bearer $MESSAGING_API_KEY"`, "Authorization"},
	"in X-Api-Key": {http.Header{"X-Api-Key": {testKey}}, "the key is in X-Api-Key instead of X-Authorization",
		"The API key is in X-Api-Key instead of X-Authorization", `-H "X-Api-Key: $MESSAGING_API_KEY"`, "X-Api-Key"},
	"after Bearer": {http.Header{"X-Authorization": {"Bearer " + testKey}}, `"Bearer " before the key in X-Authorization`,
		`X-Authorization has "Bearer " before the API key.`, `-H "X-Authorization: Bearer $MESSAGING_API_KEY"`, "X-Authorization"},
}

func TestARefusedKeyIsExplainedAndRepeatedAsItWas(t *testing.T) {
	for name, c := range keyCases {
		t.Run(name, func(t *testing.T) {
			f := start(t, records.Demo())
			got := f.do("GET", f.api+"/v1/events", "", func(r *http.Request) {
				for name, values := range c.header {
					r.Header[name] = values
				}
			})
			require.Equal(t, 401, got.Status)
			assert.Contains(t, html.UnescapeString(f.get("/").Body), c.row)
			page := html.UnescapeString(f.get("/requests/1").Body)
			assert.Contains(t, page, c.note)
			assert.NotContains(t, page, testKey)
			copied := html.UnescapeString(f.get("/requests/1?tab=copy").Body + f.get("/requests/1?tab=replay").Body)
			assert.Contains(t, copied, strings.TrimSuffix(`curl -g "$MESSAGING_BASE_URL"/v1/events`+" \\\n  "+c.curl, " \\\n  ")+"</code>")
			assert.Contains(t, copied, "Resend unchanged, without the right key")
			assert.Contains(t, copied, "Send it with the key of the sandbox")
			assert.Equal(t, 1, strings.Count(copied, `class="primary"`), "one button is what people press without reading")
			assert.NotContains(t, copied, testKey)

			form := header("Content-Type", "application/x-www-form-urlencoded", "Origin", f.ui)
			require.Equal(t, 303, f.do("POST", f.ui+"/replay", "number=1&as_sent=1", form).Status)
			assert.Contains(t, html.UnescapeString(f.get("/requests/2").Body), c.note)
			e, _ := f.box.History.Get(2)
			assert.Equal(t, 401, e.Status)
			sent, _ := e.Key().Field("key")
			assert.Equal(t, c.sentWith, sent)
			require.Equal(t, 303, f.do("POST", f.ui+"/replay", "number=1", form).Status)
			e, _ = f.box.History.Get(3)
			assert.Equal(t, 200, e.Status)
		})
	}
}

func TestAnotherKeyIsExplainedAndCannotBeRepeated(t *testing.T) {
	for name, want := range map[string]string{"X-Authorization": "The API key is not that of this sandbox: it belongs to another",
		"Authorization": "The one in Authorization is not that of this sandbox"} {
		f := start(t, records.Demo())
		require.Equal(t, 401, f.do("GET", f.api+"/v1/events", "", header(name, "live-1")).Status)
		assert.Contains(t, f.get("/requests/1").Body, want)
		copied := html.UnescapeString(f.get("/requests/1?tab=copy").Body + f.get("/requests/1?tab=replay").Body)
		assert.NotContains(t, copied, "live-1")
		assert.NotContains(t, copied, "Resend unchanged<")
		assert.Equal(t, 1, strings.Count(copied, `class="primary"`))
		assert.Contains(t, copied, "The key was not recorded, so the request cannot be sent as it was.")
		assert.Contains(t, copied, "The command sends $MESSAGING_API_KEY in its place.")
		refused := f.post("/api/replay", `{"number":1,"as_sent":true}`)
		assert.Equal(t, 409, refused.Status)
		assert.Contains(t, refused.Body, "was not recorded")
		f.replayed(`{"number":1}`)
	}
}

func TestARequestWithTheRightKeyIsRepeatedAsItWas(t *testing.T) {
	f := start(t, records.Demo())
	f.post("/api/faults", `{"count":1,"fault":{"kind":"status","status":401}}`)
	for i, change := range []func(*http.Request){header(), header("Authorization", "Basic eHl6")} {
		f.do("GET", f.api+"/v1/events", "", header("X-Authorization", testKey), change)
		page := f.get(fmt.Sprintf("/requests/%d?tab=copy", i+1)).Body + f.get(fmt.Sprintf("/requests/%d?tab=replay", i+1)).Body
		assert.Contains(t, page, "Resend unchanged</button>")
		assert.NotContains(t, page, "Send it with the key of the sandbox")
		assert.NotContains(t, page, "instead of X-Authorization")
		assert.Contains(t, html.UnescapeString(page), `-H "X-Authorization: $MESSAGING_API_KEY"`)
	}
	_, detail := f.replayed(`{"number":2,"as_sent":true}`)
	assert.Contains(t, detail, `"status":200`)
}
