package profile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// Where the inspector of a sandbox is, and the token of one that other machines reach.
const (
	URLVariable   = "MESSAGING_SANDBOX_URL"
	TokenVariable = "MESSAGING_SANDBOX_TOKEN"
	DefaultURL    = "http://127.0.0.1:8078"
)

// Running is a running sandbox.
type Running struct {
	URL string // of the inspector
	url *url.URL
}

// Find returns the sandbox whose inspector has a URL or, for "", that of the environment. The scheme can be left out.
func Find(inspector string) (*Running, error) {
	inspector = strings.TrimSuffix(cmp.Or(inspector, os.Getenv(URLVariable), DefaultURL), "/")
	if !strings.Contains(inspector, "://") {
		inspector = "http://" + inspector
	}
	parsed, err := url.Parse(inspector)
	if err != nil || parsed.Hostname() == "" {
		return nil, exit.With(exit.Usage, "the URL of the sandbox: %q is not a URL", inspector)
	}
	return &Running{inspector, parsed}, nil
}

// Access is what a sandbox reports of itself.
type Access struct {
	Key         string    `json:"api_key"`
	Port        string    `json:"port"` // of the service
	StartID     string    `json:"start_id"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
	LastRequest int       `json:"last_request"` // its number
}

// Access asks a sandbox which one it is.
func (s *Running) Access(ctx context.Context) (found Access, err error) {
	body, err := s.Call(ctx, http.MethodGet, "/api/access", nil)
	if err != nil {
		return found, err
	}
	if json.Unmarshal(body, &found) != nil || found.Key == "" || found.Port == "" || found.StartID == "" {
		return found, exit.With(exit.NotDone, "%s is not a sandbox", s.URL)
	}
	return found, nil
}

// Service returns the URL of the service of a sandbox with that access.
func (s *Running) Service(of Access) string {
	return "http://" + net.JoinHostPort(s.url.Hostname(), of.Port)
}

// client uses no proxy and follows no redirect. A wait takes a minute at most.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       90 * time.Second,
}

// Call sends a request, whose body is the JSON of a value unless that is nil, and returns the body of the response.
// Each error has its exit code; so has a status of 300 or more.
func (s *Running) Call(ctx context.Context, method, path string, value any) ([]byte, error) {
	var body bytes.Buffer
	if value != nil {
		if err := json.NewEncoder(&body).Encode(value); err != nil {
			return nil, exit.With(exit.Unexpected, "%w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, &body)
	if err != nil {
		return nil, exit.With(exit.Usage, "%w", err)
	}
	if token := os.Getenv(TokenVariable); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	switch {
	case ctx.Err() != nil:
		return nil, exit.With(exit.Interrupted, "interrupted")
	case err != nil:
		return nil, exit.With(exit.NotDone, "there is no sandbox at %s; start one with: messaging sandbox --seed demo; "+
			"if yours has other ports, set its inspector: export %s=http://127.0.0.1:PORT", s.URL, URLVariable)
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, s.failure(response.StatusCode, received)
	}
	return received, nil
}

// failure returns the error for a response.
func (s *Running) failure(status int, body []byte) error {
	var failed struct {
		Error   string
		Success *bool // of the service
	}
	err := json.Unmarshal(body, &failed)
	switch {
	case err == nil && failed.Success != nil:
		return exit.With(exit.NotDone, "%s is the service of a sandbox, not its inspector, whose URL is needed", s.URL)
	case status == http.StatusUnauthorized:
		return exit.With(exit.Denied, "the sandbox at %s needs its token, in $%s", s.URL, TokenVariable)
	case err != nil || failed.Error == "":
		return exit.With(exit.NotDone, "%s is not a sandbox: it responded with status %d", s.URL, status)
	}
	code := map[int]exit.Code{
		http.StatusBadRequest:          exit.Usage,
		http.StatusUnprocessableEntity: exit.Usage,
		http.StatusNotFound:            exit.NotFound,
		http.StatusRequestTimeout:      exit.TimeIsUp,
	}[status]
	return &exit.Error{Code: cmp.Or(code, exit.Unexpected), Err: errors.New(failed.Error)}
}
