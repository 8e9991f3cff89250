package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"golang.org/x/time/rate"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
)

// Config is the configuration file.
type Config struct {
	Path     string                   `toml:"-"`
	Profiles map[string]configProfile `toml:"profiles"`
}

// configProfile is a profile of the configuration file.
type configProfile struct {
	BaseURL       string   `toml:"base_url"`
	Kind          Kind     `toml:"kind"`
	KeyCommand    []string `toml:"key_command"`
	KeyFile       string   `toml:"key_file"`
	MaxRecipients *int     `toml:"max_recipients"`
	Allow         []string `toml:"allow"`
	Rate          string   `toml:"rate"`
}

// Read reads the configuration file. A file that does not exist has no profiles.
func Read() (*Config, error) {
	folder, err := files.Config()
	if err != nil {
		return nil, exit.With(exit.Usage, "cannot find the configuration file: %w", err)
	}
	path := filepath.Join(folder, "config.toml")
	config := &Config{Path: path}
	content, err := readPrivate(path, 0o022, "other users can write to it; run: chmod 600 "+path)
	if errors.Is(err, fs.ErrNotExist) {
		return config, nil
	}
	if err != nil {
		return nil, exit.With(exit.Usage, "%w", err)
	}
	meta, err := toml.Decode(string(content), config)
	if err != nil {
		plain := strings.NewReplacer("toml: ", "", "destination has type slice", `it must be a list, such as key_command = ["cat", "key.txt"]`)
		return nil, exit.With(exit.Usage, "%s: %s", path, plain.Replace(err.Error()))
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, exit.With(exit.Usage, "%s: unknown key %s", path, unknown[0])
	}
	if _, taken := config.Profiles[SandboxName]; taken {
		return nil, exit.With(exit.Usage, "%s: [profiles.sandbox]: the name is that of the built-in profile; choose another one", path)
	}
	return config, nil
}

// Names returns the names of the profiles, sorted.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.Profiles)) }

// readPrivate reads a file unless its mode has a forbidden bit. The error says why that matters.
func readPrivate(path string, forbidden fs.FileMode, why string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&forbidden != 0 {
		err = fmt.Errorf("%s: %s", path, why)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(file) // and not another file with this path
}

// Service returns the service of a profile in the file, without asking for its key.
func (c *Config) Service(name string) (*Service, error) {
	p, ok := c.Profiles[name]
	if !ok {
		names := append(c.Names(), SandboxName)
		return nil, exit.With(exit.Usage, "there is no profile %q in %s; the profiles are %s", name, c.Path, strings.Join(names, ", "))
	}
	s, err := p.service(name, filepath.Dir(c.Path))
	if err != nil {
		return nil, exit.With(exit.Usage, "%s: [profiles.%s]: %w", c.Path, name, err)
	}
	return s, nil
}

// service checks the profile. A key file is relative to the folder.
func (p configProfile) service(name, folder string) (*Service, error) {
	s := &Service{Name: name, Kind: p.Kind, Allow: p.Allow, MaxRecipients: defaultMaxRecipients}
	if s.Kind == "" {
		s.Kind = Production
	}
	if err := s.setURL(p.BaseURL); err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	switch {
	case s.Kind != Production && s.Kind != Staging && s.Kind != Sandbox:
		return nil, fmt.Errorf("kind %q must be production, staging or sandbox", p.Kind)
	case s.Kind == Sandbox && !isLoopback(s.url):
		return nil, errors.New("kind is sandbox, but base_url is not a loopback address")
	case p.MaxRecipients != nil && *p.MaxRecipients < 1:
		return nil, errors.New("max_recipients must be at least 1")
	}
	if p.MaxRecipients != nil {
		s.MaxRecipients = *p.MaxRecipients
	}
	if _, err := messaging.NewClient(s.BaseURL, "not-the-key", messaging.WithAllowOnly(p.Allow...)); err != nil {
		if invalid := new(messaging.ValidationError); errors.As(err, &invalid) {
			err = errors.New(strings.Join(invalid.Fields[0].Messages, "; "))
		}
		return nil, fmt.Errorf("allow: each entry %w", err)
	}
	var err error
	if s.Rate, err = parseRate(p.Rate); err != nil {
		return nil, fmt.Errorf("rate: %w", err)
	}
	return s, p.setKey(s, folder)
}

// parseRate parses a rate such as 50/s, 600/m or 1000/h. It returns 0 for "".
func parseRate(text string) (rate.Limit, error) {
	if text == "" {
		return 0, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	seconds := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if err != nil || seconds == 0 || !(n > 0 && n <= 1e6) {
		return 0, fmt.Errorf("%q must be a rate such as 50/s, 600/m or 1000/h", text)
	}
	return rate.Limit(n / seconds), nil
}

// setKey sets where the key comes from.
func (p configProfile) setKey(s *Service, folder string) error {
	switch {
	case (len(p.KeyCommand) > 0) == (p.KeyFile != ""):
		return errors.New("set exactly one of key_command and key_file")
	case p.KeyFile != "":
		path := p.KeyFile
		if inHome, isInHome := strings.CutPrefix(path, "~/"); isInHome {
			home, err := os.UserHomeDir()
			if err != nil {
				return fmt.Errorf("key_file: %w", err)
			}
			path = filepath.Join(home, inHome)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		s.KeySource = "key_file " + path
		s.key = &keySource{read: func(context.Context) (string, error) { return keyOfFile(path) }}
	default:
		s.KeySource = "key_command " + p.KeyCommand[0]
		s.key = &keySource{read: func(ctx context.Context) (string, error) { return keyOfCommand(ctx, p.KeyCommand) }}
	}
	return nil
}

func keyOfFile(path string) (string, error) {
	content, err := readPrivate(path, 0o007, "every user can read it; run: chmod 640 "+path+", or use key_command, which needs no file")
	if err != nil {
		return "", exit.With(exit.Usage, "%w", err)
	}
	key := strings.TrimSpace(string(content))
	if key == "" {
		return "", exit.With(exit.Denied, "key_file %s is empty", path)
	}
	return key, nil
}

// keyOfCommand gets the key from a program, such as a password manager. The output of the program is never part of an error;
// what it writes to stderr goes to the terminal.
func keyOfCommand(ctx context.Context, argv []string) (string, error) {
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, &stdout, os.Stderr
	switch err := command.Run(); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", exit.With(exit.Denied, "key_command %s: not found in PATH", argv[0])
	case err != nil:
		return "", exit.With(exit.Denied, "key_command %s: %w", argv[0], err)
	}
	key := strings.TrimSpace(stdout.String())
	if key == "" {
		return "", exit.With(exit.Denied, "key_command %s printed no key", argv[0])
	}
	return key, nil
}
