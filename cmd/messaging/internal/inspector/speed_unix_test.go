//go:build unix

package inspector_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// processorTime returns the time that the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestTabsOfALargeEmailAreFast measures the time of the processor, because other programs
// share the machine. Without the limits, a tab took seconds.
func TestTabsOfALargeEmailAreFast(t *testing.T) {
	f := start(t, records.Demo())
	var message strings.Builder
	for i := 0; message.Len() < 12<<20; i++ {
		_, _ = fmt.Fprintf(&message, `<p>Hi {{name}}, <a href="https://acme.test/%d">look <b>here</b></a><img src="/%d.gif"></p>`, i, i)
	}
	quoted, err := json.Marshal(message.String())
	require.NoError(t, err)
	large := strings.Replace(emailBody, `"<p>Hi {{name}}, <a href=\"https://acme.test\">look</a></p>"`, string(quoted), 1)
	require.Greater(t, len(large), 12<<20)
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", large))
	require.Equal(t, 422, f.send("POST", "/v1/broadcast/send/email", strings.Replace(large, "news@acme.test", "nobody", 1)))
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", large))
	for _, path := range []string{"/", "/broadcasts", "/broadcasts/1", "/broadcasts/1?tab=source", "/broadcasts/1?tab=text",
		"/broadcasts/1?tab=variables", "/broadcasts/1?tab=links", "/broadcasts/1?tab=check", "/broadcasts/1?tab=audience",
		"/broadcasts/1?tab=exchange",
		"/requests/3?tab=diff", "/broadcasts/1?tab=copy", "/requests/2", "/requests/2?tab=copy", "/preview/1"} {
		best := time.Hour
		for range 3 {
			began := processorTime(t)
			got := f.do("GET", f.ui+path, "", frame)
			best = min(best, processorTime(t)-began)
			require.Equal(t, 200, got.Status, path)
			assert.Less(t, len(got.Body), 2<<20, path)
		}
		assert.Less(t, best, 300*time.Millisecond, path)
	}
	assert.Contains(t, f.get("/broadcasts/1?tab=links").Body, "Only its beginning is read here")
}
