package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// remote is the API of a running sandbox.
type remote struct{ url string }

const defaultUI = "http://127.0.0.1:8078"

// addUI adds the flag that says where the sandbox is.
func addUI(cmd *cobra.Command) *remote {
	r := new(remote)
	cmd.Flags().StringVar(&r.url, "ui", "", "`URL` of the inspector; default $MESSAGING_SANDBOX_URL, else "+defaultUI)
	return r
}

// call sends a request and returns the body of a response whose status is below
// 300. Another one is an error with an exit code.
func (r *remote) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	base := strings.TrimSuffix(cmp.Or(r.url, os.Getenv("MESSAGING_SANDBOX_URL"), defaultUI), "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	if parsed, err := url.Parse(base); err != nil || parsed.Hostname() == "" {
		return nil, exitWith(exitUsage, "--ui: %q is not a URL", base)
	}
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, exitWith(exitUnexpected, "%w", err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, content)
	if err != nil {
		return nil, exitWith(exitUsage, "--ui: %q is not a URL", base)
	}
	response, err := (&http.Client{Timeout: 90 * time.Second}).Do(request)
	if err != nil {
		return nil, exitWith(exitNotDone, "there is no sandbox at %s; start one with: messaging sandbox", base)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, exitWith(exitUnexpected, "cannot read the response of the sandbox: %w", err)
	}
	if response.StatusCode < 300 {
		return answer, nil
	}
	return nil, refusal(base, response.StatusCode, answer)
}

// refusal returns the error for a response.
func refusal(base string, status int, body []byte) error {
	var refused struct {
		Error   string
		Success *bool // of the service
	}
	err := json.Unmarshal(body, &refused)
	switch {
	case err == nil && refused.Success != nil:
		return exitWith(exitNotDone, "%s is the service of a sandbox, not its inspector; --ui takes the URL of the inspector", base)
	case err != nil || refused.Error == "":
		return exitWith(exitNotDone, "what listens at %s is not a sandbox: it responded with status %d", base, status)
	}
	code := map[int]int{
		http.StatusBadRequest:          exitUsage,
		http.StatusUnprocessableEntity: exitUsage,
		http.StatusNotFound:            exitNotFound,
		http.StatusRequestTimeout:      exitTimeIsUp,
	}[status]
	return &exitError{cmp.Or(code, exitUnexpected), errors.New(refused.Error)}
}
