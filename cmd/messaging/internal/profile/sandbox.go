package profile

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"strconv"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/folders"
	"github.com/messaging-go/messaging/cmd/messaging/internal/remote"
)

// serviceHost is where every sandbox of this machine serves.
const serviceHost = "127.0.0.1"

// BuiltIn returns the profile of a sandbox before any sandbox was asked for its port and key.
func BuiltIn() *Service {
	return &Service{Name: SandboxName, Kind: Sandbox, KeySource: "the running sandbox", MaxRecipients: defaultMaxRecipients}
}

// ofSandbox asks the inspector of a running sandbox for its port and its key. Another
// program on the port of the inspector cannot name another host.
func ofSandbox(ctx context.Context, env folders.LookupEnv) (*Service, error) {
	inspector, _ := env(remote.URLVariable)
	inspector = cmp.Or(inspector, remote.DefaultURL)
	if parsed, err := url.Parse(inspector); err != nil || parsed.Scheme != "http" || !isLoopback(inspector) {
		return nil, exit.With(exit.Usage, "%s must be the http URL of an inspector on this machine, such as %s",
			remote.URLVariable, remote.DefaultURL)
	}
	token, _ := env(remote.TokenVariable)
	box, err := remote.New(inspector, token)
	if err != nil {
		return nil, err
	}
	found, err := box.Access(ctx)
	if err != nil {
		return nil, err
	}
	if port, err := strconv.ParseUint(found.Port, 10, 16); err != nil || port == 0 {
		return nil, exit.With(exit.NotDone, "%s is not a sandbox", inspector)
	}
	service := BuiltIn()
	service.Host, service.StartID, service.key = net.JoinHostPort(serviceHost, found.Port), found.StartID, fixed(found.Key)
	service.BaseURL = "http://" + service.Host
	return service, nil
}
