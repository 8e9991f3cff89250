package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// remote is the API of a running sandbox.
type remote struct{ url, tokenFile string }

const defaultUI = "http://127.0.0.1:8078"

// addUI adds the flag with the URL of the inspector.
func addUI(cmd *cobra.Command) *remote {
	r := new(remote)
	cmd.Flags().StringVar(&r.url, "ui", "", "`URL` of the inspector; default $MESSAGING_SANDBOX_URL, else "+defaultUI)
	cmd.Flags().StringVar(&r.tokenFile, "token-file", "", "`file` with the token of the sandbox; default $"+tokenVariable)
	return r
}

// call sends a request and returns the body of the response. A status of 300 or more
// is an error with an exit code.
func (r *remote) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	base, err := r.base()
	if err != nil {
		return nil, err
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
	token, err := readToken(r.tokenFile)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Timeout: 90 * time.Second}).Do(request)
	if err != nil {
		return nil, exitWith(exitNotDone, "there is no sandbox at %s; start one with: messaging sandbox", base)
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, exitWith(exitUnexpected, "cannot read the response of the sandbox: %w", err)
	}
	if response.StatusCode >= 300 {
		return nil, responseError(base, response.StatusCode, received)
	}
	return received, nil
}

// print sends a request and prints the body of the response.
func (r *remote) print(cmd *cobra.Command, method, path string) error {
	body, err := r.call(cmd.Context(), method, path, nil)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s", body) // a closed pipe is not an error here
	return nil
}

// base returns the URL of the inspector.
func (r *remote) base() (string, error) {
	base := strings.TrimSuffix(cmp.Or(r.url, os.Getenv("MESSAGING_SANDBOX_URL"), defaultUI), "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	if parsed, err := url.Parse(base); err != nil || parsed.Hostname() == "" {
		return "", exitWith(exitUsage, "--ui: %q is not a URL", base)
	}
	return base, nil
}

// responseError returns the error for a response.
func responseError(base string, status int, body []byte) error {
	var failed struct {
		Error   string
		Success *bool // of the service
	}
	err := json.Unmarshal(body, &failed)
	switch {
	case err == nil && failed.Success != nil:
		return exitWith(exitNotDone, "%s is the service of a sandbox, not its inspector; --ui takes the URL of the inspector", base)
	case status == http.StatusUnauthorized:
		return exitWith(exitNotDone, "the sandbox at %s needs its token, in --token-file or $%s", base, tokenVariable)
	case err != nil || failed.Error == "":
		return exitWith(exitNotDone, "%s is not a sandbox: it responded with status %d", base, status)
	}
	code := map[int]int{
		http.StatusBadRequest:          exitUsage,
		http.StatusUnprocessableEntity: exitUsage,
		http.StatusNotFound:            exitNotFound,
		http.StatusRequestTimeout:      exitTimeIsUp,
	}[status]
	return &exitError{cmp.Or(code, exitUnexpected), errors.New(failed.Error)}
}
