package profile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// keyAge is how long the key of a command is used before the command runs again, so that
// a long export notices that the key was rotated. What sends keeps its key; see Pin.
const keyAge = time.Minute

// setKey sets where the key comes from.
func (p configProfile) setKey(s *Service, folder string) error {
	switch {
	case (len(p.KeyCommand) > 0) == (p.KeyFile != ""):
		return errors.New("set exactly one of key_command and key_file")
	case p.KeyFile != "":
		path := p.KeyFile
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		s.KeySource = "key_file " + path
		s.key = func(context.Context) (string, error) { return keyOfFile(path) }
	default:
		s.KeySource = "key_command " + p.KeyCommand[0]
		s.key = (&keyCommand{argv: p.KeyCommand}).key
	}
	return nil
}

func fixed(key string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return key, nil }
}

func keyOfFile(path string) (string, error) {
	content, err := readPrivate(path, 0o077, "read")
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(content))
	if key == "" {
		return "", exit.With(exit.Denied, "key_file %s is empty", path)
	}
	return key, nil
}

// keyCommand gets the key from a program, such as a password manager.
type keyCommand struct {
	argv []string

	mu   sync.Mutex
	last string
	at   time.Time
}

// key returns the key. The output of the program is never part of an error; what it writes
// to stderr goes to the terminal.
func (c *keyCommand) key(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != "" && time.Since(c.at) < keyAge {
		return c.last, nil
	}
	command := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	var stdout bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, &stdout, os.Stderr
	if err := command.Run(); ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return "", exit.With(exit.Denied, "key_command %s: %w", c.argv[0], err)
	}
	key := strings.TrimSpace(stdout.String())
	if key == "" {
		return "", exit.With(exit.Denied, "key_command %s printed no key", c.argv[0])
	}
	c.last, c.at = key, time.Now()
	return key, nil
}
