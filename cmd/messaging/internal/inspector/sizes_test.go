package inspector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pushTo returns a broadcast to customers with consecutive numbers.
func pushTo(first, n int) string {
	customers := make([]string, n)
	for i := range customers {
		customers[i] = fmt.Sprintf(`{"email":"c%d@x.test"}`, first+i)
	}
	return `{"subject":"s","message":"m","schedule_type":"send-now","recipients":{"type":"customer","customers":[` +
		strings.Join(customers, ",") + `]}}`
}

func TestPagesOfLargeRequestsAreSmall(t *testing.T) {
	var message, devices strings.Builder
	for i := 0; message.Len() < 3<<20; i++ {
		fmt.Fprintf(&message, `<p>Hi {{name}}, <a href="https://acme.test/%d">look <b>here</b></a><img src="/%d.gif"></p>`, i, i)
	}
	large := withMessage(message.String())
	require.Greater(t, len(large), 3<<20)
	for i := range 20_000 {
		fmt.Fprintf(&devices, `,{"device_type":"ios","device_token":"token-%d"}`, i)
	}
	ordered := func(value string) string {
		return `{"event_id":"nope","payload":{"email":"a@b.test","order":` + value + `}}`
	}
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	tabs := shown{"/": nil, "/requests/1": nil, "/requests/1?tab=source": nil, "/requests/1?tab=check": nil,
		"/requests/1?tab=text": {"Only its first 256 kB are read here"}, "/requests/1?tab=audience": nil, "/requests/1?tab=exchange": nil,
		"/requests/3?tab=diff": nil, "/requests/1?tab=copy": nil, "/requests/2": nil, "/requests/2?tab=copy": nil, "/preview/1": nil}
	for name, test := range map[string]struct {
		steps []string
		limit int
		shown shown
	}{
		"an email": {[]string{"email " + large, "email " + strings.Replace(large, "news@acme.test", "nobody", 1), "email " + large},
			2 << 20, tabs},
		"a customer with many devices": {[]string{`push {"subject":"s","message":"m","schedule_type":"send-now","recipients":` +
			`{"type":"customer","customers":[{"customer_id":"1","devices":[` + devices.String()[1:] + `]}]}}`}, 100_000,
			shown{"/customers/25": {"19,500 more devices not shown"}}},
		"many problems": {[]string{`push {"recipients":[` + strings.Repeat("0,", 5000) + `0]}`}, 10_000, shown{"/api/requests": {`"…":["`}}},
		"a deep value": {[]string{"POST /v1/events " + invalidEvent, "trigger " + ordered(deep)}, 20_000 + 2*len(deep),
			shown{"/requests/2?tab=exchange": nil, "/requests/2?tab=diff&with=1": nil}},
	} {
		f := start(t)
		f.steps(test.steps)
		for path, texts := range test.shown {
			got := f.do("GET", f.ui+path, "", frame)
			require.Equal(t, 200, got.Status, "%s: %s", name, path)
			assert.Less(t, len(got.Body), test.limit, "%s: %s", name, path)
			if path != "/preview/1" {
				f.shows(path, texts...)
			}
		}
	}
}
