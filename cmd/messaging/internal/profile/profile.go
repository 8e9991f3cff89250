// Package profile finds out which service a command calls, and with which key.
package profile

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/time/rate"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// Kind is how careful a command has to be with a service.
type Kind string

// The kinds of services.
const (
	Production Kind = "production"
	Staging    Kind = "staging"
	Sandbox    Kind = "sandbox"
)

// The names of the variables, and of the profile that is built in.
const (
	baseURLVariable = "MESSAGING_BASE_URL"
	keyVariable     = "MESSAGING_API_KEY"
	SandboxName     = "sandbox"
)

// KeyPrefix begins the keys that a sandbox makes.
const KeyPrefix = "sandbox-"

// defaultMaxRecipients is the limit of a profile that sets none.
const defaultMaxRecipients = 100

// Service is a service that a command calls. Its JSON is what an operator sees of a profile.
type Service struct {
	// Name is the name of the profile, or "" if the environment names the service.
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	BaseURL string `json:"base_url"`
	// KeySource describes where the key comes from. It never holds the key.
	KeySource string `json:"key_source"`
	// MaxRecipients is the limit of a send.
	MaxRecipients int `json:"max_recipients"`
	// Allow lists the recipients that are allowed, for [messaging.WithAllowOnly]. nil allows
	// everyone.
	Allow []string `json:"allow"`
	// Rate limits the requests a second; 0 means no limit.
	Rate rate.Limit `json:"rate"`

	// Host is the host of BaseURL, with its port and its path if there are any.
	Host string `json:"-"`
	// StartID tells one start of a sandbox from another; see Pin. It is "" for other services.
	StartID string `json:"-"`
	// LastRequest is the number of the latest request to a sandbox when it was found by the built-in profile.
	LastRequest int `json:"-"`
	// Account is a fingerprint of the key; see Pin.
	Account string `json:"-"`
	// Client calls the service, with its key, its rate and its allowed recipients.
	Client *messaging.Client `json:"-"`

	url *url.URL
	key *keySource
}

// Resolve finds the service of a profile or, if name is "", that of the environment. It
// reads no key, except that of a sandbox, and calls no service. The client has more options.
func Resolve(ctx context.Context, name string, more ...messaging.Option) (*Service, error) {
	s, err := resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	all := append(more, messaging.WithKeySource(s.key.get), messaging.WithUserAgent("messaging-command"))
	if s.Allow != nil {
		all = append(all, messaging.WithAllowOnly(s.Allow...))
	}
	if s.Rate > 0 {
		all = append(all, messaging.WithRateLimiter(rate.NewLimiter(s.Rate, 1)))
	}
	if s.Client, err = messaging.NewClient(s.BaseURL, "", all...); err != nil {
		return nil, exit.With(exit.Usage, "%s: %w", s.Title(), err)
	}
	return s, nil
}

func resolve(ctx context.Context, name string) (*Service, error) {
	baseURL, key := os.Getenv(baseURLVariable), os.Getenv(keyVariable)
	switch {
	case name == "" && baseURL == "" && key == "":
		return nil, exit.With(exit.Usage, "which service? Pass --profile sandbox for a running sandbox "+
			"(start it with: messaging sandbox --seed demo), pass --profile NAME for a profile of the configuration file, "+
			"or set both %s and %s", baseURLVariable, keyVariable)
	case name == "" && (baseURL == "" || key == ""):
		return nil, exit.With(exit.Usage, "only one of %s and %s is set; set both, or use --profile without them", baseURLVariable, keyVariable)
	case name == "":
		return ofEnvironment(baseURL, key)
	}
	conflict := exit.With(exit.Usage, "--profile %s is given, but %s or %s is set too; run: unset %[2]s %[3]s",
		name, baseURLVariable, keyVariable)
	if isSet := baseURL != "" || key != ""; name == SandboxName {
		s, err := ofSandbox(ctx)
		if isSet && (err != nil || !s.isAt(ctx, baseURL, key)) {
			return nil, conflict
		}
		return s, err
	} else if isSet {
		return nil, conflict
	}
	config, err := Read()
	if err != nil {
		return nil, err
	}
	return config.Service(name)
}

// isAt reports whether a URL and a key, as "sandbox env" prints them, are those of the service.
func (s *Service) isAt(ctx context.Context, baseURL, key string) bool {
	own, err := s.key.get(ctx)
	return err == nil && strings.TrimSuffix(baseURL, "/") == s.BaseURL && key == own
}

// ofEnvironment returns the service that the environment names.
func ofEnvironment(baseURL, key string) (*Service, error) {
	s := &Service{Kind: Production, KeySource: keyVariable, MaxRecipients: defaultMaxRecipients, key: fixed(key)}
	if err := s.setURL(baseURL); err != nil {
		return nil, exit.With(exit.Usage, "%s: %w", baseURLVariable, err)
	}
	if s.mayBeSandbox(key) { // a loopback address alone may be a tunnel to another service
		s.Kind = Sandbox
	}
	if _, err := messaging.NewClient(baseURL, key); err != nil {
		return nil, exit.With(exit.Usage, "%s and %s: %w", baseURLVariable, keyVariable, err)
	}
	return s, nil
}

// setURL checks the base URL, and sets it.
func (s *Service) setURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		return errors.New("must be a URL such as https://api.example.com")
	}
	if parsed.Scheme == "http" && !isLoopback(parsed) {
		return errors.New("must be https, unless it is on this machine")
	}
	if _, err := messaging.NewClient(text, "not-the-key"); err != nil {
		return err
	}
	s.url, s.BaseURL = parsed, strings.TrimSuffix(text, "/")
	s.Host = strings.ToLower(parsed.Host) + strings.TrimSuffix(parsed.EscapedPath(), "/")
	return nil
}

// isLoopback reports whether a URL reaches this machine alone.
func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// mayBeSandbox reports whether the service may be a sandbox of this machine, by its address and its key.
func (s *Service) mayBeSandbox(key string) bool {
	return isLoopback(s.url) && strings.HasPrefix(key, KeyPrefix)
}

// Identity tells the service from every other one: it is its URL without the scheme, with one form of each host, so that
// localhost and 127.0.0.1, or a default port that is given and one that is left out, are the same, and the start of a sandbox.
func (s *Service) Identity() string {
	host := strings.ToLower(s.url.Hostname())
	if isLoopback(s.url) {
		host = serviceHost
	}
	if port := s.url.Port(); port != "" && port != defaultPorts[s.url.Scheme] {
		host = net.JoinHostPort(host, port)
	}
	identity := host + strings.TrimSuffix(s.url.EscapedPath(), "/")
	if s.StartID != "" {
		identity += "#" + s.StartID
	}
	return identity
}

// defaultPorts are the ports of a URL without one.
var defaultPorts = map[string]string{"https": "443", "http": "80"}

// Title names the service for people.
func (s *Service) Title() string {
	switch s.Name {
	case "":
		return "environment (" + string(s.Kind) + ")"
	case string(s.Kind):
		return s.Name
	}
	return s.Name + " (" + string(s.Kind) + ")"
}

// Pin reads the key, so that it is known before anything is sent, and the start of a sandbox on this machine: a sandbox that was
// started again is another service. A sandbox whose inspector is not found has no start.
func (s *Service) Pin(ctx context.Context) error {
	key, err := s.key.get(ctx)
	if err != nil {
		return err
	}
	s.Account = fingerprint(key)
	if s.StartID == "" && s.mayBeSandbox(key) {
		if running, err := ofSandbox(ctx); err == nil && running.isAt(ctx, running.BaseURL, key) && running.url.Port() == s.url.Port() {
			s.StartID = running.StartID
		}
	}
	return nil
}

// serviceHost is the usual address of a sandbox of this machine.
const serviceHost = "127.0.0.1"

// BuiltIn returns the profile of a sandbox before any sandbox was asked for its port and key.
func BuiltIn() *Service {
	return &Service{Name: SandboxName, Kind: Sandbox, KeySource: "the running sandbox", MaxRecipients: defaultMaxRecipients}
}

// ofSandbox asks the inspector of a running sandbox for its port and its key. Another
// program on the port of the inspector cannot name another host.
func ofSandbox(ctx context.Context) (*Service, error) {
	box, err := Find("")
	if err != nil || box.url.Scheme != "http" || !isLoopback(box.url) {
		return nil, exit.With(exit.Usage, "%s must be the http URL of an inspector on this machine, such as %s", URLVariable, DefaultURL)
	}
	found, err := box.Access(ctx)
	if err != nil {
		return nil, err
	}
	if port, err := strconv.ParseUint(found.Port, 10, 16); err != nil || port == 0 {
		return nil, exit.With(exit.NotDone, "%s is not a sandbox", box.URL)
	}
	s := BuiltIn()
	s.StartID, s.LastRequest, s.key = found.StartID, found.LastRequest, fixed(found.Key)
	host := box.url.Hostname() // a sandbox listens with both ports on one address
	if net.ParseIP(host) == nil {
		host = serviceHost
	}
	return s, s.setURL("http://" + net.JoinHostPort(host, found.Port))
}
