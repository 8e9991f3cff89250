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

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// remote is the API of a running sandbox.
type remote struct{ url, tokenFile string }

// addUI adds the flag with the URL of the inspector.
func addUI(cmd *cobra.Command) *remote {
	r := new(remote)
	cmd.Flags().StringVar(&r.url, "ui", "", "`URL` of the inspector; default $"+profile.InspectorVariable+", else "+profile.DefaultInspector)
	cmd.Flags().StringVar(&r.tokenFile, "token-file", "", "`file` with the token of the sandbox; default: that of $"+profile.TokenVariable)
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
			return nil, exit.With(exit.Unexpected, "%w", err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, content)
	if err != nil {
		return nil, exit.With(exit.Usage, "--ui: %q is not a URL", base)
	}
	token, err := readToken(r.tokenFile)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Timeout: 90 * time.Second}).Do(request)
	if ctx.Err() != nil {
		return nil, exit.With(exit.Interrupted, "interrupted")
	}
	if err != nil {
		return nil, exit.With(exit.NotDone, "there is no sandbox at %s; start one with: messaging sandbox; "+
			"if yours has other ports, pass --ui http://127.0.0.1:PORT with the port of its inspector", base)
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
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
	base := strings.TrimSuffix(cmp.Or(r.url, os.Getenv(profile.InspectorVariable), profile.DefaultInspector), "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	if parsed, err := url.Parse(base); err != nil || parsed.Hostname() == "" {
		return "", exit.With(exit.Usage, "--ui: %q is not a URL", base)
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
		return exit.With(exit.NotDone, "%s is the service of a sandbox, not its inspector; --ui takes the URL of the inspector", base)
	case status == http.StatusUnauthorized:
		return exit.With(exit.NotDone, "the sandbox at %s needs its token, in --token-file or $%s", base, profile.TokenVariable)
	case err != nil || failed.Error == "":
		return exit.With(exit.NotDone, "%s is not a sandbox: it responded with status %d", base, status)
	}
	code := map[int]exit.Code{
		http.StatusBadRequest:          exit.Usage,
		http.StatusUnprocessableEntity: exit.Usage,
		http.StatusNotFound:            exit.NotFound,
		http.StatusRequestTimeout:      exit.TimeIsUp,
	}[status]
	return &exit.Error{Code: cmp.Or(code, exit.Unexpected), Err: errors.New(failed.Error)}
}
