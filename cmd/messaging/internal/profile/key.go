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

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

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
		s.key = once(func(context.Context) (string, error) { return keyOfFile(path) })
	default:
		s.KeySource = "key_command " + p.KeyCommand[0]
		s.key = once(func(ctx context.Context) (string, error) { return keyOfCommand(ctx, p.KeyCommand) })
	}
	return nil
}

func fixed(key string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return key, nil }
}

// once reads a key once: what an operator confirms for an account must not go to another one because the key has changed.
func once(read func(context.Context) (string, error)) func(context.Context) (string, error) {
	var mu sync.Mutex
	var key string
	return func(ctx context.Context) (_ string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if key == "" {
			key, err = read(ctx)
		}
		return key, err
	}
}

func keyOfFile(path string) (string, error) {
	content, err := readPrivate(path, 0o007, "every user can read it; run: chmod 640 "+path+", or use key_command, which needs no file")
	if err != nil {
		return "", err
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
	if err := command.Run(); ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return "", exit.With(exit.Denied, "key_command %s: %w", argv[0], err)
	}
	key := strings.TrimSpace(stdout.String())
	if key == "" {
		return "", exit.With(exit.Denied, "key_command %s printed no key", argv[0])
	}
	return key, nil
}
