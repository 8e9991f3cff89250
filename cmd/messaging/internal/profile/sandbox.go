package profile

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/folders"
)

// The inspector of a sandbox, and where to look for it.
const (
	InspectorVariable = "MESSAGING_SANDBOX_URL"
	DefaultInspector  = "http://127.0.0.1:8078"
	DefaultService    = "http://127.0.0.1:8077"
	// TokenVariable is the environment variable with the token of a sandbox that listens on
	// other addresses than the loopback address.
	TokenVariable = "MESSAGING_SANDBOX_TOKEN"
	serviceHost   = "127.0.0.1"
)

// access is the response of the inspector.
type access struct {
	Key     string `json:"api_key"`
	Port    string `json:"port"`
	StartID string `json:"start_id"`
}

// BuiltIn returns the profile of a sandbox before any sandbox was asked for its port and key.
func BuiltIn() *Service {
	return &Service{Name: SandboxName, BaseURL: "http://" + serviceHost, Kind: Sandbox, KeySource: "the running sandbox",
		MaxRecipients: defaultMaxRecipients}
}

// ofSandbox asks the inspector of a running sandbox for its port and its key. Another
// program on the port of the inspector cannot name another host.
func ofSandbox(ctx context.Context, env folders.LookupEnv) (*Service, error) {
	inspector, _ := env(InspectorVariable)
	inspector = strings.TrimSuffix(cmp.Or(inspector, DefaultInspector), "/")
	if parsed, err := url.Parse(inspector); err != nil || parsed.Scheme != "http" || !isLoopback(inspector) {
		return nil, exit.With(exit.Usage, "%s must be the http URL of an inspector on this machine, such as %s",
			InspectorVariable, DefaultInspector)
	}
	token, _ := env(TokenVariable)
	found, err := askInspector(ctx, inspector, token)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(found.Port, 10, 16)
	if err != nil || port == 0 || found.Key == "" || found.StartID == "" {
		return nil, exit.With(exit.NotDone, "%s is not a sandbox", inspector)
	}
	service := BuiltIn()
	service.Host, service.StartID, service.key = net.JoinHostPort(serviceHost, found.Port), found.StartID, fixed(found.Key)
	service.BaseURL = "http://" + service.Host
	return service, nil
}

// askInspector calls the inspector without a proxy, and follows no redirect.
func askInspector(ctx context.Context, inspector, token string) (found access, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, inspector+"/api/access", nil)
	if err != nil {
		return found, exit.With(exit.Usage, "%s is not a URL", InspectorVariable)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       10 * time.Second,
	}
	response, err := client.Do(request)
	switch {
	case ctx.Err() != nil:
		return found, exit.With(exit.Interrupted, "interrupted")
	case err != nil:
		return found, exit.With(exit.NotDone, "there is no sandbox at %s; start one with: messaging sandbox --seed demo; "+
			"if yours has other ports, set its inspector: export %s=http://%s:PORT", inspector, InspectorVariable, serviceHost)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusUnauthorized {
		return found, exit.With(exit.Denied, "the sandbox at %s needs its token, in $%s", inspector, TokenVariable)
	}
	const limit = 64 << 10
	if err := json.NewDecoder(io.LimitReader(response.Body, limit)).Decode(&found); err != nil || response.StatusCode != http.StatusOK {
		return found, exit.With(exit.NotDone, "%s is not a sandbox: it responded with status %d", inspector, response.StatusCode)
	}
	return found, nil
}
